//! What becomes of a workflow that failed: what its strategy says, and whether what a person decides is possible.
//!
//! Why    retries of steps come first, the workflow's strategy after them, a person last. Whatever cannot be done is refused with the
//!        reason, and what is done is told before it happens: a dry run and the real one ask the same function.

use super::plan::Plan;
use super::progress::Progress;
use crate::backoff;
use model::definition::{Fallback, OnCancel, OnTimeout, Resolution, Strategy};
use model::{
    Backoff, CompensationScope, Decision, RetryMode, RetrySource, StepId, Timestamp, WorkflowState as W,
};
use std::collections::BTreeSet;
use std::time::Duration;

const MAX_RETRIES: u32 = 3;
const BACKOFF: Backoff =
    Backoff { delay: Duration::from_secs(60), factor: 2.0, max_delay: Duration::from_secs(3_600) };

/// What follows a failure by itself.
#[derive(Clone, PartialEq, Debug)]
pub enum Follow {
    Await,
    RetryAt(Timestamp),
    Compensate(CompensationScope),
    /// Nobody is asked.
    End,
}

/// What the strategy says when a step has failed after `retries` retries of the whole; and whether those are used up.
pub fn on_failure(resolution: &Resolution, retries: u32, step: StepId, now: Timestamp) -> (Follow, bool) {
    match resolution.strategy {
        Strategy::AwaitDecision => (Follow::Await, false),
        Strategy::AutoCompensate => (undo_all(resolution), false),
        Strategy::AutoRetry if retries < resolution.max_retries.unwrap_or(MAX_RETRIES) => {
            let policy = Backoff {
                delay: resolution.delay.unwrap_or(BACKOFF.delay),
                factor: resolution.backoff.unwrap_or(BACKOFF.factor),
                max_delay: resolution.max_delay.unwrap_or(BACKOFF.max_delay),
            };
            (Follow::RetryAt(now + backoff::delay(&policy, step, retries + 1)), false)
        }
        Strategy::AutoRetry => match resolution.fallback.unwrap_or_default() {
            Fallback::AwaitDecision => (Follow::Await, true),
            Fallback::AutoCompensate => (undo_all(resolution), true),
        },
    }
}

fn undo_all(resolution: &Resolution) -> Follow {
    let all = CompensationScope::Full;
    Follow::Compensate(resolution.scope.clone().map_or(all, CompensationScope::Partial))
}

/// A failure that a definition asked for, or one of time: nothing would be better the next time.
pub fn on_end(resolution: &Resolution) -> Follow {
    match resolution.strategy {
        Strategy::AutoCompensate => undo_all(resolution),
        Strategy::AwaitDecision | Strategy::AutoRetry => Follow::Await,
    }
}

/// What follows when the time of the whole is over, and whether nobody is asked.
pub fn on_timeout(policy: OnTimeout) -> (Follow, bool) {
    match policy {
        OnTimeout::Compensate => (Follow::Compensate(CompensationScope::Full), false),
        OnTimeout::Fail => (Follow::End, true),
        OnTimeout::AwaitDecision => (Follow::Await, false),
    }
}

/// What is known of a workflow when something is decided about it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub plan: &'a Plan,
    pub state: W,
    /// It failed, and nobody is asked any more.
    pub is_resolved: bool,
    pub progress: &'a Progress,
    /// Steps that ended badly, and those that were cut off when the whole ended.
    pub broken: &'a BTreeSet<u32>,
    pub cut: &'a BTreeSet<u32>,
}

/// What is to be done.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// These are done again.
    Restart {
        again: BTreeSet<u32>,
        source: RetrySource,
    },
    Undo {
        scope: CompensationScope,
        then_retry_from: Option<String>,
    },
    Cancel,
    Resolve,
    RetryUndo,
    SkipUndo {
        all: bool,
    },
}

/// Why not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused(pub String);

type Judged = Result<Verdict, Refused>;

fn refuse(why: impl Into<String>) -> Judged {
    Err(Refused(why.into()))
}

/// What a decision means for a workflow as it is.
pub fn judge(view: &View, decision: &Decision) -> Judged {
    if view.is_resolved {
        return refuse("it was marked as resolved: nothing more is decided about it");
    }
    match decision {
        Decision::Retry { .. } => retry(view),
        Decision::RetryFromStep { step, mode, include_step, force, .. } => {
            let again = retry_from(view, step, *force)?;
            Ok(match (mode, include_step) {
                (RetryMode::RetryOnly, _) => Verdict::Restart { again, source: RetrySource::RetryFromStep },
                (RetryMode::CompensateThenRetry, false) => undo_then(CompensationScope::AfterStep, step),
                (RetryMode::CompensateThenRetry, true) => undo_then(CompensationScope::FromStep, step),
            })
        }
        Decision::Compensate { scope } => compensate(view, scope),
        Decision::Cancel { on_cancel } => cancel(view, on_cancel.unwrap_or(view.plan.definition.on_cancel())),
        Decision::MarkResolved if view.state == W::Failed => Ok(Verdict::Resolve),
        Decision::MarkResolved => {
            refuse(format!("it {}; only what failed can be resolved", view.state.said()))
        }
        Decision::RetryCompensation | Decision::SkipCompensation { .. }
            if view.state != W::CompensationFailed =>
        {
            refuse(format!("it {}; nothing of it could not be undone", view.state.said()))
        }
        Decision::RetryCompensation => Ok(Verdict::RetryUndo),
        Decision::SkipCompensation { all } => Ok(Verdict::SkipUndo { all: *all }),
    }
}

