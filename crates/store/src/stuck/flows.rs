//! Tracked flows that may be stuck: those whose time is over, those of which nothing was heard for long, those that failed.

use super::rounds::Leg;
use super::{ROOM, Rounds, Scene, Wanted};
use crate::sql::{Row, packed};
use crate::statements::LIVE_FLOW;
use crate::{Browse, Result, StoreError, params};
use model::{FlowId, StuckClock, Timestamp, Watched, limits};
use rules::stuck::Candidate;
use serde_json::Value;
use std::collections::BTreeSet;

const COLUMNS: &str = "id, type, key, entity_type, entity_id, run, user_id, state, started_at, updated_at, progressed_at, timeout_at, \
    retry_action, cancel_action";

/// Those that are not over, by one of their times.
pub(super) fn by(time: &str) -> String {
    format!(
        "select {time}, id, state from flows
          where {LIVE_FLOW} and {time} >= $1 and ({time}, id) > ($1, $2) and {time} < $3 order by {time}, id limit $4"
    )
}

impl Browse {
    pub(super) fn stuck_flows(
        &self,
        wanted: &Wanted,
        scene: &Scene,
        rounds: &mut Rounds,
    ) -> Result<Vec<Candidate>> {
        let mut ids = BTreeSet::new();
        for time in ["timeout_at", "updated_at"] {
            let by_itself = time == "timeout_at" || wanted.clock == StuckClock::Created;
            let until = if by_itself { scene.now } else { wanted.before };
            let text = by(time);
            let part = rounds.part(&wanted.search(time), ROOM, |after: Option<&(i64, FlowId)>, limit| {
                let (at, id) = after.map_or((i64::MIN, [0; 16]), |(at, id)| (*at, *id.bytes()));
                let rows = self.sql().rows(&text, params![at, &id, until, limit], |row| {
                    let id: [u8; 16] = row.get(1)?;
                    let key = (row.get::<i64>(0)?, FlowId::from_bytes(id));
                    Ok((key, wanted.state(row.text(2)?).then_some(id)))
                })?;
                Ok(Leg::of(rows, limit))
            })?;
            ids.extend(part.kept);
        }
        let text = format!("select {COLUMNS} from flows where {}", self.sql().is_among("id", 1));
        let ids: Vec<[u8; 16]> = ids.into_iter().collect();
        let mut all = Vec::new();
        for page in ids.chunks(limits::STUCK_PAGE) {
            all.extend(self.sql().rows(&text, &[packed(page)], candidate)?);
        }
        all.sort_by_key(|one| one.state_at);
        Ok(all)
    }

    pub(super) fn one_flow(&self, id: &str) -> Result<Option<Candidate>> {
        let Ok(id) = id.parse::<FlowId>() else { return Ok(None) };
        self.sql().first(&format!("select {COLUMNS} from flows where id = $1"), params![id], candidate)
    }
}

/// A flow is in its state with a right to be there until its time is over.
fn candidate(row: &Row) -> Result<Candidate> {
    let id = FlowId::from_bytes(row.get(0)?);
    let (kind, state): (String, String) = (row.get(1)?, row.get(7)?);
    let (started_at, updated_at) = (Timestamp(row.get(8)?), Timestamp(row.get(9)?));
    let progressed_at = row.get::<Option<i64>>(10)?.map(Timestamp);
    let state_at = if state == "failed" { updated_at } else { Timestamp(row.get(11)?) };
    let (entity, entity_id): (String, String) = (row.get(3)?, row.get(4)?);
    Ok(Candidate {
        user: row.get(6)?,
        state_at,
        progress_at: progressed_at.unwrap_or(started_at).max(started_at),
        what: format!("flow {kind} of {entity} {entity_id}"),
        data: serde_json::json!({
            "entity_type": entity,
            "entity_id": entity_id,
            "retry_action": declared(row, 12, "retry_action")?,
            "cancel_action": declared(row, 13, "cancel_action")?,
        }),
        flow_type: Some(kind),
        relatable_type: Some(entity),
        ..Candidate::new(Watched::Flow, id.to_string(), state, started_at)
    })
}

