//! Proposes what may be stuck, by indexes over what lives, and keeps the rules that judge it.
//!
//! Why    a look must cost the same whatever is in the tables: each finder reads a bounded page of an index that has only live rows,
//!        from where the look before it ended. It may propose too much; the rules dispose.

mod flows;
mod groups;
mod pauses;
mod rounds;
mod searches;
mod steps;
mod workflows;

pub use rounds::Rounds;

use crate::batch::StuckAsk;
use crate::settings::setting;
use crate::sql::{Row, Sql};
use crate::{Browse, Circumstances, Result, StoreError, params, rows};
use model::{NodeId, StepId, StuckClock, StuckRule, Timestamp, Watched, limits};
use rounds::Room;
use rules::stuck::Candidate;
use std::collections::{BTreeSet, HashSet};

/// Under which name it is on record whether remedies are applied.
pub const AUTO: &str = "stuck_auto";

/// A rule that is on record, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRule {
    pub rule: StuckRule,
    /// `api` or `configuration`.
    pub source: &'static str,
    pub changed_at: Timestamp,
    pub changed_by: String,
    /// How often it was written; 0 is one that is not on record yet.
    pub version: u64,
}

/// Every rule on record, by name.
pub fn rules(sql: &dyn Sql) -> Result<Vec<StoredRule>> {
    let text = format!(
        "select name, body, source, changed_at, changed_by, version from stuck_rules order by name limit {}",
        limits::STUCK_RULES_MAX
    );
    sql.rows(&text, params![], |row| {
        let body = row.text(1)?;
        let strange = |_| StoreError::Corrupt { table: "stuck_rules", column: "body", value: body.into() };
        Ok(StoredRule {
            rule: serde_json::from_str(body).map_err(strange)?,
            source: if row.text(2)? == "api" { "api" } else { "configuration" },
            changed_at: Timestamp(row.get(3)?),
            changed_by: row.get(4)?,
            version: row.get(5)?,
        })
    })
}

/// Whether it was as it was seen: not there, or of this version.
pub fn put_rule(sql: &dyn Sql, stored: &StoredRule) -> Result<u64> {
    let body = serde_json::to_string(&stored.rule).expect("a rule is plain data");
    let (name, by) = (stored.rule.name.as_str(), stored.changed_by.as_str());
    if stored.version == 0 {
        let text = "insert into stuck_rules (name, body, source, changed_at, changed_by, version)
                    values ($1, $2, $3, $4, $5, 1) on conflict (name) do nothing";
        return sql.execute(text, params![name, body.as_str(), stored.source, stored.changed_at, by]);
    }
    let text = "update stuck_rules set body = $1, source = $2, changed_at = $3, changed_by = $4, version = version + 1
                 where name = $5 and version = $6";
    sql.execute(text, params![body.as_str(), stored.source, stored.changed_at, by, name, stored.version])
}

/// Whether it was as it was seen.
pub fn remove_rule(sql: &dyn Sql, name: &str, version: u64) -> Result<u64> {
    let text = "delete from stuck_rules where name = $1 and version = $2";
    let found = sql.execute(text, params![name, version])?;
    if found == 1 {
        sql.execute("delete from stuck_asks where rule = $1", params![name])?;
    }
    Ok(found)
}

/// Who looks for what is stuck, and where the searches go on.
#[derive(Clone, Debug, PartialEq)]
pub struct LookRow {
    pub node: Option<NodeId>,
    pub rounds: Rounds,
    pub version: u64,
}

pub fn look_row(sql: &dyn Sql) -> Result<LookRow> {
    let text = "select node_id, rounds, version from stuck_looks where id = 1";
    let row = sql.first(text, params![], |row| {
        let node = row.get::<Option<[u8; 16]>>(0)?.map(NodeId::from_bytes);
        Ok(LookRow { node, rounds: Rounds::parse(row.text(1)?), version: row.get(2)? })
    })?;
    row.ok_or_else(|| StoreError::Corrupt { table: "stuck_looks", column: "id", value: "no row".into() })
}

/// The steps that ask actions, by rule.
pub fn asks(sql: &dyn Sql) -> Result<Vec<StuckAsk>> {
    let text = "select rule, step_id, asked_at, heard_at, fault from stuck_asks order by rule";
    sql.rows(text, params![], ask)
}

