//! Steps that may be stuck, judged: since when, by which clock, and whether they wait by design.

use super::searches::StepSearches;
use super::{Rounds, Scene, Wanted};
use crate::message_groups::Fronts;
use crate::{Browse, Result, StepRow, params};
use model::{Reason, State, StepId, StepKind, Timestamp, Watched, limits};
use rules::stuck::{ByDesign, Candidate, of_step};
use rules::why::Why;
use std::collections::BTreeMap;

/// Replacements of a step that are followed.
const REPLACED_MAX: usize = 50;

impl Browse {
    pub(super) fn stuck_steps(
        &self,
        wanted: &Wanted,
        scene: &Scene,
        rounds: &mut Rounds,
    ) -> Result<Vec<Candidate>> {
        let mut search = StepSearches::new(self, wanted, scene, rounds);
        if wanted.state("pending") {
            search.ready()?;
            search.lines()?;
            search.blocks()?;
        }
        if wanted.state("pending") || wanted.state("polling") {
            search.overdue()?;
        }
        if wanted.state("dispatched") || wanted.state("running") {
            search.held()?;
        }
        let failed = ["failed", "stopped", "timed_out"].iter().any(|state| wanted.state(state));
        if !wanted.states.is_empty() && failed {
            search.failed()?;
        }
        let ids: Vec<[u8; 16]> = search.found.into_iter().map(|id| *id.bytes()).collect();
        let mut found = Vec::new();
        for page in ids.chunks(limits::STUCK_PAGE) {
            let rows = self.steps_by_id(page)?;
            let fronts = Fronts::of(self.sql(), rows.iter().map(|row| &row.step))?;
            for row in &rows {
                found.push(self.step_candidate(row, scene, &fronts)?);
            }
        }
        found.sort_by_key(|one| one.state_at);
        Ok(found)
    }

    fn steps_by_id(&self, ids: &[[u8; 16]]) -> Result<Vec<StepRow>> {
        let tail = format!("where {}", self.sql().is_among("id", 1));
        self.step_rows(&tail, &[crate::sql::packed(ids)])
    }

    /// A step, or the one that took its place.
    pub(super) fn one_step(&self, id: &str, scene: &Scene) -> Result<Option<Candidate>> {
        let Ok(first) = id.parse::<StepId>() else { return Ok(None) };
        let mut at = first;
        for _ in 0..REPLACED_MAX {
            let Some(row) = self.step(at)? else { return Ok(None) };
            match row.detail.superseded_by.filter(|_| row.step.state == State::Superseded) {
                Some(next) => at = next,
                None => {
                    let mut found = self.step_candidate(&row, scene, &Fronts::default())?;
                    if at != first {
                        found.acts_on = Some(std::mem::replace(&mut found.id, id.into()));
                    }
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    fn step_candidate(&self, row: &StepRow, scene: &Scene, fronts: &Fronts) -> Result<Candidate> {
        let (step, detail) = (&row.step, &row.detail);
        let state_at = match step.state {
            State::Pending | State::Polling => {
                step.wake_at.unwrap_or(step.created_at).max(self.came_back(row)?)
            }
            State::Dispatched | State::Running => {
                step.started_at.or(step.dispatched_at).unwrap_or(step.created_at)
            }
            _ => step.completed_at.unwrap_or(step.created_at),
        };
        let state_at = if step.place.is_some() { state_at.max(self.turn_came(row)?) } else { state_at };
        let by_design = match step.state.is_terminal() {
            true => ended(row),
            false => self.live_by_design(row, scene, fronts)?,
        };
        let mut labels = BTreeMap::new();
        labels.extend(detail.label.clone().map(|label| ("label".to_string(), label)));
        let user = detail.relatable_id.clone().filter(|_| detail.relatable_type.as_deref() == Some("user"));
        let name = detail.step_key.as_deref().or(detail.label.as_deref()).map(|name| format!("{name} "));
        Ok(Candidate {
            action: Some(step.action.to_string()),
            relatable_type: detail.relatable_type.clone(),
            labels,
            user,
            created_at: step.created_at,
            state_at,
            progress_at: state_at,
            by_design,
            what: format!("step {}({})", name.unwrap_or_default(), step.action),
            ..Candidate::new(Watched::Step, step.id.to_string(), step.state.word(), step.created_at)
        })
    }

    /// When it was last taken from a worker, if one had it; else when it was made.
    fn came_back(&self, row: &StepRow) -> Result<Timestamp> {
        let step = &row.step;
        if step.attempt == 0 {
            return Ok(step.created_at);
        }
        let text = "select max(at) from step_attempts where step_id = $1 and outcome <> 'late'";
        let last: Option<i64> = self.sql().value(text, params![step.id])?;
        Ok(last.map_or(step.created_at, |at| Timestamp(at).max(step.created_at)))
    }

    /// When the steps before it in its block had ended, or when a resolver was called.
    fn turn_came(&self, row: &StepRow) -> Result<Timestamp> {
        let step = &row.step;
        let Some(place) = step.place else { return Ok(step.created_at) };
        let last: Option<i64> = match (step.kind, place.index) {
            (StepKind::Default, ..=1) => None,
            (StepKind::Resolver, ..=1) => self.called_at(row)?,
            (kind, index) => {
                let text = "select max(completed_at) from steps where block_id = $1 and block_index = $2 and kind = $3";
                self.sql().value(text, params![place.block, index - 1, kind.word()])?
            }
        };
        Ok(last.map_or(step.created_at, Timestamp))
    }

    /// The first resolvers of a block are called by what failed in it.
    fn called_at(&self, row: &StepRow) -> Result<Option<i64>> {
        let block = row.step.block().map(|id| self.block(id)).transpose()?.flatten();
        let mut last = None;
        for failed in block.iter().flat_map(|block| &block.blame) {
            let at: Option<Option<i64>> = self.sql().first(
                "select completed_at from steps where id = $1",
                params![*failed],
                |row| row.get(0),
            )?;
            last = last.max(at.flatten());
        }
        Ok(last)
    }

    pub(super) fn live_by_design(
        &self,
        row: &StepRow,
        scene: &Scene,
        fronts: &Fronts,
    ) -> Result<Option<ByDesign>> {
        let step = &row.step;
        let reasons = self.why_behind(row, &scene.around, fronts)?;
        if let Some(why) = of_step(&reasons) {
            return Ok(Some(why));
        }
        let ends_at = step.timeout.zip(step.started_at).map(|(timeout, started)| started + timeout);
        if let Some(at) = ends_at.filter(|at| *at > scene.now && step.is_held()) {
            return Ok(Some(ByDesign::EndsAt { at }));
        }
        // A moment between two turns looks the same; where nothing is done at all, it is no moment.
        let at_work = scene.around.is_at_work(step.dispatch_group.as_str());
        let only_next = matches!(reasons.as_slice(), [Why::Next { .. }]);
        Ok((at_work && only_next).then(|| ByDesign::Before { what: "its dispatch group is at work".into() }))
    }
}

/// What failed as a part of something else is told as that.
fn ended(row: &StepRow) -> Option<ByDesign> {
    let before = |what: &str| Some(ByDesign::Before { what: what.into() });
    match row.step.reason {
        _ if row.step.in_workflow.is_some() => before("its workflow decides what becomes of it"),
        Some(Reason::ParentFailed) => before("its parent failed"),
        _ => None,
    }
}
