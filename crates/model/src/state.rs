//! The twelve states of a step, the events that move it, and why a step did not simply complete.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A word that is not in one of the closed lists below.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{word}` is not a {what}; expected one of {expected}")]
pub struct UnknownWord {
    pub what: &'static str,
    pub word: String,
    pub expected: String,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
            /// In a sentence, behind what is in it.
            pub fn said(self) -> String {
                $crate::state::said(self.word())
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }
        impl FromStr for $name {
            type Err = UnknownWord;
            fn from_str(s: &str) -> Result<Self, UnknownWord> {
                match s {
                    $($word => Ok($name::$variant),)+
                    _ => Err(UnknownWord { what: $what, word: s.into(), expected: [$($word),+].join(", ") }),
                }
            }
        }
    };
}
pub(crate) use words;

/// The word of a state in a sentence, behind what is in it: `is running`, `failed`, `was cancelled`.
pub fn said(word: &str) -> String {
    match word {
        "failed" | "succeeded" => word.into(),
        "timed_out" => "timed out".into(),
        "compensation_failed" => "could not be undone".into(),
        "cancelled" | "skipped" | "stopped" | "superseded" | "compensated" | "resumed" => {
            format!("was {word}")
        }
        _ => format!("is {}", word.replace('_', " ")),
    }
}

words!(
    /// Where a step is.
    State, "step state" {
        /// A resolver that sleeps until a step of its block fails.
        NotRunnable = "not_runnable",
        Pending = "pending",
        Dispatched = "dispatched",
        Running = "running",
        Polling = "polling",
        Completed = "completed",
        Skipped = "skipped",
        Cancelled = "cancelled",
        Failed = "failed",
        Stopped = "stopped",
        TimedOut = "timed_out",
        Superseded = "superseded",
    }
);

impl State {
    pub fn is_concluded(self) -> bool {
        matches!(self, State::Completed | State::Skipped)
    }
    pub fn is_failed(self) -> bool {
        matches!(self, State::Failed | State::Stopped | State::TimedOut)
    }
    pub fn is_terminal(self) -> bool {
        self.is_concluded() || self.is_failed() || matches!(self, State::Cancelled | State::Superseded)
    }
    pub fn is_hot(self) -> bool {
        matches!(self, State::Pending | State::Dispatched | State::Running | State::Polling)
    }
    /// In a worker's hands, or on the way there.
    pub fn is_in_flight(self) -> bool {
        matches!(self, State::Dispatched | State::Running)
    }
}

words!(
    /// What happened to a step. Past tense: an event is a fact, the machine says what follows.
    Event, "step event" {
        Dispatched = "dispatched",
        Started = "started",
        /// It begins without a worker: it waits for time, for its items or for a workflow, or is decided at once.
        Entered = "entered",
        Completed = "completed",
        Resolved = "resolved",
        Failed = "failed",
        Stopped = "stopped",
        Skipped = "skipped",
        TimedOut = "timed_out",
        Retried = "retried",
        Throttled = "throttled",
        PollStarted = "poll_started",
        LeaseLost = "lease_lost",
        LostTooOften = "lost_too_often",
        GivenBack = "given_back",
        Exhausted = "exhausted",
        Promoted = "promoted",
        ParentSkipped = "parent_skipped",
        ParentCancelled = "parent_cancelled",
        ParentFailed = "parent_failed",
        PredecessorFailed = "predecessor_failed",
        ChildrenCompleted = "children_completed",
        ChildrenCancelled = "children_cancelled",
        ChildrenFailed = "children_failed",
        Expired = "expired",
        ForcedComplete = "forced_complete",
        ForcedFail = "forced_fail",
        ForcedStop = "forced_stop",
        ForcedSkip = "forced_skip",
        ForcedCancel = "forced_cancel",
        Superseded = "superseded",
    }
);

words!(
    /// Why a step is where it is, on every row that did not simply complete.
    Reason, "reason" {
        ParentFailed = "parent_failed",
        ParentSkipped = "parent_skipped",
        ParentCancelled = "parent_cancelled",
        PredecessorFailed = "predecessor_failed",
        ChildrenFailed = "children_failed",
        ChildrenCancelled = "children_cancelled",
        JobFailed = "job_failed",
        JobStopped = "job_stopped",
        JobSkipped = "job_skipped",
        Ended = "ended",
        Resolved = "resolved",
        Retrying = "retrying",
        Throttled = "throttled",
        MaxAttempts = "max_attempts",
        LeaseLost = "lease_lost",
        LostTooOften = "lost_too_often",
        GivenBack = "given_back",
        TimedOut = "timed_out",
        Expired = "expired",
        Promoted = "promoted",
        Operator = "operator",
        Retried = "retried",
        ConditionFalse = "condition_false",
        NotOnActiveBranch = "not_on_active_branch",
        TerminatedEarly = "terminated_early",
        WorkflowCancelled = "workflow_cancelled",
        /// Nothing of its workflow starts now.
        WorkflowHeld = "workflow_held",
        /// What its workflow did is undone.
        WorkflowCompensating = "workflow_compensating",
        /// A poll said that what is waited for will never come.
        PollAborted = "poll_aborted",
        /// Nothing came of its polls in time.
        PollTimedOut = "poll_timed_out",
    }
);

/// A move that the machine does not have.
#[derive(Debug, Error, PartialEq, Eq, Clone, Copy)]
#[error("a {from} step has no move for `{event}`")]
pub struct IllegalMove {
    pub from: State,
    pub event: Event,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_said_as_people_say_it() {
        let said: Vec<String> = State::ALL.iter().map(|state| state.said()).collect();
        assert_eq!(
            said.join(", "),
            "is not runnable, is pending, is dispatched, is running, is polling, is completed, was skipped, \
             was cancelled, failed, was stopped, timed out, was superseded"
        );
    }
}
