//! Counts what is wrongly shown, and has an address that shows too much of it wait.
//!
//! Why    whoever looks at a key, a token or a signature marks its answer, so that no way in is forgotten. It is counted behind the
//!        answer: what is right passes, whatever came from the same address before.

use crate::app::App;
use crate::guard;
use axum::extract::{Request, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// With an answer to somebody who showed something that is not valid.
#[derive(Clone, Copy, Debug)]
pub struct Wrong;

/// What was asked for, by the name of its route: whatever a stranger wrote there is not kept.
fn asked(app: &App, request: &Parts) -> String {
    let route = app.table.find(request);
    route.map_or("what is not there".into(), |route| format!("{} {}", route.method, route.path))
}

/// Count that something wrong was shown, and put it on record.
async fn tell(app: &App, peer: Option<IpAddr>, asked: &str) {
    app.keys.refuse(peer);
    let Some(entry) = app.refusals.note(peer, asked, app.now()) else { return };
    if let Err(problem) = app.site.engine.put_on_record(entry).await {
        tracing::warn!(target: "server", %problem, "a wrong key was not put on record: {problem}");
    }
}

pub async fn wait(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let (peer, is_here, for_person) =
        (guard::peer(&parts), guard::is_here(&parts), guard::accepts_page(&parts));
    let asked = asked(&app, &parts);
    let mut response = next.run(Request::from_parts(parts, body)).await;
    if response.extensions().get::<Wrong>().is_none() {
        return response;
    }
    tell(&app, peer, &asked).await;
    if is_here {
        return response;
    }
    let Err(too_often) = app.pace.wrong(peer, app.now()) else { return response };
    let waiting = too_often.into_response();
    if !for_person {
        return waiting;
    }
    // A page says what is wrong with what was entered; only how soon to try again is new.
    *response.status_mut() = waiting.status();
    if let Some(after) = waiting.headers().get(header::RETRY_AFTER) {
        response.headers_mut().insert(header::RETRY_AFTER, after.clone());
    }
    response
}
