//! Undoes what a workflow did: waits for what still runs, makes the plan, and does one after the other.
//!
//! Why    the plan is made from what is on disk, and stored, before the first of it is done: whoever takes over goes on where it was.
//!        Whatever cannot be undone stops there, and a person decides.

use super::super::node::{Node, Turn};
use super::{Entry, Live};
use crate::possible;
use model::{
    BlockId, CompensationRun, CompensationScope, CompensationState as C, Detail, Event, Move, Reason,
    RetrySource, State, Step, StepId, Timestamp, Undo, WorkflowState, limits,
};
use rules::workflow::compensation::{self, Done, InLine, Undone};
use rules::workflow::{Data, End, undoing};
use store::workflows as record;
use store::{Result, StoreError};

impl Node {
    /// What was done is undone, as soon as nothing of it runs any more.
    pub(super) fn enter_undoing(
        &mut self,
        entry: &mut Entry,
        scope: CompensationScope,
        reason: String,
        then_retry_from: Option<String>,
        now: Timestamp,
    ) -> Result<()> {
        let until = now + limits::SESSION_LEASE;
        let after = entry.aftermath();
        let (planned, then_items) = (false, None);
        after.undo =
            Some(Undo { scope, reason: reason.clone(), until, planned, then_retry_from, then_items });
        (after.compensation_started_at, after.auto_retry_at) = (Some(now), None);
        self.move_workflow(entry, WorkflowState::Compensating, Some(reason), now)?;
        self.plan_if_still(entry);
        Ok(())
    }

    /// Once nothing of it runs, and that is on disk, the plan can be made.
    fn plan_if_still(&mut self, entry: &Entry) {
        if entry.live.is_empty() {
            self.workflows.to_plan.push_back((self.turn_number, entry.workflow.id));
        }
    }

    /// Whatever has not begun does not begin; what runs may end.
    pub(super) fn stop_live(&mut self, entry: &mut Entry, now: Timestamp) -> Result<()> {
        // What stands before a pause is done, and can be undone.
        self.cancel_pauses(entry, now);
        let live = |live: &Live| (live.step, live.fan.as_ref().map(|fan| fan.block), live.below.is_some());
        let live: Vec<(StepId, Option<BlockId>, bool)> = entry.live.values().map(live).collect();
        for (id, block, waits_below) in live {
            if !self.bring(id)? {
                continue;
            }
            let step = self.board.step(id).expect("it was just brought");
            let has_begun = matches!(step.state, State::Running | State::Dispatched) && !waits_below;
            match block {
                Some(block) if has_begun => {
                    self.make_no_more(block)?;
                    self.hold_block(block, true)?;
                }
                _ if has_begun || step.state.is_terminal() => {}
                _ => self.call_off(id)?,
            }
        }
        Ok(())
    }

    fn call_off(&mut self, id: StepId) -> Result<()> {
        let reason = Some(Reason::WorkflowCompensating);
        self.apply(Move { reason, ..Move::new(id, Event::ParentCancelled) })
    }

    /// Whoever still runs has had its time.
    pub(super) fn wait_no_longer(&mut self, entry: &mut Entry) -> Result<()> {
        self.cancel_live(entry, Reason::WorkflowCompensating)?;
        self.plan_if_still(entry);
        Ok(())
    }

    /// Plans whose workflows are on disk as they are.
    pub(super) fn plan_undoing(&mut self, turn: &mut Turn, now: Timestamp) -> Result<()> {
        while let Some((_, id)) = self.workflows.to_plan.pop_front_if(|(turn, _)| *turn <= self.durable) {
            let Some(mut entry) = self.entry(id)? else { continue };
            let waits = entry.undo().is_some_and(|undo| !undo.planned) && entry.live.is_empty();
            if entry.workflow.state != WorkflowState::Compensating || !waits {
                self.workflows.put(entry);
                continue;
            }
            self.plan_one(&mut entry)?;
            self.go_on(turn, entry, Default::default(), now)?;
        }
        Ok(())
    }

    fn plan_one(&mut self, entry: &mut Entry) -> Result<()> {
        let scope = entry.undo().map(|undo| undo.scope.clone()).unwrap_or_default();
        let after = entry.aftermath();
        after.compensations += 1;
        if let Some(undo) = &mut after.undo {
            undo.planned = true;
        }
        let number = after.compensations;
        entry.undoing = self.order_of_undoing(entry, &scope)?;
        entry.undoing.iter_mut().for_each(|run| run.compensation = number);
        self.workflows.new_runs.extend(entry.undoing.iter().cloned());
        self.note_change(entry);
        Ok(())
    }

    /// What would be undone now, by what is on disk.
    pub(super) fn order_of_undoing(
        &mut self,
        entry: &Entry,
        scope: &CompensationScope,
    ) -> Result<Vec<CompensationRun>> {
        let plan = &entry.plan;
        let done = possible::done(plan, record::done(self.store.reader(), entry.workflow.id)?);
        let runs = compensation::order(plan, scope, &done).into_iter().enumerate();
        Ok(runs.map(|(position, one)| run_of(entry, position as u32, one)).collect())
    }

