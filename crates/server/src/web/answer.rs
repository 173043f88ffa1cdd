//! The page on which somebody who may operate answers what a workflow waits for: a form from the schema of what is awaited.
//!
//! Why    the same form as of a link with a token, for somebody who is known already; so what was entered goes on record in their name.

use super::approve::fields::{inputs, payload};
use super::layout::plain;
use crate::access::Caller;
use crate::api;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Path, workflow_id};
use crate::triggers::{Listener, Source};
use crate::words::clock;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::TriggerOrder;
use maud::{Markup, html};
use model::{Pause, PauseState, WorkflowId};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// Who answered, in the audit, where there is no key.
const BY: &str = "dashboard";

#[derive(Deserialize, JsonSchema)]
pub struct Addressed {
    workflow_id: String,
    trigger_key: String,
}

/// What is awaited.
struct Awaited {
    id: WorkflowId,
    trigger: String,
    listener: Listener,
}

/// A form that is sent has to say where from.
const POLICY: [(header::HeaderName, &str); 1] = [(header::REFERRER_POLICY, "same-origin")];

pub async fn page(State(app): State<Arc<App>>, Path(at): Path<Addressed>) -> Result<Response, ApiError> {
    let awaited = find(&app, at).await?;
    Ok((POLICY, plain(&app, "Answer", None, form(&awaited, None))).into_response())
}

pub async fn send(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(at): Path<Addressed>,
    source: Source,
    entered: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Response, ApiError> {
    let awaited = find(&app, at).await?;
    let again = |problem: &str| {
        let page = plain(&app, "Answer", None, form(&awaited, Some(problem)));
        (StatusCode::UNPROCESSABLE_ENTITY, POLICY, page).into_response()
    };
    let Ok(Form(entered)) = entered else { return Ok(again("What was sent is not a form.")) };
    let payload = match payload(&inputs(awaited.schema()), &entered) {
        Ok(payload) => payload.to_string(),
        Err(problem) => return Ok(again(&problem)),
    };
    let order = TriggerOrder {
        source: source.text(),
        run: awaited.waiting().map(|pause| pause.run),
        ..TriggerOrder::of(awaited.id, &awaited.trigger, payload, &caller.signed(Some(BY.into()))?)
    };
    match api::send_trigger(&app, order).await {
        Ok((status, view)) => {
            Ok((status, plain(&app, "Answer", None, told(&awaited, &view.0))).into_response())
        }
        Err(ApiError::Unfit(why) | ApiError::Gone(why)) => Ok(again(&why)),
        Err(refused) => Err(refused),
    }
}

async fn find(app: &App, at: Addressed) -> Result<Awaited, ApiError> {
    let (id, trigger) = (workflow_id(&at.workflow_id)?, at.trigger_key);
    let asked = trigger.clone();
    let listener = app.read(move |browse| Listener::read(browse, id, &asked)).await?;
    let listener = listener.filter(|listener| listener.def.is_some());
    let missing = || ApiError::NotFound(format!("workflow {id} never waits for `{trigger}`"));
    let listener = listener.ok_or_else(missing)?;
    Ok(Awaited { id, trigger, listener })
}

impl Awaited {
    fn schema(&self) -> Option<&serde_json::Value> {
        self.listener.pause()?.payload.as_ref()?.schema.as_ref()
    }

    /// The pause that waits now.
    fn waiting(&self) -> Option<&Pause> {
        self.listener.pauses.iter().rfind(|pause| pause.state == PauseState::Waiting)
    }
}

fn form(awaited: &Awaited, problem: Option<&str>) -> Markup {
    let Awaited { id, trigger, listener } = awaited;
    let message = listener.def.and_then(|n| listener.definition.steps[n].status_message.as_deref());
    html! {
        h1 { "Answer " (trigger) }
        @if let Some(message) = message { p { (message) } }
        dl.facts {
            div { dt { "Workflow" } dd { a href={ "/workflows/" (id) } { (listener.definition.workflow) } " " span.mono { (id) } } }
            (times(awaited.waiting()))
        }
        @if let Some(problem) = problem { p.notice.lost role="alert" { (problem) } }
        @if awaited.waiting().is_none() { p.notice { "Nobody waits for this now. What is sent is kept, and taken if the workflow comes to wait for it." } }
        form.answer method="post" action=(super::waiting::answer(&id.to_string(), trigger)) {
            @for input in inputs(awaited.schema()) { (input.markup()) }
            button.button type="submit" { "Send" }
        }
        p { a href="/waiting" { "All polls and pauses" } }
    }
}

fn times(pause: Option<&Pause>) -> Markup {
    let instant = |at| clock(&crate::convert::instant(at));
    html! {
        @if let Some(pause) = pause {
            div { dt { "Waits since" } dd { (instant(pause.registered_at)) } }
            @if let Some(until) = pause.timeout_at { div { dt { "Until" } dd { (instant(until)) } } }
        }
    }
}

fn told(awaited: &Awaited, view: &wire::TriggeredView) -> Markup {
    let said = match view.verdict.as_str() {
        "accepted" => "It was taken, and the workflow goes on.",
        "early" => "It was kept: the workflow does not wait for it yet.",
        "duplicate" => "Somebody had answered already; this changes nothing.",
        _ => "It was kept, and the workflow waits on.",
    };
    html! {
        h1 { "Answered " (awaited.trigger) }
        p role="status" { (said) @if let Some(why) = &view.why { " " (why) } }
        p { a href={ "/workflows/" (awaited.id) } { "To the workflow" } " · " a href="/waiting" { "All polls and pauses" } }
    }
}
