//! How far workflows are, by the rows of their steps: many workflows in one read.

use crate::sql::{Row, Sql};
use crate::{Result, StoreError, many};
use model::{Reason, State, StepId, WorkflowId};
use std::collections::BTreeMap;

/// A step of a workflow, as far as the workflow's progress depends on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    pub step: StepId,
    pub def: u32,
    pub run: u32,
    pub state: State,
    pub reason: Option<Reason>,
    pub response: Option<String>,
}

/// The steps of each workflow, the last run of each; what they answered only where it is asked for.
pub fn traces(
    sql: &dyn Sql,
    ids: &[WorkflowId],
    answers: impl Fn(WorkflowId, u32) -> bool,
) -> Result<BTreeMap<WorkflowId, Vec<Trace>>> {
    let text = "select id, def, run, state, reason, workflow_id from steps
                 where workflow_id in ({ids}) and block_id is null order by def, run, id";
    let read = |row: &Row| Ok((WorkflowId::from_bytes(row.get(5)?), trace(row)?));
    let mut last: BTreeMap<(WorkflowId, u32), Trace> = BTreeMap::new();
    for (workflow, trace) in many::rows(sql, text, ids, read)? {
        last.insert((workflow, trace.def), trace);
    }
    let asked = last.iter().filter(|((id, def), t)| t.state == State::Completed && answers(*id, *def));
    let asked: Vec<StepId> = asked.map(|(_, trace)| trace.step).collect();
    let mut responses = responses(sql, &asked)?;
    let mut traces: BTreeMap<WorkflowId, Vec<Trace>> = BTreeMap::new();
    for ((id, _), trace) in last {
        let response = responses.remove(&trace.step);
        traces.entry(id).or_default().push(Trace { response, ..trace });
    }
    Ok(traces)
}

fn responses(sql: &dyn Sql, steps: &[StepId]) -> Result<BTreeMap<StepId, String>> {
    let text = "select id, response from steps where id in ({ids}) and response is not null";
    let read = |row: &Row| Ok((StepId::from_bytes(row.get(0)?), row.get(1)?));
    Ok(many::rows(sql, text, steps, read)?.into_iter().collect())
}

fn trace(row: &Row) -> Result<Trace> {
    let corrupt = |column, value: &str| StoreError::Corrupt { table: "steps", column, value: value.into() };
    let (state, reason) = (row.text(3)?, row.get::<Option<String>>(4)?);
    Ok(Trace {
        step: StepId::from_bytes(row.get(0)?),
        def: row.get(1)?,
        run: row.get(2)?,
        state: state.parse().map_err(|_| corrupt("state", state))?,
        reason: reason.map(|r| r.parse().map_err(|_| corrupt("reason", &r))).transpose()?,
        response: None,
    })
}