fn undo_then(scope: impl Fn(String) -> CompensationScope, step: &str) -> Verdict {
    Verdict::Undo { scope: scope(step.into()), then_retry_from: Some(step.into()) }
}

fn retry(view: &View) -> Judged {
    if view.state != W::Failed {
        return refuse(format!("it {}; only what failed can be retried", view.state.said()));
    }
    if view.broken.is_empty() && view.progress.is_over() {
        return refuse("none of its steps failed; name the step to retry from");
    }
    let again = view.broken.union(view.cut).copied().collect();
    Ok(Verdict::Restart { again, source: RetrySource::FailedRetry })
}

fn find(view: &View, step: &str) -> Result<u32, Refused> {
    view.plan.find(step).ok_or_else(|| {
        let keys: Vec<&str> =
            view.plan.definition.steps.iter().take(20).map(|step| step.key.as_str()).collect();
        Refused(format!("there is no step `{step}`; there are {}", keys.join(", ")))
    })
}

/// The step, everything behind it, and whatever else holds the workflow up.
fn retry_from(view: &View, step: &str, force: bool) -> Result<BTreeSet<u32>, Refused> {
    match view.state {
        W::Failed | W::Paused => {}
        W::Succeeded if force => {}
        W::Succeeded => {
            return Err(Refused("it succeeded; say so if it is to be done again all the same".into()));
        }
        state => {
            let said = state.said();
            return Err(Refused(format!("it {said}; it is done again when it has failed or is paused")));
        }
    }
    let n = find(view, step)?;
    if view.progress.is_ahead(n) && !view.cut.contains(&n) {
        return Err(Refused(format!("step `{step}` has not been done yet")));
    }
    let mut again = view.plan.graph.behind(n);
    again.insert(n);
    again.extend(view.broken.iter().chain(view.cut).copied());
    Ok(again)
}

fn compensate(view: &View, scope: &CompensationScope) -> Judged {
    if !matches!(view.state, W::Failed | W::Paused | W::Running) {
        return refuse(format!("it {}, so nothing of it is undone", view.state.said()));
    }
    let keys: Vec<&String> = match scope {
        CompensationScope::Full => Vec::new(),
        CompensationScope::Partial(steps) if steps.is_empty() => return refuse("no step was named"),
        CompensationScope::Partial(steps) => steps.iter().collect(),
        CompensationScope::FromStep(step) | CompensationScope::AfterStep(step) => {
            find(view, step)?;
            Vec::new()
        }
    };
    for key in keys {
        let n = find(view, key)?;
        if view.plan.def(n).compensation.is_none() {
            return refuse(format!("step `{key}` says nothing of how it is undone"));
        }
    }
    if view.plan.definition.steps.iter().all(|step| step.compensation.is_none()) {
        return refuse("none of its steps says how it is undone; write `compensation` in the definition");
    }
    Ok(Verdict::Undo { scope: scope.clone(), then_retry_from: None })
}

fn cancel(view: &View, on_cancel: OnCancel) -> Judged {
    match view.state {
        W::Pending => Ok(Verdict::Cancel),
        W::Running | W::Paused | W::Failed => Ok(match on_cancel {
            OnCancel::Leave => Verdict::Cancel,
            OnCancel::Compensate => Verdict::Undo { scope: CompensationScope::Full, then_retry_from: None },
        }),
        state => refuse(format!("it {}, so it cannot be cancelled", state.said())),
    }
}

impl Verdict {
    /// Where it leads.
    pub fn leads_to(&self) -> W {
        match self {
            Verdict::Restart { .. } => W::Running,
            Verdict::Undo { .. } | Verdict::RetryUndo | Verdict::SkipUndo { all: false } => W::Compensating,
            Verdict::SkipUndo { all: true } => W::Compensated,
            Verdict::Cancel => W::Cancelled,
            Verdict::Resolve => W::Failed,
        }
    }
    /// What it would do, in words.
    pub fn tell(&self, view: &View) -> Vec<String> {
        let plan = view.plan;
        let key = |n: &u32| format!("`{}`", plan.def(*n).key);
        match self {
            Verdict::Restart { again, source } => {
                let (done, ahead): (Vec<u32>, Vec<u32>) =
                    again.iter().copied().partition(|n| !view.progress.is_ahead(*n));
                let mut told: Vec<String> = done
                    .iter()
                    .map(|n| format!("step {} is done again; its last run is kept as superseded", key(n)))
                    .collect();
                told.extend(ahead.iter().map(|n| format!("step {} is done when its turn comes", key(n))));
                let undoable = |n: &&u32| plan.def(**n).compensation.is_some();
                if *source == RetrySource::RetryFromStep {
                    let warn =
                        |n: &u32| format!("step {} may have been done and is not undone before", key(n));
                    told.extend(done.iter().filter(undoable).map(warn));
                }
                told
            }
            Verdict::Undo { then_retry_from: Some(step), .. } => {
                vec![format!("then it is done again from step `{step}`")]
            }
            Verdict::Undo { .. } => vec!["then it is over".into()],
            Verdict::Cancel => vec!["it is over; what was done stays done".into()],
            Verdict::Resolve => vec!["it stays failed, and nobody is asked any more".into()],
            Verdict::RetryUndo => vec!["what could not be undone is tried again".into()],
            Verdict::SkipUndo { all: false } => vec!["it is left as it is, and the rest is undone".into()],
            Verdict::SkipUndo { all: true } => vec!["all that is not undone is left as it is".into()],
        }
    }
}

#[cfg(test)]
mod tests;
