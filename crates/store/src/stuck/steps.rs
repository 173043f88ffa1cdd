//! Steps that may be stuck: ready ones, those in line, overdue ones, those in somebody's hands, and those that failed.
//!
//! Why    each is found by the index that the dispatcher uses for it, so that nothing more is written for any step.

use super::{Scene, Wanted, id_at};
use crate::sql::Param;
use crate::{Browse, Result, Sort, StepRow, message_groups, params, pools, reads};
use model::{Reason, State, StepId, Timestamp, Watched, limits};
use rules::stuck::{ByDesign, Candidate, of_step};
use rules::why::Why;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A dispatch group in which something was done so lately is at work.
const AT_WORK: Duration = Duration::from_secs(5 * 60);
/// Steps whose turn it is in the oldest open blocks of a group.
const IN_BLOCKS: &str = "select s.id from
    (select id, current_index from blocks where home = $1 and is_open = 1 and id < $2 order by home, id limit $3) b
    join steps s on s.block_id = b.id and s.block_index = b.current_index
    where s.state = 'pending' and s.wake_at is null and s.created_at < $4 limit $5";
/// Steps that should have begun before then.
const OVERDUE: &str =
    "select id from steps where wake_at is not null and wake_at < $1 order by wake_at, id limit $2";
/// Steps that somebody has.
const HELD: &str =
    "select id from steps where session_id is not null and (state = 'dispatched' or state = 'running')
    and created_at < $1 limit $2";
/// Steps that failed in a span of time.
const FAILED: &str =
    "select id from steps where (state = 'failed' or state = 'stopped' or state = 'timed_out')
    and completed_at >= $1 and completed_at < $2 order by completed_at, id limit $3";
/// Replacements of a step that are followed.
const REPLACED_MAX: usize = 50;

impl Browse {
    pub(super) fn stuck_steps(&self, wanted: &Wanted, scene: &Scene) -> Result<Vec<Candidate>> {
        let mut ids = BTreeSet::new();
        if wanted.state("pending") {
            ids.extend(self.old_ready(wanted.before, scene)?);
            ids.extend(self.old_in_line(wanted.before, scene)?);
            ids.extend(self.old_in_blocks(wanted.before, scene)?);
        }
        if wanted.state("pending") || wanted.state("polling") {
            ids.extend(self.overdue(wanted.before)?);
        }
        if wanted.state("dispatched") || wanted.state("running") {
            ids.extend(self.held_long(wanted.before)?);
        }
        let failed: Vec<&str> =
            ["failed", "stopped", "timed_out"].into_iter().filter(|state| wanted.state(state)).collect();
        if !wanted.states.is_empty() && !failed.is_empty() {
            ids.extend(self.failed_since(scene.now - limits::STUCK_LOOK_BACK, wanted.before)?);
        }
        let ids: Vec<[u8; 16]> =
            ids.into_iter().map(|id: StepId| *id.bytes()).take(4 * limits::STUCK_PAGE).collect();
        let mut found = Vec::new();
        for page in ids.chunks(limits::STUCK_PAGE) {
            for row in self.steps_by_id(page)? {
                found.push(self.step_candidate(&row, scene)?);
            }
        }
        found.sort_by_key(|one| one.state_at);
        Ok(found)
    }

    fn steps_by_id(&self, ids: &[[u8; 16]]) -> Result<Vec<StepRow>> {
        let tail = format!("where {}", self.sql().is_among("id", 1));
        self.step_rows(&tail, &[crate::sql::packed(ids)])
    }

    fn ids(&self, text: &str, values: &[Param]) -> Result<Vec<StepId>> {
        self.sql().rows(text, values, |row| Ok(StepId::from_bytes(row.get(0)?)))
    }

    /// Ready steps that stand alone, by each queue and pool.
    fn old_ready(&self, before: Timestamp, scene: &Scene) -> Result<Vec<StepId>> {
        let mut sorts: Vec<Sort> = pools::sorts(self.sql())?;
        for group in &scene.around.groups {
            sorts.extend(reads::ready_queues(self.sql(), &group.dispatch_group)?);
        }
        let each = (limits::STUCK_PAGE / sorts.len().max(1)).max(10);
        let mut found = Vec::new();
        for sort in sorts {
            found.extend(self.old_of_sort(&sort, before, each)?);
        }
        Ok(found)
    }

    fn old_of_sort(&self, sort: &Sort, before: Timestamp, limit: usize) -> Result<Vec<StepId>> {
        let text = of_sort(sort.pool.is_some());
        let mut values =
            params![sort.dispatch_group.as_str(), &*sort.queue, sort.priority.word(), id_at(before), limit]
                .to_vec();
        values.extend(sort.pool.as_deref().map(Param::from));
        self.ids(&text, &values)
    }

    /// The first of each line: nobody else of it can be stuck.
    fn old_in_line(&self, before: Timestamp, scene: &Scene) -> Result<Vec<StepId>> {
        let mut found = Vec::new();
        for group in &scene.around.groups {
            let heads = message_groups::heads(self.sql(), &group.dispatch_group, "", limits::STUCK_PAGE)?;
            found.extend(heads.iter().filter(|step| step.created_at < before).map(|step| step.id));
        }
        Ok(found)
    }

