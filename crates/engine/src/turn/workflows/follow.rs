//! What follows when a step of a workflow has ended.

use super::super::node::{Node, Turn};
use super::fan_out::Parent;
use super::load::Whose;
use super::{Entry, Live};
use model::definition::{Retry, RetryScope, Work};
use model::{
    Backoff, BranchDecision, Detail, Event, InWorkflow, Move, PausedBy, Reason, State, Step, StepId,
    Timestamp, WorkflowState,
};
use rules::backoff;
use rules::workflow::progress::{Next, Passed};
use rules::workflow::{self, Data, Decided, End, Then, Todo, resolution};
use std::collections::VecDeque;
use std::sync::Arc;
use store::Result;

impl Node {
    /// Steps of workflows ended in this turn: what follows. True if something did.
    pub(in super::super) fn advance_workflows(&mut self, turn: &mut Turn, now: Timestamp) -> Result<bool> {
        let mut any = self.begin_arrived(turn, now)? | self.fill(turn, now)?;
        for id in self.board.take_returned_in_workflows() {
            self.hold_if_held(id)?;
        }
        let ended = self.board.take_ended_in_workflows();
        self.bring_workflows(ended.iter().copied())?;
        for id in ended {
            any = true;
            let Some(step) = self.board.step(id).cloned() else { continue };
            let Some(part) = step.in_workflow else { continue };
            // Whoever decides about it is told by the block.
            if !matches!(self.plan_of(part.workflow)?, Some((_, Whose::Mine))) {
                continue;
            }
            let Some(entry) = self.entry(part.workflow)? else { continue };
            match part.item {
                Some(item) => self.one_item_ended(entry, part, item, &step)?,
                None => self.step_ended(turn, entry, &step, part, now)?,
            }
        }
        self.deliver_events(turn, now)?;
        Ok(any)
    }

    fn one_item_ended(&mut self, mut entry: Entry, part: InWorkflow, item: u32, step: &Step) -> Result<()> {
        let run = step.in_workflow.map(|part| part.run);
        let answer = match step.state {
            State::Completed => self.answer_of(step)?,
            _ => None,
        };
        if entry.live.get(&part.def).is_some_and(|live| Some(live.run) == run) {
            self.item_ended(&mut entry, part.def, item, answer);
            let fan = entry.live.get_mut(&part.def).and_then(|live| live.fan.as_mut());
            if let Some(fan) = fan.filter(|fan| step.state.is_failed() && fan.first_said.is_none()) {
                fan.first_said = self.error_of(step.id)?;
            }
        }
        self.workflows.put(entry);
        Ok(())
    }

    /// An item that stands in a line of another node has ended there.
    pub(in super::super) fn item_ended_away(&mut self, owner: StepId, id: StepId) -> Result<()> {
        let Some(part) = self.board.step(owner).and_then(|owner| owner.in_workflow) else { return Ok(()) };
        let Some(step) = self.store.step(id)? else { return Ok(()) };
        let Some(item) = step.in_workflow.and_then(|part| part.item) else { return Ok(()) };
        let Some(entry) = self.entry(part.workflow)? else { return Ok(()) };
        self.one_item_ended(entry, part, item, &step)
    }

    /// What a step answered: in this turn, or before it waited for its children or was looked at again.
    fn answer_of(&mut self, step: &Step) -> Result<Option<Arc<str>>> {
        if let Some(said) = self.board.said(step.id).and_then(|detail| detail.response.as_deref()) {
            return Ok(Some(said.into()));
        }
        if let Some(look) = &step.look {
            return Ok(look.response.clone());
        }
        let may_have_said = step.child_block.is_some() || self.board.step(step.id).is_none();
        let detail = if may_have_said { self.store.detail(step.id)? } else { None };
        Ok(detail.and_then(|detail| detail.response).map(Into::into))
    }

    fn step_ended(
        &mut self,
        turn: &mut Turn,
        mut entry: Entry,
        step: &Step,
        part: InWorkflow,
        now: Timestamp,
    ) -> Result<()> {
        if entry.live.get(&part.def).is_none_or(|live| live.step != step.id) {
            self.workflows.put(entry);
            return Ok(());
        }
        let Live { fan, below, run, .. } = entry.live.remove(&part.def).expect("it was just seen");
        if let Some(below) = below {
            self.cancel_below(below, now)?;
        }
        let block = step.child_block.filter(|_| fan.is_some());
        block.map_or(Ok(()), |block| self.make_no_more(block))?;
        if step.state.is_failed() && self.fan_out_again(turn, &mut entry, (part.def, run), step, now)? {
            self.reckon(&mut entry, now);
            self.workflows.put(entry);
            return Ok(());
        }
        let heard = fan.as_ref().map(|fan| fan.first_said.clone());
        let answer = match fan {
            Some(fan) => self.gathered(&entry, part.def, fan, step)?,
            None if step.state == State::Completed && entry.plan.reads(part.def) => Ok(self.answer_of(step)?),
            None => Ok(None),
        };
        let (answer, too_much) = answer.map_or_else(|why| (None, Some(why)), |answer| (answer, None));
        if let Some(answer) = answer
            && entry.plan.reads(part.def)
        {
            entry.answers.put(part.def, answer);
        }
        let mut said = self.board.said(step.id).and_then(|detail| detail.error_message.clone());
        if let (Some(Reason::ChildrenFailed), Some(heard), Some(words)) = (step.reason, heard, &mut said) {
            *words += &self.words_of_first(step.id, heard)?;
        }
        let error = too_much.clone().or(said);
        let state = if too_much.is_some() { State::Failed } else { step.state };
        let end = End { state, reason: step.reason, error: error.as_deref() };
        let next = self.after_step(turn, &mut entry, (part.def, step.id), end, now)?;
        self.go_on(turn, entry, next.into(), now)
    }

