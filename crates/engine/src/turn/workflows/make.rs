//! The rows of a workflow's steps: those a worker runs, and those that are over as soon as they begin.

use super::super::node::{Node, Turn};
use super::{Entry, Live, load};
use crate::EngineError;
use model::definition::{SubWorkflow, Work};
use model::{
    BRANCH_ACTION, Detail, Event, InWorkflow, Move, NewStep, Reason, State, Step, StepId, Timestamp,
    WAIT_ACTION, WORKFLOW_ACTION, Workflow, attempt_span, limits, workflow_span,
};
use rules::creation::Plan as Rows;
use rules::workflow::progress::Next;
use rules::workflow::{End, Plan, Todo};
use serde_json::value::RawValue;
use std::sync::Arc;
use store::{Result, StoreError};

/// What a step that needs no worker came to.
struct AtOnce {
    state: State,
    reason: Option<Reason>,
    detail: Detail,
}

impl Node {
    /// Do what is to be done for a step whose turn has come; those whose turn comes because of it.
    pub(super) fn carry_out_todo(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        def: u32,
        todo: Todo,
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        let spared = entry.spared.remove(&def);
        match todo {
            Todo::Run(new) => self.run_step(turn, entry, def, *new, now),
            Todo::RunInLine(new) => self.run_in_line(turn, entry, def, *new, now),
            Todo::RunEach(items) => match spared {
                Some(last) => self.fan_out_rest(turn, entry, (def, last), items, now),
                None => self.fan_out(turn, entry, def, items, now),
            },
            Todo::WaitUntil(at) => self.wait(turn, entry, def, at, now),
            Todo::Start(sub, input) => self.start_below(turn, entry, (def, sub), input, now),
            Todo::Skip(reason) => {
                let (state, detail) = (State::Skipped, Detail::default());
                self.end_at_once(turn, entry, def, AtOnce { state, reason: Some(reason), detail }, now)
            }
            Todo::Choose(keys) => {
                let answer = serde_json::to_string(&keys).unwrap_or_default();
                self.complete_at_once(turn, entry, def, answer, now)
            }
            Todo::Fail(message) => self.fail_step(turn, entry, def, message, now),
        }
    }

    pub(super) fn run_step(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        def: u32,
        new: NewStep,
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        let dispatch_group = Some(entry.workflow.dispatch_group.to_string());
        match self.plan(turn, &[NewStep { dispatch_group, ..new }], now)? {
            Err(faults) => {
                let message = EngineError::Invalid(faults).to_string();
                self.fail_step(turn, entry, def, message, now)
            }
            Ok(mut rows) => {
                self.mark(entry, def, &mut rows, None)?;
                self.begin_live(entry, def, &rows, now);
                self.carry_out(turn, rows)?;
                Ok(Vec::new())
            }
        }
    }

    fn begin_live(&mut self, entry: &mut Entry, def: u32, rows: &Rows, now: Timestamp) {
        let step = rows.roots.first().copied().expect("one step was asked for");
        let run = entry.run(def);
        let deadline = load::deadline(&entry.plan, def, now);
        let live = Live { step, run, deadline, goes_on_at: None, fan: None, below: None };
        entry.begin(def);
        entry.live.insert(def, live);
    }

    fn wait(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        def: u32,
        at: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        if at <= now {
            return self.complete_at_once(turn, entry, def, "null".into(), now);
        }
        if at > now + limits::WAIT_MAX {
            let days = limits::WAIT_MAX.as_secs() / 86_400;
            let message = format!("it would wait for more than {days} days");
            return self.fail_step(turn, entry, def, message, now);
        }
        let mut rows = self.sound_plan(turn, self.own_step(entry, def), now)?;
        self.mark(entry, def, &mut rows, None)?;
        rows.steps.iter_mut().for_each(|(step, _)| step.wake_at = Some(at));
        self.begin_live(entry, def, &rows, now);
        entry.live.entry(def).and_modify(|live| live.goes_on_at = Some(at));
        self.carry_out(turn, rows)?;
        Ok(Vec::new())
    }

    /// Another workflow, and a step that waits for its end.
    fn start_below(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        (def, sub): (u32, SubWorkflow),
        input: Box<RawValue>,
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        let named = sub.version.as_ref().map_or(sub.workflow.clone(), |v| format!("{} {v}", sub.workflow));
        let depth = entry.workflow.depth + 1;
        let plan = self.plan_for(&sub.workflow, sub.version.as_deref(), now)?;
        let complaint = match &plan {
            None => Some(format!("there is no definition `{named}`")),
            Some(plan) if plan.definition.concurrency.is_some() => {
                Some(format!("`{named}` has a concurrency key, which a workflow inside another cannot have"))
            }
            Some(_) if depth > limits::WORKFLOW_NESTING_MAX => Some(format!(
                "workflows would be nested more than {} levels deep",
                limits::WORKFLOW_NESTING_MAX
            )),
            Some(_) if input.get().len() > limits::PAYLOAD_BYTES_MAX => {
                Some(format!("its input would be {} bytes long", input.get().len()))
            }
            Some(_) => None,
        };
        let plan = match (plan, complaint) {
            (Some(plan), None) => plan,
            (_, complaint) => return self.fail_step(turn, entry, def, complaint.unwrap_or_default(), now),
        };
        let id = self.new_workflow_id(now);
        let input = match self.input_below(entry, &plan, &input, id)? {
            Ok(input) => input,
            Err(complaint) => {
                let message = format!("its input does not suit `{named}`: {complaint}");
                return self.fail_step(turn, entry, def, message, now);
            }
        };
        let new = NewStep { arguments: Some(input.clone()), ..self.own_step(entry, def) };
        let mut rows = self.sound_plan(turn, new, now)?;
        self.mark(entry, def, &mut rows, None)?;
        self.begin_live(entry, def, &rows, now);
        self.carry_out(turn, rows)?;
        let live = entry.live.get_mut(&def).expect("it was just begun");
        let step = live.step;
        let blank =
            self.blank_workflow(&plan, input.get().into(), entry.workflow.dispatch_group.clone(), now);
        live.below = Some(id);
        self.start_without_worker(step)?;
        self.board.edit(step, |step, _| step.parked = true);
        let trace = self.board.step(step).map(|step| step.traced().at(attempt_span(step.id, step.attempt)));
        let below = Workflow { id, parent: Some(step), depth, trace: trace.map(Arc::new), ..blank };
        self.begin_workflow(turn, below, plan, now)?;
        Ok(Vec::new())
    }

