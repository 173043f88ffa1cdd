//! Workflows in hand: what follows when a step of one has ended, and the rows that it makes.
//!
//! Why    the end of one step and the beginning of the next are one commit, and a workflow's own row is written only when it begins,
//!        ends or is held: how far it is follows from its steps.

mod again;
mod answer;
mod begin;
mod fan_out;
mod follow;
mod items_again;
mod load;
mod make;
mod moves;
mod notify;
mod operate;
mod pause_times;
mod pauses;
mod polls;
mod recover;
mod resolve;
mod secrets;
mod timers;
mod told;
mod triggers;
mod undo;
mod undone;
mod waiting;
mod write;

use super::subscribed::Subscribers;
use super::timers::Timers;
pub use begin::start_faults;
use fan_out::Fan;
use model::{
    Aftermath, BranchDecision, CompensationRun, DispatchGroup, Name, ResolutionDecision, RetrySource, StepId,
    Timestamp, Undo, Workflow, WorkflowId, WorkflowState, limits,
};
use pauses::{PauseRows, Pauses};
pub use polls::polled;
use rules::board::IdMap;
use rules::workflow::progress::Progress;
use rules::workflow::{Answers, Plan};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use store::WorkflowEvent;
pub use timers::shown;
use waiting::Waiting;

/// The step of a definition that is being done.
struct Live {
    step: StepId,
    run: u32,
    /// When the step as a whole has taken too long.
    deadline: Option<Timestamp>,
    /// When it goes on by itself: a wait ends, or a fan-out begins again.
    goes_on_at: Option<Timestamp>,
    fan: Option<Fan>,
    /// The workflow whose end it waits for.
    below: Option<WorkflowId>,
}

/// A workflow in hand.
struct Entry {
    workflow: Workflow,
    /// As what its row is counted, if it is.
    counted: Option<WorkflowState>,
    plan: Arc<Plan>,
    progress: Progress,
    answers: Answers,
    live: BTreeMap<u32, Live>,
    /// Steps that ended badly, and because of which it is held.
    broken: BTreeMap<u32, StepId>,
    /// The last run of each step that had one.
    runs: BTreeMap<u32, Run>,
    /// What it waits for, and what was sent to it.
    pauses: Pauses,
    /// Runs that are superseded, and by what will be told when the next begins; and why there will be one.
    replaced: BTreeMap<u32, (StepId, RetrySource)>,
    /// Fan-outs that are done again and keep the items that succeeded: by their last runs.
    spared: BTreeMap<u32, StepId>,
    /// Steps that were cut off when the whole ended.
    cut: BTreeSet<u32>,
    /// The plan of what is undone.
    undoing: Vec<CompensationRun>,
    /// It ends before its steps do: how, and why.
    ends: Option<(WorkflowState, String)>,
    /// Its own row is to be written: the first one, or another.
    change: Option<Changed>,
    /// The last turn that touched it.
    turn: u64,
}

/// The how-manieth run of a step it is, and its row.
#[derive(Clone, Copy)]
struct Run {
    number: u32,
    step: StepId,
}

