//! Moves a workflow, and what that means for its steps that are being done.

use super::super::keep::openings;
use super::super::node::{Node, Turn};
use super::{Changed, Entry, Live};
use model::{
    BlockId, Event, Move, PausedBy, Reason, State, Step, StepId, Timestamp, WorkflowId, WorkflowState,
};
use rules::eligible;
use rules::workflow::{Todo, machine, resolution};
use store::{Result, StoreError};

/// Due when nothing else is: what is held waits for its workflow.
const NEVER: Timestamp = Timestamp(i64::MAX);

impl Node {
    pub(super) fn note_change(&mut self, entry: &mut Entry) {
        if entry.change.is_none() {
            entry.change = Some(Changed::Moved);
            self.workflows.changed.push(entry.workflow.id);
        }
    }

    /// Into another state, with what its live steps make of it.
    pub(super) fn move_workflow(
        &mut self,
        entry: &mut Entry,
        to: WorkflowState,
        message: Option<String>,
        now: Timestamp,
    ) -> Result<()> {
        let from = entry.workflow.state;
        machine::next(from, to).map_err(|refused| StoreError::Lost { what: refused.to_string() })?;
        let data = message.as_ref().map(|m| serde_json::json!({"message": m}).to_string());
        self.workflows.tell(&entry.workflow, now, machine::event(from, to), None, data);
        entry.workflow.state = to;
        entry.workflow.message = message;
        entry.workflow.paused_by = (to == WorkflowState::Paused).then_some(PausedBy::Person);
        entry.workflow.completed_at = to.is_over().then_some(now);
        self.note_change(entry);
        match to {
            WorkflowState::Paused | WorkflowState::Failed => self.hold_all(entry),
            WorkflowState::Cancelled => self.cancel_live(entry, Reason::WorkflowCancelled),
            WorkflowState::Compensating => self.stop_live(entry, now),
            WorkflowState::Pending
            | WorkflowState::Running
            | WorkflowState::Succeeded
            | WorkflowState::Compensated
            | WorkflowState::CompensationFailed => Ok(()),
        }
    }

    /// The whole ends before its steps do: what is left is not done.
    pub(super) fn end_early(
        &mut self,
        entry: &mut Entry,
        state: WorkflowState,
        message: String,
        def: u32,
        now: Timestamp,
    ) {
        let key = entry.plan.def(def).key.clone();
        let data = serde_json::json!({"state": state, "reason": message}).to_string();
        self.workflows.tell(&entry.workflow, now, "workflow.terminated_early", Some(&key), Some(data));
        if state == WorkflowState::Succeeded {
            entry.workflow.output = entry.answers.get(def).cloned();
        }
        entry.ends = Some((state, message));
    }

    /// What was not begun is skipped, and what is being done is taken from whoever does it.
    pub(super) fn end_now(
        &mut self,
        turn: &mut Turn,
        entry: &mut Entry,
        state: WorkflowState,
        message: String,
        now: Timestamp,
    ) -> Result<()> {
        let ahead: Vec<u32> = entry.progress.ahead().collect();
        entry.cut.extend(&ahead);
        for def in ahead {
            // Those behind it are skipped as well, each for itself.
            self.carry_out_todo(turn, entry, def, Todo::Skip(Reason::TerminatedEarly), now)?;
        }
        self.cancel_live(entry, Reason::TerminatedEarly)?;
        match state {
            WorkflowState::Failed => {
                let follow = (resolution::on_end(&entry.plan.definition.on_failure), false);
                self.fail_workflow(entry, message, follow, now)
            }
            state => self.move_workflow(entry, state, Some(message), now),
        }
    }

    /// Whatever is still being done is taken from whoever does it.
    pub(super) fn cancel_live(&mut self, entry: &mut Entry, reason: Reason) -> Result<()> {
        let now = self.board.now;
        self.cancel_pauses(entry, now);
        let live: Vec<StepId> = entry.live.values().map(|live| live.step).collect();
        for id in live {
            if self.bring(id)? && self.board.step(id).is_some_and(|step| !step.state.is_terminal()) {
                self.apply(Move { reason: Some(reason), ..Move::new(id, Event::ParentCancelled) })?;
            }
        }
        Ok(())
    }