fn ask(row: &Row) -> Result<StuckAsk> {
    Ok(StuckAsk {
        rule: row.get(0)?,
        step: StepId::from_bytes(row.get(1)?),
        asked_at: Timestamp(row.get(2)?),
        heard_at: rows::time(row, 3)?,
        fault: row.get(4)?,
    })
}

/// Whether remedies are applied, as somebody said while it runs.
pub fn auto(sql: &dyn Sql) -> Result<bool> {
    Ok(setting(sql, AUTO)?.as_deref() != Some("false"))
}

/// Which things of a sort may be stuck.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    pub entity: Watched,
    /// Empty stands for every state it can be stuck in.
    pub states: BTreeSet<String>,
    /// Old enough by this clock before then.
    pub before: Timestamp,
    pub clock: StuckClock,
}

/// What one look reads of an index: rows that it passes over, and things that are judged.
const ROOM: Room = Room { cost: limits::STUCK_SCAN, kept: limits::STUCK_PAGE };

impl Wanted {
    /// The name of one of its searches.
    fn search(&self, what: &str) -> String {
        let states: Vec<&str> = self.states.iter().map(String::as_str).collect();
        format!("{} {} {}: {what}", self.entity, states.join(","), self.clock)
    }
    fn state(&self, word: &str) -> bool {
        self.states.is_empty() || self.states.contains(word)
    }
}

/// What every candidate is judged against.
pub struct Scene {
    pub around: Circumstances,
    /// Things that have an open alert: entity and id.
    pub told: HashSet<(String, String)>,
    pub now: Timestamp,
}

/// The smallest id of a row that was made at or after an instant: ids begin with the milliseconds of their making.
fn id_at(at: Timestamp) -> [u8; 16] {
    let millis = u64::try_from(at.0 / 1_000).unwrap_or(0) + 1;
    let mut id = [0; 16];
    id[..6].copy_from_slice(&millis.to_be_bytes()[2..]);
    id
}

/// For whom the work is done, as its labels say.
fn user(labels: &std::collections::BTreeMap<String, String>) -> Option<String> {
    ["user", "user_id"].iter().find_map(|name| labels.get(*name).cloned())
}

impl Browse {
    /// The things of a sort that may be stuck, as many as one look judges; the next one goes on behind them.
    pub fn candidates(&self, wanted: &Wanted, scene: &Scene, rounds: &mut Rounds) -> Result<Vec<Candidate>> {
        match wanted.entity {
            Watched::Step => self.stuck_steps(wanted, scene, rounds),
            Watched::Workflow | Watched::Compensation => self.stuck_workflows(wanted, scene, rounds),
            Watched::Pause => self.stuck_pauses(wanted, scene, rounds),
            Watched::MessageGroup => self.stuck_message_groups(wanted, rounds),
            Watched::DispatchGroup => Ok(groups::dispatch_groups(scene)),
            Watched::Breaker => Ok(groups::breakers(scene)),
            Watched::Flow => self.stuck_flows(wanted, scene, rounds),
        }
    }

    /// One thing as it is now, whatever state it is in; none if it is gone.
    pub fn candidate(&self, entity: Watched, id: &str, scene: &Scene) -> Result<Option<Candidate>> {
        match entity {
            Watched::Step => self.one_step(id, scene),
            Watched::Workflow | Watched::Compensation => self.one_workflow(entity, id, scene),
            Watched::Pause => self.one_pause(id, scene),
            Watched::MessageGroup => self.one_message_group(id),
            Watched::DispatchGroup => Ok(groups::dispatch_groups(scene).into_iter().find(|one| one.id == id)),
            Watched::Breaker => Ok(groups::breakers(scene).into_iter().find(|one| one.id == id)),
            Watched::Flow => self.one_flow(id),
        }
    }

    pub fn stuck_rules(&self) -> Result<Vec<StoredRule>> {
        rules(self.sql())
    }
    pub fn stuck_asks(&self) -> Result<Vec<StuckAsk>> {
        asks(self.sql())
    }
    pub fn stuck_auto(&self) -> Result<bool> {
        auto(self.sql())
    }
    pub fn stuck_look(&self) -> Result<LookRow> {
        look_row(self.sql())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_bounds_the_ids_made_before_it() {
        let at = Timestamp(1_700_000_000_123_456);
        assert_eq!(id_at(at)[..6], 1_700_000_000_124u64.to_be_bytes()[2..]);
        assert_eq!(id_at(Timestamp(-5))[..6], [0, 0, 0, 0, 0, 1]);
    }
}