    /// Steps whose turn it is in their block.
    fn old_in_blocks(&self, before: Timestamp, scene: &Scene) -> Result<Vec<StepId>> {
        let mut found = Vec::new();
        for group in &scene.around.groups {
            let page = limits::STUCK_PAGE;
            found.extend(
                self.ids(
                    IN_BLOCKS,
                    params![group.dispatch_group.as_str(), id_at(before), page, before, page],
                )?,
            );
        }
        Ok(found)
    }

    /// Those that should have begun long ago.
    fn overdue(&self, before: Timestamp) -> Result<Vec<StepId>> {
        self.ids(OVERDUE, params![before, limits::STUCK_PAGE])
    }

    fn held_long(&self, before: Timestamp) -> Result<Vec<StepId>> {
        self.ids(HELD, params![before, limits::STUCK_PAGE])
    }

    fn failed_since(&self, since: Timestamp, before: Timestamp) -> Result<Vec<StepId>> {
        self.ids(FAILED, params![since, before, limits::STUCK_PAGE])
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
                    let mut found = self.step_candidate(&row, scene)?;
                    if at != first {
                        found.acts_on = Some(std::mem::replace(&mut found.id, id.into()));
                    }
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    fn step_candidate(&self, row: &StepRow, scene: &Scene) -> Result<Candidate> {
        let (step, detail) = (&row.step, &row.detail);
        let state_at = match step.state {
            State::Pending | State::Polling => step.wake_at.unwrap_or(step.created_at).max(step.created_at),
            State::Dispatched | State::Running => {
                step.started_at.or(step.dispatched_at).unwrap_or(step.created_at)
            }
            _ => step.completed_at.unwrap_or(step.created_at),
        };
        let state_at = if step.place.is_some() { state_at.max(self.turn_came(row)?) } else { state_at };
        let by_design = match step.state.is_terminal() {
            true => ended(row),
            false => self.live_by_design(row, scene)?,
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

    /// When the steps before it in its block had ended.
    fn turn_came(&self, row: &StepRow) -> Result<Timestamp> {
        let Some(place) = row.step.place.filter(|place| place.index > 1) else {
            return Ok(row.step.created_at);
        };
        let text = "select max(completed_at) from steps where block_id = $1 and block_index = $2";
        let last: Option<i64> = self.sql().value(text, params![place.block, place.index - 1])?;
        Ok(last.map_or(row.step.created_at, Timestamp))
    }

    pub(super) fn live_by_design(&self, row: &StepRow, scene: &Scene) -> Result<Option<ByDesign>> {
        let step = &row.step;
        let reasons = self.why(row, &scene.around)?;
        if let Some(why) = of_step(&reasons) {
            return Ok(Some(why));
        }
        let ends_at = step.timeout.zip(step.started_at).map(|(timeout, started)| started + timeout);
        if let Some(at) = ends_at.filter(|at| *at > scene.now && step.is_held()) {
            return Ok(Some(ByDesign::EndsAt { at }));
        }
        // A moment between two turns looks the same; where nothing is done at all, it is no moment.
        let group = scene.around.groups.iter().find(|g| g.dispatch_group == step.dispatch_group);
        let at_work =
            group.and_then(|g| g.last_tick_completed_at).is_some_and(|at| scene.now.since(at) < AT_WORK);
        let only_next = matches!(reasons.as_slice(), [Why::Next { .. }]);
        Ok((at_work && only_next).then(|| ByDesign::Before { what: "its dispatch group is at work".into() }))
    }
}

/// The oldest ready steps of one sort, in the words and the order of their index.
fn of_sort(pooled: bool) -> String {
    let ready = "state = 'pending' and block_id is null and wake_at is null and mode is null";
    let (pool, order) = match pooled {
        true => ("pool is not null and pool = $6", "pool, dispatch_group, queue, priority, id"),
        false => ("pool is null", "dispatch_group, queue, priority, id"),
    };
    format!(
        "select id from steps where dispatch_group = $1 and queue = $2 and priority = $3 and id < $4 and {ready} and {pool}
          order by {order} limit $5"
    )
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::migrate_file;

    #[test]
    fn nothing_is_found_by_reading_history() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("steps.db");
        migrate_file(&path, Timestamp(0), true).unwrap();
        let file = rusqlite::Connection::open(&path).unwrap();
        for (text, indexes) in [
            (of_sort(false), &["steps_ready"][..]),
            (of_sort(true), &["steps_pooled"]),
            (IN_BLOCKS.into(), &["blocks_open", "steps_block"]),
            (OVERDUE.into(), &["steps_wake"]),
            (HELD.into(), &["steps_held"]),
            (FAILED.into(), &["steps_failed"]),
        ] {
            let mut statement = file.prepare(&format!("explain query plan {text}")).unwrap();
            let nothing = vec![rusqlite::types::Null; statement.parameter_count()];
            let lines = statement
                .query_map(rusqlite::params_from_iter(nothing), |row| row.get::<_, String>(3))
                .unwrap();
            let plan: Vec<String> = lines.map(|line| line.unwrap()).collect();
            for index in indexes {
                assert!(plan.iter().any(|line| line.contains(index)), "{plan:?}\n{text}");
            }
            assert!(!plan.iter().any(|line| line.contains("TEMP B-TREE")), "{plan:?}\n{text}");
        }
    }
}