impl Entry {
    fn is_going_on(&self) -> bool {
        self.workflow.state.is_going_on() && self.ends.is_none()
    }
    fn begin_run(&mut self, def: u32, step: StepId) {
        let number = self.runs.get(&def).map_or(0, |run| run.number) + 1;
        self.runs.insert(def, Run { number, step });
    }
    /// A step is being done; one that undoes another has no place in the order of the steps.
    fn begin(&mut self, def: u32) {
        if self.plan.undoes(def).is_none() {
            self.progress.begin(def);
        }
    }
    fn run(&self, def: u32) -> u32 {
        self.runs.get(&def).map_or(1, |run| run.number)
    }
    /// When it has taken too long.
    fn deadline(&self) -> Option<Timestamp> {
        let timeout = self.plan.definition.timeout?;
        let restarted = self.workflow.aftermath.as_ref().and_then(|after| after.restarted_at);
        Some(restarted.or(self.workflow.started_at)? + timeout)
    }
    fn aftermath(&mut self) -> &mut Aftermath {
        self.workflow.aftermath.get_or_insert_default()
    }
    fn undo(&self) -> Option<&Undo> {
        self.workflow.aftermath.as_ref()?.undo.as_ref()
    }
    /// The version that its row has, or will have when this turn is written.
    fn version(&self) -> u64 {
        self.workflow.version + u64::from(self.change == Some(Changed::Moved))
    }
    /// When it is tried again by itself.
    fn auto_retry_at(&self) -> Option<Timestamp> {
        self.workflow
            .aftermath
            .as_ref()?
            .auto_retry_at
            .filter(|_| self.workflow.state == WorkflowState::Failed)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Changed {
    Made,
    Moved,
}

#[derive(Default)]
pub struct Workflows {
    plans: HashMap<Name, Arc<Plan>>,
    /// The newest version of each definition, and when it was looked up.
    newest: HashMap<String, (Timestamp, Arc<Plan>)>,
    entries: IdMap<WorkflowId, Entry>,
    timers: Timers<WorkflowId>,
    waiting: Waiting,
    /// Fan-outs that have items to make, those that made some in this turn, and those that go on in the next.
    filling: BTreeSet<StepId>,
    filled: BTreeSet<StepId>,
    fill_next: BTreeSet<StepId>,
    /// Fan-outs of which items are made again once this turn is durable: only then is on disk which of them failed.
    to_redo: VecDeque<(u64, StepId)>,
    /// The definitions of workflows that other nodes decide about, and of which a step stands in a line here.
    elsewhere: HashMap<WorkflowId, Arc<Plan>>,
    /// The last number of an event in each group.
    numbers: BTreeMap<DispatchGroup, u64>,
    events: Vec<WorkflowEvent>,
    decisions: Vec<BranchDecision>,
    pause_rows: PauseRows,
    resolutions: Vec<ResolutionDecision>,
    new_runs: Vec<CompensationRun>,
    /// By workflow, compensation and place: many changes of one row are one write.
    moved_runs: BTreeMap<(WorkflowId, u32, u32), CompensationRun>,
    /// Workflows of which the plan of what is undone is made once this turn is durable: only then is on disk what was done.
    to_plan: VecDeque<(u64, WorkflowId)>,
    changed: Vec<WorkflowId>,
    /// Those that are over for good, by the turn that touched them last.
    over: VecDeque<(u64, WorkflowId)>,
    /// New ones that another node begins.
    abroad: Vec<Workflow>,
    pub(super) subscribers: Subscribers,
}

impl Workflows {
    /// Everything is read anew; definitions never change.
    pub fn forget(&mut self, last_events: BTreeMap<DispatchGroup, u64>) {
        let plans = std::mem::take(&mut self.plans);
        *self = Workflows { plans, numbers: last_events, ..Workflows::default() };
    }
    /// The next turn begins.
    pub fn begin_turn(&mut self) {
        self.filled.clear();
        self.filling.append(&mut self.fill_next);
    }
    /// There may be newer versions, and others who want to be told.
    pub fn look_again(&mut self) {
        self.newest.clear();
        self.subscribers.look_again();
    }
    /// What is not needed in memory is read again when it is; what is not on disk yet stays.
    pub fn trim(&mut self, durable: u64) {
        while let Some((turn, id)) = self.over.front().copied().filter(|(turn, _)| *turn <= durable) {
            self.over.pop_front();
            // Touched again since, it is in the list again.
            if self.entries.get(&id).is_some_and(|entry| entry.turn == turn) {
                self.entries.remove(&id);
            }
        }
        self.waiting.trim(durable);
        if self.entries.len() <= limits::CACHED_WORKFLOWS_MAX {
            return;
        }
        let stored = self.entries.iter().filter(|(_, entry)| entry.turn <= durable);
        let mut old: Vec<(u64, WorkflowId)> = stored.map(|(id, entry)| (entry.turn, *id)).collect();
        old.sort_unstable();
        old.truncate(self.entries.len() - limits::CACHED_WORKFLOWS_MAX / 2);
        old.into_iter().for_each(|(_, id)| drop(self.entries.remove(&id)));
    }
    /// Something waited for this turn to be on disk.
    pub fn waits_for(&self, durable: u64) -> bool {
        let waits = |queue: Option<u64>| queue.is_some_and(|turn| turn <= durable);
        waits(self.to_plan.front().map(|(turn, _)| *turn))
            || waits(self.to_redo.front().map(|(turn, _)| *turn))
    }
    /// When something is to be done although nothing arrives.
    pub fn next_at(&self) -> Option<Timestamp> {
        let waits =
            !self.filling.is_empty() || !self.fill_next.is_empty() || !self.waiting.arrived.is_empty();
        let filling = waits.then_some(Timestamp(0));
        [self.timers.next_at(), filling].into_iter().flatten().min()
    }
    /// Nothing about it is to be read.
    fn knows(&self, id: WorkflowId) -> bool {
        self.entries.contains_key(&id) || self.elsewhere.contains_key(&id)
    }
    /// The step above a workflow in hand.
    pub fn parent_of(&self, id: WorkflowId) -> Option<Option<StepId>> {
        self.entries.get(&id).map(|entry| entry.workflow.parent)
    }
    /// Whoever took it puts it back.
    fn put(&mut self, entry: Entry) {
        if entry.workflow.state.is_final() {
            self.over.push_back((entry.turn, entry.workflow.id));
        }
        self.entries.insert(entry.workflow.id, entry);
    }
    fn tell(
        &mut self,
        of: &Workflow,
        at: Timestamp,
        kind: &'static str,
        step: Option<&str>,
        data: Option<String>,
    ) {
        let number = self.numbers.entry(of.dispatch_group.clone()).or_default();
        *number += 1;
        let event = WorkflowEvent {
            dispatch_group: of.dispatch_group.clone(),
            number: *number,
            workflow: of.id,
            at,
            kind,
            step_key: step.map(Into::into),
            data,
        };
        self.subscribers.note(of, &event);
        self.events.push(event);
    }
}
