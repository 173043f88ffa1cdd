//! Events of all workflows as they happen, as server-sent events.

use crate::access::Caller;
use crate::app::App;
use crate::codes;
use crate::describe::{Answers, Operation};
use crate::error::ApiError;
use crate::extract::{Params, workflow_id};
use crate::listen::{Listener, Positions, Wanted};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{AppendHeaders, IntoResponse, Response};
use engine::EngineError;
use futures_util::stream::unfold;
use schemars::JsonSchema;
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// How often a silent connection is shown to be alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const LAST_EVENT_ID: &str = "last-event-id";
/// A proxy that gathers answers would keep the events.
const UNBUFFERED: [(HeaderName, &str); 1] = [(HeaderName::from_static("x-accel-buffering"), "no")];

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Asked {
    #[serde(rename = "type")]
    kinds: Option<String>,
    workflow_id: Option<String>,
    after: Option<String>,
}

/// A stream of CloudEvents.
pub struct Events<S>(S);

impl<S: IntoResponse> IntoResponse for Events<S> {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

impl<S> Answers for Events<S> {
    fn answer(about: &mut Operation) {
        let event = about.schemas.written::<wire::CloudEvent>();
        about.answers(200, [("text/event-stream", Some(event))]);
        about.refuses(codes::NOT_FOUND);
    }
}

pub async fn listen(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    Params(asked): Params<Asked>,
) -> Result<Events<impl IntoResponse>, ApiError> {
    let workflow = asked.workflow_id.as_deref().map(workflow_id).transpose()?;
    if let Some(scope) = caller.scope(&app) {
        let id = workflow.ok_or_else(|| scope.closed("listening without `workflow_id`"))?;
        if !app.read(move |browse| scope.workflow(browse, id)).await? {
            return Err(EngineError::NoWorkflow(id).into());
        }
    }
    let wanted = Wanted::read(asked.kinds.as_deref(), workflow).map_err(ApiError::BadRequest)?;
    let listener = Listener::join(&app, caller, wanted, from(&headers, asked.after)?).await?;
    let events = unfold(listener, async |mut listener| {
        let event = listener.next().await?;
        Some((Ok::<_, Infallible>(event), listener))
    });
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Events((AppendHeaders(UNBUFFERED), Sse::new(events).keep_alive(keep_alive))))
}

/// A browser that comes back says so in the header, whatever its address says.
fn from(headers: &HeaderMap, after: Option<String>) -> Result<Option<Positions>, ApiError> {
    let strange = |_| ApiError::BadRequest("Last-Event-ID: use visible ASCII characters".into());
    let last = headers.get(LAST_EVENT_ID).map(|value| value.to_str().map_err(strange)).transpose()?;
    let said = last.map(String::from).or(after).filter(|text| !text.is_empty());
    said.map(|text| text.parse().map_err(ApiError::BadRequest)).transpose()
}
