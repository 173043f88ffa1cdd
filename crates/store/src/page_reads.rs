//! Everything that the pages read, run once on an empty database and written down, so that its plans can be looked at.
//!
//! Why    a page answers as fast with a million steps on record as with none; a statement that reads history is slow only when there
//!        is much of it, and nothing else would tell.

use crate::alerts::{self, AlertFilter};
use crate::executions::ExecutionFilter;
use crate::flows::FlowFilter;
use crate::pauses::Waiting;
use crate::sql::{Access, Param, Row, Sql};
use crate::turn_reads::Seen;
use crate::{AuditFilter, Browse, Filter, Held, Listed, MessageGroup, PollFilter, Result, WorkflowFilter};
use model::{
    BlockId, DispatchGroup, ExecutionName, ExecutionState, FlowId, FlowState, State, StepId, Timestamp,
    WorkflowId, WorkflowState,
};
use std::sync::{Arc, Mutex, PoisonError};

/// Tables that only grow, until retention comes.
pub const HISTORY: [&str; 21] = [
    "steps",
    "blocks",
    "workflows",
    "workflow_events",
    "branch_decisions",
    "resolution_decisions",
    "step_attempts",
    "step_logs",
    "poll_attempts",
    "events",
    "executions",
    "execution_events",
    "flows",
    "flow_events",
    "trigger_payloads",
    "minutes",
    "alerts",
    "alert_events",
    "audit",
    "ticks",
    "notices",
];

/// What SQLite calls two of them within a view or a join.
pub const ALIASES: [&str; 2] = ["s", "w"];

/// Indexes that hold what is live alone, so that they may be read from end to end.
const LIVE: [&str; 14] = [
    "steps_in_flight",
    "steps_held",
    "steps_ready",
    "steps_pooled",
    "steps_wake",
    "steps_line",
    "steps_polling",
    "workflows_open",
    "workflows_unresolved",
    "flows_half_done",
    "flows_due",
    "blocks_open",
    "alerts_open",
    "alerts_newest",
];

/// Whether a line of a plan reads what is live alone.
pub fn is_live(line: &str) -> bool {
    LIVE.iter().any(|index| line.contains(index))
}

/// A connection that writes down what is asked.
struct Tape {
    sql: Box<dyn Sql + Send>,
    seen: Arc<Mutex<Seen>>,
}

impl Sql for Tape {
    fn each(&self, sql: &str, params: &[Param], look: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        let values = params.iter().map(Param::to_static).collect();
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push((sql.into(), values));
        self.sql.each(sql, params, look)
    }
    fn execute(&self, sql: &str, params: &[Param]) -> Result<u64> {
        self.sql.execute(sql, params)
    }
    fn begin(&self, access: Access) -> Result<()> {
        self.sql.begin(access)
    }
    fn commit(&self) -> Result<()> {
        self.sql.commit()
    }
    fn rollback(&self) -> Result<()> {
        self.sql.rollback()
    }
    fn is_among(&self, column: &str, parameter: usize) -> String {
        self.sql.is_among(column, parameter)
    }
}

/// What the pages read, and the connection to ask for plans.
pub fn all(sql: Box<dyn Sql + Send>) -> (Browse, Seen) {
    let seen = Arc::default();
    let browse = Browse::new(Box::new(Tape { sql, seen: Arc::clone(&seen) }), String::new());
    of_figures(&browse).expect("they run");
    of_lists(&browse).expect("they run");
    of_steps(&browse).expect("they run");
    of_workflows(&browse).expect("they run");
    of_the_rest(&browse).expect("they run");
    let seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    (browse, seen)
}

fn of_figures(browse: &Browse) -> Result<()> {
    browse.totals()?;
    browse.oldest_due(Timestamp(0))?;
    browse.groups()?;
    browse.breaker()?;
    browse.sessions()?;
    browse.in_flight(None)?;
    browse.in_flight(Some("alpha"))?;
    browse.open_alerts()?;
    browse.open_alerts_by_severity()?;
    browse.alert_figures(Timestamp(0))?;
    browse.minutes(Timestamp(0))?;
    browse.circumstances(Timestamp(0))?;
    Ok(())
}

