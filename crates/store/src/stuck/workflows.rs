//! Workflows that may be stuck: those that do not move, those that failed and nobody decided about, those that are being undone.

use super::{Scene, Wanted, id_at, user};
use crate::sql::{Param, Row};
use crate::statements::WORKFLOW_COLUMNS;
use crate::{Browse, Result, params, rows, workflows};
use model::{Timestamp, Watched, Workflow, WorkflowId, WorkflowState, limits};
use rules::stuck::{ByDesign, Candidate, of_workflow};
use std::collections::BTreeMap;

/// Live steps of a workflow that are looked at; one that nobody means to wait is enough.
const LIVE_MAX: usize = 20;

/// When something last happened to a workflow, and when its state was last told.
const MOMENTS: &str = "(select e.at from workflow_events e where e.workflow_id = w.id order by e.number desc limit 1) as moved, \
    (select e.at from workflow_events e where e.workflow_id = w.id and e.type like 'workflow.%' order by e.number desc limit 1) as told";

struct Found {
    workflow: Workflow,
    moved_at: Timestamp,
    told_at: Timestamp,
}

fn found(row: &Row) -> Result<Found> {
    let workflow = workflows::read(row)?;
    let made = workflow.started_at.unwrap_or(workflow.created_at);
    // Behind the columns of the workflow.
    let (moved_at, told_at) = (rows::time(row, 30)?.unwrap_or(made), rows::time(row, 31)?.unwrap_or(made));
    Ok(Found { workflow, moved_at, told_at })
}

/// States that a rule over workflows, or over what is being undone, may speak of.
fn states(entity: Watched) -> &'static [WorkflowState] {
    use WorkflowState::{Compensating, CompensationFailed, Failed, Paused, Pending, Running};
    match entity {
        Watched::Compensation => &[Compensating, CompensationFailed],
        _ => &[Pending, Running, Paused, Failed],
    }
}

impl Browse {
    pub(super) fn stuck_workflows(&self, wanted: &Wanted, scene: &Scene) -> Result<Vec<Candidate>> {
        let mut all = Vec::new();
        for state in states(wanted.entity).iter().filter(|state| wanted.state(state.word())) {
            for found in self.old_workflows(*state, wanted.before)? {
                all.push(self.workflow_candidate(wanted.entity, &found, scene)?);
            }
        }
        all.sort_by_key(|one| one.state_at);
        Ok(all)
    }

    fn old_workflows(&self, state: WorkflowState, before: Timestamp) -> Result<Vec<Found>> {
        let (condition, order) = match state {
            // Those about which somebody has decided stay failed; they are history.
            WorkflowState::Failed => ("state = 'failed' and resolved_at is null".to_string(), "id"),
            state => (format!("state = '{state}'"), "state, id"),
        };
        // What moved of late is left out before anything else is read of it.
        let text = format!(
            "select {WORKFLOW_COLUMNS}, moved, told from
               (select w.*, {MOMENTS} from
                  (select * from workflows where {condition} and id < $1 order by {order} limit $2) w) as w
              where coalesce(moved, created_at) < $3 limit $4"
        );
        let page = limits::STUCK_PAGE;
        let values: &[Param] = params![id_at(before), 2 * page, before, page];
        self.sql().rows(&text, values, found)
    }

    pub(super) fn one_workflow(&self, entity: Watched, id: &str, scene: &Scene) -> Result<Option<Candidate>> {
        let Ok(id) = id.parse::<WorkflowId>() else { return Ok(None) };
        let text = format!("select {WORKFLOW_COLUMNS}, {MOMENTS} from workflows w where id = $1");
        let Some(found) = self.sql().first(&text, params![id], found)? else { return Ok(None) };
        self.workflow_candidate(entity, &found, scene).map(Some)
    }

    fn workflow_candidate(&self, entity: Watched, found: &Found, scene: &Scene) -> Result<Candidate> {
        let Found { workflow, moved_at, told_at } = found;
        let goes_on = matches!(
            workflow.state,
            WorkflowState::Pending | WorkflowState::Running | WorkflowState::Compensating
        );
        let (live, told) = if goes_on { self.live_of(workflow.id, scene)? } else { Default::default() };
        let labels: BTreeMap<String, String> = workflow.labels.iter().cloned().collect();
        // Those about which somebody has decided stay failed; nobody is asked any more.
        let is_resolved = workflow.aftermath.as_ref().is_some_and(|after| after.resolved_at.is_some());
        let state = if is_resolved { "resolved" } else { workflow.state.word() };
        Ok(Candidate {
            definition: Some(workflow.definition.key.to_string()),
            user: user(&labels),
            labels,
            created_at: workflow.created_at,
            state_at: *told_at,
            progress_at: *moved_at,
            by_design: of_workflow(workflow, &live, told, scene.now),
            what: format!("workflow {}", workflow.definition.key),
            ..Candidate::new(entity, workflow.id.to_string(), state, workflow.created_at)
        })
    }

    /// What holds the live steps of a workflow, and whether one of them has an open alert.
    fn live_of(&self, id: WorkflowId, scene: &Scene) -> Result<(Vec<Option<ByDesign>>, bool)> {
        let tail = format!(
            "where workflow_id = $1 and block_id is null
               and (state = 'pending' or state = 'dispatched' or state = 'running' or state = 'polling') limit {LIVE_MAX}"
        );
        let mut held = Vec::new();
        let mut told = false;
        for row in self.step_rows(&tail, params![id])? {
            told |= scene.told.contains(&("step".into(), row.step.id.to_string()));
            held.push(self.live_by_design(&row, scene)?);
        }
        let waits = "select count(*) from pauses where workflow_id = $1 and state = 'waiting'";
        if self.sql().value::<i64>(waits, params![id])? > 0 {
            held.push(Some(ByDesign::Trigger { awaits: "a trigger or a date".into() }));
        }
        Ok((held, told))
    }
}
