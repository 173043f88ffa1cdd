//! Triggers: whatever is sent to one, and what was.

use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::convert;
use crate::describe::TakenOrKept;
use crate::error::ApiError;
use crate::extract::{Params, Path, PostedText, Signed, ThisWorkflow, page_size, workflow_id};
use crate::pages::{Wanted, ours, place, place_in_time};
use crate::triggers::{Sender, Source, sender};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use engine::{Ask, Begin, EngineError, ExecutionError, TokenOrder, TriggerOrder};
use model::{TriggerAnswer, WorkflowId, limits};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use store::Browse;
use store::pauses::Waiting;

/// How long it is known where a signed message came first: far longer than it is taken.
const BOUND_FOR: Duration = Duration::from_secs(24 * 3600);

#[derive(Deserialize, JsonSchema)]
pub struct Named {
    key: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct Addressed {
    workflow_id: String,
    trigger_key: String,
}

type Answered = (StatusCode, Json<wire::TriggeredView>);
type Reply = TakenOrKept<wire::TriggeredView>;

/// What is not used yet is kept.
fn reply((status, Json(view)): Answered) -> Reply {
    match status {
        StatusCode::ACCEPTED => TakenOrKept::Kept(view),
        _ => TakenOrKept::Taken(view),
    }
}

/// From anywhere: nothing is said before it is known who asks.
pub async fn receive(
    State(app): State<Arc<App>>,
    Path(Addressed { workflow_id: id, trigger_key }): Path<Addressed>,
    source: Source,
    headers: HeaderMap,
    PostedText(body): PostedText,
) -> Result<Reply, ApiError> {
    let id = id.parse::<WorkflowId>().ok();
    let Sender { identity, run, signed_for } = sender(&app, (id, &trigger_key), &headers, &body).await?;
    let Some(workflow) = id else { return Err(unknown(&trigger_key)) };
    if let (Some(definition), Some(message)) = (signed_for, webhook_id(&headers)) {
        bind(&app, &definition, &message, &format!("{workflow} {trigger_key}")).await?;
    }
    let order = TriggerOrder {
        webhook_id: webhook_id(&headers),
        source: source.text(),
        run,
        ..TriggerOrder::of(workflow, &trigger_key, text(&body)?, &identity)
    };
    send(&app, order).await.map(reply)
}

/// A signature says nothing of the place that a message was meant for. So it counts where it came first, and whoever recorded it
/// can send it nowhere else.
async fn bind(app: &App, definition: &str, message: &str, place: &str) -> Result<(), ApiError> {
    let ask = Ask::new(format!("webhook {definition}"), message).input_text(place.as_bytes()).keep(BOUND_FOR);
    let executions = app.site.engine.executions();
    match executions.begin(&ask).await {
        Ok(Begin::Run(begun)) => Ok(executions.complete(&begun.held, "null".into()).await?),
        Ok(Begin::Replay { .. }) | Err(ExecutionError::InProgress { .. }) => Ok(()),
        Err(ExecutionError::Conflict { .. }) => Err(ApiError::NotShown),
        Err(problem) => Err(problem.into()),
    }
}

fn unknown(trigger: &str) -> ApiError {
    ApiError::NotFound(format!("what stands before `{trigger}` is not the id of a workflow"))
}

/// By somebody who may operate.
pub async fn send_one(
    State(app): State<Arc<App>>,
    caller: Caller,
    (ThisWorkflow(workflow), Path(Named { key })): (ThisWorkflow, Path<Named>),
    (source, headers, Params(Signed { by })): (Source, HeaderMap, Params<Signed>),
    PostedText(body): PostedText,
) -> Result<Reply, ApiError> {
    let order = TriggerOrder {
        webhook_id: webhook_id(&headers),
        source: source.text(),
        ..TriggerOrder::of(workflow, &key, text(&body)?, &caller.signed(by)?)
    };
    send(&app, order).await.map(reply)
}

fn webhook_id(headers: &HeaderMap) -> Option<String> {
    headers.get(engine::WEBHOOK_ID).and_then(|value| value.to_str().ok()).map(Into::into)
}

/// The body as JSON; none at all is `null`.
fn text(body: &[u8]) -> Result<String, ApiError> {
    if body.len() > limits::PAYLOAD_BYTES_MAX {
        return Err(ApiError::TooLarge { max: limits::PAYLOAD_BYTES_MAX });
    }
    let text = std::str::from_utf8(body).map_err(|problem| ApiError::Malformed(problem.to_string()))?;
    let text = if text.trim().is_empty() { "null" } else { text };
    serde_json::from_str::<serde::de::IgnoredAny>(text)
        .map(|_| text.to_string())
        .map_err(|problem| ApiError::Malformed(problem.to_string()))
}

pub async fn send(app: &App, order: TriggerOrder) -> Result<Answered, ApiError> {
    let triggered = app.site.engine.trigger(order).await?;
    let status = match &triggered.answer {
        TriggerAnswer::Accepted | TriggerAnswer::Consumed(_) => StatusCode::OK,
        TriggerAnswer::Early | TriggerAnswer::StillWaiting(_) => StatusCode::ACCEPTED,
        TriggerAnswer::Unfit(why) => return Err(ApiError::Unfit(format!("the payload does not fit: {why}"))),
        TriggerAnswer::Late(why) => return Err(ApiError::Gone(why.clone())),
        TriggerAnswer::TooMany => {
            let why = triggered.answer.why().unwrap_or_default().into();
            return Err(ApiError::TooMany { why, retry_after: limits::EARLY_TRIGGER_AGAIN });
        }
    };
    Ok((status, Json(convert::triggered_view(&triggered))))
}

/// What was sent to a workflow.
pub async fn list(
    State(app): State<Arc<App>>,
    ThisWorkflow(id): ThisWorkflow,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::TriggerPayloadPage>, ApiError> {
    let (limit, after) = (wanted.whole()?, place(wanted.after.as_deref())?);
    let found = app.read(move |browse| answers::triggers(browse, id, after, limit)).await?;
    found.map(Json).ok_or(ApiError::Engine(EngineError::NoWorkflow(id)))
}

/// A new token for a pause, for somebody who hands it on.
pub async fn token(
    State(app): State<Arc<App>>,
    caller: Caller,
    (ThisWorkflow(workflow), Path(Named { key })): (ThisWorkflow, Path<Named>),
    crate::extract::Posted(Signed { by }): crate::extract::Posted<Signed>,
) -> Result<Json<wire::TokenView>, ApiError> {
    let order = TokenOrder { workflow, trigger: key.clone(), by: caller.signed(by)? };
    let token = app.site.engine.pause_token(order).await?;
    let page = format!("/approve/{workflow}/{key}?token={}", token.reveal());
    Ok(Json(wire::TokenView { token: token.reveal().into(), page }))
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WantedPauses {
    /// Only those whose time comes within so many seconds, the next first.
    due_within: Option<u64>,
    workflow: Option<String>,
    #[schemars(range(min = 1, max = model::limits::PAGE_ROWS_MAX))]
    limit: Option<usize>,
    /// `next` of the page before.
    after: Option<String>,
}

pub async fn pauses(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(wanted): Params<WantedPauses>,
) -> Result<Json<wire::PausePage>, ApiError> {
    let limit = page_size(wanted.limit)?;
    let of = wanted.workflow.as_deref().map(workflow_id).transpose()?;
    let within = wanted.due_within.map(|seconds| seconds.min(limits::WAIT_MAX.as_secs()));
    let which =
        within.map_or(Waiting::All, |seconds| Waiting::DueBy(app.now() + Duration::from_secs(seconds)));
    let after = place_in_time(wanted.after.as_deref())?;
    let scope = caller.scope(&app);
    let read = move |browse: &Browse| {
        let mut page = answers::pauses_behind(browse, (of, which), after, limit)?;
        if let Some(scope) = scope {
            page.pauses = ours(page.pauses, |pause| scope.entity(browse, "pause", &pause.workflow_id))?;
        }
        Ok(page)
    };
    app.read(read).await.map(Json)
}
