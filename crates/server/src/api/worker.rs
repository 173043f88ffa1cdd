//! Workers in other processes: claim, heartbeat, report, leave, and what came before a step.

use crate::access::{Caller, Reported};
use crate::app::App;
use crate::convert::worker::{self as convert, held, held_views};
use crate::error::ApiError;
use crate::extract::Posted;
use crate::seats::Given;
use axum::Json;
use axum::extract::State;
use engine::{EngineError, ReportAnswer, Told};
use model::{Name, Outcome, Report, SessionId, SessionOffer, StepId, limits};
use std::sync::Arc;
use std::time::Duration;
use store::Browse;
use wire::{
    ClaimBody, ClaimedPage, HeartbeatBody, HeartbeatView, Held, LeaveBody, PreviousBody, PreviousView,
    ReportAnswerView, ReportBody, ReportedView,
};

/// The longest a call waits for work: shorter than a lease, so that a caller who waits has been heard of.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Reports in one call.
const REPORTS_MAX: usize = 1_000;

const _: () = assert!(WAIT_MAX.as_secs() < limits::SESSION_LEASE.as_secs());

fn lease_ms() -> u64 {
    limits::SESSION_LEASE.as_millis() as u64
}

/// The session that a call is about, if its caller may speak for it.
async fn session(app: &App, caller: &Caller, text: &str) -> Result<SessionId, ApiError> {
    let session = text.parse().map_err(|_| {
        ApiError::fault("session", format!("`{text}` is not a session"), "send what `claim` gave")
    })?;
    if caller.has_scope() {
        caller.covers_session(&queues(app, session).await?)?;
    }
    Ok(session)
}

/// What a session serves never changes, so it is looked up once.
async fn queues(app: &App, session: SessionId) -> Result<Arc<[Name]>, ApiError> {
    if let Some(known) = app.seats.queues(session) {
        return Ok(known);
    }
    let row = app.read(move |browse| browse.session(session)).await?.ok_or(EngineError::NoSession)?;
    let queues = row.offer.queues.into();
    app.seats.note_queues(session, &queues);
    Ok(queues)
}

pub async fn claim(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(body): Posted<ClaimBody>,
) -> Result<Json<ClaimedPage>, ApiError> {
    let engine = &app.site.engine;
    let seat = match &body.session {
        Some(text) => {
            let session = session(&app, &caller, text).await?;
            app.seats.find(engine, session, body.received).await?
        }
        None => app.seats.join(engine, offer(&app, &caller, &body)?).await?,
    };
    let mut lost = Vec::new();
    if let Some(named) = &body.held {
        lost = beat(&app, seat.session, body.received, held(named)?, Vec::new()).await?;
    }
    let wait = Duration::from_millis(body.wait_ms.unwrap_or(0)).min(WAIT_MAX);
    let given = match seat.next(body.received, wait).await {
        Some(given) => given,
        None => {
            // Whoever comes back is told whether the session is over or the engine stops, or has a seat again.
            app.seats.give_up(&seat);
            app.seats.find(engine, seat.session, body.received).await?;
            Given { number: body.received, claims: Vec::new() }
        }
    };
    let claims = given.claims.into_iter().map(convert::claim_view).collect();
    let session = seat.session.to_string();
    Ok(Json(ClaimedPage { session, number: given.number, lease_ms: lease_ms(), claims, lost }))
}

fn offer(app: &App, caller: &Caller, body: &ClaimBody) -> Result<SessionOffer, ApiError> {
    let bounded = |field: &str, names: &[String]| {
        let long = names.iter().find(|name| name.is_empty() || name.len() > limits::NAME_BYTES_MAX);
        match long {
            _ if names.len() > limits::SESSION_NAMES_MAX => {
                let max = limits::SESSION_NAMES_MAX;
                Err(ApiError::fault(
                    field,
                    format!("has {} names", names.len()),
                    format!("send at most {max}"),
                ))
            }
            Some(name) => {
                let problem = format!("a name has {} bytes", name.len());
                Err(ApiError::fault(field, problem, format!("send 1 to {}", limits::NAME_BYTES_MAX)))
            }
            None => Ok(()),
        }
    };
    if body.actions.is_empty() {
        let fix = "name the actions this worker runs";
        return Err(ApiError::fault("actions", "is empty", fix));
    }
    bounded("actions", &body.actions)?;
    bounded("queues", &body.queues)?;
    bounded("host", body.host.as_slice())?;
    let names = |names: &[String]| names.iter().map(|name| name.as_str().into()).collect();
    let scope = caller.key().map(|key| key.scope.clone()).filter(|scope| !scope.is_empty());
    let queues = match body.queues.is_empty() {
        true => scope.unwrap_or_else(|| app.site.engine.queues().to_vec()),
        false => names(&body.queues),
    };
    caller.covers_queues(queues.iter().map(|queue| &**queue))?;
    Ok(SessionOffer {
        host: body.host.as_deref().unwrap_or("worker").into(),
        queues,
        actions: names(&body.actions),
        capacity: body.capacity.unwrap_or(1).clamp(1, limits::SESSION_CAPACITY_MAX),
        remote: true,
    })
}

