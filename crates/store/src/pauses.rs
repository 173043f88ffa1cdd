//! Pauses on record, and what was sent to triggers.

use crate::sql::{Param, Row, Sql};
use crate::statements::{PAUSE_COLUMNS, TRIGGER_PAYLOAD_COLUMNS};
use crate::{Result, StoreError, params, rows};
use model::{Pause, StepId, Timestamp, TokenHash, TriggerPayload, WorkflowId, limits};

/// Reads `PAUSE_COLUMNS`.
pub fn read(row: &Row) -> Result<Pause> {
    let corrupt = |column, value: &str| StoreError::Corrupt { table: "pauses", column, value: value.into() };
    let state = row.text(11)?;
    let token: Option<Vec<u8>> = row.get(6)?;
    let hash = |bytes: Vec<u8>| bytes.try_into().map(TokenHash).map_err(|_| corrupt("token_hash", "…"));
    Ok(Pause {
        workflow: WorkflowId::from_bytes(row.get(0)?),
        def: row.get(1)?,
        run: row.get(2)?,
        step: StepId::from_bytes(row.get(3)?),
        step_key: rows::shared(row, 4)?,
        trigger: rows::optional_shared(row, 5)?,
        token: token.map(hash).transpose()?,
        registered_at: Timestamp(row.get(7)?),
        timeout_at: rows::time(row, 8)?,
        resume_at: rows::time(row, 9)?,
        reminders: row.get(10)?,
        state: state.parse().map_err(|_| corrupt("state", state))?,
        ended_at: rows::time(row, 12)?,
        consumed: row.get(13)?,
        version: row.get(14)?,
    })
}

/// Reads `TRIGGER_PAYLOAD_COLUMNS`.
pub fn payload(row: &Row) -> Result<TriggerPayload> {
    let verdict = row.text(8)?;
    let corrupt =
        || StoreError::Corrupt { table: "trigger_payloads", column: "verdict", value: verdict.into() };
    Ok(TriggerPayload {
        workflow: WorkflowId::from_bytes(row.get(0)?),
        number: row.get(1)?,
        trigger: rows::shared(row, 2)?,
        webhook_id: row.get(3)?,
        payload: row.get(4)?,
        received_at: Timestamp(row.get(5)?),
        source: row.get(6)?,
        identity: row.get(7)?,
        verdict: verdict.parse().map_err(|_| corrupt())?,
        why: row.get(9)?,
        run: row.get(10)?,
    })
}

/// The pauses of a workflow, in the order of its definition.
pub fn of_workflow(sql: &dyn Sql, id: WorkflowId) -> Result<Vec<Pause>> {
    let text = format!("select {PAUSE_COLUMNS} from pauses where workflow_id = $1 order by def, run");
    sql.rows(&text, params![id], read)
}

/// The pauses that wait in some workflows, in the order of their definitions.
pub(crate) fn waiting_in(sql: &dyn Sql, of_these: &str, values: &[Param]) -> Result<Vec<Pause>> {
    let text = format!(
        "select {PAUSE_COLUMNS} from pauses where {of_these} and state = 'waiting' order by def, run"
    );
    sql.rows(&text, values, read)
}

/// What came before its pause, oldest first.
pub fn early(sql: &dyn Sql, id: WorkflowId) -> Result<Vec<TriggerPayload>> {
    let text = format!(
        "select {TRIGGER_PAYLOAD_COLUMNS} from trigger_payloads
          where workflow_id = $1 and verdict = 'early' order by number limit {}",
        limits::EARLY_TRIGGERS_MAX
    );
    sql.rows(&text, params![id], payload)
}

/// What a pause went on with.
pub fn sent(sql: &dyn Sql, id: WorkflowId, number: u64) -> Result<Option<String>> {
    let text = "select payload from trigger_payloads where workflow_id = $1 and number = $2";
    Ok(sql.first(text, params![id, number], |row| row.get::<Option<String>>(0))?.flatten())
}

/// The first message that its sender gave this id.
pub fn message(
    sql: &dyn Sql,
    id: WorkflowId,
    trigger: &str,
    webhook_id: &str,
) -> Result<Option<TriggerPayload>> {
    let text = format!(
        "select {TRIGGER_PAYLOAD_COLUMNS} from trigger_payloads
          where workflow_id = $1 and trigger_key = $2 and webhook_id = $3 order by number limit 1"
    );
    sql.first(&text, params![id, trigger, webhook_id], payload)
}

/// The number of the last that was sent to a workflow.
pub fn last_number(sql: &dyn Sql, id: WorkflowId) -> Result<u64> {
    sql.value("select coalesce(max(number), 0) from trigger_payloads where workflow_id = $1", params![id])
}

/// What was sent to a workflow, newest first.
pub fn received(sql: &dyn Sql, id: WorkflowId, limit: usize) -> Result<Vec<TriggerPayload>> {
    let limit = limit.clamp(1, limits::PAGE_ROWS_MAX);
    let text = format!(
        "select {TRIGGER_PAYLOAD_COLUMNS} from trigger_payloads where workflow_id = $1
          order by number desc limit {limit}"
    );
    sql.rows(&text, params![id], payload)
}

/// Which of those that wait, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// All, the oldest first.
    All,
    /// Those that are looked at by then, the next first.
    DueBy(Timestamp),
}

/// A page of those that wait; their workflows may be held or have failed.
pub fn waiting(sql: &dyn Sql, which: Waiting, limit: usize) -> Result<Vec<Pause>> {
    let limit = limit.clamp(1, limits::PAGE_ROWS_MAX);
    match which {
        Waiting::All => {
            let text = format!(
                "select {PAUSE_COLUMNS} from pauses where state = 'waiting'
                  order by registered_at, workflow_id, def limit {limit}"
            );
            sql.rows(&text, &[], read)
        }
        Waiting::DueBy(until) => {
            let text = format!(
                "select {PAUSE_COLUMNS} from pauses where state = 'waiting' and coalesce(timeout_at, resume_at) <= $1
                  order by coalesce(timeout_at, resume_at), workflow_id, def limit {limit}"
            );
            sql.rows(&text, params![until], read)
        }
    }
}
