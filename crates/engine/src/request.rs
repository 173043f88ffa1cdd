//! What reaches the decider, and what it answers once the turn is durable.

pub use crate::signal::{Reply, Taken};
use crate::stuck::{DetectOrder, Detection, Look};
use crate::triggers::{TokenOrder, TriggerOrder, Triggered};
use model::{
    Breaker, Claim, CompensationScope, Decision, DispatchGroup, Name, NewStep, Notice, Report, RetryMode,
    SessionId, SessionOffer, State, StepId, Telling, TokenHash, Trace, WorkflowId, WorkflowState,
};
use rules::fifo::GroupVerb;
use rules::operator::Verb;
use rules::settle::Mode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::Duration;
use store::{StoreError, Wake};
use tokio::sync::mpsc;

/// Something to do with the store between two turns.
pub type StoreWork = Box<dyn FnOnce(&mut dyn store::Store) + Send>;

/// A step that now exists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Created {
    pub id: StepId,
    pub state: State,
    pub dispatch_group: DispatchGroup,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportAnswer {
    Applied,
    /// The attempt no longer held the step; kept on record, not applied.
    Late,
}

/// What a person asks for, with who and why for the audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    pub step: StepId,
    pub by: String,
    pub why: String,
    /// `None` is a retry: a new step in its place.
    #[serde(with = "word")]
    pub verb: Option<Verb>,
    pub dry_run: bool,
    /// The step as it was looked at; if it is another by now, nothing is done.
    #[serde(default)]
    pub expected: Option<SeenStep>,
}

/// A step as somebody saw it: how often its row was written, and its attempt, for a claim may be on record before the row says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenStep {
    pub version: u64,
    pub attempt: u32,
}

/// A verb travels as its word.
mod word {
    use super::Verb;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer>(verb: &Option<Verb>, to: S) -> Result<S::Ok, S::Error> {
        verb.map(Verb::word).serialize(to)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Verb>, D::Error> {
        let word = Option::<String>::deserialize(from)?;
        let known = |word: String| Verb::ALL.into_iter().find(|v| v.word() == word).ok_or(word);
        word.map(known).transpose().map_err(|word| D::Error::custom(format!("`{word}` is not a verb")))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operated {
    pub step: StepId,
    pub from: State,
    pub to: State,
    /// The step that took its place.
    pub replaced_by: Option<StepId>,
    /// Every step that moved, as `id from to`.
    pub moves: Vec<(StepId, Option<State>, State)>,
}

/// What a person asks for about a message group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupOperation {
    pub message_group: Name,
    #[serde(with = "group_word")]
    pub verb: GroupVerb,
    /// To skip the head only if it is still this step: another may have skipped it meanwhile.
    #[serde(default)]
    pub head: Option<StepId>,
    pub by: String,
    pub why: String,
    pub dry_run: bool,
}

mod group_word {
    use super::GroupVerb;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer>(verb: &GroupVerb, to: S) -> Result<S::Ok, S::Error> {
        verb.word().serialize(to)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<GroupVerb, D::Error> {
        let word = String::deserialize(from)?;
        let known = GroupVerb::ALL.into_iter().find(|verb| verb.word() == word);
        known.ok_or_else(|| D::Error::custom(format!("`{word}` is not a verb")))
    }
}

/// What was done to a message group, or would be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupOperated {
    /// Steps whose failure holds nobody back any more.
    pub forgiven: Vec<StepId>,
    /// Steps that were made anew, and what took their place (nothing yet, if it is only tried).
    pub replaced: Vec<(StepId, Option<StepId>)>,
    /// Steps that moved, and where to.
    pub moved: Vec<(StepId, State)>,
    /// There are more of it than one call ends.
    pub more: bool,
}

/// A workflow that is to be started.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StartWorkflow {
    /// The key of its definition.
    pub workflow: String,
    /// The newest, unless one is named.
    pub version: Option<String>,
    pub input: Option<Box<RawValue>>,
    pub labels: BTreeMap<String, String>,
    /// The trace that it is asked for in.
    pub trace: Option<Trace>,
    /// Who, where it goes into the audit.
    pub by: Option<String>,
}

impl StartWorkflow {
    pub fn of(workflow: &str) -> StartWorkflow {
        StartWorkflow { workflow: workflow.into(), ..StartWorkflow::default() }
    }
    /// With this input, as JSON.
    pub fn with(self, input: &impl Serialize) -> Result<StartWorkflow, serde_json::Error> {
        Ok(StartWorkflow { input: Some(serde_json::value::to_raw_value(input)?), ..self })
    }
    pub(crate) fn named(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.workflow),
            None => self.workflow.clone(),
        }
    }
}

