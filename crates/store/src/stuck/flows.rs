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
        let made: i64 = self.sql().value("select count(*) from migrations where name = $1", params![MADE_BY])?;
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
