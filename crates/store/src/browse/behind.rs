//! Pages of long lists behind a place: ticks, notices, pauses, decisions, and what was sent to triggers.

use super::Browse;
use crate::batch::Tick;
use crate::channels::{self, NoticeRow};
use crate::pauses::{self, Waiting};
use crate::sql::{Param, Row};
use crate::statements::{PAUSE_COLUMNS, TRIGGER_PAYLOAD_COLUMNS};
use crate::{Result, params, rows};
use model::{BranchDecision, DispatchGroup, Pause, Timestamp, TriggerPayload, WorkflowId, limits};

/// Where a list of notices goes on: when it was told, the channel and the key.
pub type NoticePlace = (Timestamp, String, String);
/// Where a list of pauses goes on: its time, the workflow and the number of the step.
pub type PausePlace = (Timestamp, WorkflowId, u32);
/// Where a list of decisions goes on: when, about which step, and what kind.
pub type DecisionPlace = (Timestamp, String, String);

fn bounded(limit: usize) -> usize {
    // One more than a page tells whether there is another.
    limit.clamp(1, limits::PAGE_ROWS_MAX + 1)
}

impl Browse {
    /// The last ticks, newest first.
    pub fn ticks(&self, dispatch_group: Option<&str>, limit: usize) -> Result<Vec<Tick>> {
        self.ticks_behind(dispatch_group, None, limit)
    }

    /// The last that channels were told, newest first.
    pub fn notices(&self, limit: usize) -> Result<Vec<NoticeRow>> {
        self.notices_behind(None, limit)
    }

    /// The first that expressions decided in a workflow.
    pub fn branch_decisions(&self, id: WorkflowId) -> Result<Vec<BranchDecision>> {
        self.branch_decisions_behind(id, None, limits::PAGE_ROWS_MAX)
    }

    /// Ticks, newest first.
    pub fn ticks_behind(
        &self,
        dispatch_group: Option<&str>,
        after: Option<i64>,
        limit: usize,
    ) -> Result<Vec<Tick>> {
        let mut values = vec![Param::from(after.unwrap_or(i64::MAX))];
        let mut condition = "";
        if let Some(group) = dispatch_group {
            values.push(Param::from(group));
            condition = "and dispatch_group = $2";
        }
        let text = format!(
            "select id, dispatch_group, started_at, completed_at, duration_us, turns, progress, steps_dispatched, capped,
             left_over, phases from ticks where id < $1 {condition} order by id desc limit {}",
            bounded(limit)
        );
        self.sql().rows(&text, &values, tick)
    }

    /// What channels were told, newest first.
    pub fn notices_behind(&self, after: Option<&NoticePlace>, limit: usize) -> Result<Vec<NoticeRow>> {
        let first = (Timestamp(i64::MAX), String::new(), String::new());
        let (at, channel, key) = after.unwrap_or(&first);
        let text = format!(
            "select channel, notice_key, told_at, step_id, kind, severity, entity_type, entity_id, title from notices
              where told_at <= $1 and (told_at < $1 or channel > $2 or (channel = $2 and notice_key > $3))
              order by told_at desc, channel, notice_key limit {}",
            bounded(limit)
        );
        self.sql().rows(&text, params![*at, channel.as_str(), key.as_str()], channels::notice)
    }

    /// Pauses that wait, in the order that is asked for.
    pub fn pauses_behind(
        &self,
        which: Waiting,
        after: Option<PausePlace>,
        limit: usize,
    ) -> Result<Vec<Pause>> {
        let first = (Timestamp(i64::MIN), WorkflowId::from_bytes([0; 16]), 0);
        let (at, workflow, def) = after.unwrap_or(first);
        let (time, until) = match which {
            Waiting::All => ("registered_at", Timestamp(i64::MAX)),
            Waiting::DueBy(until) => ("coalesce(timeout_at, resume_at)", until),
        };
        let text = format!(
            "select {PAUSE_COLUMNS} from pauses where state = 'waiting' and {time} <= $4 and {time} >= $1
               and ({time} > $1 or workflow_id > $2 or (workflow_id = $2 and def > $3))
              order by {time}, workflow_id, def limit {}",
            bounded(limit)
        );
        self.sql().rows(&text, params![at, workflow, i64::from(def), until], pauses::read)
    }

    /// What was sent to a workflow, newest first.
    pub fn trigger_payloads_behind(
        &self,
        id: WorkflowId,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<TriggerPayload>> {
        let text = format!(
            "select {TRIGGER_PAYLOAD_COLUMNS} from trigger_payloads where workflow_id = $1 and number < $2
              order by number desc limit {}",
            bounded(limit)
        );
        let after = after.map_or(i64::MAX, |number| i64::try_from(number).unwrap_or(i64::MAX));
        self.sql().rows(&text, params![id, after], pauses::payload)
    }

    /// What expressions decided in a workflow, oldest first.
    pub fn branch_decisions_behind(
        &self,
        id: WorkflowId,
        after: Option<&DecisionPlace>,
        limit: usize,
    ) -> Result<Vec<BranchDecision>> {
        let first = (Timestamp(i64::MIN), String::new(), String::new());
        let (at, step_key, kind) = after.unwrap_or(&first);
        let text = format!(
            "select step_key, kind, expression, result, inputs, at from branch_decisions
              where workflow_id = $1 and at >= $2 and (at > $2 or step_key > $3 or (step_key = $3 and kind > $4))
              order by at, step_key, kind limit {}",
            bounded(limit)
        );
        let values = params![id, *at, step_key.as_str(), kind.as_str()];
        self.sql().rows(&text, values, |row| decision(id, row))
    }
}

fn tick(row: &Row) -> Result<Tick> {
    let count = |i: usize| -> Result<u64> { Ok(row.get::<i64>(i)?.unsigned_abs()) };
    Ok(Tick {
        id: row.get(0)?,
        dispatch_group: DispatchGroup(rows::shared(row, 1)?),
        started_at: Timestamp(row.get(2)?),
        completed_at: Timestamp(row.get(3)?),
        duration_us: count(4)?,
        turns: count(5)?,
        progress: count(6)? as usize,
        steps_dispatched: count(7)?,
        capped: count(8)?,
        left_over: count(9)?,
        phases: serde_json::from_str(row.text(10)?).unwrap_or_default(),
    })
}

fn decision(workflow: WorkflowId, row: &Row) -> Result<BranchDecision> {
    let kind = match row.text(1)? {
        "when" => "when",
        "branch" => "branch",
        _ => "terminate_when",
    };
    Ok(BranchDecision {
        workflow,
        step_key: row.get(0)?,
        kind,
        expression: row.get(2)?,
        result: row.get(3)?,
        inputs: row.get(4)?,
        at: Timestamp(row.get(5)?),
    })
}