/// A workflow that now exists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    pub id: WorkflowId,
    pub workflow: String,
    pub version: String,
    pub dispatch_group: DispatchGroup,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowVerb {
    Pause,
    Resume,
    Cancel,
    Resolve(Decision),
}

impl WorkflowVerb {
    /// Those that need nothing but their name.
    pub fn plain() -> [WorkflowVerb; 8] {
        let resolve = WorkflowVerb::Resolve;
        [
            WorkflowVerb::Pause,
            WorkflowVerb::Resume,
            resolve(Decision::RETRY),
            resolve(Decision::Compensate { scope: CompensationScope::Full }),
            resolve(Decision::RetryCompensation),
            resolve(Decision::SkipCompensation { all: false }),
            resolve(Decision::MarkResolved),
            WorkflowVerb::Cancel,
        ]
    }
    /// What ends a workflow, undoes what it did or leaves it undone cannot be taken back: somebody has to say why.
    pub fn needs_reason(&self) -> bool {
        match self {
            WorkflowVerb::Pause | WorkflowVerb::Resume => false,
            WorkflowVerb::Resolve(Decision::Retry { .. } | Decision::RetryCompensation) => false,
            WorkflowVerb::Resolve(Decision::RetryFromStep { mode: RetryMode::RetryOnly, .. }) => false,
            WorkflowVerb::Cancel | WorkflowVerb::Resolve(_) => true,
        }
    }
    pub fn word(&self) -> &'static str {
        match self {
            WorkflowVerb::Pause => "pause",
            WorkflowVerb::Resume => "resume",
            WorkflowVerb::Cancel => "cancel",
            WorkflowVerb::Resolve(decision) => decision.word(),
        }
    }
}

/// What a person asks for about a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkflowOperation {
    pub workflow: WorkflowId,
    pub verb: WorkflowVerb,
    pub by: String,
    pub why: String,
    pub dry_run: bool,
    /// The version of the workflow that was looked at; if it is another by now, nothing is done.
    pub expected: Option<u64>,
    /// Go on without the triggers that it waits for.
    #[serde(default)]
    pub force: Option<Forced>,
}

/// What a person sends in place of a trigger.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forced {
    /// JSON.
    pub payload: Option<String>,
}

/// What was done to a workflow, or would be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkflowOperated {
    pub workflow: WorkflowId,
    pub from: WorkflowState,
    pub to: WorkflowState,
    pub version: u64,
    /// What that means, in words.
    #[serde(default)]
    pub effects: Vec<String>,
}

/// Whether a turn by hand hands out work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    Yes,
    /// Only record reports.
    RecordOnly,
}

/// What one turn by hand did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TickReport {
    pub dispatched: usize,
    pub stopped_at: Option<&'static str>,
}

/// Polls that somebody should have made long ago are put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollRecovery {
    /// Those that are due for longer than this.
    pub older: Duration,
    pub by: String,
    pub dry_run: bool,
}

