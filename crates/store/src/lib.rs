//! Where Stepfast keeps its rows. A store commits what it is told without understanding why.

pub mod alerts;
mod answer;
mod audit;
mod batch;
mod browse;
mod browsers;
pub mod channels;
mod check;
mod clock;
mod database;
mod error;
pub mod executions;
mod explain;
pub mod flows;
pub mod items;
pub mod keys;
mod leases;
mod look;
mod many;
pub mod message_groups;
mod migration;
#[cfg(test)]
mod page_reads;
mod pages;
pub mod pauses;
pub mod pools;
pub mod postgres;
mod previous;
mod reads;
mod restored;
mod retention;
mod rows;
mod settings;
pub mod signals;
pub mod sql;
pub mod sqlite;
mod statements;
pub mod stuck;
pub mod subscriptions;
pub mod traces;
#[cfg(test)]
mod turn_reads;
pub mod workflows;
mod writes;

pub use alerts::{AlertChange, AlertFigures, AlertFilter};
pub use batch::{
    AlertWrite, AskWrite, Attempt, AuditEntry, Batch, BlockWrite, ClaimLog, EventRow, GroupWrite, LookWrite,
    NodeRow, PauseWrite, PayloadWrite, Post, RowKnown, SendsWrite, SessionRow, SignalRow, SignalTo, Slot,
    StepWrite, StuckAsk, TallyKey, Tick, Wake, WorkflowEvent, WorkflowWrite,
};
pub use browse::{
    ATTEMPTS_PAGE_MAX, AttemptKey, AuditFilter, AuditRow, Browse, DecisionPlace, DefinitionKey,
    DefinitionLine, EventLine, Filter, Listed, NoticePlace, PausePlace, PollFilter, StepRow, Totals,
    WORKFLOWS_AT_ONCE, WorkflowCourse, WorkflowFilter,
};
pub use browsers::{Browser, BrowserHash};
pub use check::{Checkable, Checked, Finding, INVARIANTS};
pub use clock::{Clock, SimClock, SystemClock};
pub use database::Database;
pub use error::StoreError;
pub use executions::Ledger;
pub use explain::Circumstances;
pub use keys::{Change, KeyHash};
pub use look::{GroupSeen, Look, NodeSeen};
pub use message_groups::{Held, MessageGroup};
pub use migration::MigrationState;
pub use pools::{Reserved, Sort};
pub use previous::previous;
pub use reads::{EXPIRED_PAGE, Expired, expired, oldest_ready, open_blocks, ready_queues};
pub use restored::Restored;

use model::{
    Block, BlockId, Breaker, Detail, DispatchGroup, GroupHold, GroupStatus, Name, NodeId, PoolUse, SignalId,
    Step, StepId, StepKind, Timestamp, WorkflowId,
};
use rules::settle::Snapshot;
use serde::{Deserialize, Serialize};
use sql::Sql;
use std::collections::BTreeMap;
use std::sync::Arc;

pub type Result<T> = std::result::Result<T, StoreError>;

/// Called when another node wakes this one; it must not block.
pub type WakeUp = Arc<dyn Fn(Wake) + Send + Sync>;

/// Whether nodes wake each other, or only look from time to time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Listen {
    #[default]
    On,
    Off,
    /// Through this address, where the usual one leads to a pooler that cannot listen.
    At(String),
}

/// Opens a connection for reading, on whatever thread it is called.
pub type Beside = Box<dyn FnOnce() -> Result<Browse> + Send>;

/// Called once a commit is durable, or has failed; it must not block.
pub type Done = Box<dyn FnOnce(Result<()>) + Send>;

/// A node's right to decide for its groups, with the fence of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease {
    pub node: NodeId,
    pub groups: Vec<(DispatchGroup, u64)>,
}

/// What a node finds when it takes over: work in flight, and blocks that have not come to rest.
#[derive(Debug, Default)]
pub struct Found {
    /// Claims by log, with the row each is newer than.
    pub claims: Vec<ClaimLog>,
    /// Steps held by a session by their own row.
    pub held: Vec<Step>,
    /// Sessions in other processes that a node left behind when it ended.
    pub left: Vec<SessionRow>,
    pub blocks: Vec<Block>,
    pub tallies: Vec<(TallyKey, i64)>,
    pub breaker: Breaker,
    pub groups: Vec<GroupStatus>,
    /// Groups that are on record as making no progress.
    pub alerted: Vec<DispatchGroup>,
    pub last_tick: i64,
    pub last_claim: i64,
    pub pools: Vec<PoolUse>,
    /// Slots of pools on record for steps of these groups.
    pub slots: Vec<Slot>,
    /// What holds message groups back.
    pub holds: Vec<GroupHold>,
    /// Messages of these groups that were to be published.
    pub posts: Vec<Post>,
    /// Where the messages of these groups' queued steps are, as far as it is on record.
    pub published_to: BTreeMap<DispatchGroup, Name>,
    /// Workflows of these groups that somebody made and nobody has begun.
    pub pending_workflows: Vec<WorkflowId>,
    /// The highest number of an event in each of these groups.
    pub last_events: BTreeMap<DispatchGroup, u64>,
}

/// What leaves the live tables, by whole trees in which nothing happened since `before`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Retention {
    /// Move to the archive; attempts and history stay.
    Archive { before: Timestamp },
    /// Delete for good, with attempts and history: the archive, and unless `only_archive` the live tables; with `ticks`
    /// also the tick records.
    Purge { before: Timestamp, only_archive: bool, ticks: bool },
}

/// What one page of retention took away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retained {
    pub trees: usize,
    pub steps: usize,
    pub blocks: usize,
    pub ticks: usize,
    pub workflows: usize,
    #[serde(default)]
    pub flows: usize,
    /// Something may be left; the same call goes on behind it.
    pub more: bool,
}

