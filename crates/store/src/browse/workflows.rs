//! Workflows, their steps, events and decisions, and the definitions they run, as people read them.

use super::{Browse, StepRow, places, statuses};
use crate::sql::{Param, Row};
use crate::statements::{OPEN_WORKFLOW, WORKFLOW_COLUMNS};
use crate::traces::{Trace, traces};
use crate::workflows::{self, Definition, Ended};
use crate::{Result, params, pauses, reads, rows};
use model::{
    BlockId, CompensationRun, DispatchGroup, Pause, ResolutionDecision, StepId, Timestamp, Workflow,
    WorkflowId, WorkflowState, limits,
};
use std::collections::HashMap;

/// Which workflows; everything that is said must hold.
#[derive(Clone, Debug, Default)]
pub struct WorkflowFilter {
    pub states: Vec<WorkflowState>,
    pub definition: Option<String>,
    pub version: Option<String>,
    /// All of these labels.
    pub labels: Vec<(String, String)>,
    pub created_from: Option<Timestamp>,
    pub created_to: Option<Timestamp>,
    /// Also those that a step of another workflow started.
    pub nested: bool,
    /// Those that are being done and of which nothing has happened since.
    pub quiet_since: Option<Timestamp>,
    /// Not those about which somebody has decided that nobody is asked any more.
    pub unresolved: bool,
    pub after: Option<WorkflowId>,
    pub ascending: bool,
    pub limit: usize,
}

/// Workflows whose courses are read at once.
pub const WORKFLOWS_AT_ONCE: usize = 50;

/// What a workflow has done and what it waits for.
#[derive(Debug, Default)]
pub struct WorkflowCourse {
    /// The runs of its steps, without the items of fan-outs.
    pub steps: Vec<StepRow>,
    pub pauses: Vec<Pause>,
}

/// Something that happened to a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct EventLine {
    pub dispatch_group: DispatchGroup,
    pub number: u64,
    pub workflow: WorkflowId,
    pub at: Timestamp,
    pub kind: String,
    pub step_key: Option<String>,
    pub data: Option<String>,
}

/// A version of a definition on record.
#[derive(Clone, Debug, PartialEq)]
pub struct DefinitionLine {
    pub key: String,
    pub version: String,
    pub hash: String,
    pub created_at: Timestamp,
    pub created_by: String,
    /// Its workflows that are not over.
    pub live: u64,
}

/// Where a page of definitions goes on: behind this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionKey {
    pub key: String,
    pub version: [u64; 3],
}

impl Browse {
    pub fn workflow(&self, id: WorkflowId) -> Result<Option<Workflow>> {
        workflows::workflow(self.sql(), id)
    }

    /// The workflow that a step waits for.
    pub fn workflow_below(&self, step: StepId) -> Result<Option<WorkflowId>> {
        workflows::below(self.sql(), step)
    }

    pub fn workflows(&self, filter: &WorkflowFilter) -> Result<Vec<Workflow>> {
        self.workflows_down_to(filter, None)
    }

    /// The same, and none that is older than this one.
    pub fn workflows_down_to(
        &self,
        filter: &WorkflowFilter,
        oldest: Option<WorkflowId>,
    ) -> Result<Vec<Workflow>> {
        let (condition, values) = conditions(filter, oldest);
        let order = if filter.ascending { "asc" } else { "desc" };
        let limit = filter.limit.clamp(1, limits::PAGE_ROWS_MAX);
        let text = format!(
            "select {WORKFLOW_COLUMNS} from workflows w {condition} order by id {order} limit {limit}"
        );
        self.sql().rows(&text, &values, workflows::read)
    }

    /// The ids alone, for whoever does something to each.
    pub fn workflow_ids(&self, filter: &WorkflowFilter) -> Result<Vec<WorkflowId>> {
        let (condition, values) = conditions(filter, None);
        let order = if filter.ascending { "asc" } else { "desc" };
        let limit = filter.limit.clamp(1, limits::PAGE_ROWS_MAX);
        let text = format!("select id from workflows w {condition} order by id {order} limit {limit}");
        self.sql().rows(&text, &values, |row| Ok(WorkflowId::from_bytes(row.get(0)?)))
    }

