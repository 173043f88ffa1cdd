//! Steps of a workflow that are done again: their last runs are kept as superseded, and what they answered is not current any more.

use super::super::node::{Node, Turn};
use super::Entry;
use model::{Detail, Event, Move, Reason, RetrySource, State, StepId, Timestamp, WorkflowState};
use rules::workflow::End;
use std::collections::BTreeSet;
use store::Result;

impl Node {
    /// These steps are done again as their turns come, and the workflow goes on.
    pub(super) fn restart(
        &mut self,
        turn: &mut Turn,
        mut entry: Entry,
        again: BTreeSet<u32>,
        source: RetrySource,
        now: Timestamp,
    ) -> Result<()> {
        self.rewind(&mut entry, &again, source, now)?;
        let next = entry.progress.due(&entry.plan.graph);
        self.go_on(turn, entry, next.into(), now)
    }

    /// It runs again, and is as far as if these steps had not been done.
    pub(super) fn rewind(
        &mut self,
        entry: &mut Entry,
        again: &BTreeSet<u32>,
        source: RetrySource,
        now: Timestamp,
    ) -> Result<()> {
        self.move_workflow(entry, WorkflowState::Running, None, now)?;
        entry.workflow.output = None;
        let after = entry.aftermath();
        after.restarted_at = Some(now);
        after.auto_retry_at = None;
        after.auto_retries = if source == RetrySource::AutoRetry { after.auto_retries + 1 } else { 0 };
        for def in again {
            self.retire(entry, *def, source, now)?;
        }
        entry.spared.retain(|def, step| entry.replaced.get(def).is_some_and(|(old, _)| old == step));
        entry.progress = entry.progress.without(&entry.plan.graph, again);
        self.release_all(entry)
    }

    /// The last run of a step gives way to one that is still to come.
    pub(super) fn retire(
        &mut self,
        entry: &mut Entry,
        def: u32,
        source: RetrySource,
        now: Timestamp,
    ) -> Result<()> {
        entry.answers.remove(def);
        entry.broken.remove(&def);
        entry.cut.remove(&def);
        self.forget_pause(entry, def, now);
        if let Some(live) = entry.live.remove(&def) {
            self.take_from_whoever(live.step)?;
        }
        let Some(run) = entry.runs.get(&def).copied().filter(|_| !entry.replaced.contains_key(&def)) else {
            return Ok(());
        };
        if !self.bring(run.step)? {
            return Ok(());
        }
        self.apply(Move::new(run.step, Event::Superseded))?;
        self.board.unlist_ended(run.step);
        entry.replaced.insert(def, (run.step, source));
        let key = entry.plan.def(def).key.clone();
        let data = serde_json::json!({"run": run.number, "source": source}).to_string();
        self.workflows.tell(&entry.workflow, now, "step.superseded", Some(&key), Some(data));
        Ok(())
    }

    fn take_from_whoever(&mut self, id: StepId) -> Result<()> {
        if self.bring(id)? && self.board.step(id).is_some_and(|step| !step.state.is_terminal()) {
            let reason = Some(Reason::Retried);
            self.apply(Move { reason, ..Move::new(id, Event::ParentCancelled) })?;
        }
        Ok(())
    }

    /// A run that was superseded names the one that has its place now.
    pub(super) fn link(&mut self, old: StepId, new: StepId) -> Result<()> {
        if self.bring(old)? {
            self.board.edit(old, |_, detail| {
                detail.merge(Detail { superseded_by: Some(new), ..Detail::default() })
            });
        }
        Ok(())
    }

    /// What failed before has succeeded: the retries that are left are counted anew.
    pub(super) fn note_success(&mut self, entry: &mut Entry, def: u32, end: End) {
        let retried = entry.workflow.aftermath.as_ref().is_some_and(|after| after.auto_retries > 0);
        if retried && end.state == State::Completed && entry.run(def) > 1 {
            entry.aftermath().auto_retries = 0;
            self.note_change(entry);
        }
    }
}
