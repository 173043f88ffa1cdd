//! Workflows of which only so many with one key are done at once: the others wait for their turn, oldest first.
//!
//! Why    all workflows of a key are decided in one dispatch group, so whoever decides there counts them alone.

use super::super::node::{Node, Turn};
use super::Entry;
use model::{Name, Timestamp, Workflow, WorkflowId, WorkflowState, limits};
use rules::workflow::Plan;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use store::Result;
use store::workflows as record;

#[derive(Default)]
struct Key {
    live: HashSet<WorkflowId>,
    /// Those that wait, as far as they are known here.
    queue: BTreeSet<WorkflowId>,
    /// More of them are on disk, or will be once this turn is.
    more: bool,
    spilled_in: u64,
}

#[derive(Default)]
pub struct Waiting {
    keys: HashMap<Name, Key>,
    /// On record, and to be begun if they may.
    pub arrived: VecDeque<WorkflowId>,
}

impl Node {
    fn key(&mut self, name: &Name) -> Result<&mut Key> {
        if !self.workflows.waiting.keys.contains_key(name) {
            let (live, waiting) = record::of_key(self.store.reader(), name, limits::WAITING_WORKFLOWS_MAX)?;
            let more = waiting.len() >= limits::WAITING_WORKFLOWS_MAX;
            let key = Key {
                live: live.into_iter().collect(),
                queue: waiting.into_iter().collect(),
                more,
                spilled_in: 0,
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
        let first = !key.more && key.queue.iter().next().is_none_or(|first| *first >= workflow.id);
        if key.live.len() >= most.limit as usize || !first {
            return Ok(false);
        }
        key.queue.remove(&workflow.id);
        key.live.insert(workflow.id);
        Ok(true)
    }

    pub(super) fn wait_for_key(&mut self, workflow: &Workflow) {
        let number = self.turn_number;
        let name = workflow.concurrency_key.as_ref();
        let Some(key) = name.and_then(|name| self.workflows.waiting.keys.get_mut(name)) else { return };
        match key.queue.len() < limits::WAITING_WORKFLOWS_MAX && !key.more {
            true => drop(key.queue.insert(workflow.id)),
            false => (key.more, key.spilled_in) = (true, number),
        }
    }

    /// One of a key is over: the next may begin.
    pub(super) fn next_of_key(&mut self, entry: &Entry) -> Result<()> {
        let Some(name) = entry.workflow.concurrency_key.clone() else { return Ok(()) };
        let durable = self.durable;
        let key = self.key(&name)?;
        key.live.remove(&entry.workflow.id);
        key.queue.remove(&entry.workflow.id);
        let (more, spilled_in) = (key.queue.is_empty() && key.more, key.spilled_in);
        if more {
            let (_, waiting) = record::of_key(self.store.reader(), &name, limits::WAITING_WORKFLOWS_MAX)?;
            let full = waiting.len() >= limits::WAITING_WORKFLOWS_MAX;
            let key = self.key(&name)?;
            key.more = full || spilled_in > durable;
            key.queue.extend(waiting.into_iter().filter(|id| *id != entry.workflow.id));
        }
        let key = self.key(&name)?;
        let first = key.queue.first().copied();
        let idle = key.live.is_empty() && key.queue.is_empty() && !key.more;
        if idle {
            self.workflows.waiting.keys.remove(&name);
        }
        self.workflows.waiting.arrived.extend(first);
        Ok(())
    }

    /// Begin what is on record and may begin.
    pub(super) fn begin_arrived(&mut self, turn: &mut Turn, now: Timestamp) -> Result<bool> {
        let arrived = std::mem::take(&mut self.workflows.waiting.arrived);
        let any = !arrived.is_empty();
        for id in arrived {
            let Some(entry) = self.entry(id)? else { continue };
            let pending = entry.workflow.state == WorkflowState::Pending;
            let (workflow, plan) = (entry.workflow.clone(), entry.plan.clone());
            self.workflows.put(entry);
            if !pending {
                continue;
            }
            match self.may_begin(&workflow, &plan)? {
                true => self.begin_pending(turn, id, now)?,
                false => self.wait_for_key(&workflow),
            }
        }
        Ok(any)
    }

    pub(in super::super) fn workflows_arrived(&mut self, ids: impl IntoIterator<Item = WorkflowId>) {
        self.workflows.waiting.arrived.extend(ids);
    }
}
