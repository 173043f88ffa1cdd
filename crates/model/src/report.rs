//! What a worker is given and what it answers.

use crate::limits::PROGRESS_BYTES_MAX;
use crate::state::{UnknownWord, words};
use crate::{
    Delivery, Look, LookAt, Name, NewStep, Place, SessionId, StepId, Success, Timestamp, Trace, WorkflowId,
    attempt_span,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// One attempt of one step, given to one session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    pub step: StepId,
    pub attempt: u32,
    pub action: Name,
    pub queue: Name,
    pub arguments: Arc<str>,
    pub failed_attempts: u32,
    pub max_attempts: u32,
    pub place: Option<Place>,
    /// The work is done; look whether it holds.
    pub look: Option<Look>,
    /// What it is done in order with, or just named with.
    #[serde(default)]
    pub message_group: Option<Name>,
    /// The workflow that it is done for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Arc<ForWorkflow>>,
    /// Whose secrets it may be given: those of its workflow and of those above, or of the delivery that it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opens: Vec<Uuid>,
    /// It is asked again and again, and this is one of the times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<Poll>,
    /// The trace that its step was asked for in, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Arc<Trace>>,
}

impl Claim {
    /// Its own place in the trace: what is done for it has this for its parent.
    pub fn place_in_trace(&self) -> Trace {
        let workflow = self.workflow.as_ref().map(|workflow| workflow.id);
        let above = self.trace.as_deref().cloned();
        let above = above.unwrap_or_else(|| Trace::of_step(self.step, workflow));
        above.at(attempt_span(self.step, self.attempt))
    }
}

/// One poll of a step that is polled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    /// The how-manieth it is, from 1.
    pub number: u32,
    /// What the one before it said, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Arc<str>>,
}

/// What a run of a step knows of the workflow that it is done for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForWorkflow {
    pub id: WorkflowId,
    /// The key of its definition, and the version.
    pub definition: Name,
    pub version: Name,
    /// The step of the definition, and the how-manieth time it is done, from 1.
    pub step_key: Name,
    pub run: u32,
    /// Which item of a fan-out, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
}

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Failure {
    pub message: String,
    pub trace: Option<String>,
}

/// The one answer of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Complete {
        response: Option<String>,
    },
    /// Complete once these children did; they become durable with the report.
    Children {
        response: Option<String>,
        children: Vec<NewStep>,
        success: Success,
    },
    /// Again later; it costs one of the step's attempts.
    Retry {
        after: Option<Duration>,
        failure: Option<Failure>,
    },
    /// The work is done and answered this; look again later whether it holds, without doing it again. Costs an attempt.
    LookAgain {
        at: LookAt,
        response: Option<String>,
        after: Option<Duration>,
        failure: Option<Failure>,
    },
    /// Again later at no cost: a rate limit, not an error.
    Throttle {
        after: Duration,
    },
    Skip {
        why: String,
    },
    /// Ends without failing or completing.
    End {
        why: String,
    },
    Stop {
        why: String,
    },
    Fail {
        failure: Failure,
        notify: bool,
    },
    /// Completed with a note, and the block's resolvers run.
    Resolved {
        note: String,
    },
    /// Of a poll: not yet. It is asked again, after this time if it says so, and is then told what it said here.
    Continue {
        data: Option<String>,
        after: Option<Duration>,
    },
    /// Of a poll: what is waited for will never come.
    Abort {
        why: String,
    },
}

/// An outcome, fenced by the attempt that produced it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub session: SessionId,
    pub step: StepId,
    pub attempt: u32,
    pub outcome: Outcome,
    /// What the job said on the way.
    #[serde(default)]
    pub log: Vec<LogLine>,
    /// What came of handing it to its target, where that is what the job does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
}

/// Something a job said, when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    pub at: Timestamp,
    pub text: String,
}

/// How far a job says it is: so much of so much, and perhaps of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    /// Zero where nobody knows.
    pub of: u64,
    pub word: Option<String>,
}

impl Progress {
    /// A word that is too long is cut.
    pub fn new(done: u64, of: u64, word: Option<String>) -> Progress {
        let cut = |mut word: String| {
            word.truncate(word.floor_char_boundary(PROGRESS_BYTES_MAX));
            word
        };
        Progress { done, of, word: word.map(cut).filter(|word| !word.is_empty()) }
    }
}

words!(
    /// Why a step that somebody was sent for is not begun.
    NotBegun, "reason not to begin" {
        /// There is no such step.
        Unknown = "unknown",
        /// Another attempt was queued since, or will be.
        Old = "old",
        /// Somebody has begun it.
        Begun = "begun",
        Ended = "ended",
    }
);
