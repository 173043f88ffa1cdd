//! The page on which somebody answers a trigger: opened by a link with a token, sent back as a form.
//!
//! Why    whoever approves has no key and no program. The link only opens the page, so that a mail filter that follows links
//!        approves nothing; what counts is the form, which carries the token in its body.

pub mod fields;

use super::layout::{Frame, bare as framed};
use crate::api;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Path;
use crate::throttle::Wrong;
use crate::triggers::{Listener, Source};
use crate::words::clock;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::TriggerOrder;
use fields::inputs;
use maud::{Markup, html};
use model::{Pause, PauseState, WorkflowId};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// A form needs to be sent, and to say where from.
const POLICIES: [(header::HeaderName, &str); 2] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'",
    ),
    (header::REFERRER_POLICY, "same-origin"),
];

#[derive(Deserialize, JsonSchema)]
pub struct Addressed {
    workflow_id: String,
    trigger_key: String,
}

/// Not to be printed.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(default)]
pub struct Link {
    token: String,
}

/// What a token opens.
struct Opened {
    id: WorkflowId,
    trigger: String,
    listener: Listener,
    pause: Pause,
}

/// What a page says, and with which status.
type Said = (StatusCode, &'static str, String);

pub async fn page(
    State(app): State<Arc<App>>,
    Path(at): Path<Addressed>,
    link: Result<Query<Link>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let token = link.map(|Query(link)| link.token).unwrap_or_default();
    match open(&app, at, &token).await {
        Ok(opened) => match over(opened.pause.state) {
            None => shown(&app, StatusCode::OK, form(&opened, &token, None)),
            Some(said) => told(&app, said),
        },
        Err(refused) => refuse(&app, refused),
    }
}

pub async fn answer(
    State(app): State<Arc<App>>,
    Path(at): Path<Addressed>,
    source: Source,
    entered: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Response {
    let Ok(Form(entered)) = entered else {
        let said = "What was sent is not a form.".into();
        return told(&app, (StatusCode::UNPROCESSABLE_ENTITY, "Not understood", said));
    };
    let token = entered.iter().find(|(name, _)| name == "token").map(|(_, token)| token.clone());
    let token = token.unwrap_or_default();
    let opened = match open(&app, at, &token).await {
        Ok(opened) => opened,
        Err(refused) => return refuse(&app, refused),
    };
    let again =
        |problem: &str| shown(&app, StatusCode::UNPROCESSABLE_ENTITY, form(&opened, &token, Some(problem)));
    let payload = match fields::payload(&inputs(schema(&opened)), &entered) {
        Ok(payload) => payload,
        Err(problem) => return again(&problem),
    };
    let order = TriggerOrder {
        source: source.text(),
        run: Some(opened.pause.run),
        ..TriggerOrder::of(
            opened.id,
            &opened.trigger,
            payload.to_string(),
            &format!("token of `{}`", opened.trigger),
        )
    };
    match api::send_trigger(&app, order).await {
        Ok((status, view)) => told(&app, came_of(status, &view.0)),
        Err(ApiError::Unfit(why)) => again(&why),
        Err(refused) => refuse(&app, refused),
    }
}

/// The pause that a token was made for; nothing is said of any other.
async fn open(app: &App, at: Addressed, token: &str) -> Result<Opened, ApiError> {
    let id: WorkflowId = at.workflow_id.parse().map_err(|_| ApiError::NotShown)?;
    let trigger = at.trigger_key.clone();
    let listener = app.read_for_stranger(move |browse| Listener::read(browse, id, &trigger)).await?;
    let listener = listener.ok_or(ApiError::NotShown)?;
    let pause = listener.by_token(token).cloned().ok_or(ApiError::NotShown)?;
    Ok(Opened { id, trigger: at.trigger_key, listener, pause })
}

fn schema(opened: &Opened) -> Option<&serde_json::Value> {
    opened.listener.pause()?.payload.as_ref()?.schema.as_ref()
}

/// What there is to say of a pause that waits no more.
fn over(state: PauseState) -> Option<Said> {
    match state {
        PauseState::Waiting => None,
        PauseState::Resumed => {
            Some((StatusCode::OK, "Already answered", "Somebody has answered, and the work went on.".into()))
        }
        PauseState::TimedOut => {
            Some((StatusCode::GONE, "Too late", "The time for an answer was over.".into()))
        }
        PauseState::Cancelled => {
            Some((StatusCode::GONE, "Too late", "The work has ended, or went another way.".into()))
        }
    }
}

fn came_of(status: StatusCode, view: &wire::TriggeredView) -> Said {
    let why = view.why.clone().unwrap_or_default();
    match view.verdict.as_str() {
        "accepted" => (status, "Thank you", "Your answer was taken, and the work goes on.".into()),
        "duplicate" => (status, "Already answered", why),
        _ => (status, "Kept", format!("Your answer was kept, and the work waits on: {why}")),
    }
}

fn refuse(app: &App, refused: ApiError) -> Response {
    match refused {
        ApiError::NotShown => {
            let said = "This link is not valid: it is not whole, or another was made since.".into();
            let mut response = told(app, (StatusCode::UNAUTHORIZED, "Not valid", said));
            response.extensions_mut().insert(Wrong);
            response
        }
        ApiError::Gone(why) => told(app, (StatusCode::GONE, "Too late", why)),
        other => other.into_response(),
    }
}

fn told(app: &App, (status, title, said): Said) -> Response {
    shown(app, status, html! { h1 { (title) } p role="status" { (said) } })
}

fn shown(app: &App, status: StatusCode, body: Markup) -> Response {
    let frame = Frame {
        title: "Answer",
        version: app.site.version,
        host: &app.site.host,
        script: None,
        controls: html! {},
    };
    (status, POLICIES, framed(frame, body)).into_response()
}

fn form(opened: &Opened, token: &str, problem: Option<&str>) -> Markup {
    let Opened { id, trigger, listener, pause } = opened;
    let definition = &listener.definition;
    let message = listener.def.and_then(|n| definition.steps[n].status_message.as_deref());
    let instant = |at| clock(&crate::convert::instant(at));
    html! {
        h1 { (definition.description.as_deref().unwrap_or(&definition.workflow)) }
        @if let Some(message) = message { p { (message) } }
        dl.facts {
            div { dt { "Asked for" } dd { (trigger) } }
            div { dt { "Workflow" } dd { (definition.workflow) " " span.mono { (id) } } }
            div { dt { "Since" } dd { (instant(pause.registered_at)) } }
            @if let Some(until) = pause.timeout_at { div { dt { "Until" } dd { (instant(until)) } } }
        }
        @if let Some(problem) = problem { p.notice role="alert" { (problem) } }
        form.answer method="post" action={ "/approve/" (id) "/" (super::escaped(trigger)) } {
            input type="hidden" name="token" value=(token);
            @for input in inputs(schema(opened)) { (input.markup()) }
            button.button type="submit" { "Send" }
        }
    }
}