/// What was declared for it when it was started, as it is stored.
fn declared(row: &Row, i: usize, column: &'static str) -> Result<Value> {
    let Some(text) = row.get::<Option<String>>(i)? else { return Ok(Value::Null) };
    serde_json::from_str(&text).map_err(|_| StoreError::Corrupt { table: "flows", column, value: text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::migrate_file;
    use rules::stuck::{defaults, judge};

    fn at(hour: i64) -> Timestamp {
        Timestamp(hour * 3_600_000_000)
    }

    /// Flows by state, when they last moved and when their time is over, numbered from 1.
    fn planted(dir: &std::path::Path, flows: impl IntoIterator<Item = (&'static str, i64, i64)>) -> Browse {
        let path = dir.join("steps.db");
        migrate_file(&path, Timestamp(0), true).unwrap();
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute_batch("begin").unwrap();
        let row = r#"insert into flows (id, type, key, entity_type, entity_id, run, user_id, state, error, is_open, retry_action,
                     started_at, started_by, updated_at, progressed_at, timeout_at, version)
                   values ($1, 'payment', $2, 'payment', 'p', 1, 'u', $3, $4, 1, '{"action":"pay.again"}', 0, 'test', $5, $5, $6, 1)"#;
        for (n, (state, updated, timeout)) in (1..).zip(flows) {
            let id = FlowId::of(n);
            let error = (state == "failed").then_some("no");
            let values =
                rusqlite::params![id.bytes(), n.to_string(), state, error, at(updated).0, at(timeout).0];
            file.execute(row, values).unwrap();
        }
        file.execute_batch("commit").unwrap();
        Browse::new(Box::new(file), "test".into())
    }

    fn found(browse: &Browse, name: &str, rounds: &mut Rounds) -> Vec<String> {
        let now = at(5);
        let scene = Scene { around: browse.circumstances(now).unwrap(), told: Default::default(), now };
        let rule = defaults().into_iter().find(|rule| rule.name == name).unwrap();
        let (states, before) = (rule.states.iter().cloned().collect(), now - rule.older_than);
        let wanted = Wanted { entity: Watched::Flow, states, before, clock: rule.clock };
        let all = browse.stuck_flows(&wanted, &scene, rounds).unwrap();
        let mut stuck: Vec<String> =
            all.into_iter().filter(|one| judge(&rule, one, now).is_ok()).map(|one| one.id).collect();
        stuck.sort_unstable();
        stuck
    }

    fn ids(numbers: &[u64]) -> Vec<String> {
        numbers.iter().map(|n| FlowId::of(*n).to_string()).collect()
    }

    #[test]
    fn flows_are_stuck_when_their_time_is_over_or_when_they_failed_long_ago() {
        let dir = tempfile::tempdir().unwrap();
        let flows = [("running", 1, 2), ("running", 4, 9), ("failed", 3, 9), ("pending", 4, 4)];
        let browse = planted(dir.path(), flows);
        let mut rounds = Rounds::default();
        assert_eq!(found(&browse, "flow-overdue", &mut rounds), ids(&[1, 4]), "those whose time is over");
        assert_eq!(found(&browse, "flow-failed", &mut rounds), ids(&[3]));
        let one = browse.one_flow(&FlowId::of(3).to_string()).unwrap().unwrap();
        assert_eq!(
            (one.user.as_deref(), one.data["retry_action"]["action"].as_str()),
            (Some("u"), Some("pay.again"))
        );
    }

    #[test]
    fn flows_that_failed_do_not_hide_one_whose_time_is_over() {
        let dir = tempfile::tempdir().unwrap();
        let many = limits::STUCK_SCAN + 50;
        let flows = std::iter::repeat_n(("failed", 1, 1), many).chain([("running", 4, 2)]);
        let browse = planted(dir.path(), flows);
        let mut rounds = Rounds::default();
        assert_eq!(found(&browse, "flow-overdue", &mut rounds), ids(&[]));
        assert_eq!(found(&browse, "flow-overdue", &mut rounds), ids(&[many as u64 + 1]));
    }
}
