//! What one turn writes, row by row, without the reasons.

use crate::Lease;
use crate::channels::NoticeRow;
use model::{
    Alert, AlertEvent, Block, BranchDecision, Breaker, ChannelSends, CompensationRun, Delivery, Detail,
    DispatchGroup, Event, LogLine, Minute, Name, NodeId, Pause, PollAttempt, ResolutionDecision, SessionId,
    SessionOffer, Severity, SignalId, State, Step, StepId, Timestamp, TriggerPayload, Workflow, WorkflowId,
    WorkflowState,
};
use rules::board::HoldChange;

/// A step's row: new when `expected` is none, else only if its version is still that.
#[derive(Debug, Clone)]
pub struct StepWrite {
    pub step: Step,
    pub expected: Option<u64>,
    pub detail: Detail,
    /// What the row on disk is known to be; a narrower write may then do.
    pub row: RowKnown,
}

/// What the turn knows of the row it writes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowKnown {
    #[default]
    Nothing,
    /// Still as it was inserted: pending, with no session and no due time.
    Untouched,
    /// A parent that waits for its children, and nothing but its end is new.
    Parked,
}

/// The narrowest statement that writes a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Narrow {
    End,
    Park,
    EndParked,
}

impl StepWrite {
    /// The usual ends of a step that did not fail, and nothing else to say.
    pub fn narrow(&self) -> Option<Narrow> {
        let (s, d) = (&self.step, &self.detail);
        let plain = s.reason.is_none()
            && (s.failed_attempts, s.lost_attempts, s.polls) == (0, 0, 0)
            && s.look.is_none();
        let only_response = *d == Detail { response: d.response.clone(), ..Detail::default() };
        if !plain || !only_response {
            return None;
        }
        match (self.row, s.state) {
            (RowKnown::Untouched, State::Completed) => Some(Narrow::End),
            (RowKnown::Untouched, State::Running) if s.parked => Some(Narrow::Park),
            (RowKnown::Parked, State::Completed) if d.response.is_none() => Some(Narrow::EndParked),
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
pub struct BlockWrite {
    pub block: Block,
    pub expected: Option<u64>,
    /// Nothing but its default steps moved; a narrower write does.
    pub only_counts: bool,
}

impl BlockWrite {
    pub fn of(block: Block, before: Option<&Block>) -> BlockWrite {
        let rest = |b: &Block| {
            (
                b.resolvers,
                b.resolver_index,
                b.cut_at,
                b.resolver_cut_at,
                b.wants_resolvers,
                b.sweep,
                b.to_come,
                b.held,
                b.owner,
            )
        };
        let only_counts = before.is_some_and(|b| {
            rest(b) == rest(&block) && b.live_resolvers == block.live_resolvers && b.blame == block.blame
        });
        let expected = before.map(|_| block.version);
        BlockWrite { block, expected, only_counts }
    }
}

/// A workflow's row: new when `expected` is none, else only if its version is still that.
#[derive(Debug, Clone)]
pub struct WorkflowWrite {
    pub workflow: Workflow,
    pub expected: Option<u64>,
    /// As what it is counted so far, if it is.
    pub counted: Option<WorkflowState>,
}

/// A pause's row: new when `expected` is none, else only if its version is still that.
#[derive(Debug, Clone)]
pub struct PauseWrite {
    pub pause: Pause,
    pub expected: Option<u64>,
}

/// Something that was sent to a trigger: a new row, or the verdict on one that came early.
#[derive(Debug, Clone)]
pub struct PayloadWrite {
    pub payload: TriggerPayload,
    pub is_new: bool,
}

/// How much a channel was sent: a new row when `expected` is none, else only if its version is still that.
#[derive(Debug, Clone)]
pub struct SendsWrite {
    pub channel: String,
    pub sends: ChannelSends,
    pub expected: Option<u64>,
}

/// Something that happened to a workflow, numbered within its dispatch group.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowEvent {
    pub dispatch_group: DispatchGroup,
    pub number: u64,
    pub workflow: WorkflowId,
    pub at: Timestamp,
    pub kind: &'static str,
    pub step_key: Option<String>,
    /// More about it, as JSON.
    pub data: Option<String>,
}

/// Claims of one session in one turn, or those of them whose parents have run and wait for their children.
#[derive(Debug, Clone)]
pub struct ClaimLog {
    pub id: i64,
    pub session: SessionId,
    pub dispatch_group: DispatchGroup,
    pub tick: i64,
    /// When they were claimed.
    pub at: Timestamp,
    pub parked: bool,
    pub host: Option<Name>,
    pub pairs: Vec<(StepId, u32)>,
}

/// A sort of steps that is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TallyKey {
    pub dispatch_group: DispatchGroup,
    pub queue: Name,
    pub action: Name,
    pub host: Option<Name>,
    pub state: State,
    pub leaf: bool,
    pub throttled: bool,
}

impl TallyKey {
    /// Steps that stand alone and that nobody has touched.
    pub fn of_new(dispatch_group: DispatchGroup, queue: Name, action: Name) -> TallyKey {
        let (host, state, leaf, throttled) = (None, State::Pending, true, false);
        TallyKey { dispatch_group, queue, action, host, state, leaf, throttled }
    }
    pub fn of(step: &Step) -> TallyKey {
        TallyKey {
            dispatch_group: step.dispatch_group.clone(),
            queue: step.queue.clone(),
            action: step.action.clone(),
            host: step.host.clone(),
            state: step.state,
            leaf: step.is_leaf(),
            throttled: step.throttled,
        }
    }
}

/// An attempt that did not simply succeed, or a delivery.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub step: StepId,
    pub attempt: u32,
    pub at: Timestamp,
    pub session: Option<SessionId>,
    pub host: Option<Name>,
    pub started_at: Option<Timestamp>,
    pub outcome: String,
    pub message: Option<String>,
    /// It began when the attempt started.
    pub delivery: Option<Delivery>,
}

