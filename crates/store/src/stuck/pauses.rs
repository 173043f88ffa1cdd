//! Pauses that should be over: their time has passed, or they have none and are old.

use super::rounds::{Leg, Room};
use super::{ROOM, Rounds, Scene, Wanted, user};
use crate::statements::PAUSE_COLUMNS;
use crate::{Browse, Result, params, pauses};
use model::{Pause, StuckClock, Watched, WorkflowId, limits};
use rules::stuck::{Candidate, of_pause};
use std::collections::BTreeMap;

/// How a pause is named: its workflow, its step and the run of that.
fn name(pause: &Pause) -> String {
    format!("{}/{}/{}", pause.workflow, pause.step_key, pause.run)
}

/// The time of one that has a time, in the words of its index.
const WHEN: &str = "coalesce(timeout_at, resume_at)";
/// Pauses that one look passes over: it reads their whole rows.
const PASSED: usize = 4 * limits::STUCK_PAGE;

/// Those that wait and have a time, by that.
pub(super) fn over() -> String {
    format!(
        "select {PAUSE_COLUMNS} from pauses
          where state = 'waiting' and {WHEN} >= $1 and ({WHEN}, workflow_id, def) > ($1, $2, $3) and {WHEN} < $4
          order by {WHEN}, workflow_id, def limit $5"
    )
}

/// Those that wait, by when they began to.
pub(super) fn old() -> String {
    format!(
        "select {PAUSE_COLUMNS} from pauses
          where state = 'waiting' and registered_at >= $1 and (registered_at, workflow_id, def) > ($1, $2, $3)
            and registered_at < $4
          order by registered_at, workflow_id, def limit $5"
    )
}

/// When, of which workflow, and behind which step of its definition.
type Waiting = (i64, WorkflowId, u32);

impl Browse {
    pub(super) fn stuck_pauses(
        &self,
        wanted: &Wanted,
        scene: &Scene,
        rounds: &mut Rounds,
    ) -> Result<Vec<Candidate>> {
        let until = if wanted.clock == StuckClock::Created { scene.now } else { wanted.before };
        let mut found = Vec::new();
        for (search, text) in [("over", over()), ("old", old())] {
            let room = Room { cost: PASSED, ..ROOM };
            let part = rounds.part(&wanted.search(search), room, |after: Option<&Waiting>, limit| {
                let (at, workflow, def) = after
                    .map_or((i64::MIN, [0; 16], -1), |(at, id, def)| (*at, *id.bytes(), i64::from(*def)));
                let values = params![at, &workflow, def, until, limit];
                let rows = self.sql().rows(&text, values, pauses::read)?.into_iter().map(|pause| {
                    let time = pause.timeout_at.or(pause.resume_at).filter(|_| search == "over");
                    let key = (time.unwrap_or(pause.registered_at).0, pause.workflow, pause.def);
                    // What has a time is looked for by it.
                    let may = search == "over" || pause.wake_at().is_none();
                    (key, may.then_some(pause))
                });
                Ok(Leg::of(rows.collect(), limit))
            })?;
            found.extend(part.kept);
        }
        let all = found.iter().map(|pause| self.pause_candidate(pause, scene));
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
