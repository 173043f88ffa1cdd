//! What is decided about workflows that failed, as it is sent and as the API shows it.

use super::{instant, maybe};
use model::definition::OnCancel;
use model::{CompensationRun, CompensationScope, Decision, Fault, ResolutionDecision, RetryItems, RetryMode};

pub fn resolution_view(decision: &ResolutionDecision) -> wire::ResolutionView {
    let step = match &decision.decision {
        Decision::RetryFromStep { step, .. } => Some(step.clone()),
        _ => None,
    };
    wire::ResolutionView {
        decision: decision.decision.word().into(),
        step,
        by: decision.by.clone(),
        why: decision.why.clone(),
        at: instant(decision.at),
    }
}

pub fn compensation_view(run: &CompensationRun) -> wire::CompensationView {
    wire::CompensationView {
        compensation: run.compensation,
        step_key: run.step_key.clone(),
        action: run.action.clone(),
        state: run.state.to_string(),
        undoes: run.undoes.to_string(),
        step_id: run.step.map(|step| step.to_string()),
        items_done: run.items_done,
        items_skipped: run.items_skipped,
        started_at: maybe(run.started_at),
        finished_at: maybe(run.finished_at),
        error: run.failure_message.clone(),
    }
}

/// A decision as it is sent, or what is wrong with it.
pub fn decision(body: &wire::ResolveBody) -> Result<Decision, Fault> {
    let fault =
        |field: &str, problem: String, fix: &str| Fault { field: field.into(), problem, fix: fix.into() };
    let step = || {
        let fix = "write the key of a step";
        body.step.clone().ok_or_else(|| fault("step", "it is not said which one".into(), fix))
    };
    Ok(match body.decision.as_str() {
        "retry" => Decision::Retry { items: items(body)? },
        "retry_from_step" => Decision::RetryFromStep {
            step: step()?,
            mode: match body.mode.as_deref() {
                None | Some("retry_only") => RetryMode::RetryOnly,
                Some("compensate_then_retry") => RetryMode::CompensateThenRetry,
                Some(other) => {
                    let fix = "write retry_only or compensate_then_retry";
                    return Err(fault("mode", format!("`{other}` is none"), fix));
                }
            },
            include_step: body.include_step,
            force: body.force,
            items: items(body)?,
        },
        "compensate" => Decision::Compensate {
            scope: match (&body.step, body.steps.as_slice()) {
                (Some(_), [_, ..]) => {
                    return Err(fault(
                        "steps",
                        "`step` and `steps` are both there".into(),
                        "write one of them",
                    ));
                }
                (Some(step), []) => CompensationScope::FromStep(step.clone()),
                (None, []) => CompensationScope::Full,
                (None, steps) => CompensationScope::Partial(steps.to_vec()),
            },
        },
        "cancel" => Decision::Cancel {
            on_cancel: match body.on_cancel.as_deref() {
                None => None,
                Some("compensate") => Some(OnCancel::Compensate),
                Some("no_compensate") => Some(OnCancel::Leave),
                Some(other) => {
                    let fix = "write compensate or no_compensate";
                    return Err(fault("on_cancel", format!("`{other}` is none"), fix));
                }
            },
        },
        "mark_resolved" => Decision::MarkResolved,
        "retry_compensation" => Decision::RetryCompensation,
        "skip_compensation" => Decision::SkipCompensation { all: body.all },
        other => {
            let fix = "write retry, retry_from_step, compensate, cancel, mark_resolved, retry_compensation or skip_compensation";
            return Err(fault("decision", format!("`{other}` is none"), fix));
        }
    })
}

fn items(body: &wire::ResolveBody) -> Result<Option<RetryItems>, Fault> {
    let Some(word) = &body.items else { return Ok(None) };
    let known = word.parse().map(Some);
    let fix = "write failed or all".to_string();
    known.map_err(|_| Fault { field: "items".into(), problem: format!("`{word}` is none"), fix })
}

/// A decision as it is sent.
pub fn resolve_body(decision: &Decision) -> wire::ResolveBody {
    let mut body = wire::ResolveBody { decision: decision.word().into(), ..wire::ResolveBody::default() };
    match decision {
        Decision::RetryFromStep { step, mode, include_step, force, items } => {
            body.step = Some(step.clone());
            body.items = items.map(|items| items.to_string());
            let undoes = *mode == RetryMode::CompensateThenRetry;
            body.mode = undoes.then(|| "compensate_then_retry".into());
            (body.include_step, body.force) = (*include_step, *force);
        }
        Decision::Compensate { scope } => match scope {
            CompensationScope::Full => {}
            CompensationScope::Partial(steps) => body.steps = steps.clone(),
            CompensationScope::FromStep(step) | CompensationScope::AfterStep(step) => {
                body.step = Some(step.clone())
            }
        },
        Decision::Cancel { on_cancel: Some(OnCancel::Compensate) } => {
            body.on_cancel = Some("compensate".into())
        }
        Decision::Cancel { on_cancel: Some(OnCancel::Leave) } => {
            body.on_cancel = Some("no_compensate".into())
        }
        Decision::SkipCompensation { all } => body.all = *all,
        Decision::Retry { items } => body.items = items.map(|items| items.to_string()),
        Decision::Cancel { on_cancel: None } | Decision::MarkResolved | Decision::RetryCompensation => {}
    }
    body
}