impl Attempt {
    /// Its run had lost the step before it ended.
    pub fn is_late(&self) -> bool {
        self.outcome == "late"
    }
}

#[derive(Debug, Clone)]
pub struct EventRow {
    pub at: Timestamp,
    pub step: StepId,
    pub from: Option<State>,
    pub event: Option<Event>,
    pub to: State,
    pub attempt: u32,
}

#[derive(Debug, Clone)]
pub struct SessionRow {
    pub id: SessionId,
    pub node: NodeId,
    pub offer: SessionOffer,
    pub started_at: Timestamp,
    pub lease_ends_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NodeRow {
    pub id: NodeId,
    pub host: String,
    pub pid: u32,
    pub url: Option<String>,
    pub version: String,
    /// Where its process id means something; empty when that is not known.
    pub machine: String,
    /// Groups it may have; empty is all.
    pub limited_to: Vec<DispatchGroup>,
    /// Takes no group while a node lives that does not stand by.
    pub standby: bool,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// Something for the owner of a dispatch group, or for one node.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalRow {
    pub id: SignalId,
    pub to: SignalTo,
    /// Who waits for an answer.
    pub from: Option<NodeId>,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SignalTo {
    Group(DispatchGroup),
    Node(NodeId),
}

/// One second of a dispatch group's turns that did something.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    pub id: i64,
    pub dispatch_group: DispatchGroup,
    pub started_at: Timestamp,
    pub completed_at: Timestamp,
    pub duration_us: u64,
    pub turns: u64,
    /// The last phase that acted.
    pub progress: usize,
    pub steps_dispatched: u64,
    /// Turns that reached `max_per_tick`, and those of them with ready steps left over.
    pub capped: u64,
    pub left_over: u64,
    /// Rows moved and microseconds per phase.
    pub phases: Vec<(String, u64, u64)>,
}

#[derive(Debug, Clone)]
pub struct AuditEntry {
    pub who: String,
    pub verb: String,
    pub target: String,
    pub why: Option<String>,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// A change of an alert.
#[derive(Debug, Clone, PartialEq)]
pub enum AlertWrite {
    /// What a node tells of itself: opened, or renewed if it is open.
    Open {
        entity: &'static str,
        entity_id: String,
        reason: &'static str,
        severity: Severity,
        message: String,
    },
    /// Found by a rule; nobody else has opened it.
    New(Box<Alert>),
    /// Seen again, and nothing else.
    Renew { id: u64, message: String, since: Timestamp },
    /// Something was decided about it; it still is as it was seen.
    Mark(Box<Alert>),
    /// It still is as it was seen.
    Close { id: u64, version: u64, by: String, auto_resolved: bool },
    /// What a node told of itself is over, unless somebody has changed the alert since: then it is tried again.
    TakeBack { id: u64, version: u64, by: String },
}

/// What becomes of the right to look for what is stuck.
#[derive(Debug, Clone, PartialEq)]
pub enum LookWrite {
    /// Taken, unless a node that lives has it.
    Begin { node: NodeId, ends_at: Timestamp },
    /// Given back by whoever still has it; with where its searches go on, if it searched.
    End { node: NodeId, version: u64, rounds: Option<String> },
}

/// What becomes of a question to an action.
#[derive(Debug, Clone, PartialEq)]
pub enum AskWrite {
    /// Asked; the step that asked before, if there is one on record.
    Asked { ask: StuckAsk, before: Option<StepId> },
    /// Its answer was heard.
    Heard(StuckAsk),
}

/// A step that asks an action for things that are stuck.
#[derive(Debug, Clone, PartialEq)]
pub struct StuckAsk {
    pub rule: String,
    pub step: StepId,
    pub asked_at: Timestamp,
    /// When its answer was heard.
    pub heard_at: Option<Timestamp>,
    /// What is wrong with its answer.
    pub fault: Option<String>,
}

/// A change of one dispatch group's own row; `None` leaves a column as it is.
#[derive(Debug, Clone)]
pub struct GroupWrite {
    pub dispatch_group: DispatchGroup,
    pub breaker: Option<Breaker>,
    pub lease_ends_at: Option<Timestamp>,
    pub last_selected_at: Option<Timestamp>,
    pub current_tick: Option<i64>,
    pub last_tick_completed_at: Option<Timestamp>,
    /// What its owner cannot place itself, by queue and action.
    pub ready: Option<Vec<(Name, Name)>>,
    /// The queue outside to which its messages go.
    pub published_to: Option<Name>,
}

impl GroupWrite {
    pub fn of(dispatch_group: DispatchGroup) -> GroupWrite {
        GroupWrite {
            dispatch_group,
            breaker: None,
            lease_ends_at: None,
            last_selected_at: None,
            current_tick: None,
            last_tick_completed_at: None,
            ready: None,
            published_to: None,
        }
    }
}

/// Everything one turn writes, in one transaction.
#[derive(Debug)]
pub struct Batch {
    pub lease: Lease,
    pub now: Timestamp,
    pub steps: Vec<StepWrite>,
    pub blocks: Vec<BlockWrite>,
    pub workflows: Vec<WorkflowWrite>,
    pub workflow_events: Vec<WorkflowEvent>,
    pub branch_decisions: Vec<BranchDecision>,
    pub pauses: Vec<PauseWrite>,
    pub trigger_payloads: Vec<PayloadWrite>,
    /// What channels are told, and how much each was sent.
    pub notices: Vec<NoticeRow>,
    pub channel_sends: Vec<SendsWrite>,
    pub resolution_decisions: Vec<ResolutionDecision>,
    /// Plans of what is undone: new lines, and those that went on.
    pub new_runs: Vec<CompensationRun>,
    pub moved_runs: Vec<CompensationRun>,
    pub claims: Vec<ClaimLog>,
    /// Groups that hand out work in this batch; their breaker is read in the commit.
    pub dispatching: Vec<DispatchGroup>,
    /// Steps that take a slot of their pool, and those that leave theirs.
    pub slots: Vec<Slot>,
    pub slots_left: Vec<StepId>,
    /// Until when the rates of pools are used up, where nobody else uses them.
    pub rates: Vec<(Name, Timestamp)>,
    /// What holds message groups back, or no more, with the dispatch group of each.
    pub holds: Vec<(DispatchGroup, HoldChange)>,
    /// Steps that ended and leave the index of their line, each with its version.
    pub swept: Vec<(StepId, u64)>,
    /// Messages that are to be published, and those that need not be any more.
    pub posts: Vec<Post>,
    pub posted: Vec<(StepId, u32)>,
    /// Claim rows of which nothing is in flight any more.
    pub claims_done: Vec<i64>,
    pub tallies: Vec<(TallyKey, i64)>,
    pub attempts: Vec<Attempt>,
    /// Polls that were answered, each with how many of its step are kept.
    pub polls: Vec<(PollAttempt, u32)>,
    pub events: Vec<EventRow>,
    /// What one run of a step said.
    pub logs: Vec<(StepId, u32, Vec<LogLine>)>,
    pub sessions: Vec<SessionRow>,
    /// Renew the leases of the node, its groups and its sessions until then.
    pub renew: Option<(Timestamp, Timestamp)>,
    pub ticks: Vec<Tick>,
    pub minutes: Vec<Minute>,
    pub audit: Vec<AuditEntry>,
    pub alerts: Vec<AlertWrite>,
    pub alert_events: Vec<AlertEvent>,
    pub stuck_asks: Vec<AskWrite>,
    pub looks: Vec<LookWrite>,
    pub groups: Vec<GroupWrite>,
    pub breaker: Option<Breaker>,
    /// Breakers whose time is over, as they were; of one group or of all.
    pub breakers_over: Vec<(Option<DispatchGroup>, Breaker)>,
    /// Places in the round of dispatch groups were taken; a store that counts them itself writes how many.
    pub took_roots: bool,
    pub next_root: Option<u64>,
    /// For other nodes, or for the owners of groups that are not this node's.
    pub signals: Vec<SignalRow>,
    /// Signals that this turn has dealt with, and the answer where somebody waits for one.
    pub answers: Vec<(SignalId, Option<String>)>,
    /// Answers that were read.
    pub signals_done: Vec<SignalId>,
    /// Take away the rows of sessions, nodes and signals that are of no use any more.
    pub forget: bool,
    /// Whom to wake once it is durable.
    pub wake: Vec<Wake>,
}

/// A step of a pool that a worker has.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    pub step: StepId,
    pub pool: Name,
    pub dispatch_group: DispatchGroup,
}

/// A message that is to be published for an attempt of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Post {
    pub step: StepId,
    pub attempt: u32,
    pub dispatch_group: DispatchGroup,
}

