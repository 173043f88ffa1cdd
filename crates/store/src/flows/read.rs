//! Flows as they are read: one with its steps for a rule, with its history for one who looks at it, and pages of them.

use crate::sql::{Row, Sql};
use crate::statements::{FLOW_COLUMNS, FLOW_EVENTS, FLOW_STEPS, HALF_DONE_FLOWS, with_columns};
use crate::{Result, StoreError, params, rows};
use model::{Flow, FlowAction, FlowId, FlowMoment, FlowName, FlowStep, StepId, Timestamp, limits};
use rules::flow::Wish;
use std::str::FromStr;

/// How many of the last things that were said are looked through for what was asked.
const ASKED_LOOKED_AT: i64 = 20;

/// A flow with its steps and its history, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowShown {
    pub flow: Flow,
    pub steps: Vec<FlowStep>,
    pub history: Vec<FlowMoment>,
}

pub fn find(sql: &dyn Sql, id: FlowId) -> Result<Option<Flow>> {
    sql.first(&format!("select {FLOW_COLUMNS} from flows where id = $1"), params![id], flow)
}

/// The newest run of a flow.
pub(super) fn last_run(sql: &dyn Sql, name: &FlowName) -> Result<Option<Flow>> {
    let text = format!(
        "select {FLOW_COLUMNS} from flows where type = $1 and key = $2 and entity_type = $3 and entity_id = $4
          order by run desc limit 1"
    );
    sql.first(&text, params![&name.kind, &name.key, &name.entity_type, &name.entity_id], flow)
}

pub fn steps(sql: &dyn Sql, flow: FlowId) -> Result<Vec<FlowStep>> {
    sql.rows(FLOW_STEPS, params![flow], step)
}

pub fn show(sql: &dyn Sql, id: FlowId) -> Result<Option<FlowShown>> {
    let Some(flow) = find(sql, id)? else { return Ok(None) };
    let mut history = sql.rows(FLOW_EVENTS, params![id, limits::FLOW_EVENTS_KEPT], moment)?;
    history.reverse();
    Ok(Some(FlowShown { flow, steps: steps(sql, id)?, history }))
}

/// The step that was made when a flow was last asked for the same, with nothing said about it since but what was asked.
pub fn asked_last(sql: &dyn Sql, flow: FlowId, wish: Wish) -> Result<Option<StepId>> {
    let is_wish = |moment: &FlowMoment| [Wish::Retry.event(), Wish::Cancel.event()].contains(&moment.event);
    let last = sql.rows(FLOW_EVENTS, params![flow, ASKED_LOOKED_AT], moment)?;
    let asked = last.into_iter().take_while(is_wish).find(|moment| moment.event == wish.event());
    Ok(asked.and_then(|moment| moment.step?.parse().ok()))
}

/// Flows of which something has happened and that are not over, oldest first, behind one.
pub fn half_done(sql: &dyn Sql, after: [u8; 16], limit: usize) -> Result<Vec<Flow>> {
    sql.rows(&with_columns(HALF_DONE_FLOWS), params![after, limit], flow)
}

fn word<T: FromStr>(text: &str, table: &'static str, column: &'static str) -> Result<T> {
    text.parse().map_err(|_| StoreError::Corrupt { table, column, value: text.into() })
}

fn action(row: &Row, i: usize, column: &'static str) -> Result<Option<FlowAction>> {
    let Some(text) = row.get::<Option<String>>(i)? else { return Ok(None) };
    let corrupt = |_| StoreError::Corrupt { table: "flows", column, value: text.clone() };
    serde_json::from_str(&text).map(Some).map_err(corrupt)
}

pub(super) fn flow(row: &Row) -> Result<Flow> {
    let previous: Option<String> = row.get(8)?;
    Ok(Flow {
        id: FlowId::from_bytes(row.get(0)?),
        name: FlowName {
            kind: row.get(1)?,
            key: row.get(2)?,
            entity_type: row.get(3)?,
            entity_id: row.get(4)?,
        },
        run: row.get(5)?,
        user: row.get(6)?,
        state: word(row.text(7)?, "flows", "state")?,
        previous_state: previous.map(|text| word(&text, "flows", "previous_state")).transpose()?,
        message: row.get(9)?,
        error: row.get(10)?,
        open: row.get(11)?,
        retry: action(row, 12, "retry_action")?,
        cancel: action(row, 13, "cancel_action")?,
        started_at: Timestamp(row.get(14)?),
        started_by: row.get(15)?,
        updated_at: Timestamp(row.get(16)?),
        progressed_at: rows::time(row, 17)?,
        timeout_at: Timestamp(row.get(18)?),
        finished_at: rows::time(row, 19)?,
        version: row.get(20)?,
        given_up_at: rows::time(row, 21)?,
    })
}

fn step(row: &Row) -> Result<FlowStep> {
    Ok(FlowStep {
        name: row.get(0)?,
        position: row.get(1)?,
        optional: row.get(2)?,
        state: word(row.text(3)?, "flow_steps", "state")?,
        at: rows::time(row, 4)?,
        message: row.get(5)?,
    })
}

fn moment(row: &Row) -> Result<FlowMoment> {
    Ok(FlowMoment {
        number: row.get(0)?,
        at: Timestamp(row.get(1)?),
        event: word(row.text(2)?, "flow_events", "event")?,
        step: row.get(3)?,
        state: word(row.text(4)?, "flow_events", "state")?,
        by: row.get(5)?,
        message: row.get(6)?,
    })
}