    /// What the first item that failed said: the fan-out itself knows only which it was.
    fn words_of_first(&mut self, fan_out: StepId, heard: Option<String>) -> Result<String> {
        let words = match heard {
            Some(words) => Some(words),
            // Another process may have heard it.
            None => {
                let block = self.with_block(fan_out)?.map(|(_, block)| block);
                let first = block.and_then(|block| block.blame.first().copied());
                first.map_or(Ok(None), |first| self.error_of(first))?
            }
        };
        let words = words.filter(|words| !words.is_empty());
        Ok(words.map_or_else(String::new, |words| format!("; the first said: {words}")))
    }

    /// What a step that has failed said, in this turn or in one that is stored.
    fn error_of(&mut self, step: StepId) -> Result<Option<String>> {
        match self.board.said(step).and_then(|detail| detail.error_message.clone()) {
            Some(words) => Ok(Some(words)),
            None => Ok(self.store.detail(step)?.and_then(|detail| detail.error_message)),
        }
    }

    /// A fan-out that is to be done again as a whole, if it may.
    fn fan_out_again(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        (def, run): (u32, u32),
        step: &Step,
        now: Timestamp,
    ) -> Result<bool> {
        let plan = entry.plan.clone();
        let Work::Action(action) = &plan.def(def).work else { return Ok(false) };
        let Some(retry) = action.retry.as_ref().filter(|retry| retry.scope == RetryScope::All) else {
            return Ok(false);
        };
        let (items, going_on) = (workflow::Items::read(&step.arguments), entry.is_going_on());
        let Some(items) =
            items.filter(|_| going_on && action.each.is_some() && run < retry.attempts.unwrap_or(3))
        else {
            return Ok(false);
        };
        let at = Some(now + backoff::delay(&backoff_of(retry), step.id, run));
        let new = self.make_parent(turn, entry, def, Parent { items: Some(items), at }, now)?;
        self.supersede(step.id, new)?;
        let data = serde_json::json!({"run": run + 1, "at": at.map(|at| at.0)}).to_string();
        self.workflows.tell(&entry.workflow, now, "step.retried", Some(&plan.def(def).key), Some(data));
        Ok(true)
    }

