//! What people do to workflows: pause, resume and cancel, fenced, audited, and tried without a write.

use super::super::node::{Node, Turn};
use super::Entry;
use crate::EngineError;
use crate::request::{Reply, WorkflowOperated, WorkflowOperation, WorkflowVerb};
use crate::signal::Signal;
use model::{Decision, RetrySource, Timestamp, WorkflowId, WorkflowState};
use store::workflows as record;
use store::{AuditEntry, Result};

impl Node {
    pub(in super::super) fn operate_workflow(
        &mut self,
        turn: &mut Turn,
        operation: WorkflowOperation,
        reply: Reply<WorkflowOperated>,
        now: Timestamp,
    ) -> Result<()> {
        let id = operation.workflow;
        if let Some(group) = self.foreign_workflow(id)? {
            self.forward(turn, &group, &Signal::OperateWorkflow { operation }, reply);
            return Ok(());
        }
        let Some(entry) = self.entry(id)? else {
            turn.acts.refuse(reply, EngineError::NoWorkflow(id));
            return Ok(());
        };
        if operation.expected.is_some_and(|expected| expected != entry.version()) {
            let changed = EngineError::WorkflowChanged { workflow: id, version: entry.version() };
            self.workflows.put(entry);
            turn.acts.refuse(reply, changed);
            return Ok(());
        }
        match operation.verb.clone() {
            WorkflowVerb::Pause => self.hold(turn, entry, (operation, Hold::Pause), reply, now),
            WorkflowVerb::Resume => self.hold(turn, entry, (operation, Hold::Resume), reply, now),
            WorkflowVerb::Cancel => {
                let decision = Decision::Cancel { on_cancel: None };
                self.resolve(turn, entry, (operation, decision), reply, now)
            }
            WorkflowVerb::Resolve(decision) => self.resolve(turn, entry, (operation, decision), reply, now),
        }
    }

    /// Nothing new begins until somebody says so, or from now on.
    fn hold(
        &mut self,
        turn: &mut Turn,
        entry: Entry,
        (operation, hold): (WorkflowOperation, Hold),
        reply: Reply<WorkflowOperated>,
        now: Timestamp,
    ) -> Result<()> {
        let (id, from) = (entry.workflow.id, entry.workflow.state);
        let (needs, to, done) = hold.moves();
        if from != needs {
            self.workflows.put(entry);
            let why = format!("it is {from}, so it cannot be {done}");
            turn.acts.refuse(reply, EngineError::WorkflowRefused { workflow: id, why });
            return Ok(());
        }
        let (version, effects) = (entry.version() + 1, Vec::new());
        let operated = WorkflowOperated { workflow: id, from, to, version, effects };
        if operation.dry_run {
            self.workflows.put(entry);
            turn.acts.reply(reply, operated);
            return Ok(());
        }
        turn.audit.push(AuditEntry {
            who: operation.by.clone(),
            verb: operation.verb.word().into(),
            target: format!("workflow {id}"),
            why: Some(operation.why.clone()),
            before: Some(from.to_string()),
            after: Some(to.to_string()),
        });
        self.carry_out_hold(turn, entry, (hold, &operation.why), now)?;
        turn.acts.reply(reply, operated);
        Ok(())
    }

    /// The dispatch group of a workflow, if another node decides about it.
    fn foreign_workflow(&mut self, id: WorkflowId) -> Result<Option<model::DispatchGroup>> {
        if self.owns_all() {
            return Ok(None);
        }
        let workflow = record::workflow(self.store.reader(), id)?;
        Ok(workflow.map(|workflow| workflow.dispatch_group).filter(|group| !self.owns(group)))
    }

    fn carry_out_hold(
        &mut self,
        turn: &mut Turn,
        mut entry: Entry,
        (hold, why): (Hold, &str),
        now: Timestamp,
    ) -> Result<()> {
        self.pass_down(turn, &entry, (hold, why), now)?;
        match hold {
            Hold::Pause => {
                let why = (!why.is_empty()).then(|| why.to_string());
                self.move_workflow(&mut entry, WorkflowState::Paused, why, now)?;
                self.settle_workflow(entry, now)
            }
            // It goes on where it was held; a step that ended badly is done again.
            Hold::Resume => {
                let broken = entry.broken.keys().copied().collect();
                self.restart(turn, entry, broken, RetrySource::FailedRetry, now)
            }
        }
    }

    /// Workflows that it waits for are held and go on with it; they end with its steps.
    fn pass_down(
        &mut self,
        turn: &mut Turn,
        entry: &Entry,
        (hold, why): (Hold, &str),
        now: Timestamp,
    ) -> Result<()> {
        let below: Vec<WorkflowId> = entry.live.values().filter_map(|live| live.below).collect();
        for id in below {
            let Some(entry) = self.entry(id)? else { continue };
            match entry.workflow.state == hold.moves().0 {
                true => self.carry_out_hold(turn, entry, (hold, why), now)?,
                false => self.workflows.put(entry),
            }
        }
        Ok(())
    }
}

/// Whether new steps may begin.
#[derive(Clone, Copy)]
enum Hold {
    Pause,
    Resume,
}

impl Hold {
    /// From where to where, and what that is called.
    fn moves(self) -> (WorkflowState, WorkflowState, &'static str) {
        match self {
            Hold::Pause => (WorkflowState::Running, WorkflowState::Paused, "paused"),
            Hold::Resume => (WorkflowState::Paused, WorkflowState::Running, "resumed"),
        }
    }
}