/// A page of each list, as far as it looks.
fn of_lists(browse: &Browse) -> Result<()> {
    for list in [Listed::Steps, Listed::Workflows] {
        browse.reach(list, None)?;
    }
    browse.executions_reach(None)?;
    let (step, workflow) = (StepId::of(1), WorkflowId::of(1));
    browse.steps_down_to(&Filter { limit: 50, ..Filter::default() }, Some(step))?;
    let stopped =
        Filter { states: vec![State::Stopped], action: Some("a".into()), limit: 50, ..Filter::default() };
    browse.steps_down_to(&stopped, Some(step))?;
    browse.steps(&Filter { block: Some(BlockId::of(1)), limit: 50, ..Filter::default() })?;
    let over =
        WorkflowFilter { states: vec![WorkflowState::Cancelled], limit: 50, ..WorkflowFilter::default() };
    browse.workflows_down_to(&over, Some(workflow))?;
    browse.workflows_down_to(&WorkflowFilter { limit: 50, ..WorkflowFilter::default() }, Some(workflow))?;
    browse.workflows(&WorkflowFilter { states: vec![WorkflowState::Failed], ..over })?;
    browse.flows(&FlowFilter { state: Some(FlowState::Cancelled), limit: 50, ..FlowFilter::default() })?;
    let failed =
        ExecutionFilter { state: Some(ExecutionState::Failed), limit: 50, ..ExecutionFilter::default() };
    browse.executions_since(&failed, Timestamp(1))?;
    Ok(())
}

fn of_steps(browse: &Browse) -> Result<()> {
    let (step, block) = (StepId::of(1), BlockId::of(1));
    browse.step(step)?;
    browse.block(block)?;
    browse.block_steps(block, 50)?;
    browse.attempts(step)?;
    browse.history(step)?;
    browse.log(step)?;
    browse.polls(step)?;
    browse.polling(&PollFilter { due_at: None, after: None, limit: 50 })?;
    browse.message_groups("", 50)?;
    browse.message_groups_held(Held::Blocked, "", 50)?;
    browse.message_groups_held(Held::Paused, "", 50)?;
    browse.message_group("a")?;
    browse.line(&line(), 50)?;
    browse.unfinished_trees([0; 16], 50)?;
    browse.unfinished_workflows([0; 16], 50)?;
    browse.unfinished_flows([0; 16], 50)?;
    Ok(())
}

fn of_workflows(browse: &Browse) -> Result<()> {
    let id = WorkflowId::of(1);
    browse.workflow(id)?;
    browse.workflow_steps(id)?;
    browse.workflow_below(StepId::of(1))?;
    browse.workflow_events(id, 0, 50)?;
    browse.workflow_events_before(id, None, 50)?;
    browse.workflow_events_of(id, &["workflow.paused"], 50)?;
    browse.workflow_traces(id, |_| true)?;
    browse.workflow_done(id)?;
    browse.live_of_key("a")?;
    browse.branch_decisions(id)?;
    browse.resolution_decisions(id)?;
    browse.compensation_runs(id)?;
    browse.workflow_pauses(id)?;
    browse.workflow_courses(&[id])?;
    browse.trigger_payloads(id, 50)?;
    browse.pauses(Waiting::All, 50)?;
    Ok(())
}

fn of_the_rest(browse: &Browse) -> Result<()> {
    browse.execution(&ExecutionName::new("a", "b"))?;
    browse.flow(FlowId::of(1))?;
    browse.flow_steps(FlowId::of(1))?;
    browse.definition("a", None)?;
    browse.definitions(None, None, 50)?;
    browse.definition_line("a", "1.0.0")?;
    browse.alerts(&AlertFilter { open: Some(true), limit: 50, ..AlertFilter::default() })?;
    browse.alerts(&AlertFilter { open: Some(false), limit: 50, ..AlertFilter::default() })?;
    browse.alert(1)?;
    alerts::history(browse.sql(), ("step", "1", "waits"))?;
    browse.nodes()?;
    browse.ticks_behind(None, None, 50)?;
    browse.ticks_behind(Some("alpha"), Some(7), 50)?;
    of_audit(browse)?;
    browse.pools()?;
    browse.keys()?;
    browse.channels()?;
    browse.notices(50)?;
    browse.subscriptions(None, 50)?;
    Ok(())
}

fn of_audit(browse: &Browse) -> Result<()> {
    let (some, all) = (Some("a".to_string()), AuditFilter { limit: 50, ..AuditFilter::default() });
    let between = AuditFilter { from: Some(Timestamp(1)), to: Some(Timestamp(2)), ..all.clone() };
    browse.audit_page(&AuditFilter { after: Some(7), ..all.clone() })?;
    browse.audit_page(&between)?;
    browse.audit_page(&AuditFilter { who: some.clone(), ..between.clone() })?;
    browse.audit_page(&AuditFilter { verb: some.clone(), ..between })?;
    browse.audit_page(&AuditFilter { target: some.clone(), after: Some(7), ..all.clone() })?;
    browse.audit_page(&AuditFilter { target: Some(WorkflowId::of(1).to_string()), who: some, ..all })?;
    Ok(())
}

fn line() -> MessageGroup {
    MessageGroup {
        name: "a".into(),
        home: DispatchGroup::new("alpha"),
        waiting: 0,
        head: None,
        in_flight: false,
        mode: None,
        holds: Vec::new(),
    }
}
