//! Pauses and what was sent to triggers, as people read them.

use super::Browse;
use crate::Result;
use crate::pauses::{self, Waiting};
use model::{Pause, TriggerPayload, WorkflowId};

impl Browse {
    pub fn pauses(&self, which: Waiting, limit: usize) -> Result<Vec<Pause>> {
        pauses::waiting(self.sql(), which, limit)
    }
    pub fn workflow_pauses(&self, id: WorkflowId) -> Result<Vec<Pause>> {
        pauses::of_workflow(self.sql(), id)
    }
    pub fn trigger_payloads(&self, id: WorkflowId, limit: usize) -> Result<Vec<TriggerPayload>> {
        pauses::received(self.sql(), id, limit)
    }
}