    /// How many there are, counted up to so many.
    pub fn count_workflows(&self, filter: &WorkflowFilter, most: usize) -> Result<u64> {
        let (condition, values) = conditions(filter, None);
        let text = format!(
            "select count(*) from (select 1 as one from workflows w {condition} limit {most}) as found"
        );
        self.sql().value(&text, &values)
    }

    /// The steps of a workflow in the order of its definition; items of a fan-out are found in its block.
    pub fn workflow_steps(&self, id: WorkflowId) -> Result<Vec<StepRow>> {
        let tail = "where workflow_id = $1 and block_id is null order by def, run, id";
        self.query(tail, params![id])
    }

    /// The same of many workflows, and the pauses of those that wait: two journeys for `WORKFLOWS_AT_ONCE` of them.
    pub fn workflow_courses(&self, ids: &[WorkflowId]) -> Result<HashMap<WorkflowId, WorkflowCourse>> {
        let none = |id: &WorkflowId| (*id, WorkflowCourse::default());
        let mut courses: HashMap<WorkflowId, WorkflowCourse> = ids.iter().map(none).collect();
        let of_these = format!("workflow_id in ({})", places(1, WORKFLOWS_AT_ONCE));
        let tail = format!("where {of_these} and block_id is null order by def, run, id");
        for page in ids.chunks(WORKFLOWS_AT_ONCE) {
            // Always as many, so that it is one statement however many they are.
            let padded = page.iter().chain(std::iter::repeat(&page[0])).take(WORKFLOWS_AT_ONCE);
            let values: Vec<Param> = padded.map(|id| (*id).into()).collect();
            for row in self.query(&tail, &values)? {
                if let Some(part) = row.step.in_workflow {
                    courses.entry(part.workflow).or_default().steps.push(row);
                }
            }
            for pause in pauses::waiting_in(self.sql(), &of_these, &values)? {
                courses.entry(pause.workflow).or_default().pauses.push(pause);
            }
        }
        Ok(courses)
    }

    /// The last run of each step, and what it answered where that is asked for.
    pub fn workflow_traces(&self, id: WorkflowId, answers: impl Fn(u32) -> bool) -> Result<Vec<Trace>> {
        Ok(traces(self.sql(), &[id], |_, def| answers(def))?.remove(&id).unwrap_or_default())
    }

    /// Runs that are not superseded, as far as it matters to what is undone.
    pub fn workflow_done(&self, id: WorkflowId) -> Result<Vec<Ended>> {
        workflows::done(self.sql(), id)
    }

    /// How many workflows of a key are being done.
    pub fn live_of_key(&self, key: &str) -> Result<usize> {
        Ok(workflows::of_key(self.sql(), key, 0)?.0.len())
    }

    /// Items of a fan-out, in their order, behind one.
    pub fn items(&self, block: BlockId, after: Option<u32>, limit: usize) -> Result<Vec<StepRow>> {
        let limit = limit.clamp(1, limits::PAGE_ROWS_MAX);
        let tail = format!(
            "where block_id = $1 and item > $2 and state <> 'superseded' order by item limit {limit}"
        );
        self.query(&tail, params![block, after.map_or(-1, i64::from)])
    }

    /// What happened to a workflow, oldest first, behind a number.
    pub fn workflow_events(&self, id: WorkflowId, after: u64, limit: usize) -> Result<Vec<EventLine>> {
        let text = format!(
            "select dispatch_group, number, workflow_id, at, type, step_key, data from workflow_events
              where workflow_id = $1 and number > $2 order by number limit {}",
            limit.clamp(1, limits::PAGE_ROWS_MAX)
        );
        self.sql().rows(&text, params![id, after], event)
    }