    /// What the end of a step means for its workflow; the steps whose turn has come.
    pub(super) fn after_step(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        (def, step): (u32, StepId),
        end: End,
        now: Timestamp,
    ) -> Result<Vec<Next>> {
        let plan = entry.plan.clone();
        if plan.undoes(def).is_some() {
            self.note_undone(entry, end, now)?;
            return Ok(Vec::new());
        }
        self.note_success(entry, def, end);
        let mut told = Vec::new();
        let data = Data::new(&plan, &entry.answers);
        let then = workflow::after(&plan, def, end, &data, &mut told);
        self.note_decisions(entry, told, now);
        let key = &plan.def(def).key;
        Ok(match then {
            Then::GoOn(_) if end.state == State::Completed && plan.pause(def).is_some() => {
                self.begin_pause(turn, entry, (def, step), now)?
            }
            Then::GoOn(passed) => {
                if passed == Passed::Aside || end.state == State::Skipped {
                    let data = end.reason.map(|reason| format!(r#"{{"reason":"{reason}"}}"#));
                    self.workflows.tell(&entry.workflow, now, "step.skipped", Some(key), data);
                }
                entry.progress.pass(&plan.graph, def, passed)
            }
            Then::End { state, message } => {
                let next = entry.progress.pass(&plan.graph, def, Passed::On);
                if !entry.is_going_on() && entry.workflow.state != WorkflowState::Paused {
                    return Ok(next);
                }
                self.end_early(entry, state, message, def, now);
                Vec::new()
            }
            Then::Fail(message) => {
                entry.broken.insert(def, step);
                if entry.is_going_on() || entry.workflow.state == WorkflowState::Paused {
                    let retries = entry.workflow.aftermath.as_ref().map_or(0, |after| after.auto_retries);
                    let follow = resolution::on_failure(&plan.definition.on_failure, retries, step, now);
                    self.fail_workflow(entry, message, follow, now)?;
                }
                Vec::new()
            }
            Then::Pause(message) => {
                entry.broken.insert(def, step);
                if entry.is_going_on() {
                    self.tell_held(entry, &message, now);
                    self.move_workflow(entry, WorkflowState::Paused, Some(message), now)?;
                    entry.workflow.paused_by = Some(PausedBy::Failure);
                }
                Vec::new()
            }
        })
    }

    pub(super) fn note_decisions(&mut self, entry: &Entry, told: Vec<Decided>, now: Timestamp) {
        for Decided { step, kind, expression, result, inputs } in told {
            let step_key = entry.plan.def(step).key.clone();
            if kind == "branch" {
                let data = Some(format!(r#"{{"chosen":{result}}}"#));
                self.workflows.tell(&entry.workflow, now, "branch.evaluated", Some(&step_key), data);
            }
            let workflow = entry.workflow.id;
            let decision = BranchDecision { workflow, step_key, kind, expression, result, inputs, at: now };
            self.workflows.decisions.push(decision);
        }
    }

    /// Begin whatever may begin, until all that is left waits for somebody.
    pub(super) fn go_on(
        &mut self,
        turn: &mut Turn,
        mut entry: Entry,
        mut queue: VecDeque<Next>,
        now: Timestamp,
    ) -> Result<()> {
        while let Some(next) = queue.pop_front().filter(|_| entry.is_going_on()) {
            let mut told = Vec::new();
            let todo = match self.asks_for_nothing(&entry, next)? {
                true => Todo::Skip(Reason::ConditionFalse),
                false => {
                    let data = Data::new(&entry.plan, &entry.answers);
                    workflow::todo(&entry.plan, next, &data, now, &mut told)
                }
            };
            self.note_decisions(&entry, told, now);
            queue.extend(self.carry_out_todo(turn, &mut entry, next.step, todo, now)?);
        }
        if entry.workflow.state == WorkflowState::Compensating {
            self.go_on_undoing(turn, &mut entry, now)?;
            return match entry.workflow.state {
                WorkflowState::Running => {
                    let next = entry.progress.due(&entry.plan.graph);
                    self.go_on(turn, entry, next.into(), now)
                }
                _ => self.settle_workflow(entry, now),
            };
        }
        if let Some((state, message)) = entry.ends.take() {
            self.end_now(turn, &mut entry, state, message, now)?;
        }
        if entry.workflow.state == WorkflowState::Running && entry.progress.is_over() {
            entry.workflow.output = workflow::output(&entry.plan, &entry.answers).map(Into::into);
            self.move_workflow(&mut entry, WorkflowState::Succeeded, None, now)?;
        }
        self.settle_workflow(entry, now)
    }

    /// A pause that polls begins only behind a step that was done.
    fn asks_for_nothing(&mut self, entry: &Entry, next: Next) -> Result<bool> {
        let before = entry.plan.polls_behind(next.step).filter(|_| next.reached);
        let Some(run) = before.and_then(|def| entry.runs.get(&def)).map(|run| run.step) else {
            return Ok(false);
        };
        Ok(self.row(run)?.state != State::Completed)
    }

    /// What its new state asks for, and back into hand with it.
    pub(super) fn settle_workflow(&mut self, mut entry: Entry, now: Timestamp) -> Result<()> {
        self.await_triggers(&mut entry, now)?;
        if entry.workflow.state.is_over() && entry.workflow.completed_at == Some(now) {
            self.ended_above(&entry)?;
            self.next_of_key(&entry)?;
        }
        self.reckon(&mut entry, now);
        self.workflows.put(entry);
        Ok(())
    }

    /// The step that waits for a workflow ends as the workflow did.
    fn ended_above(&mut self, entry: &Entry) -> Result<()> {
        let Some(step) = entry.workflow.parent else { return Ok(()) };
        if !self.bring(step)? || self.board.step(step).is_none_or(|step| step.state.is_terminal()) {
            return Ok(());
        }
        let (key, id) = (&entry.workflow.definition.key, entry.workflow.id);
        let why = entry.workflow.message.clone().unwrap_or_default();
        let (event, detail) = match entry.workflow.state {
            WorkflowState::Succeeded => {
                let response = entry.workflow.output.as_ref().map(ToString::to_string);
                (Event::Completed, Detail { response, ..Detail::default() })
            }
            WorkflowState::Cancelled => (Event::ChildrenCancelled, Detail::default()),
            state => {
                let done =
                    if state == WorkflowState::Compensated { "failed and was undone" } else { "failed" };
                let error_message = Some(format!("workflow {id} ({key}) {done}: {why}"));
                (Event::ChildrenFailed, Detail { error_message, ..Detail::default() })
            }
        };
        self.apply(Move { detail, ..Move::new(step, event) })
    }
}

fn backoff_of(retry: &Retry) -> Backoff {
    let usual = Backoff::default();
    Backoff {
        delay: retry.delay.unwrap_or(usual.delay),
        factor: retry.backoff.unwrap_or(usual.factor),
        max_delay: retry.max_delay.unwrap_or(usual.max_delay),
    }
}
