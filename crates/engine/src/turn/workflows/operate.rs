//! What people do to workflows: pause, resume and cancel, fenced, audited, and tried without a write.

use super::super::node::{Node, Turn};
use super::Entry;
use crate::EngineError;
use crate::request::{Forced, Reply, WorkflowOperated, WorkflowOperation, WorkflowVerb};
use crate::signal::Signal;
use model::{Decision, PausedBy, RetrySource, Timestamp, WorkflowId, WorkflowState};
use rules::workflow::hold::Hold;
use rules::workflow::pause::{self, Fit};
use rules::workflow::spare::Unspared;
use store::workflows as record;
use store::{AuditEntry, Result, StoreError};

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
        if operation.force.is_some() && operation.verb != WorkflowVerb::Resume {
            self.workflows.put(entry);
            let why = "only `resume` can be forced".into();
            turn.acts.refuse(reply, EngineError::WorkflowRefused { workflow: id, why });
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
        let to = hold.leads_to();
        let allowed = match allowed(hold, &entry, operation.force.as_ref()) {
            Ok(()) => self.can_hold(&entry, hold)?,
            refused => refused,
        };
        if let Err(why) = allowed {
            self.workflows.put(entry);
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
        self.carry_out_hold(turn, entry, (hold, &operation), now)?;
        turn.acts.reply(reply, operated);
        Ok(())
    }

    /// The dispatch group of a workflow, if another node decides about it.
    pub(super) fn foreign_workflow(&mut self, id: WorkflowId) -> Result<Option<model::DispatchGroup>> {
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
        (hold, operation): (Hold, &WorkflowOperation),
        now: Timestamp,
    ) -> Result<()> {
        self.pass_down(turn, &entry, (hold, operation), now)?;
        let why = (!operation.why.is_empty()).then(|| operation.why.clone());
        match hold {
            Hold::Pause if entry.awaits() => {
                self.hold_waiting(&mut entry, why, now);
                self.settle_workflow(entry, now)
            }
            Hold::Pause => {
                self.move_workflow(&mut entry, WorkflowState::Paused, why, now)?;
                self.settle_workflow(entry, now)
            }
            // It goes on where it was held; a step that ended badly is done again.
            Hold::Resume => {
                let broken = entry.broken.keys().copied().collect();
                let lost = |why: Unspared| StoreError::Lost { what: why.to_string() };
                entry.spared = self.spared_by_itself(&entry)?.map_err(lost)?;
                self.rewind(&mut entry, &broken, RetrySource::FailedRetry, now)?;
                if let Some(forced) = &operation.force {
                    // What follows is found with all that may begin.
                    self.force_pauses(&mut entry, operation, forced, now)?;
                }
                let next = entry.progress.due(&entry.plan.graph);
                self.go_on(turn, entry, next.into(), now)
            }
        }
    }

    /// What goes on does what failed again, here and in the workflows below: while items are still being ended it is not known which.
    fn can_hold(&mut self, entry: &Entry, hold: Hold) -> Result<std::result::Result<(), String>> {
        if matches!(hold, Hold::Pause) {
            return Ok(Ok(()));
        }
        if let Err(why) = self.spared_by_itself(entry)? {
            return Ok(Err(why.to_string()));
        }
        let below: Vec<WorkflowId> = entry.live.values().filter_map(|live| live.below).collect();
        for id in below {
            let Some(entry) = self.entry(id)? else { continue };
            let can = if fits(hold, &entry) { self.can_hold(&entry, hold)? } else { Ok(()) };
            self.workflows.put(entry);
            if can.is_err() {
                return Ok(can);
            }
        }
        Ok(Ok(()))
    }

    /// It waits for triggers, and from now on for a person too.
    fn hold_waiting(&mut self, entry: &mut Entry, why: Option<String>, now: Timestamp) {
        let data = why.as_ref().map(|why| serde_json::json!({"message": why}).to_string());
        self.workflows.tell(&entry.workflow, now, "workflow.paused", None, data);
        (entry.workflow.paused_by, entry.workflow.message) = (Some(PausedBy::Person), why);
        self.note_change(entry);
    }

    /// Workflows that it waits for are held and go on with it; they end with its steps.
    fn pass_down(
        &mut self,
        turn: &mut Turn,
        entry: &Entry,
        (hold, operation): (Hold, &WorkflowOperation),
        now: Timestamp,
    ) -> Result<()> {
        let below: Vec<WorkflowId> = entry.live.values().filter_map(|live| live.below).collect();
        for id in below {
            let Some(entry) = self.entry(id)? else { continue };
            match fits(hold, &entry) {
                true => {
                    let operation = WorkflowOperation { force: None, ..operation.clone() };
                    self.carry_out_hold(turn, entry, (hold, &operation), now)?;
                }
                false => self.workflows.put(entry),
            }
        }
        Ok(())
    }
}

/// Whether it can be held, or let go on.
fn allowed(hold: Hold, entry: &Entry, forced: Option<&Forced>) -> std::result::Result<(), String> {
    let is_paused = entry.workflow.state == WorkflowState::Paused;
    match (hold, forced) {
        (Hold::Resume, Some(forced)) if is_paused => forces(entry, forced),
        (Hold::Resume, None) if entry.awaits() => {
            let how = "send it with `stepfast trigger`, or force it with `stepfast resume --force`";
            Err(format!("{}; {how}", entry.pauses.awaited()))
        }
        _ if fits(hold, entry) => Ok(()),
        (Hold::Pause, _) => Err(format!("it {}, so it cannot be paused", entry.workflow.state.said())),
        (Hold::Resume, _) => Err(format!("it {}, so it cannot be resumed", entry.workflow.state.said())),
    }
}

fn fits(hold: Hold, entry: &Entry) -> bool {
    hold.fits(entry.workflow.state, entry.workflow.paused_by.filter(|_| entry.ends.is_none()))
}

/// What somebody sends in place of a trigger must be what the one trigger that is waited for asks for.
fn forces(entry: &Entry, forced: &Forced) -> std::result::Result<(), String> {
    let Some(payload) = &forced.payload else { return Ok(()) };
    let listening = || entry.pauses.waiting.iter().filter(|(_, pause)| pause.trigger.is_some());
    let (Some((def, pause)), 1) = (listening().next(), listening().count()) else {
        return Err("a payload is for one trigger; send each with `stepfast trigger`".into());
    };
    let value =
        serde_json::from_str(payload).map_err(|problem| format!("the payload is not JSON: {problem}"))?;
    match pause::has_shape(&entry.plan, *def, &value) {
        Fit::Yes => Ok(()),
        Fit::No(why) | Fit::NotYet(why) => Err(format!("{} asks for another payload: {why}", pause.awaits())),
    }
}
