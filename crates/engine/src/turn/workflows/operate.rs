//! What people do to workflows: pause, resume and cancel, fenced, audited, and tried without a write.

use super::super::node::{Node, Turn};
use super::Entry;
use crate::EngineError;
use crate::request::{Forced, Reply, WorkflowOperated, WorkflowOperation, WorkflowVerb};
use crate::signal::Signal;
use model::{PausedBy, StepId, Timestamp, Workflow, WorkflowId, WorkflowState};
use rules::workflow::machine;
use rules::workflow::pause::{self, Fit};
use rules::workflow::progress::Next;
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
        if let Err(refused) = allowed(&entry, &operation) {
            self.workflows.put(entry);
            turn.acts.refuse(reply, refused);
            return Ok(());
        }
        let to = operation.verb.leads_to();
        let from = entry.workflow.state;
        let operated = WorkflowOperated { workflow: id, from, to, version: entry.workflow.version + 1 };
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
        self.carry_out_verb(turn, entry, &operation, now)?;
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

    fn carry_out_verb(
        &mut self,
        turn: &mut Turn,
        mut entry: Entry,
        operation: &WorkflowOperation,
        now: Timestamp,
    ) -> Result<()> {
        let why = (!operation.why.is_empty()).then(|| operation.why.clone());
        self.pass_down(turn, &entry, operation, now)?;
        match operation.verb {
            WorkflowVerb::Pause if entry.awaits() => {
                self.hold_waiting(&mut entry, why, now);
                self.settle_workflow(entry, now)
            }
            WorkflowVerb::Pause | WorkflowVerb::Cancel => {
                self.move_workflow(&mut entry, operation.verb.leads_to(), why, now)?;
                self.settle_workflow(entry, now)
            }
            WorkflowVerb::Resume => {
                self.move_workflow(&mut entry, WorkflowState::Running, None, now)?;
                if let Some(forced) = &operation.force {
                    // What follows is found with all that may begin.
                    self.force_pauses(&mut entry, operation, forced, now)?;
                }
                self.resume(turn, entry, now)
            }
        }
    }

    /// It waits for triggers, and from now on for a person too.
    fn hold_waiting(&mut self, entry: &mut Entry, why: Option<String>, now: Timestamp) {
        let data = why.as_ref().map(|why| serde_json::json!({"message": why}).to_string());
        self.workflows.tell(&entry.workflow, now, "workflow.paused", None, data);
        (entry.workflow.paused_by, entry.workflow.message) = (Some(PausedBy::Person), why);
        self.note_change(entry);
    }

    /// It goes on where it was held; a step that ended badly is done again.
    fn resume(&mut self, turn: &mut Turn, mut entry: Entry, now: Timestamp) -> Result<()> {
        self.release_all(&entry)?;
        let broken: Vec<(u32, StepId)> = std::mem::take(&mut entry.broken).into_iter().collect();
        let mut next = entry.progress.due(&entry.plan.graph);
        for (def, old) in broken {
            entry.progress.put_back(def);
            entry.answers.remove(def);
            let again = self.begin_again(turn, &mut entry, def, now)?;
            let new = match entry.live.get(&def).map(|live| live.step) {
                Some(new) => Some(new),
                None => entry.broken.get(&def).copied(),
            };
            if let Some(new) = new {
                self.supersede(old, new)?;
            }
            next.extend(again);
        }
        self.go_on(turn, entry, next.into(), now)
    }

    fn begin_again(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        def: u32,
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        let plan = entry.plan.clone();
        let data = rules::workflow::Data::new(&plan, &entry.answers);
        let mut told = Vec::new();
        let todo = rules::workflow::todo(&plan, Next { step: def, reached: true }, &data, now, &mut told);
        self.note_decisions(entry, told, now);
        self.carry_out_todo(turn, entry, def, todo, now)
    }

    /// Workflows that it waits for are held and go on with it; they end with its steps.
    fn pass_down(
        &mut self,
        turn: &mut Turn,
        entry: &Entry,
        operation: &WorkflowOperation,
        now: Timestamp,
    ) -> Result<()> {
        if operation.verb == WorkflowVerb::Cancel {
            return Ok(());
        }
        let below: Vec<WorkflowId> = entry.live.values().filter_map(|live| live.below).collect();
        for id in below {
            let Some(entry) = self.entry(id)? else { continue };
            match fits(operation.verb, &entry.workflow) {
                true => {
                    let (expected, force) = (None, None);
                    let operation = WorkflowOperation { workflow: id, expected, force, ..operation.clone() };
                    self.carry_out_verb(turn, entry, &operation, now)?;
                }
                false => self.workflows.put(entry),
            }
        }
        Ok(())
    }
}

fn allowed(entry: &Entry, operation: &WorkflowOperation) -> std::result::Result<(), EngineError> {
    let workflow = &entry.workflow;
    let refuse = |why: String| EngineError::WorkflowRefused { workflow: workflow.id, why };
    if operation.expected.is_some_and(|expected| expected != workflow.version) {
        return Err(EngineError::WorkflowChanged { workflow: workflow.id, version: workflow.version });
    }
    let resumes = operation.verb == WorkflowVerb::Resume;
    match &operation.force {
        Some(_) if !resumes => return Err(refuse("only `resume` can be forced".into())),
        Some(forced) if workflow.state == WorkflowState::Paused => {
            return forces(entry, forced).map_err(refuse);
        }
        None if resumes && entry.awaits() => {
            let how = "send it with `stepfast trigger`, or force it with `stepfast resume --force`";
            return Err(refuse(format!("{}; {how}", entry.pauses.awaited())));
        }
        _ => {}
    }
    match fits(operation.verb, workflow) {
        true => Ok(()),
        false => Err(refuse(format!("it is {}, so it cannot be {}", workflow.state, operation.verb.done()))),
    }
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

fn fits(verb: WorkflowVerb, workflow: &Workflow) -> bool {
    let listens = workflow.paused_by == Some(PausedBy::Trigger);
    match (verb, workflow.state) {
        (WorkflowVerb::Pause, WorkflowState::Running) => true,
        // From then on it waits for a person too.
        (WorkflowVerb::Pause, WorkflowState::Paused) => listens,
        (WorkflowVerb::Resume, WorkflowState::Paused) => !listens,
        (WorkflowVerb::Pause | WorkflowVerb::Resume, _) => false,
        (WorkflowVerb::Cancel, state) => machine::next(state, WorkflowState::Cancelled).is_ok(),
    }
}
