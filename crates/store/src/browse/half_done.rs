//! What is begun and not over, oldest first, from the indexes that hold only such: candidates, of which the rule says which are half done.

use super::{Browse, StepRow};
use crate::flows::{self, FlowFilter, FlowShown};
use crate::statements::{HALF_DONE_WORKFLOWS, OPEN_TREES, UNRESOLVED_WORKFLOWS, with_columns};
use crate::{Result, params, workflows};
use model::{BlockId, Flow, FlowId, FlowStep, StepId, Workflow, limits};

/// States in which something is done, and something is not; those that failed are looked up apart.
const GOING_ON: [&str; 4] = ["running", "paused", "compensating", "compensation_failed"];

impl Browse {
    /// Workflows that are not over or failed, oldest first, behind an id.
    pub fn unfinished_workflows(&self, after: [u8; 16], limit: usize) -> Result<Vec<Workflow>> {
        let limit = limit.clamp(1, limits::HALF_DONE_LOOKED_AT);
        let (begun, failed) = (with_columns(HALF_DONE_WORKFLOWS), with_columns(UNRESOLVED_WORKFLOWS));
        let mut found = self.sql().rows(&failed, params![after, limit], workflows::read)?;
        for state in GOING_ON {
            found.extend(self.sql().rows(&begun, params![state, after, limit], workflows::read)?);
        }
        found.sort_by_key(|workflow| workflow.id);
        found.truncate(limit);
        Ok(found)
    }

    /// Flows of which something has happened and that are not over, or failed, oldest first, behind an id.
    pub fn unfinished_flows(&self, after: [u8; 16], limit: usize) -> Result<Vec<Flow>> {
        flows::half_done(self.sql(), after, limit.clamp(1, limits::HALF_DONE_LOOKED_AT))
    }

    /// Steps that stand alone and wait for those below them, oldest first, behind an id.
    pub fn unfinished_trees(&self, after: [u8; 16], limit: usize) -> Result<Vec<StepId>> {
        let limit = limit.clamp(1, limits::HALF_DONE_LOOKED_AT);
        self.sql().rows(OPEN_TREES, params![after, limit], |row| Ok(StepId::from_bytes(row.get(0)?)))
    }

    /// The first steps of a block, in their order.
    pub fn block_steps(&self, block: BlockId, limit: usize) -> Result<Vec<StepRow>> {
        let limit = limit.clamp(1, limits::PROGRESS_STEPS_MAX);
        self.query(&format!("where block_id = $1 order by block_index, id limit {limit}"), params![block])
    }

    pub fn flow(&self, id: FlowId) -> Result<Option<FlowShown>> {
        flows::show(self.sql(), id)
    }

    pub fn flow_steps(&self, id: FlowId) -> Result<Vec<FlowStep>> {
        flows::steps(self.sql(), id)
    }

    /// Newest first.
    /// The same, and none that is older than this one.
    pub fn flows_down_to(&self, filter: &FlowFilter, oldest: FlowId) -> Result<Vec<Flow>> {
        flows::list_down_to(self.sql(), filter, Some(oldest))
    }

    pub fn flows(&self, filter: &FlowFilter) -> Result<Vec<Flow>> {
        flows::list(self.sql(), filter)
    }
}
