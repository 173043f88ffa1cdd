//! A step as rules see it, and the rest of its row that only people read.

use crate::state::words;
use crate::{
    BlockId, DispatchGroup, InWorkflow, Member, Reason, RetrySource, SessionId, State, StepId, Timestamp,
    Trace, UnknownWord,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// A short shared text: an action, a queue, a host.
pub type Name = Arc<str>;

words!(
    Priority, "priority" {
        High = "high",
        Normal = "normal",
    }
);

words!(
    /// Ordinary work, or a dormant error handler of its block.
    StepKind, "step kind" {
        Default = "default",
        Resolver = "resolve-exception",
    }
);

/// Where a step stands in its block: equal index in parallel, the next index waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    pub block: BlockId,
    pub index: u32,
}

/// How long to wait before the next execution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Backoff {
    pub delay: Duration,
    pub factor: f64,
    pub max_delay: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff { delay: Duration::from_secs(10), factor: 1.0, max_delay: Duration::from_secs(3600) }
    }
}

/// What a step did is to be looked at again, without doing it again.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Look {
    pub at: LookAt,
    /// What the work itself answered.
    pub response: Option<Arc<str>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookAt {
    /// Whether it holds; so often it did not.
    Verify(u32),
    /// Whether the other side has confirmed it.
    Confirm,
}

impl fmt::Display for LookAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LookAt::Verify(denied) => write!(f, "verify {denied}"),
            LookAt::Confirm => f.write_str("confirm"),
        }
    }
}

impl FromStr for LookAt {
    type Err = UnknownWord;
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let verify = |text: &str| text.strip_prefix("verify ")?.parse().ok().map(LookAt::Verify);
        let unknown =
            || UnknownWord { what: "look", word: text.into(), expected: "verify N, confirm".into() };
        if text == "confirm" { Ok(LookAt::Confirm) } else { verify(text).ok_or_else(unknown) }
    }
}

/// How far the polls of a step are.
#[derive(Clone, PartialEq, Debug)]
pub struct Polls {
    /// When the first poll that was answered began.
    pub started_at: Timestamp,
    /// What the last one said.
    pub data: Option<Arc<str>>,
}

/// One poll, for the record.
#[derive(Clone, PartialEq, Debug)]
pub struct PollAttempt {
    pub step: StepId,
    /// The how-manieth poll, from 1, and the attempt that it was.
    pub number: u32,
    pub attempt: u32,
    /// Whether it was the last.
    pub verdict: PollVerdict,
    /// The wait that it chose itself.
    pub next_interval: Option<Duration>,
    pub at: Timestamp,
    /// How what it said begins.
    pub data: Option<String>,
}

words!(
    /// What a poll came to.
    PollVerdict, "verdict of a poll" {
        Complete = "complete",
        Continue = "continue",
        Abort = "abort",
    }
);

/// The unit of work, with every fact a rule may ask for.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    pub id: StepId,
    pub dispatch_group: DispatchGroup,
    pub action: Name,
    pub queue: Name,
    pub priority: Priority,
    /// Whose limits it shares with others.
    pub pool: Option<Name>,
    pub member: Option<Member>,
    /// If it has not started by then, it is not wanted any more.
    pub expires_at: Option<Timestamp>,
    pub in_workflow: Option<InWorkflow>,
    /// The trace that it was asked for in, if any.
    pub trace: Option<Arc<Trace>>,
    /// How long one execution may take.
    pub timeout: Option<Duration>,
    pub kind: StepKind,
    pub place: Option<Place>,
    /// The block this step owns; a step with one is a parent.
    pub child_block: Option<BlockId>,
    pub state: State,
    pub reason: Option<Reason>,
    /// Running and waiting for its children: no session, no worker.
    pub parked: bool,
    pub throttled: bool,
    pub wake_at: Option<Timestamp>,
    /// The fence: one more for every claim.
    pub attempt: u32,
    pub failed_attempts: u32,
    pub lost_attempts: u32,
    /// Polls that were answered.
    pub polls: u32,
    /// What is known from them, once there was one.
    pub polled: Option<Arc<Polls>>,
    pub max_attempts: u32,
    pub backoff: Backoff,
    pub session: Option<SessionId>,
    pub host: Option<Name>,
    pub tick: Option<i64>,
    pub look: Option<Look>,
    pub arguments: Arc<str>,
    pub created_at: Timestamp,
    pub dispatched_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    /// How often the row was written; every write names the one it saw.
    pub version: u64,
}

impl Step {
    /// The place in a trace below which its attempts are.
    pub fn traced(&self) -> Trace {
        let workflow = self.in_workflow.map(|part| part.workflow);
        self.trace.as_deref().cloned().unwrap_or_else(|| Trace::of_step(self.id, workflow))
    }
    pub fn is_leaf(&self) -> bool {
        self.child_block.is_none()
    }
    pub fn is_resolver(&self) -> bool {
        self.kind == StepKind::Resolver
    }
    pub fn block(&self) -> Option<BlockId> {
        self.place.map(|p| p.block)
    }
    pub fn index(&self) -> u32 {
        self.place.map_or(1, |p| p.index)
    }
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.wake_at.is_none_or(|at| at <= now)
    }
    /// The latest instant the row tells of.
    pub fn latest(&self) -> Timestamp {
        let later = [self.dispatched_at, self.started_at, self.completed_at];
        later.into_iter().flatten().fold(self.created_at, Timestamp::max)
    }
    /// Its part in a message group, if it is to be done in order.
    pub fn line(&self) -> Option<&Member> {
        self.member.as_ref().filter(|member| member.mode.is_ordered())
    }
    /// Held by a worker right now.
    pub fn is_held(&self) -> bool {
        self.state.is_in_flight() && !self.parked
    }
}

/// What a row says beside what rules need. `None` in a change means "leave as it is".
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Detail {
    pub step_key: Option<String>,
    pub label: Option<String>,
    pub relatable_type: Option<String>,
    pub relatable_id: Option<String>,
    pub response: Option<String>,
    pub error_message: Option<String>,
    pub error_stack_trace: Option<String>,
    /// What a person should know: an unknown queue, the note of a resolved step.
    pub note: Option<String>,
    /// The branch of its workflow that it stands on.
    pub branch_key: Option<String>,
    /// Why its workflow does this step once more.
    pub retry_source: Option<RetrySource>,
    pub superseded_by: Option<StepId>,
    pub was_throttled: Option<bool>,
    /// A failure was told to someone; `false` asks not to tell.
    pub was_notified: Option<bool>,
    pub late_reports: Option<u32>,
    /// Its failure holds nobody back any more: since when, by whom and why.
    pub block_cleared_at: Option<Timestamp>,
    pub block_cleared_by: Option<String>,
    pub block_cleared_why: Option<String>,
}

impl Detail {
    /// Take from `later` whatever it says.
    pub fn merge(&mut self, later: Detail) {
        macro_rules! take { ($($field:ident),+) => { $(if later.$field.is_some() { self.$field = later.$field; })+ } }
        take!(
            step_key,
            label,
            relatable_type,
            relatable_id,
            error_message,
            error_stack_trace,
            note,
            branch_key,
            retry_source
        );
        take!(superseded_by, was_throttled, was_notified, late_reports);
        take!(block_cleared_at, block_cleared_by, block_cleared_why);
        // The first answer stays: a later run of the same step does not rewrite it.
        if self.response.is_none() {
            self.response = later.response;
        }
    }
}
