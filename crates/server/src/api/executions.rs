//! Executions for code that is not ours: begin, complete, fail, renew, list, show, forget.

use super::operate::Reason;
use crate::access::Caller;
use crate::app::App;
use crate::convert::instant;
use crate::describe::Empty;
use crate::error::ApiError;
use crate::executions;
use crate::extract::{Params, Path, Posted, page_size};
use crate::idempotency::NAMESPACE;
use axum::Json;
use axum::extract::State;
use engine::{Ask, Begin, Held};
use model::{ExecutionName, OwnerToken, limits};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use store::Asked;
use store::executions::ExecutionFilter;
use wire::{BeginBody, BegunView, CompleteBody, FailBody, ForgetBody, ForgottenView, RenewBody, RenewedView};

const DAYS_MAX: f64 = 36_500.0;

pub async fn begin(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(body): Posted<BeginBody>,
) -> Result<Json<BegunView>, ApiError> {
    caller.covers_name("namespace", &body.namespace)?;
    let ask = asked(body)?;
    let nothing =
        BegunView { verdict: "replay".into(), owner: None, attempt: None, lease_ends_at: None, answer: None };
    Ok(Json(match app.site.engine.executions().begin(&ask).await? {
        Begin::Run(begun) => BegunView {
            verdict: "begun".into(),
            owner: Some(begun.held.owner.to_string()),
            attempt: Some(begun.attempt),
            lease_ends_at: Some(instant(begun.lease_ends_at)),
            ..nothing
        },
        Begin::Replay { answer } => {
            let answer = RawValue::from_string(answer).unwrap_or_else(|_| RawValue::NULL.to_owned());
            BegunView { answer: Some(answer), ..nothing }
        }
    }))
}

fn asked(body: BeginBody) -> Result<Ask, ApiError> {
    if body.namespace.starts_with(NAMESPACE) {
        let fix = format!("use a namespace that does not begin with `{NAMESPACE}`");
        return Err(ApiError::fault("namespace", "is that of the Idempotency-Key header", fix));
    }
    let mut ask = Ask::new(body.namespace, body.key).input(&body.input);
    if let Some(owner) = &body.owner {
        ask = ask.owner(owner_of(owner)?);
    }
    if let Some(seconds) = body.lease_seconds {
        ask = ask.lease(Duration::from_secs(seconds));
    }
    if let Some(attempts) = body.max_attempts {
        ask = ask.max_attempts(attempts);
    }
    if let Some(days) = body.keep_days {
        ask = ask.keep(span_of("keep_days", days)?);
    }
    Ok(ask)
}

fn owner_of(text: &str) -> Result<OwnerToken, ApiError> {
    let wrong = |_| ApiError::fault("owner", format!("`{text}` is not a UUID"), "send what `begin` answered");
    text.parse().map_err(wrong)
}

fn span_of(field: &str, days: f64) -> Result<Duration, ApiError> {
    if !(0.0..=DAYS_MAX).contains(&days) {
        let fix = format!("write a number from 0 to {DAYS_MAX}");
        return Err(ApiError::fault(field, "is out of range", fix));
    }
    Ok(Duration::from_secs_f64(days * 86_400.0))
}

fn held(caller: &Caller, namespace: String, key: String, owner: &str) -> Result<Held, ApiError> {
    caller.covers_name("namespace", &namespace)?;
    Ok(Held { name: ExecutionName { namespace, key }, owner: owner_of(owner)? })
}

pub async fn complete(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(body): Posted<CompleteBody>,
) -> Result<Empty, ApiError> {
    let held = held(&caller, body.namespace, body.key, &body.owner)?;
    let answer = body.answer.map_or_else(|| "null".into(), |raw| raw.get().to_string());
    app.site.engine.executions().complete(&held, answer).await?;
    Ok(Empty)
}

pub async fn fail(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(body): Posted<FailBody>,
) -> Result<Empty, ApiError> {
    let held = held(&caller, body.namespace, body.key, &body.owner)?;
    app.site.engine.executions().fail(&held, body.error).await?;
    Ok(Empty)
}

pub async fn renew(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(body): Posted<RenewBody>,
) -> Result<Json<RenewedView>, ApiError> {
    let held = held(&caller, body.namespace, body.key, &body.owner)?;
    let lease = body.lease_seconds.map_or(limits::EXECUTION_LEASE_DEFAULT, Duration::from_secs);
    let ends = app.site.engine.executions().renew(&held, lease).await?;
    Ok(Json(RenewedView { lease_ends_at: instant(ends) }))
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct How {
    dry_run: bool,
}

pub async fn forget(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(How { dry_run }): Params<How>,
    Posted(body): Posted<ForgetBody>,
) -> Result<Json<ForgottenView>, ApiError> {
    let span = body.older_than_days.map(|days| span_of("older_than_days", days)).transpose()?;
    let before = span.map(|span| app.now() - span);
    let why = Reason::Needed.unless(dry_run).said(body.why)?;
    let asked = Asked { who: caller.signed(body.by)?, why: Some(why) };
    let all = app.site.engine.executions();
    let done = if dry_run { all.count_forgotten(before).await } else { all.forget(before, asked).await }?;
    Ok(Json(ForgottenView { executions: done.executions, more: done.more }))
}

/// The parameters of a list, as written.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    namespace: Option<String>,
    #[schemars(extend("enum" = ["in_progress", "done", "failed"]))]
    state: Option<String>,
    #[schemars(range(min = 1, max = model::limits::PAGE_ROWS_MAX))]
    limit: Option<usize>,
    after: Option<String>,
}

pub async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::ExecutionPage>, ApiError> {
    caller.covers_name("namespace", wanted.namespace.as_deref().unwrap_or_default())?;
    let bad = |problem: String| ApiError::BadRequest(problem);
    let state = wanted.state.map(|word| word.parse().map_err(|e| bad(format!("state: {e}")))).transpose()?;
    let after = wanted.after.map(|text| {
        let unknown = || bad(format!("after: `{text}` is not a cursor; use `next` of the page before"));
        executions::read_cursor(&text).ok_or_else(unknown)
    });
    let (after, limit) = (after.transpose()?, page_size(wanted.limit)?);
    let filter = ExecutionFilter { namespace: wanted.namespace, state, after, limit };
    Ok(Json(app.read(move |browse| executions::page(browse, &filter)).await?))
}

pub async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((namespace, key)): Path<(String, String)>,
) -> Result<Json<wire::ExecutionShow>, ApiError> {
    caller.covers_name("namespace", &namespace)?;
    let name = ExecutionName { namespace, key };
    let asked = name.clone();
    let found = app.read(move |browse| browse.execution(&asked)).await?;
    let shown = found.ok_or_else(|| ApiError::NotFound(format!("there is no execution {name}")))?;
    Ok(Json(executions::show_view(&shown)))
}
