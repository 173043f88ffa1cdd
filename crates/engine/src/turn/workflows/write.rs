//! The rows of workflows that a turn changed.

use super::super::node::Node;
use super::Changed;
use store::{Batch, WorkflowWrite};

impl Node {
    pub(in super::super) fn write_workflows(&mut self, batch: &mut Batch) {
        let abroad = std::mem::take(&mut self.workflows.abroad).into_iter();
        batch.workflows.extend(abroad.map(|workflow| WorkflowWrite {
            workflow,
            expected: None,
            counted: None,
        }));
        for id in std::mem::take(&mut self.workflows.changed) {
            let Some(entry) = self.workflows.entries.get_mut(&id) else { continue };
            let Some(change) = entry.change.take() else { continue };
            let expected = (change == Changed::Moved).then_some(entry.workflow.version);
            let counted = std::mem::replace(&mut entry.counted, entry.workflow.open_state());
            batch.workflows.push(WorkflowWrite { workflow: entry.workflow.clone(), expected, counted });
            entry.workflow.version += u64::from(expected.is_some());
        }
        batch.workflow_events = std::mem::take(&mut self.workflows.events);
        batch.resolution_decisions = std::mem::take(&mut self.workflows.resolutions);
        batch.new_runs = std::mem::take(&mut self.workflows.new_runs);
        batch.moved_runs = std::mem::take(&mut self.workflows.moved_runs).into_values().collect();
        batch.branch_decisions = std::mem::take(&mut self.workflows.decisions);
        (batch.pauses, batch.trigger_payloads) = self.workflows.pause_rows.take();
    }
}