    /// A step that cannot even begin.
    pub(super) fn fail_step(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        def: u32,
        message: String,
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        let detail = Detail { error_message: Some(message), ..Detail::default() };
        let end = AtOnce { state: State::Failed, reason: Some(Reason::JobFailed), detail };
        self.end_at_once(turn, entry, def, end, now)
    }

    pub(super) fn complete_at_once(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        def: u32,
        answer: String,
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        if entry.plan.reads(def) {
            entry.answers.put(def, answer.as_str());
        }
        let detail = Detail { response: Some(answer), ..Detail::default() };
        self.end_at_once(turn, entry, def, AtOnce { state: State::Completed, reason: None, detail }, now)
    }

    /// The row of a step that nobody runs: it begins and ends in one turn.
    fn end_at_once(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        def: u32,
        end: AtOnce,
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        let AtOnce { state, reason, detail } = end;
        let error = detail.error_message.clone();
        let mut rows = self.sound_plan(turn, self.own_step(entry, def), now)?;
        self.mark(entry, def, &mut rows, None)?;
        let id = rows.roots.first().copied().expect("one step was asked for");
        entry.begin(def);
        self.carry_out(turn, rows)?;
        let event = match state {
            State::Skipped => Event::ParentSkipped,
            State::Failed => Event::ForcedFail,
            _ => {
                self.start_without_worker(id)?;
                Event::Completed
            }
        };
        self.apply(Move { reason, detail, ..Move::new(id, event) })?;
        // It is followed here, and need not be followed again.
        self.board.unlist_ended(id);
        self.after_step(turn, entry, (def, id), End { state, reason, error: error.as_deref() }, now)
    }

    /// What the row of a step of a definition says of it, but what it is given.
    pub(super) fn own_step(&self, entry: &Entry, def: u32) -> NewStep {
        NewStep {
            action: action_of(&entry.plan, def),
            step_key: Some(entry.plan.def(def).key.clone()),
            dispatch_group: Some(entry.workflow.dispatch_group.to_string()),
            ..NewStep::default()
        }
    }

    /// Rows of a step that the definition alone describes; it was looked at when it was stored.
    pub(super) fn sound_plan(&mut self, turn: &mut Turn, new: NewStep, now: Timestamp) -> Result<Rows> {
        let rows = self.plan(turn, &[new], now)?;
        rows.map_err(|faults| StoreError::Lost { what: EngineError::Invalid(faults).to_string() })
    }

    /// New rows are part of a workflow.
    pub(super) fn mark(
        &mut self,
        entry: &mut Entry,
        def: u32,
        rows: &mut Rows,
        item: Option<u32>,
    ) -> Result<()> {
        let mut source = None;
        if item.is_none() {
            let new = rows.roots.first().copied().expect("one step was asked for");
            entry.begin_run(def, new);
            if let Some((old, why)) = entry.replaced.remove(&def) {
                self.link(old, new)?;
                source = Some(why);
            }
        }
        for (step, detail) in &mut rows.steps {
            mark_step(entry, def, step, detail, item);
            detail.retry_source = source;
        }
        Ok(())
    }

    /// A row of an ended run that another has taken the place of.
    pub(super) fn supersede(&mut self, old: StepId, new: StepId) -> Result<()> {
        if !self.bring(old)? {
            return Ok(());
        }
        let detail = Detail { superseded_by: Some(new), ..Detail::default() };
        self.apply(Move { detail, ..Move::new(old, Event::Superseded) })
    }
}

pub(super) fn mark_step(entry: &Entry, def: u32, step: &mut Step, detail: &mut Detail, item: Option<u32>) {
    let run = entry.run(def);
    step.in_workflow = Some(InWorkflow { workflow: entry.workflow.id, def, run, item });
    let trace = entry.workflow.trace.as_ref();
    step.trace = trace.map(|trace| Arc::new(trace.at(workflow_span(entry.workflow.id))));
    let node = entry.plan.graph.nodes.get(def as usize);
    detail.branch_key = node.and_then(|node| node.branch.as_ref()).map(|(_, key)| key.to_string());
}

/// What a row says is done there.
fn action_of(plan: &Plan, def: u32) -> String {
    match &plan.def(def).work {
        Work::Action(action) => action.action.clone(),
        Work::Poll(poll) => poll.run.action.clone(),
        Work::Wait(_) => WAIT_ACTION.into(),
        Work::Branch(_) => BRANCH_ACTION.into(),
        Work::Workflow(_) => WORKFLOW_ACTION.into(),
    }
}