/// Whether retention is only tried, or done, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retaining {
    /// All of it is counted, and nothing is written.
    Tried,
    /// One page of it, on record in the same commit.
    Done(Asked),
}

/// Who asks for something, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub who: String,
    pub why: Option<String>,
}

impl Asked {
    pub fn by(who: impl Into<String>) -> Asked {
        Asked { who: who.into(), why: None }
    }
}

impl Retained {
    /// Nothing was there to be taken.
    pub fn is_nothing(&self) -> bool {
        self.trees + self.ticks + self.workflows + self.flows == 0
    }

    /// Sum up pages; `more` is that of the last.
    pub fn add(&mut self, page: &Retained) {
        self.trees += page.trees;
        self.steps += page.steps;
        self.blocks += page.blocks;
        self.ticks += page.ticks;
        self.workflows += page.workflows;
        self.flows += page.flows;
        self.more = page.more;
    }
}

/// The engine's side of a store. Reads see the last commit; `commit` answers through `done` in the order of the calls.
pub trait Store: Snapshot<Error = StoreError> + Send {
    fn now(&self) -> Timestamp;
    /// Make sure of the dispatch groups, and take the leases that should be this node's and are free.
    fn lease(&mut self, node: &NodeRow, all: &[DispatchGroup]) -> Result<Lease>;
    /// Put on record what this node's configuration says to those who make steps without a node, by name.
    fn announce(&mut self, settings: &[(&'static str, String)]) -> Result<()>;
    /// Before looking again, or when the groups should be spread otherwise: what this node has from now on.
    fn lease_again(&mut self, node: &NodeRow, lease: &Lease, all: &[DispatchGroup]) -> Result<Lease>;
    /// What other nodes left for this one; nothing where there is no other.
    fn look(&mut self, _node: &NodeRow, _lease: &Lease) -> Result<Look> {
        Ok(Look::default())
    }
    /// Whether other nodes may work with the same rows.
    fn is_shared(&self) -> bool {
        false
    }
    /// Take back signals that nobody has dealt with; those that were really taken back.
    fn withdraw(&mut self, _signals: &[SignalId]) -> Result<Vec<SignalId>> {
        Ok(Vec::new())
    }
    /// Be told when another node wakes this one.
    fn listen(&mut self, _listen: &Listen, _wake: WakeUp) {}
    /// Whether another node can wake this one now.
    fn hears(&self) -> bool {
        false
    }
    /// The next places in the round of dispatch groups.
    fn take_roots(&mut self, n: usize) -> Result<Vec<u64>>;
    fn recover(&mut self, lease: &Lease) -> Result<Found>;
    /// Where reads run; they see the last commit.
    fn reader(&self) -> &dyn Sql;
    /// How to open a connection for long reads beside the turns.
    fn beside(&self) -> Beside;
    fn commit(&mut self, batch: Batch, done: Done);
    /// How many commits long callers are worth waiting for to share the next one: more than one where a commit costs much whatever it holds.
    fn company(&self) -> u32 {
        1
    }
    /// After a failed commit nothing is taken until this is called.
    fn reset(&mut self);
    fn release(&mut self, lease: &Lease) -> Result<()>;
    /// The records of what is done once, beside the turns.
    fn ledger(&self) -> Arc<dyn Ledger>;
    /// Take one page of settled trees away, to be repeated while it says `more`; tried only, count all and write nothing.
    fn retain(&mut self, what: Retention, how: Retaining) -> Result<Retained>;
    /// Store what is not of a turn, all or nothing; how many rows each change found.
    fn change(&mut self, changes: Vec<Change>) -> Result<Vec<u64>>;

    /// Slots of pools for steps that are about to be claimed; only where other nodes use the same pools is there anything to ask.
    fn reserve(
        &mut self,
        _lease: &Lease,
        wants: &BTreeMap<Name, Vec<Slot>>,
        _now: Timestamp,
    ) -> Result<BTreeMap<Name, Reserved>> {
        let all =
            |slots: &Vec<Slot>| Reserved { granted: slots.len(), pool: None, elsewhere: 0, wanted: false };
        Ok(wants.iter().map(|(pool, slots)| (pool.clone(), all(slots))).collect())
    }

    /// Ready steps that stand alone, oldest first, behind a cursor.
    fn ready(&mut self, sort: &Sort, after: Option<StepId>, limit: usize) -> Result<Vec<Step>> {
        reads::ready(self.reader(), sort, after, limit)
    }
    /// Pending steps at an index of a block, behind a cursor.
    fn at_index(
        &mut self,
        block: BlockId,
        kind: StepKind,
        index: u32,
        after: Option<StepId>,
        limit: usize,
    ) -> Result<Vec<Step>> {
        reads::at_index(self.reader(), block, kind, index, after, limit)
    }
    /// Steps of these groups whose time comes until then, earliest first, behind a cursor.
    fn due(
        &mut self,
        lease: &Lease,
        after: Option<(Timestamp, StepId)>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<(Timestamp, StepId)>> {
        reads::due(self.reader(), lease, after, until, limit)
    }
    /// What people read of a step, for a step that takes its place.
    fn detail(&mut self, id: StepId) -> Result<Option<Detail>> {
        Ok(self.whole(id)?.map(|(_, detail)| detail))
    }
    /// A step and its detail.
    fn whole(&mut self, id: StepId) -> Result<Option<(Step, Detail)>> {
        reads::whole(self.reader(), id)
    }
    /// Steps of a block that were cancelled because one before them failed.
    fn cut_off(&mut self, block: BlockId, above: u32, limit: usize) -> Result<Vec<Step>> {
        reads::cut_off(self.reader(), block, above, limit)
    }
}
