//! Tracked flows that may be stuck: those whose time is over, those of which nothing was heard for long, those that failed.

use super::{Scene, Wanted};
use crate::sql::Row;
use crate::{Browse, Result, params};
use model::{Timestamp, Watched, limits};
use rules::stuck::Candidate;
use std::collections::BTreeSet;

/// The migration that brings the table of flows.
const MADE_BY: &str = "0019_flows";

const COLUMNS: &str = "id, type, key, entity_type, entity_id, run, user_id, state, started_at, updated_at, progressed_at, timeout_at, \
    retry_action, cancel_action";

/// Those that are not over, in the words of the indexes that have only these.
const LIVE: &str = "(state = 'pending' or state = 'running' or state = 'failed')";

impl Browse {
    fn has_flows(&self) -> Result<bool> {
        let made: i64 =
            self.sql().value("select count(*) from migrations where name = $1", params![MADE_BY])?;
        Ok(made > 0)
    }

    pub(super) fn stuck_flows(&self, wanted: &Wanted, scene: &Scene) -> Result<Vec<Candidate>> {
        if !self.has_flows()? {
            return Ok(Vec::new());
        }
        let mut seen = BTreeSet::new();
        let mut all = Vec::new();
        for time in ["timeout_at", "updated_at"] {
            let text = format!(
                "select {COLUMNS} from flows where {LIVE} and {time} < $1 order by {time}, id limit {}",
                limits::STUCK_PAGE
            );
            let before = if time == "timeout_at" { scene.now } else { wanted.before };
            let found = self.sql().rows(&text, params![before], candidate)?;
            all.extend(found.into_iter().filter(|one| seen.insert(one.id.clone())));
        }
        Ok(all)
    }

    pub(super) fn one_flow(&self, id: &str, _scene: &Scene) -> Result<Option<Candidate>> {
        let Ok(id) = id.parse::<model::StepId>() else { return Ok(None) };
        if !self.has_flows()? {
            return Ok(None);
        }
        self.sql().first(&format!("select {COLUMNS} from flows where id = $1"), params![id], candidate)
    }
}

/// A flow is in its state with a right to be there until its time is over.
fn candidate(row: &Row) -> Result<Candidate> {
    // All ids are written alike.
    let id = model::StepId::from_bytes(row.get(0)?);
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
            "retry_action": row.get::<Option<String>>(12)?,
            "cancel_action": row.get::<Option<String>>(13)?,
        }),
        flow_type: Some(kind),
        relatable_type: Some(entity),
        ..Candidate::new(Watched::Flow, id.to_string(), state, started_at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::migrate_file;
    use rules::stuck::{defaults, judge};

    /// The table as its own migration makes it, as far as it is read here.
    const TABLE: &str = "pragma foreign_keys = off; drop table if exists flows; create table flows (id blob primary key, type text, key text, entity_type text, entity_id text,
        run integer, user_id text, state text, is_open integer, retry_action text, cancel_action text, started_at integer,
        updated_at integer, progressed_at integer, timeout_at integer) without rowid;
        insert into migrations (number, name, checksum, applied_at)
        select 19, '0019_flows', '', 0 where not exists (select 1 from migrations where name = '0019_flows');";

    fn at(hour: i64) -> Timestamp {
        Timestamp(hour * 3_600_000_000)
    }

    fn planted(dir: &std::path::Path) -> Browse {
        let path = dir.join("steps.db");
        migrate_file(&path, Timestamp(0), true).unwrap();
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute_batch(TABLE).unwrap();
        for (n, state, updated, timeout) in
            [(1, "running", 1, 2), (2, "running", 4, 9), (3, "failed", 3, 9), (4, "pending", 4, 5)]
        {
            let id = model::StepId::of(n);
            let row = "insert into flows (id, type, key, entity_type, entity_id, run, user_id, state, retry_action, started_at, updated_at,
                         progressed_at, timeout_at, is_open) values ($1, 'payment', 'k', 'payment', 'p', $2, 'u', $3, 'pay.again', 0, $4, $4, $5, 1)";
            file.execute(row, rusqlite::params![id.bytes(), n as i64, state, at(updated).0, at(timeout).0])
                .unwrap();
        }
        Browse::new(Box::new(file), "test".into())
    }

    #[test]
    fn flows_are_stuck_when_their_time_is_over_or_when_they_failed_long_ago() {
        let dir = tempfile::tempdir().unwrap();
        let browse = planted(dir.path());
        let scene =
            Scene { around: browse.circumstances(at(5)).unwrap(), told: Default::default(), now: at(5) };
        let found = |name: &str| {
            let rule = defaults().into_iter().find(|rule| rule.name == name).unwrap();
            let wanted =
                Wanted { entity: Watched::Flow, states: Default::default(), before: at(5) - rule.older_than };
            let all = browse.stuck_flows(&wanted, &scene).unwrap();
            let stuck = all.iter().filter(|one| judge(&rule, one, at(5)).is_ok());
            let mut ids: Vec<u8> =
                stuck.map(|one| one.id.parse::<model::StepId>().unwrap().bytes()[15]).collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(found("flow-overdue"), [1, 4], "those whose time is over");
        assert_eq!(found("flow-failed"), [3]);
        let one = browse.one_flow(&model::StepId::of(3).to_string(), &scene).unwrap().unwrap();
        assert_eq!((one.user.as_deref(), one.data["retry_action"].as_str()), (Some("u"), Some("pay.again")));
    }
}