async fn beat(
    app: &App,
    session: SessionId,
    received: u64,
    held: Vec<(StepId, u32)>,
    progress: Vec<Told>,
) -> Result<Vec<Held>, ApiError> {
    app.site.engine.note_progress(session, &held, progress);
    let answer = app.site.engine.heartbeat(session, received, held).await;
    if let Err(EngineError::NoSession) = answer {
        app.seats.leave(session);
    }
    Ok(held_views(answer?))
}

pub async fn heartbeat(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(body): Posted<HeartbeatBody>,
) -> Result<Json<HeartbeatView>, ApiError> {
    let session = session(&app, &caller, &body.session).await?;
    let seat = app.seats.find(&app.site.engine, session, body.received).await?;
    let (held, progress) = (held(&body.held)?, convert::progress(body.progress)?);
    let lost = beat(&app, seat.session, body.received, held, progress).await?;
    Ok(Json(HeartbeatView { lease_ms: lease_ms(), lost }))
}

pub async fn report(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(body): Posted<ReportBody>,
) -> Result<Json<ReportedView>, ApiError> {
    let session = session(&app, &caller, &body.session).await?;
    if body.reports.len() > REPORTS_MAX {
        let problem = format!("has {} items", body.reports.len());
        return Err(ApiError::fault("reports", problem, format!("send at most {REPORTS_MAX} at once")));
    }
    let now = app.now();
    let read: Vec<Result<Report, String>> = body
        .reports
        .iter()
        .map(|item| may(&caller, &app, convert::report(item.get(), session, now)?))
        .collect();
    let read = within(&app, &caller, read).await?;
    let good: Vec<Report> = read.iter().filter_map(|item| item.as_ref().ok().cloned()).collect();
    let mut applied = match good.is_empty() {
        true => Vec::new(),
        false => app.site.engine.report(good).await?,
    }
    .into_iter();
    let answers = read.into_iter().map(|item| match item {
        Err(told) => told,
        Ok(_) => match applied.next() {
            Some(ReportAnswer::Applied) => ReportAnswerView { answer: "applied".into(), detail: None },
            _ => late(),
        },
    });
    Ok(Json(ReportedView { answers: answers.collect() }))
}

fn late() -> ReportAnswerView {
    let detail = "this run had lost its step; it is on record and changes nothing";
    ReportAnswerView { answer: "late".into(), detail: Some(detail.into()) }
}

/// What a key with a scope reports of steps of other queues is not even put on record; it is told what is told of a step that does
/// not exist.
async fn within(
    app: &App,
    caller: &Caller,
    read: Vec<Result<Report, String>>,
) -> Result<Vec<Result<Report, ReportAnswerView>>, ApiError> {
    let refused = |problem| ReportAnswerView { answer: "refused".into(), detail: Some(problem) };
    let read = read.into_iter().map(move |item| item.map_err(refused));
    let Some(scope) = caller.scope(app) else { return Ok(read.collect()) };
    let read: Vec<Result<Report, ReportAnswerView>> = read.collect();
    let look = move |browse: &Browse| {
        let look = |item: Result<Report, ReportAnswerView>| {
            let Ok(report) = item else { return Ok(item) };
            Ok(match scope.reported(browse, &report)? {
                Reported::Ours => Ok(report),
                Reported::Elsewhere => Err(late()),
                Reported::Refused(problem) => Err(refused(problem)),
            })
        };
        read.into_iter().map(look).collect()
    };
    app.read(look).await
}

/// Children are steps that somebody makes.
fn may(caller: &Caller, app: &App, report: Report) -> Result<Report, String> {
    if let Outcome::Children { children, .. } = &report.outcome {
        caller.covers_steps(children, app.site.engine.queues()).map_err(|refused| refused.to_string())?;
    }
    Ok(report)
}

pub async fn leave(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(body): Posted<LeaveBody>,
) -> Result<Json<HeartbeatView>, ApiError> {
    let session = session(&app, &caller, &body.session).await?;
    if body.give_back {
        // One that has not come back since the server was started does so to leave.
        app.seats.find(&app.site.engine, session, u64::MAX).await?;
        app.site.engine.end_session(session).await?;
        app.seats.leave(session);
    } else {
        app.site.engine.pause_session(session).await?;
    }
    Ok(Json(HeartbeatView { lease_ms: lease_ms(), lost: Vec::new() }))
}

/// For a step that the session holds, and for nobody else.
pub async fn previous(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(body): Posted<PreviousBody>,
) -> Result<Json<PreviousView>, ApiError> {
    let (session, attempt) = (session(&app, &caller, &body.session).await?, body.attempt);
    let step = convert::step(&body.step, "step")?;
    let found = app.read(move |browse| {
        let row = browse.step(step)?.map(|row| row.step);
        let is_held = row.is_some_and(|s| s.is_held() && s.session == Some(session) && s.attempt == attempt);
        if is_held { browse.previous(step).map(Some) } else { Ok(None) }
    });
    let not_held =
        || ApiError::Conflict(format!("the session does not hold attempt {attempt} of step {step}"));
    let answers = found.await?.ok_or_else(not_held)?.ok_or_else(|| EngineError::too_much_before(step))?;
    Ok(Json(convert::previous_view(&answers)))
}