pub enum Request {
    Create {
        steps: Vec<NewStep>,
        /// Who, where it goes into the audit.
        by: Option<String>,
        reply: Reply<Vec<Created>>,
    },
    Operate {
        operation: Operation,
        reply: Reply<Operated>,
    },
    OperateGroup {
        operation: GroupOperation,
        reply: Reply<GroupOperated>,
    },
    StartWorkflow {
        start: StartWorkflow,
        reply: Reply<Started>,
    },
    OperateWorkflow {
        operation: WorkflowOperation,
        reply: Reply<WorkflowOperated>,
    },
    /// Something was sent to a trigger.
    Trigger {
        order: TriggerOrder,
        reply: Reply<Triggered>,
    },
    PauseToken {
        order: TokenOrder,
        hash: TokenHash,
        reply: Reply<()>,
    },
    /// A channel is to be told something.
    Tell {
        channel: String,
        notice: Box<Notice>,
        reply: Reply<Telling>,
    },
    RecoverPolls {
        recovery: PollRecovery,
        reply: Reply<Vec<StepId>>,
    },
    /// Look for what is stuck.
    Detect {
        order: DetectOrder,
        reply: Reply<Detection>,
    },
    /// What a look saw, unless another node looks, and who waits for what comes of it.
    Looked {
        look: Box<Result<Option<Look>, StoreError>>,
        order: DetectOrder,
        reply: Option<Reply<Detection>>,
    },
    Breaker {
        scope: Option<DispatchGroup>,
        breaker: Breaker,
        by: String,
        reply: Reply<Breaker>,
    },
    Join {
        offer: SessionOffer,
        hand: mpsc::UnboundedSender<Handed>,
        reply: Reply<SessionId>,
    },
    /// Go on with a session that this node, or one that has ended, knew.
    JoinAgain {
        session: SessionId,
        /// The number of the last hand-out that it received; the next ones are higher.
        received: u64,
        hand: mpsc::UnboundedSender<Handed>,
        reply: Reply<SessionId>,
    },
    Reports {
        reports: Vec<Report>,
        reply: Reply<Vec<ReportAnswer>>,
    },
    Heartbeat {
        session: SessionId,
        received: u64,
        held: Vec<(StepId, u32)>,
        reply: Reply<Vec<(StepId, u32)>>,
    },
    /// Somebody publishes what goes into the queue outside.
    Attend {
        publisher: Attending,
        reply: Reply<()>,
    },
    Published {
        publications: Vec<Publication>,
        reply: Reply<()>,
    },
    /// The queue outside sent somebody for a step.
    Begin {
        sent: Sent,
        reply: Reply<Taken>,
    },
    /// Take no more work; `give_back` returns what it still holds, at no cost.
    Leave {
        session: SessionId,
        give_back: bool,
        reply: Reply<()>,
    },
    Tick {
        mode: Mode,
        dispatch: Dispatch,
        only: Option<DispatchGroup>,
        reply: Reply<TickReport>,
    },
    Committed {
        turn: u64,
        outcome: Result<(), StoreError>,
    },
    /// Another node has something for this one.
    Wake(Wake),
    /// Run something against the store between turns.
    Store(StoreWork),
    Stop {
        reply: Reply<()>,
    },
    /// End at once, as a crash would: nothing is decided, written or given back.
    Halt,
}

fn is_in_line(step: &NewStep) -> bool {
    step.mode.is_some() || step.children.iter().any(is_in_line)
}

impl Request {
    /// It makes steps that are done in order: whoever was made before them, also by another node, must be known first.
    pub fn makes_lines(&self) -> bool {
        matches!(self, Request::Create { steps, .. } if steps.iter().any(is_in_line))
    }
    /// How many steps it concerns.
    pub fn weight(&self) -> usize {
        match self {
            Request::Create { steps, .. } => steps.len(),
            Request::Reports { reports, .. } => reports.len(),
            Request::Published { publications, .. } => publications.len(),
            _ => 1,
        }
    }
}

/// Whoever publishes, and how.
#[derive(Clone)]
pub struct Attending {
    pub hand: mpsc::UnboundedSender<Errand>,
    /// The queue that is published to. What is queued in another is published again here.
    pub queue: Name,
    /// Messages in the queue at once.
    pub capacity: usize,
    /// What the queue has confirmed outlives this process; otherwise all of it is published again when a node starts.
    pub durable: bool,
    /// A message that nobody came for in so long is lost.
    pub stale_after: Duration,
    pub look_every: Duration,
}

/// What whoever publishes is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Errand {
    Publish(Outgoing),
    /// The attempt is not queued any more: a message that was not published need not be.
    Forget {
        step: StepId,
        attempt: u32,
    },
}

/// An attempt of a step whose message is to be published.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    pub step: StepId,
    pub attempt: u32,
    pub pool: Option<Name>,
    pub message_group: Option<Name>,
}

/// What came of publishing a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Publication {
    pub step: StepId,
    pub attempt: u32,
    /// Why the queue will not take it.
    pub problem: Option<String>,
}

/// Whom the queue sent, and for what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    pub session: SessionId,
    pub step: StepId,
    pub attempt: u32,
}

/// Work given to a session, numbered so that a heartbeat can say how far it has received.
#[derive(Debug)]
pub struct Handed {
    pub number: u64,
    pub claims: Vec<Claim>,
}
