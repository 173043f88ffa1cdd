//! Workflows of which only so many with one key are done at once: the others wait for their turn, oldest first.
//!
//! Why    all workflows of a key are decided in one dispatch group, so whoever decides there counts them alone. What is known of a key is
//!        kept until the last of its ends is durable: until then the disk still says that it is being done.

use super::super::node::{Node, Turn};
use super::Entry;
use model::{Name, Timestamp, Workflow, WorkflowId, WorkflowState, limits};
use rules::workflow::Plan;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use store::Result;
use store::workflows as record;

/// Workflows that one turn begins because their turn has come; the others are begun in the next.
const BEGUN_PER_TURN: usize = 500;

#[derive(Default)]
struct Key {
    live: HashSet<WorkflowId>,
    /// Those that wait, as far as they are known here.
    queue: BTreeSet<WorkflowId>,
    /// More of them are on disk, or will be once this turn is.
    more: bool,
    spilled_in: u64,
    /// The last turn in which one of it ended.
    turn: u64,
}

#[derive(Default)]
pub struct Waiting {
    keys: HashMap<Name, Key>,
    /// Keys of which nothing was left, by the turn that left it so.
    idle: VecDeque<(u64, Name)>,
    /// On record, and to be begun if they may.
    pub arrived: VecDeque<WorkflowId>,
}

impl Waiting {
    /// What is on disk need not be known.
    pub fn trim(&mut self, durable: u64) {
        while let Some((turn, name)) = self.idle.front().cloned().filter(|(turn, _)| *turn <= durable) {
            self.idle.pop_front();
            let idle =
                |key: &Key| key.turn == turn && key.live.is_empty() && key.queue.is_empty() && !key.more;
            if self.keys.get(&name).is_some_and(idle) {
                self.keys.remove(&name);
            }
        }
    }
}

impl Node {
    fn key(&mut self, name: &Name) -> Result<&mut Key> {
        if !self.workflows.waiting.keys.contains_key(name) {
            let (live, waiting) = record::of_key(self.store.reader(), name, limits::WAITING_WORKFLOWS_MAX)?;
            let key = Key {
                live: live.into_iter().collect(),
                more: waiting.len() >= limits::WAITING_WORKFLOWS_MAX,
                queue: waiting.into_iter().collect(),
                ..Key::default()
            };
            self.workflows.waiting.keys.insert(name.clone(), key);
        }
        Ok(self.workflows.waiting.keys.get_mut(name).expect("it was just put there"))
    }

    /// Fewer of its key are done than may be, and none waits before it.
    pub(super) fn may_begin(&mut self, workflow: &Workflow, plan: &Plan) -> Result<bool> {
        let (Some(name), Some(most)) = (&workflow.concurrency_key, &plan.definition.concurrency) else {
            return Ok(true);
        };
        let key = self.key(name)?;
        let is_first = match key.queue.first() {
            Some(first) => *first >= workflow.id,
            None => !key.more,
        };
        if key.live.len() >= most.limit as usize || !is_first {
            return Ok(false);
        }
        key.queue.remove(&workflow.id);
        key.live.insert(workflow.id);
        Ok(true)
    }

    /// Fewer of a key are done than may be.
    pub(super) fn has_place(&mut self, name: &Name, limit: u32) -> Result<bool> {
        Ok(self.key(name)?.live.len() < limit as usize)
    }

    /// It is done again, and counts again.
    pub(super) fn take_place(&mut self, entry: &Entry) -> Result<()> {
        let Some(name) = entry.workflow.concurrency_key.clone() else { return Ok(()) };
        let id = entry.workflow.id;
        self.key(&name)?.live.insert(id);
        Ok(())
    }

    pub(super) fn wait_for_key(&mut self, workflow: &Workflow) {
        let number = self.turn_number;
        let name = workflow.concurrency_key.as_ref();
        let Some(key) = name.and_then(|name| self.workflows.waiting.keys.get_mut(name)) else { return };
        if key.queue.contains(&workflow.id) {
            return;
        }
        match key.queue.len() < limits::WAITING_WORKFLOWS_MAX && !key.more {
            true => drop(key.queue.insert(workflow.id)),
            false => (key.more, key.spilled_in) = (true, number),
        }
    }

    /// One of a key is over: the next may begin.
    pub(super) fn next_of_key(&mut self, entry: &Entry) -> Result<()> {
        let Some(name) = entry.workflow.concurrency_key.clone() else { return Ok(()) };
        let (id, number) = (entry.workflow.id, self.turn_number);
        let key = self.key(&name)?;
        key.live.remove(&id);
        key.queue.remove(&id);
        key.turn = number;
        self.workflows.waiting.idle.push_back((number, name.clone()));
        self.next_waits(&name, Some(id))
    }

    /// The first that waits for this key is looked at, and after it the next, as long as they may begin.
    fn next_waits(&mut self, name: &Name, but: Option<WorkflowId>) -> Result<()> {
        let durable = self.durable;
        let key = self.key(name)?;
        if key.queue.is_empty() && key.more {
            let spilled_in = key.spilled_in;
            let (_, waiting) = record::of_key(self.store.reader(), name, limits::WAITING_WORKFLOWS_MAX)?;
            let full = waiting.len() >= limits::WAITING_WORKFLOWS_MAX;
            let key = self.key(name)?;
            key.more = full || spilled_in > durable;
            let live = std::mem::take(&mut key.live);
            key.queue.extend(waiting.into_iter().filter(|id| Some(*id) != but && !live.contains(id)));
            key.live = live;
        }
        let first = self.key(name)?.queue.first().copied();
        self.workflows.waiting.arrived.extend(first);
        Ok(())
    }

    /// Begin what is on record and may begin.
    pub(super) fn begin_arrived(&mut self, turn: &mut Turn, now: Timestamp) -> Result<bool> {
        let mut any = false;
        for _ in 0..BEGUN_PER_TURN {
            let Some(id) = self.workflows.waiting.arrived.pop_front() else { break };
            any = true;
            let Some(entry) = self.entry(id)? else { continue };
            let (workflow, plan) = (entry.workflow.clone(), entry.plan.clone());
            self.workflows.put(entry);
            let begins = workflow.state == WorkflowState::Pending && self.may_begin(&workflow, &plan)?;
            if begins {
                self.begin_pending(turn, id, now)?;
            } else if workflow.state == WorkflowState::Pending {
                self.wait_for_key(&workflow);
                continue;
            }
            if let Some(name) = &workflow.concurrency_key {
                self.next_waits(name, None)?;
            }
        }
        Ok(any)
    }

    pub(in super::super) fn workflows_arrived(&mut self, ids: impl IntoIterator<Item = WorkflowId>) {
        self.workflows.waiting.arrived.extend(ids);
    }
}
