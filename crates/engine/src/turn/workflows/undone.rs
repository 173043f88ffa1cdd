//! What follows when everything is undone that was to be: it is over, or it goes on from a step.

use super::super::node::Node;
use super::Entry;
use super::items_again::Spared;
use super::resolve::LOOK_AGAIN;
use model::{CompensationScope, RetrySource, Timestamp, WorkflowState};
use rules::workflow::spare::Unspared;
use std::collections::BTreeSet;
use store::{Result, StoreError};

impl Node {
    /// Everything is undone that was to be.
    pub(super) fn undone(&mut self, entry: &mut Entry, now: Timestamp) -> Result<()> {
        let Some(step) = entry.undo().and_then(|undo| undo.then_retry_from.clone()) else {
            self.close_undo(entry, now);
            let message = entry.workflow.message.clone();
            return self.move_workflow(entry, WorkflowState::Compensated, message, now);
        };
        let from =
            entry.plan.find(&step).ok_or_else(|| StoreError::Lost { what: format!("step `{step}`") })?;
        let mut again = entry.plan.graph.behind(from);
        again.insert(from);
        let undone = again.clone();
        again.extend(entry.broken.keys().chain(&entry.cut));
        let spared = match self.spared_after_undoing(entry, from, (&again, &undone))? {
            Err(Unspared::Moving(_)) => {
                // Only when all items have ended is known which of them are done again.
                entry.aftermath().undo.iter_mut().for_each(|undo| undo.until = now + LOOK_AGAIN);
                self.note_change(entry);
                return Ok(());
            }
            spared => spared.map(|(spared, _)| spared).unwrap_or_default(),
        };
        self.close_undo(entry, now);
        self.take_place(entry)?;
        entry.spared = spared;
        self.rewind(entry, &again, RetrySource::RetryFromStep, now)?;
        self.workflows.tell(&entry.workflow, now, "retry_from.completed", Some(&step), None);
        Ok(())
    }

    fn close_undo(&mut self, entry: &mut Entry, now: Timestamp) {
        let after = entry.aftermath();
        (after.compensated_at, after.undo) = (Some(now), None);
        entry.undoing.clear();
    }

    /// What was undone as a whole is done again as a whole; what stood beside it keeps what succeeded.
    fn spared_after_undoing(
        &mut self,
        entry: &Entry,
        from: u32,
        (again, undone): (&BTreeSet<u32>, &BTreeSet<u32>),
    ) -> Result<Spared> {
        let undo = entry.undo();
        let items = undo.and_then(|undo| undo.then_items);
        if undo.is_some_and(|undo| matches!(undo.scope, CompensationScope::AfterStep(_))) {
            return self.spared_of(entry, again, (Some(from), items));
        }
        let beside = again.difference(undone).copied().collect();
        self.spared_of(entry, &beside, (None, None))
    }
}
