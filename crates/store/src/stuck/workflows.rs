//! Workflows that may be stuck: those that do not move, those that failed and nobody decided about, those that are being undone.

use super::rounds::{Leg, Part, Room};
use super::{ROOM, Rounds, Scene, Wanted, id_at, user};
use crate::message_groups::Fronts;
use crate::sql::{Param, Row, packed};
use crate::statements::WORKFLOW_COLUMNS;
use crate::{Browse, Result, params, rows, workflows};
use model::{PausedBy, StuckClock, Timestamp, Watched, Workflow, WorkflowId, WorkflowState, limits};
use rules::stuck::{ByDesign, Candidate, of_workflow};
use std::collections::BTreeMap;

/// Live steps of a workflow that are looked at; one that nobody means to wait is enough.
const LIVE_MAX: usize = 20;

/// When something last happened to a workflow, and when its state was last told.
const MOMENTS: &str = "(select e.at from workflow_events e where e.workflow_id = w.id order by e.number desc limit 1) as moved, \
    (select e.at from workflow_events e where e.workflow_id = w.id and e.type like 'workflow.%' order by e.number desc limit 1) as told";

/// Steps of a workflow that are its own and have not ended.
const LIVE: &str = "s.workflow_id = w.id and s.block_id is null
    and (s.state = 'pending' or s.state = 'dispatched' or s.state = 'running' or s.state = 'polling')";

/// Workflows in one state, with what says of some that they wait by design.
pub(super) fn of_state(state: &str) -> String {
    // Those about which somebody has decided stay failed; they are history. One bound alone, or the index of open workflows seems as good.
    let (more, order) = match state {
        "failed" => ("resolved_at is null", "id"),
        _ => ("id < $3", "state, id"),
    };
    format!(
        "select id, paused_by, auto_retry_at, case when concurrency_key is null then 0 else 1 end from workflows
          where state = '{state}' and {more} and id > $1 order by {order} limit $2"
    )
}

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
    pub(super) fn stuck_workflows(
        &self,
        wanted: &Wanted,
        scene: &Scene,
        rounds: &mut Rounds,
    ) -> Result<Vec<Candidate>> {
        let mut all = Vec::new();
        for state in states(wanted.entity).iter().filter(|state| wanted.state(state.word())) {
            let ids = self.old_workflows(*state, wanted, (scene, rounds))?;
            for found in self.still_workflows(&ids, wanted, scene)? {
                all.push(self.workflow_candidate(wanted.entity, &found, scene)?);
            }
        }
        all.sort_by_key(|one| one.state_at);
        Ok(all)
    }

    /// Those in a state that do not wait by design as far as their row says.
    fn old_workflows(
        &self,
        state: WorkflowState,
        wanted: &Wanted,
        (scene, rounds): (&Scene, &mut Rounds),
    ) -> Result<Vec<[u8; 16]>> {
        let text = of_state(state.word());
        let room = Room { kept: 2 * limits::STUCK_PAGE, ..ROOM };
        let search = wanted.search(state.word());
        let part: Part<[u8; 16]> = rounds.part(&search, room, |after: Option<&WorkflowId>, limit| {
            let after = after.map_or([0; 16], |id| *id.bytes());
            let last = id_at(wanted.before);
            let mut values = params![&after, limit].to_vec();
            values.extend((state != WorkflowState::Failed).then(|| Param::from(&last)));
            let rows = self.sql().rows(&text, &values, |row| {
                let id: [u8; 16] = row.get(0)?;
                let paused_by: Option<String> = row.get(1)?;
                let held = [PausedBy::Person, PausedBy::Trigger].map(|by| Some(by.word()));
                let by_design = match state {
                    WorkflowState::Paused => held.contains(&paused_by.as_deref()),
                    WorkflowState::Failed => rows::time(row, 2)?.is_some_and(|at| at > scene.now),
                    WorkflowState::Pending => row.get::<bool>(3)?,
                    _ => false,
                };
                Ok((WorkflowId::from_bytes(id), (!by_design && id < last).then_some(id)))
            })?;
            Ok(Leg::of(rows, limit))
        })?;
        Ok(part.kept)
    }

    /// What moved of late, and what goes on by itself later, is left out before anything else is read of it. One question for each: a planner
    /// that may choose could as well read all steps that live.
    fn still_workflows(&self, ids: &[[u8; 16]], wanted: &Wanted, scene: &Scene) -> Result<Vec<Found>> {
        let before = if wanted.clock == StuckClock::Created { scene.now } else { wanted.before };
        let text = format!(
            "select {WORKFLOW_COLUMNS}, moved, told from
               (select w.*, {MOMENTS} from workflows w where {}) as w
              where coalesce(moved, created_at) <= $2
                and ((select 1 from steps s where {LIVE} limit 1) is null
                     or (select 1 from steps s where {LIVE} and (s.wake_at is null or s.wake_at <= $3) limit 1) = 1)",
            self.sql().is_among("w.id", 1)
        );
        let mut all = Vec::new();
        for page in ids.chunks(limits::STUCK_PAGE) {
            all.extend(self.sql().rows(&text, &[packed(page), before.into(), scene.now.into()], found)?);
        }
        Ok(all)
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
            held.push(self.live_by_design(&row, scene, &Fronts::default())?);
        }
        let waits = "select count(*) from pauses where workflow_id = $1 and state = 'waiting'";
        if self.sql().value::<i64>(waits, params![id])? > 0 {
            held.push(Some(ByDesign::Trigger { awaits: "a trigger or a date".into() }));
        }
        Ok((held, told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::migrate_file;
    use std::time::Duration;

    const HOUR: Duration = Duration::from_secs(3_600);

    /// As many workflows that a person has paused, and behind them one that a failure has.
    fn planted(dir: &std::path::Path, by_design: usize) -> (Browse, Timestamp) {
        let path = dir.join("steps.db");
        migrate_file(&path, Timestamp(0), true).unwrap();
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute_batch("pragma foreign_keys = off; begin").unwrap();
        let row = "insert into workflows (id, definition_key, definition_version, definition_hash, dispatch_group, state,
                     depth, input, labels, created_at, version, paused_by)
                   values ($1, 'order', '1.0.0', '', 'alpha', 'paused', 1, '{}', '{}', 0, 0, $2)";
        for n in 1..=by_design as u64 + 1 {
            let by = if n > by_design as u64 { "failure" } else { "person" };
            file.execute(row, rusqlite::params![WorkflowId::of(n).bytes(), by]).unwrap();
        }
        file.execute_batch("commit").unwrap();
        (Browse::new(Box::new(file), "test".into()), Timestamp(0) + 9 * HOUR)
    }

    #[test]
    fn however_many_wait_by_design_the_one_behind_them_is_found_in_a_bounded_number_of_looks() {
        let dir = tempfile::tempdir().unwrap();
        let many = limits::STUCK_SCAN + 50;
        let (browse, now) = planted(dir.path(), many);
        let scene = Scene { around: browse.circumstances(now).unwrap(), told: Default::default(), now };
        let states = ["paused".to_string()].into();
        let (entity, before, clock) = (Watched::Workflow, now - HOUR, StuckClock::State);
        let wanted = Wanted { entity, states, before, clock };
        let mut rounds = Rounds::default();
        let mut look = || {
            let found = browse.candidates(&wanted, &scene, &mut rounds).unwrap();
            let stuck = found.into_iter().filter(|one| one.by_design.is_none());
            stuck.map(|one| one.id).collect::<Vec<_>>()
        };
        assert_eq!(look(), Vec::<String>::new());
        assert_eq!(look(), [WorkflowId::of(many as u64 + 1).to_string()]);
    }
}