    /// One after the other, until one runs, cannot be undone, or nothing is left.
    pub(super) fn go_on_undoing(&mut self, turn: &mut Turn, entry: &mut Entry, now: Timestamp) -> Result<()> {
        if entry.undo().is_none_or(|undo| !undo.planned) {
            self.plan_if_still(entry);
            return Ok(());
        }
        while entry.live.is_empty() {
            if let Some(failed) = entry.undoing.iter().find(|run| run.state == C::Failed) {
                let why = failed.failure_message.clone().unwrap_or_default();
                let message = format!("step `{}` could not be undone: {why}", failed.step_key);
                self.tell_not_undone(entry, &message, now);
                return self.move_workflow(entry, WorkflowState::CompensationFailed, Some(message), now);
            }
            let Some(at) = entry.undoing.iter().position(|run| matches!(run.state, C::Pending | C::Running))
            else {
                return self.undone(entry, now);
            };
            self.undo_one(turn, entry, at, now)?;
        }
        Ok(())
    }

    fn undo_one(&mut self, turn: &mut Turn, entry: &mut Entry, at: usize, now: Timestamp) -> Result<()> {
        let run = entry.undoing[at].clone();
        let missing = |what: String| StoreError::Lost { what };
        let def =
            entry.plan.find(&run.step_key).ok_or_else(|| missing(format!("step `{}`", run.step_key)))?;
        let (each, in_line) = (entry.plan.fans_out(def), entry.plan.is_in_line(def));
        let below = if each || in_line { self.row(run.undoes)?.child_block } else { None };
        let what = match below {
            Some(block) if each => match record::last_item(self.store.reader(), block, run.cursor)? {
                None => {
                    self.note_run(entry, at, |run| run.state = C::Running)?;
                    return self.note_run(entry, at, |run| {
                        run.state = if run.items_done > 0 { C::Succeeded } else { C::Skipped };
                        run.finished_at = Some(now);
                    });
                }
                Some((ended_at, item)) => {
                    self.note_run(entry, at, |run| run.cursor = Some((ended_at, item)))?;
                    item
                }
            },
            Some(block) => record::only_child(self.store.reader(), block)?.unwrap_or(run.undoes),
            None => run.undoes,
        };
        let what = self.whole(what)?;
        self.start_undoing(turn, entry, (at, def), &what, now)
    }

    /// A step with what it answered, in one journey.
    fn whole(&mut self, id: StepId) -> Result<(Step, Detail)> {
        let missing = || StoreError::Lost { what: format!("step {id}") };
        let (stored, detail) = self.store.whole(id)?.ok_or_else(missing)?;
        Ok((self.board.step(id).cloned().unwrap_or(stored), detail))
    }

    pub(super) fn row(&mut self, id: StepId) -> Result<Step> {
        if let Some(step) = self.board.step(id) {
            return Ok(step.clone());
        }
        self.store.step(id)?.ok_or_else(|| StoreError::Lost { what: format!("step {id}") })
    }

    /// The step that undoes another.
    fn start_undoing(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        (at, def): (usize, u32),
        (what, detail): &(Step, Detail),
        now: Timestamp,
    ) -> Result<()> {
        let plan = entry.plan.clone();
        let reason = entry.undo().map(|undo| undo.reason.clone()).unwrap_or_default();
        let undone = Undone {
            step_key: &plan.def(def).key,
            run: what.in_workflow.map_or(1, |part| part.run),
            item: what.in_workflow.and_then(|part| part.item).filter(|_| plan.fans_out(def)),
            state: what.state,
            input: &what.arguments,
            output: detail.response.as_deref(),
            reason: &reason,
        };
        let new = compensation::undo(&plan, def, &undone, &Data::new(&plan, &entry.answers));
        self.note_run(entry, at, |run| {
            run.state = C::Running;
            run.started_at = run.started_at.or(Some(now));
        })?;
        let undo = plan.undo_of(def);
        match new {
            Err(failure) => drop(self.fail_step(turn, entry, undo, failure.message, now)?),
            Ok((new, InLine::No)) => drop(self.run_step(turn, entry, undo, new, now)?),
            Ok((new, InLine::Yes)) => drop(self.run_in_line(turn, entry, undo, new, now)?),
        }
        let step = entry.runs.get(&undo).map(|run| run.step);
        self.note_run(entry, at, |run| run.step = step)?;
        let key = entry.undoing[at].step_key.clone();
        self.workflows.tell(&entry.workflow, now, "compensation.step_started", Some(&key), None);
        Ok(())
    }

