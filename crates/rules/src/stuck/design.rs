//! What waits by design, and so is not stuck however long it waits.
//!
//! Why    `why` knows what holds every live step. Some of these reasons are how the work is meant to go, some are nobody's intention;
//!        this is the one place that tells them apart.

use crate::why::Why;
use model::{Breaker, GroupStatus, Pause, PauseState, PausedBy, Timestamp, Workflow, WorkflowState};
use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub enum ByDesign {
    Throttled {
        until: Timestamp,
    },
    DueLater {
        at: Timestamp,
    },
    NextPoll {
        at: Timestamp,
    },
    /// A trigger is awaited, and its time is not over.
    Trigger {
        awaits: String,
    },
    /// Another step, its children or another workflow comes first.
    Before {
        what: String,
    },
    /// What it waits for has an open alert of its own.
    BehindAlert,
    BreakerOff,
    /// A person holds it back.
    HeldByPerson {
        by: Option<String>,
    },
    /// A pool lets the next one start later.
    Pool {
        pool: String,
    },
    /// Workers that could take it are there, and busy.
    Busy {
        sessions: usize,
    },
    /// It is tried again by itself then.
    RetryLater {
        at: Timestamp,
    },
    /// It is being undone.
    Compensating,
    /// It was done again, and what took its place has not ended.
    Replaced,
    /// A remedy was tried, and it is in the same state since; whether it moves from there is to be seen.
    TriedAgain,
    /// It has an end of its own.
    EndsAt {
        at: Timestamp,
    },
}

impl fmt::Display for ByDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ByDesign::Throttled { .. } => write!(f, "it was throttled and is due later"),
            ByDesign::DueLater { .. } => write!(f, "it is due later"),
            ByDesign::NextPoll { .. } => write!(f, "it waits for its next poll"),
            ByDesign::Trigger { awaits } => write!(f, "it waits for {awaits}"),
            ByDesign::Before { what } => write!(f, "{what}"),
            ByDesign::BehindAlert => write!(f, "what it waits for has an open alert"),
            ByDesign::BreakerOff => write!(f, "the breaker is off"),
            ByDesign::HeldByPerson { by: Some(by) } => write!(f, "{by} holds it back"),
            ByDesign::HeldByPerson { by: None } => write!(f, "a person holds it back"),
            ByDesign::Pool { pool } => write!(f, "its pool `{pool}` lets it start later"),
            ByDesign::Busy { sessions: 1 } => write!(f, "the session that could take it is busy"),
            ByDesign::Busy { sessions } => write!(f, "all {sessions} sessions that could take it are busy"),
            ByDesign::RetryLater { .. } => write!(f, "it is tried again by itself later"),
            ByDesign::Compensating => write!(f, "what it did is being undone"),
            ByDesign::Replaced => write!(f, "what took its place has not ended, or not for long"),
            ByDesign::TriedAgain => write!(f, "it was tried again, and is in this state for a short while"),
            ByDesign::EndsAt { .. } => write!(f, "it ends by itself later"),
        }
    }
}

/// Of a live step, from what holds it: the first reason that is meant to be. Without one it is stuck, if it is old.
pub fn of_step(reasons: &[Why]) -> Option<ByDesign> {
    reasons.iter().find_map(|why| {
        Some(match why {
            Why::DueLater { at, throttled: true } => ByDesign::Throttled { until: *at },
            Why::DueLater { at, .. } => ByDesign::DueLater { at: *at },
            Why::PollLater { at, .. } => ByDesign::NextPoll { at: *at },
            Why::Dormant
            | Why::Predecessor { .. }
            | Why::Parent { .. }
            | Why::Children { .. }
            | Why::Items { .. }
            | Why::Below { .. }
            | Why::WorkflowHeld { .. }
            | Why::Closing
            | Why::InLine { .. } => ByDesign::Before { what: why.to_string() },
            Why::GroupBlocked { .. } => ByDesign::BehindAlert,
            Why::GroupPaused { by, .. } => ByDesign::HeldByPerson { by: by.clone() },
            Why::Breaker { .. } => ByDesign::BreakerOff,
            Why::PoolFull { pool, .. } | Why::PoolRate { pool, .. } => ByDesign::Pool { pool: pool.clone() },
            Why::Busy { sessions } => ByDesign::Busy { sessions: *sessions },
            Why::NoWorker { .. }
            | Why::NoPool { .. }
            | Why::Queued { .. }
            | Why::Held { .. }
            | Why::NoOwner { .. }
            | Why::Next { .. } => return None,
        })
    })
}

/// Of a workflow, from its row and what holds each of its live steps; `told` says that one of them has an open alert.
pub fn of_workflow(
    workflow: &Workflow,
    live: &[Option<ByDesign>],
    told: bool,
    now: Timestamp,
) -> Option<ByDesign> {
    let retry_at = workflow.aftermath.as_ref().and_then(|after| after.auto_retry_at);
    match workflow.state {
        WorkflowState::Failed => retry_at.filter(|at| *at > now).map(|at| ByDesign::RetryLater { at }),
        WorkflowState::Paused => match workflow.paused_by {
            Some(PausedBy::Person) => Some(ByDesign::HeldByPerson { by: None }),
            Some(PausedBy::Trigger) => Some(ByDesign::Trigger { awaits: "a trigger or a date".into() }),
            Some(PausedBy::Failure) | None => None,
        },
        _ if told => Some(ByDesign::BehindAlert),
        // It goes on when the first of what it waits for does; one that nobody means to wait is enough to be stuck.
        _ if !live.is_empty() && live.iter().all(Option::is_some) => live.iter().flatten().next().cloned(),
        WorkflowState::Pending if workflow.concurrency_key.is_some() => {
            Some(ByDesign::Before { what: "workflows with the same key come first".into() })
        }
        _ => workflow.wake_at.filter(|at| live.is_empty() && *at > now).map(|at| ByDesign::DueLater { at }),
    }
}

/// Of a pause: it is meant to wait until its time is over, if it has one.
pub fn of_pause(pause: &Pause, workflow: &Workflow, now: Timestamp) -> Option<ByDesign> {
    if pause.state != PauseState::Waiting {
        return None;
    }
    if workflow.state == WorkflowState::Compensating {
        return Some(ByDesign::Compensating);
    }
    if workflow.state == WorkflowState::Paused && workflow.paused_by == Some(PausedBy::Person) {
        return Some(ByDesign::HeldByPerson { by: None });
    }
    pause.wake_at().filter(|at| *at > now).map(|_| ByDesign::Trigger { awaits: pause.awaits() })
}

/// Of a breaker that is off: one that turns itself on again is not forgotten.
pub fn of_breaker(breaker: &Breaker, now: Timestamp) -> Option<ByDesign> {
    breaker.until.filter(|until| *until > now).map(|at| ByDesign::EndsAt { at })
}

/// Of a dispatch group: while a node has it, it is in good hands.
pub fn of_dispatch_group(group: &GroupStatus, now: Timestamp) -> Option<ByDesign> {
    let held = group.owner.is_some() && group.lease_ends_at.is_some_and(|at| at > now);
    held.then(|| ByDesign::Before { what: "a node decides for it".into() })
}
