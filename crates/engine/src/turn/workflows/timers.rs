//! What a workflow does when a time has come: waits end, and what took too long is ended.

use super::super::node::{Node, Turn};
use super::Entry;
use model::{Detail, Event, Move, PausedBy, StepId, Timestamp, Workflow, WorkflowId, WorkflowState};
use std::time::Duration;
use store::Result;
use store::workflows as record;

/// Workflows that one turn looks at because their time has come.
const DUE_PER_TURN: usize = 1_000;

impl Node {
    /// Workflows whose time has come.
    pub(in super::super) fn look_after_workflows(&mut self, turn: &mut Turn, now: Timestamp) -> Result<()> {
        self.plan_undoing(turn, now)?;
        self.redo_items();
        let (store, lease) = (&self.store, &self.lease);
        self.workflows
            .timers
            .read_ahead(now, |from, until, limit| record::due(store.reader(), lease, from, until, limit))?;
        for _ in 0..DUE_PER_TURN {
            let Some((_, id)) = self.workflows.timers.pop_due(now) else { return Ok(()) };
            // It may have ended long before: then it is not worth a reading of its steps.
            if !self.workflows.entries.contains_key(&id) && !self.is_due_on_disk(id, now)? {
                continue;
            }
            let Some(entry) = self.entry(id)? else { continue };
            match entry.workflow.wake_at.is_some_and(|at| at <= now) && is_timed(&entry.workflow) {
                true => self.due(turn, entry, now)?,
                false => self.workflows.put(entry),
            }
        }
        self.again();
        Ok(())
    }

    fn is_due_on_disk(&self, id: WorkflowId, now: Timestamp) -> Result<bool> {
        let row = record::workflow(self.store.reader(), id)?;
        Ok(row.is_some_and(|row| is_timed(&row) && row.wake_at.is_some_and(|at| at <= now)))
    }

    fn due(&mut self, turn: &mut Turn, mut entry: Entry, now: Timestamp) -> Result<()> {
        if entry.auto_retry_at().is_some_and(|at| at <= now) {
            return self.retry_by_itself(turn, entry, now);
        }
        if entry.is_under_way() && entry.deadline().is_some_and(|at| at <= now) {
            let message = format!("it took longer than {}", shown(entry.plan.definition.timeout));
            return self.took_too_long(entry, message, now);
        }
        match entry.undo().filter(|undo| undo.until <= now).map(|undo| undo.planned) {
            Some(false) => self.wait_no_longer(&mut entry)?,
            Some(true) if is_undone(&entry) => return self.go_on(turn, entry, Default::default(), now),
            _ => {}
        }
        let due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        let live = entry.live.iter();
        let late: Vec<(u32, StepId)> =
            live.filter(|(_, live)| due(live.deadline)).map(|(def, live)| (*def, live.step)).collect();
        for (def, step) in late {
            match entry.plan.def(def).work.poll() {
                Some(_) => self.polls_overdue(&mut entry, def, step, now)?,
                None => self.time_out(&entry, def, step)?,
            }
        }
        let live = entry.live.iter_mut();
        let on: Vec<(StepId, bool)> = live
            .filter(|(_, live)| due(live.goes_on_at))
            .map(|(_, live)| {
                live.goes_on_at = None;
                (live.step, live.fan.is_some())
            })
            .collect();
        for (step, fans_out) in on {
            if !self.bring(step)? || self.board.step(step).is_none_or(|step| step.state.is_terminal()) {
                continue;
            }
            match fans_out {
                true => self.begin_parent(step)?,
                false => {
                    self.start_without_worker(step)?;
                    let detail = Detail { response: Some("null".into()), ..Detail::default() };
                    self.apply(Move { detail, ..Move::new(step, Event::Completed) })?;
                }
            }
        }
        let next = self.pauses_due(turn, &mut entry, now)?;
        self.pauses_over(turn, entry, next, now)
    }

    fn time_out(&mut self, entry: &Entry, def: u32, step: StepId) -> Result<()> {
        if !self.bring(step)? || self.board.step(step).is_none_or(|step| step.state.is_terminal()) {
            return Ok(());
        }
        let timeout = match &entry.plan.def(def).work {
            model::definition::Work::Action(action) => action.timeout.step,
            _ => None,
        };
        let error_message = Some(format!("the step took longer than {}", shown(timeout)));
        let detail = Detail { error_message, ..Detail::default() };
        self.apply(Move { detail, ..Move::new(step, Event::TimedOut) })
    }

    /// When it is to be looked at next. An earlier look does no harm, so a row is not written to put it off.
    pub(super) fn reckon(&mut self, entry: &mut Entry, now: Timestamp) {
        let timed = entry.is_under_way() || entry.workflow.state == WorkflowState::Compensating;
        let of_steps = entry.live.values().flat_map(|live| [live.deadline, live.goes_on_at]);
        let of_pauses = entry.pauses.waiting.values().map(model::Pause::wake_at);
        let of_pauses = of_pauses.flatten().filter(|_| entry.is_under_way());
        let of_steps = of_steps.flatten().filter(|_| timed);
        let undo = entry.undo().filter(|undo| !undo.planned || is_undone(entry)).map(|undo| undo.until);
        let whole = [entry.deadline().filter(|_| entry.is_under_way()), entry.auto_retry_at(), undo];
        let next = of_steps.chain(of_pauses).chain(whole.into_iter().flatten()).min();
        let known = entry.workflow.wake_at.filter(|at| *at > now);
        let later = known.is_some_and(|known| next.is_some_and(|next| next >= known));
        if later || next == entry.workflow.wake_at {
            return;
        }
        entry.workflow.wake_at = next;
        self.note_change(entry);
        if let Some(at) = next {
            self.workflows.timers.set(now, at, entry.workflow.id);
        }
    }
}

/// What was to be undone is, and what is done again is not known yet.
fn is_undone(entry: &Entry) -> bool {
    entry.workflow.state == WorkflowState::Compensating && entry.live.is_empty()
}

/// Something happens to it when a time has come.
fn is_timed(workflow: &Workflow) -> bool {
    let waits = || workflow.aftermath.as_ref().is_some_and(|after| after.auto_retry_at.is_some());
    match workflow.state {
        WorkflowState::Failed => waits(),
        WorkflowState::Paused => workflow.paused_by == Some(PausedBy::Trigger),
        state => state.is_going_on() || state == WorkflowState::Compensating,
    }
}

pub fn shown(span: Option<Duration>) -> String {
    let ms = span.unwrap_or_default().as_millis();
    match ms {
        _ if ms >= 86_400_000 && ms.is_multiple_of(86_400_000) => format!("{}d", ms / 86_400_000),
        _ if ms >= 3_600_000 && ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms >= 60_000 && ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ if ms >= 1_000 && ms.is_multiple_of(1_000) => format!("{}s", ms / 1_000),
        _ => format!("{ms}ms"),
    }
}