    /// A line of the plan changes; where it may go, the machine says.
    fn note_run(
        &mut self,
        entry: &mut Entry,
        at: usize,
        change: impl FnOnce(&mut CompensationRun),
    ) -> Result<()> {
        let run = &mut entry.undoing[at];
        let from = run.state;
        change(run);
        if run.state != from {
            undoing::next(from, run.state)
                .map_err(|refused| StoreError::Lost { what: refused.to_string() })?;
        }
        let row = (run.workflow, run.compensation, run.position);
        self.workflows.moved_runs.insert(row, run.clone());
        Ok(())
    }

    /// What undoes a step has ended.
    pub(super) fn note_undone(&mut self, entry: &mut Entry, end: End, now: Timestamp) -> Result<()> {
        let Some(at) = entry.undoing.iter().position(|run| run.state == C::Running) else { return Ok(()) };
        let key = entry.undoing[at].step_key.clone();
        let fans_out = entry.plan.find(&key).is_some_and(|def| entry.plan.fans_out(def));
        let (succeeded, error) = (end.state == State::Completed, end.error.map(String::from));
        let why = error.unwrap_or_else(|| format!("it {}", end.state.said()));
        self.note_run(entry, at, |run| match (succeeded, fans_out) {
            (true, true) => run.items_done += 1,
            (true, false) => (run.state, run.finished_at) = (C::Succeeded, Some(now)),
            (false, _) => (run.state, run.failure_message) = (C::Failed, Some(why.clone())),
        })?;
        let kind = if succeeded { "compensation.step_succeeded" } else { "compensation.step_failed" };
        let data = (!succeeded).then(|| serde_json::json!({"message": why}).to_string());
        self.workflows.tell(&entry.workflow, now, kind, Some(&key), data);
        Ok(())
    }

    /// What could not be undone is tried once more.
    pub(super) fn undo_again(&mut self, turn: &mut Turn, mut entry: Entry, now: Timestamp) -> Result<()> {
        let Some(at) = entry.undoing.iter().position(|run| run.state == C::Failed) else {
            self.workflows.put(entry);
            return Ok(());
        };
        self.move_workflow(&mut entry, WorkflowState::Compensating, None, now)?;
        let run = entry.undoing[at].clone();
        if let Some(def) = entry.plan.find(&run.step_key) {
            let undo = entry.plan.undo_of(def);
            self.retire(&mut entry, undo, RetrySource::FailedRetry, now)?;
        }
        // The item that could not be undone is the one to begin with.
        let before = match (run.cursor, entry.plan.find(&run.step_key)) {
            (Some(cursor), Some(def)) if entry.plan.fans_out(def) => self.item_before(&run, cursor)?,
            _ => None,
        };
        self.note_run(&mut entry, at, |run| {
            (run.state, run.failure_message, run.cursor) = (C::Pending, None, before);
        })?;
        self.go_on(turn, entry, Default::default(), now)
    }

    /// The item that was undone just before another: behind it comes that one again.
    fn item_before(
        &mut self,
        run: &CompensationRun,
        cursor: (Timestamp, StepId),
    ) -> Result<Option<(Timestamp, StepId)>> {
        let Some(block) = self.row(run.undoes)?.child_block else { return Ok(None) };
        record::next_item(self.store.reader(), block, cursor)
    }

    /// What could not be undone is left as it is, alone or with all that is not undone yet.
    pub(super) fn skip_undoing(
        &mut self,
        turn: &mut Turn,
        mut entry: Entry,
        all: bool,
        now: Timestamp,
    ) -> Result<()> {
        entry.aftermath().has_skips = true;
        self.move_workflow(&mut entry, WorkflowState::Compensating, None, now)?;
        for at in 0..entry.undoing.len() {
            let run = &entry.undoing[at];
            let fans_out = entry.plan.find(&run.step_key).is_some_and(|def| entry.plan.fans_out(def));
            match run.state {
                // One of its items; the others are still to be undone.
                C::Failed if fans_out && !all => self.note_run(&mut entry, at, |run| {
                    run.state = C::Pending;
                    run.items_skipped += 1;
                })?,
                C::Pending if !all => {}
                C::Failed | C::Pending => self
                    .note_run(&mut entry, at, |run| (run.state, run.finished_at) = (C::Skipped, Some(now)))?,
                C::Running | C::Succeeded | C::Skipped => {}
            }
        }
        self.go_on(turn, entry, Default::default(), now)
    }
}

fn run_of(entry: &Entry, position: u32, one: &Done) -> CompensationRun {
    let def = entry.plan.def(one.def);
    CompensationRun {
        workflow: entry.workflow.id,
        compensation: 0,
        position,
        step_key: def.key.clone(),
        undoes: one.step,
        action: def.compensation.as_ref().map(|undo| undo.run.action.clone()).unwrap_or_default(),
        state: C::Pending,
        step: None,
        items_done: 0,
        items_skipped: 0,
        cursor: None,
        started_at: None,
        finished_at: None,
        failure_message: None,
    }
}