    /// Nothing of it starts, and what runs goes on.
    fn hold_all(&mut self, entry: &Entry) -> Result<()> {
        let live = entry.live.iter();
        // What stands in a line is under way there: held, it would hold up everybody behind it.
        let in_line = |def: &u32| entry.plan.is_in_line(*def);
        let block = |def: &u32, live: &Live| live.fan.as_ref().map(|fan| fan.block).filter(|_| !in_line(def));
        let live: Vec<(StepId, Option<BlockId>, Option<Timestamp>)> =
            live.map(|(def, live)| (live.step, block(def, live), live.goes_on_at)).collect();
        for (step, block, goes_on_at) in live {
            block.map_or(Ok(()), |block| self.hold_block(block, true))?;
            self.hold_step(step, goes_on_at.unwrap_or(NEVER))?;
        }
        Ok(())
    }

    pub(super) fn hold_block(&mut self, id: BlockId, held: bool) -> Result<()> {
        self.bring_block(id)?;
        if self.board.block(id).is_some_and(|block| block.held != held) {
            self.board.edit_block(id, |block| block.held = held);
            self.board.refresh_children(id);
        }
        Ok(())
    }

    /// What goes on by itself keeps its time; it is looked at when the workflow goes on.
    fn hold_step(&mut self, id: StepId, at: Timestamp) -> Result<()> {
        if self.bring(id)? && self.board.step(id).is_some_and(eligible::waits) {
            self.board.edit(id, |step, _| {
                step.wake_at = Some(at);
                step.reason = Some(Reason::WorkflowHeld);
            });
            self.board.refresh_window(id);
        }
        Ok(())
    }

    /// A step came back to be done again while its workflow is held.
    pub(super) fn hold_if_held(&mut self, id: StepId) -> Result<()> {
        let part = self.board.step(id).filter(|step| eligible::waits(step));
        let Some(part) = part.and_then(|step| step.in_workflow).filter(|part| part.item.is_none()) else {
            return Ok(());
        };
        let Some(entry) = self.entry(part.workflow)? else { return Ok(()) };
        let (state, undoes) = (entry.workflow.state, entry.plan.undoes(part.def).is_some());
        let held = !entry.is_going_on();
        self.workflows.put(entry);
        match state {
            WorkflowState::Compensating if undoes => Ok(()),
            WorkflowState::Compensating => {
                let reason = Some(Reason::WorkflowCompensating);
                self.apply(Move { reason, ..Move::new(id, Event::ParentCancelled) })
            }
            _ if held => self.hold_step(id, NEVER),
            _ => Ok(()),
        }
    }

    /// What was held may start.
    pub(super) fn release_all(&mut self, entry: &Entry) -> Result<()> {
        let live: Vec<(StepId, Option<BlockId>)> =
            entry.live.values().map(|live| (live.step, live.fan.as_ref().map(|fan| fan.block))).collect();
        for (id, block) in live {
            if let Some(block) = block {
                self.hold_block(block, false)?;
                let opened = self.board.block(block).map(openings).unwrap_or_default();
                opened.into_iter().for_each(|opened| self.sources.open(opened, 0));
                self.workflows.filling.insert(id);
            }
            let held = |step: &Step| step.reason == Some(Reason::WorkflowHeld);
            if self.bring(id)? && self.board.step(id).is_some_and(held) {
                let now = self.board.now;
                self.board.edit(id, |step, _| {
                    // What was to be polled meanwhile is polled now.
                    let polled = (step.state == State::Polling).then_some(now);
                    step.wake_at = step.wake_at.filter(|at| *at != NEVER).or(polled);
                    step.reason = None;
                });
                self.timers.set(now, now, id);
                self.board.refresh_window(id);
            }
        }
        Ok(())
    }

    /// A workflow that nobody waits for any more is cancelled.
    pub(super) fn cancel_below(&mut self, id: WorkflowId, now: Timestamp) -> Result<()> {
        let Some(mut entry) = self.entry(id)? else { return Ok(()) };
        if entry.workflow.state.is_over() {
            self.workflows.put(entry);
            return Ok(());
        }
        let message = "the step that waited for it has ended".to_string();
        self.cancel_or_undo(&mut entry, message, now)?;
        self.settle_workflow(entry, now)
    }
}
