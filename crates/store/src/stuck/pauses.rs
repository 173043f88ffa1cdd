//! Pauses that should be over: their time has passed, or they have none and are old.

use super::{Scene, Wanted, user};
use crate::statements::PAUSE_COLUMNS;
use crate::{Browse, Result, params, pauses};
use model::{Pause, Watched, WorkflowId, limits};
use rules::stuck::{Candidate, of_pause};
use std::collections::BTreeMap;

/// How a pause is named: its workflow, its step and the run of that.
fn name(pause: &Pause) -> String {
    format!("{}/{}/{}", pause.workflow, pause.step_key, pause.run)
}

impl Browse {
    pub(super) fn stuck_pauses(&self, wanted: &Wanted, scene: &Scene) -> Result<Vec<Candidate>> {
        let page = limits::STUCK_PAGE;
        let over = format!(
            "select {PAUSE_COLUMNS} from pauses where state = 'waiting' and coalesce(timeout_at, resume_at) < $1
              order by coalesce(timeout_at, resume_at), workflow_id, def limit $2"
        );
        let old = format!(
            "select {PAUSE_COLUMNS} from pauses where state = 'waiting' and registered_at < $1
                and timeout_at is null and resume_at is null order by registered_at, workflow_id, def limit $2"
        );
        let mut rows = self.sql().rows(&over, params![wanted.before, page], pauses::read)?;
        rows.extend(self.sql().rows(&old, params![wanted.before, page], pauses::read)?);
        let all = rows.iter().map(|pause| self.pause_candidate(pause, scene));
        Ok(all.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    pub(super) fn one_pause(&self, id: &str, scene: &Scene) -> Result<Option<Candidate>> {
        let Some((workflow, _)) = id.split_once('/') else { return Ok(None) };
        let Ok(workflow) = workflow.parse::<WorkflowId>() else { return Ok(None) };
        let all = pauses::of_workflow(self.sql(), workflow)?;
        match all.iter().find(|pause| name(pause) == id) {
            Some(pause) => self.pause_candidate(pause, scene),
            None => Ok(None),
        }
    }

    fn pause_candidate(&self, pause: &Pause, scene: &Scene) -> Result<Option<Candidate>> {
        let Some(workflow) = self.workflow(pause.workflow)? else { return Ok(None) };
        let labels: BTreeMap<String, String> = workflow.labels.iter().cloned().collect();
        let due = pause.wake_at().unwrap_or(pause.registered_at);
        Ok(Some(Candidate {
            definition: Some(workflow.definition.key.to_string()),
            user: user(&labels),
            labels,
            created_at: pause.registered_at,
            state_at: due,
            progress_at: due,
            by_design: of_pause(pause, &workflow, scene.now),
            what: format!("the pause behind {} of workflow {}", pause.step_key, workflow.definition.key),
            acts_on: Some(pause.workflow.to_string()),
            ..Candidate::new(Watched::Pause, name(pause), pause.state.word(), pause.registered_at)
        }))
    }
}