    /// The same, newest first, before a number.
    pub fn workflow_events_before(
        &self,
        id: WorkflowId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<EventLine>> {
        let text = format!(
            "select dispatch_group, number, workflow_id, at, type, step_key, data from workflow_events
              where workflow_id = $1 and number < $2 order by number desc limit {}",
            limit.clamp(1, limits::PAGE_ROWS_MAX)
        );
        self.sql().rows(&text, params![id, before.unwrap_or(i64::MAX as u64)], event)
    }

    /// Those of these kinds among the last so many, oldest first.
    pub fn workflow_events_of(
        &self,
        id: WorkflowId,
        kinds: &[&str],
        looked_through: usize,
    ) -> Result<Vec<EventLine>> {
        let text = format!(
            "select dispatch_group, number, workflow_id, at, type, step_key, data
               from (select dispatch_group, number, workflow_id, at, type, step_key, data from workflow_events
                      where workflow_id = $1 order by number desc limit {looked_through}) as latest
              where type in ({})",
            places(2, kinds.len())
        );
        let mut values: Vec<Param> = vec![id.into()];
        values.extend(kinds.iter().map(|kind| Param::from(*kind)));
        let mut lines = self.sql().rows(&text, &values, event)?;
        lines.sort_unstable_by_key(|line| line.number);
        Ok(lines)
    }

    /// What happened in a dispatch group, oldest first, behind a number.
    pub fn events_of_group(&self, group: &str, after: u64, limit: usize) -> Result<Vec<EventLine>> {
        let text = format!(
            "select dispatch_group, number, workflow_id, at, type, step_key, data from workflow_events
              where dispatch_group = $1 and number > $2 order by number limit {}",
            limit.clamp(1, limits::PAGE_ROWS_MAX)
        );
        self.sql().rows(&text, params![group, after], event)
    }

    /// The last number of an event in a dispatch group.
    pub fn last_event(&self, group: &str) -> Result<u64> {
        workflows::last_event(self.sql(), group)
    }

    /// What was decided about a workflow, oldest first.
    pub fn resolution_decisions(&self, id: WorkflowId) -> Result<Vec<ResolutionDecision>> {
        let text = format!(
            "select at, decided_by, why, detail from resolution_decisions where workflow_id = $1 order by at limit {}",
            limits::PAGE_ROWS_MAX
        );
        self.sql().rows(&text, params![id], |row| {
            let detail = row.text(3)?;
            let corrupt = |_| crate::StoreError::Corrupt {
                table: "resolution_decisions",
                column: "detail",
                value: detail.into(),
            };
            Ok(ResolutionDecision {
                workflow: id,
                decision: serde_json::from_str(detail).map_err(corrupt)?,
                at: Timestamp(row.get(0)?),
                by: row.get(1)?,
                why: row.get(2)?,
            })
        })
    }

    /// What was undone of a workflow, or is to be.
    pub fn compensation_runs(&self, id: WorkflowId) -> Result<Vec<CompensationRun>> {
        workflows::all_compensation_runs(self.sql(), id, limits::PAGE_ROWS_MAX)
    }

    /// A version of a definition, or its newest.
    pub fn definition(&self, key: &str, version: Option<&str>) -> Result<Option<Definition>> {
        workflows::find(self.sql(), key, version)
    }

    /// Definitions on record, by key and from the newest version on.
    pub fn definitions(
        &self,
        key: Option<&str>,
        after: Option<&DefinitionKey>,
        limit: usize,
    ) -> Result<Vec<DefinitionLine>> {
        let mut conditions = Vec::new();
        let mut values = Vec::new();
        if let Some(key) = key {
            conditions.push("d.key = $1".to_string());
            values.push(Param::from(key));
        }
        if let Some(DefinitionKey { key, version: [major, minor, patch] }) = after {
            let [k, a, b, c] = [1, 2, 3, 4].map(|n| n + values.len());
            conditions.push(format!(
                "(d.key > ${k} or d.key = ${k} and (d.major, d.minor, d.patch) < (${a}, ${b}, ${c}))"
            ));
            values.extend([Param::from(key), (*major).into(), (*minor).into(), (*patch).into()]);
        }
        let condition = match conditions.is_empty() {
            true => String::new(),
            false => format!("where {}", conditions.join(" and ")),
        };
        self.definition_lines(&condition, &values, limit)
    }

    /// One version of a definition, as lists show it.
    pub fn definition_line(&self, key: &str, version: &str) -> Result<Option<DefinitionLine>> {
        let found = self.definition_lines("where d.key = $1 and d.version = $2", params![key, version], 1)?;
        Ok(found.into_iter().next())
    }

    fn definition_lines(
        &self,
        condition: &str,
        values: &[Param],
        limit: usize,
    ) -> Result<Vec<DefinitionLine>> {
        // Counted over what is open, once: by its key, each definition would have all its history read.
        let text = format!(
            "select d.key, d.version, d.hash, d.created_at, d.created_by, coalesce(l.n, 0)
               from definitions d
               left join (select definition_key as key, definition_version as version, count(*) as n
                            from workflows where {OPEN_WORKFLOW} group by 1, 2) as l
                 on l.key = d.key and l.version = d.version
               {condition}
              order by d.key, d.major desc, d.minor desc, d.patch desc limit {}",
            limit.clamp(1, limits::PAGE_ROWS_MAX + 1)
        );
        self.sql().rows(&text, values, |row| {
            Ok(DefinitionLine {
                key: row.get(0)?,
                version: row.get(1)?,
                hash: row.get(2)?,
                created_at: Timestamp(row.get(3)?),
                created_by: row.get(4)?,
                live: row.get::<i64>(5)?.unsigned_abs(),
            })
        })
    }

    /// How many workflows are in each state that is not over for good, by definition, from tallies: the first so many pairs.
    pub fn workflow_counts(&self, limit: usize) -> Result<Vec<(String, WorkflowState, i64)>> {
        reads::workflow_tallies(self.sql(), limit)
    }
}

/// What holds of a workflow that is being done and of which nothing has happened since, neither to its steps and items nor below it;
/// not of one that waits for a time that came later.
fn quiet() -> String {
    let moved = |step: &str| {
        format!("({step}.created_at >= ? or {step}.started_at >= ? or {step}.completed_at >= ?)")
    };
    format!(
        "{OPEN_WORKFLOW} and state in ('running', 'paused') and coalesce(started_at, created_at) < ?
            and not (state = 'running' and coalesce(wake_at, 0) > ?)
            and not exists (select 1 from steps s where s.workflow_id = w.id and s.block_id is null
                 and ({} or exists (select 1 from steps i where i.block_id = s.child_block_id and {})
                         or exists (select 1 from workflows b where b.parent_step_id = s.id
                                       and b.state in ('pending', 'running', 'paused'))))",
        moved("s"),
        moved("i")
    )
}

fn conditions(filter: &WorkflowFilter, oldest: Option<WorkflowId>) -> (String, Vec<Param<'static>>) {
    let (mut conditions, mut values) = (Vec::new(), Vec::new());
    let mut hold = |condition: &str, value: Option<Param<'static>>| {
        if let Some(value) = value {
            values.push(value);
            conditions.push(condition.replace('?', &format!("${}", values.len())));
        }
    };
    hold("definition_key = ?", filter.definition.clone().map(Param::from));
    hold("definition_version = ?", filter.version.clone().map(Param::from));
    hold("created_at >= ?", filter.created_from.map(Param::from));
    hold("created_at < ?", filter.created_to.map(Param::from));
    let behind = if filter.ascending { "id > ?" } else { "id < ?" };
    hold(behind, filter.after.map(Param::from));
    hold("id >= ?", oldest.map(Param::from));
    hold(&quiet(), filter.quiet_since.map(Param::from));
    for (name, value) in &filter.labels {
        values.push(name.clone().into());
        values.push(value.clone().into());
        let (n, v) = (values.len() - 1, values.len());
        conditions.push(format!(
            "exists (select 1 from workflow_labels l where l.name = ${n} and l.value = ${v} and l.workflow_id = w.id)"
        ));
    }
    if !filter.nested {
        conditions.push("parent_step_id is null".into());
    }
    if filter.unresolved {
        conditions.push("resolved_at is null".into());
    }
    if !filter.states.is_empty() {
        conditions.push(format!("state in ({})", statuses::listed(&filter.states)));
        if filter.states.iter().all(|state| !state.is_final()) {
            conditions.push(OPEN_WORKFLOW.into());
        }
    }
    let condition =
        if conditions.is_empty() { String::new() } else { format!("where {}", conditions.join(" and ")) };
    (condition, values)
}

fn event(row: &Row) -> Result<EventLine> {
    Ok(EventLine {
        dispatch_group: DispatchGroup(rows::shared(row, 0)?),
        number: row.get::<i64>(1)?.unsigned_abs(),
        workflow: WorkflowId::from_bytes(row.get(2)?),
        at: Timestamp(row.get(3)?),
        kind: row.get(4)?,
        step_key: row.get(5)?,
        data: row.get(6)?,
    })
}
