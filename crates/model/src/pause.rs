//! A pause: those behind a step of a workflow wait for a trigger or for a date. And what was sent to triggers.

use crate::state::words;
use crate::{Name, StepId, Timestamp, UnknownWord, WorkflowId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words!(
    /// Where a pause is.
    PauseState, "pause state" {
        Waiting = "waiting",
        Resumed = "resumed",
        TimedOut = "timed_out",
        /// Its workflow ended without it.
        Cancelled = "cancelled",
    }
);

words!(
    /// What became of something that was sent to a trigger.
    Verdict, "verdict" {
        /// A pause went on with it.
        Accepted = "accepted",
        /// It is not what the pause waits for.
        Rejected = "rejected",
        /// The pause has not begun yet; it is looked at when it does.
        Early = "early",
        /// The pause was over.
        Late = "late",
        /// The same was sent before, or the pause had gone on already.
        Duplicate = "duplicate",
    }
);

words!(
    /// Why a workflow is paused.
    PausedBy, "reason of a pause" {
        Person = "person",
        /// A step failed, and its definition says that somebody looks first.
        Failure = "failure",
        /// Everything of it waits for triggers or dates.
        Trigger = "trigger",
    }
);

/// The SHA-256 of a token; printed by nothing.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenHash(pub [u8; 32]);

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

/// One wait behind one run of a step.
#[derive(Clone, PartialEq, Debug)]
pub struct Pause {
    pub workflow: WorkflowId,
    /// The number of its step in the definition.
    pub def: u32,
    /// The run of the step that it stands behind.
    pub run: u32,
    pub step: StepId,
    pub step_key: Name,
    /// What it listens to; one that waits for a date listens to no one.
    pub trigger: Option<Name>,
    pub token: Option<TokenHash>,
    pub registered_at: Timestamp,
    pub timeout_at: Option<Timestamp>,
    pub resume_at: Option<Timestamp>,
    /// How often its time was over and it was given more.
    pub reminders: u32,
    pub state: PauseState,
    pub ended_at: Option<Timestamp>,
    /// The number of what it went on with.
    pub consumed: Option<u64>,
    /// How often the row was written; every write names the one it saw.
    pub version: u64,
}

impl Pause {
    /// When it is looked at although nobody comes.
    pub fn wake_at(&self) -> Option<Timestamp> {
        [self.timeout_at, self.resume_at].into_iter().flatten().min()
    }
    /// What it waits for, in words.
    pub fn awaits(&self) -> String {
        match &self.trigger {
            Some(trigger) => format!("the trigger `{trigger}`"),
            None => format!("the time behind `{}`", self.step_key),
        }
    }
}

/// Something that was sent to a trigger of a workflow.
#[derive(Clone, PartialEq, Debug)]
pub struct TriggerPayload {
    pub workflow: WorkflowId,
    /// In the order of arrival, from 1.
    pub number: u64,
    pub trigger: Name,
    /// The id that its sender gave it; the same again is the same message.
    pub webhook_id: Option<String>,
    /// JSON; none of a message that was there before.
    pub payload: Option<String>,
    pub received_at: Timestamp,
    /// The address it came from.
    pub source: Option<String>,
    /// Who sent it, as far as it was shown.
    pub identity: String,
    pub verdict: Verdict,
    pub why: Option<String>,
    /// The run of the step whose pause it was for.
    pub run: Option<u32>,
}

/// What whoever sent something to a trigger is told.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerAnswer {
    /// The pause is over, and the workflow goes on with what was sent.
    Accepted,
    /// The pause has not begun; what was sent is looked at when it does.
    Early,
    /// What was sent has another shape than the pause asks for.
    Unfit(String),
    /// It was looked at, and the pause keeps waiting.
    StillWaiting(String),
    /// The pause is over without it.
    Late(String),
    /// The pause has gone on already, or the same message was there before.
    Consumed(String),
    /// Too many wait for this workflow's pauses to begin.
    TooMany,
}

impl TriggerAnswer {
    pub fn verdict(&self) -> Verdict {
        match self {
            TriggerAnswer::Accepted => Verdict::Accepted,
            TriggerAnswer::Early => Verdict::Early,
            TriggerAnswer::Unfit(_) | TriggerAnswer::StillWaiting(_) | TriggerAnswer::TooMany => {
                Verdict::Rejected
            }
            TriggerAnswer::Late(_) => Verdict::Late,
            TriggerAnswer::Consumed(_) => Verdict::Duplicate,
        }
    }
    /// More about it, in words.
    pub fn why(&self) -> Option<&str> {
        match self {
            TriggerAnswer::Accepted | TriggerAnswer::Early => None,
            TriggerAnswer::TooMany => Some("too many came before their pauses; send it again later"),
            TriggerAnswer::Unfit(why)
            | TriggerAnswer::StillWaiting(why)
            | TriggerAnswer::Late(why)
            | TriggerAnswer::Consumed(why) => Some(why),
        }
    }
}