/// Somebody who should look: a hint, never more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wake {
    Group(DispatchGroup),
    Node(NodeId),
    /// Whoever has room for work, or may take a group.
    Everybody,
}

impl Batch {
    pub fn new(lease: Lease, now: Timestamp) -> Batch {
        Batch {
            lease,
            now,
            steps: Vec::new(),
            blocks: Vec::new(),
            workflows: Vec::new(),
            workflow_events: Vec::new(),
            branch_decisions: Vec::new(),
            pauses: Vec::new(),
            trigger_payloads: Vec::new(),
            notices: Vec::new(),
            channel_sends: Vec::new(),
            resolution_decisions: Vec::new(),
            new_runs: Vec::new(),
            moved_runs: Vec::new(),
            claims: Vec::new(),
            dispatching: Vec::new(),
            slots: Vec::new(),
            slots_left: Vec::new(),
            rates: Vec::new(),
            holds: Vec::new(),
            swept: Vec::new(),
            posts: Vec::new(),
            posted: Vec::new(),
            claims_done: Vec::new(),
            tallies: Vec::new(),
            attempts: Vec::new(),
            polls: Vec::new(),
            logs: Vec::new(),
            events: Vec::new(),
            sessions: Vec::new(),
            renew: None,
            ticks: Vec::new(),
            minutes: Vec::new(),
            audit: Vec::new(),
            alerts: Vec::new(),
            alert_events: Vec::new(),
            stuck_asks: Vec::new(),
            looks: Vec::new(),
            groups: Vec::new(),
            breaker: None,
            breakers_over: Vec::new(),
            took_roots: false,
            next_root: None,
            signals: Vec::new(),
            answers: Vec::new(),
            signals_done: Vec::new(),
            forget: false,
            wake: Vec::new(),
        }
    }
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
            && self.blocks.is_empty()
            && self.workflows.is_empty()
            && self.pauses.is_empty()
            && self.trigger_payloads.is_empty()
            && self.notices.is_empty()
            && self.channel_sends.is_empty()
            && self.claims.is_empty()
            && self.claims_done.is_empty()
            && self.slots.is_empty()
            && self.slots_left.is_empty()
            && self.rates.is_empty()
            && self.holds.is_empty()
            && self.swept.is_empty()
            && self.posts.is_empty()
            && self.posted.is_empty()
            && self.attempts.is_empty()
            && self.polls.is_empty()
            && self.sessions.is_empty()
            && self.renew.is_none()
            && self.ticks.is_empty()
            && self.minutes.is_empty()
            && self.audit.is_empty()
            && self.alerts.is_empty()
            && self.alert_events.is_empty()
            && self.stuck_asks.is_empty()
            && self.looks.is_empty()
            && self.groups.is_empty()
            && self.breaker.is_none()
            && self.breakers_over.is_empty()
            && !self.took_roots
            && self.signals.is_empty()
            && self.answers.is_empty()
            && self.signals_done.is_empty()
            && !self.forget
    }
}
