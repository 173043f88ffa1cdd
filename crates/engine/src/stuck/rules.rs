//! The rules on record: put, changed and removed while work runs; and the switch for all remedies.

use super::{LeftOut, Remedies, StuckConfig};
use crate::{Engine, EngineError};
use model::{Fault, StuckRule, limits};
use rules::stuck::{defaults, faults};
use store::stuck::{self as record, StoredRule};
use store::{AuditEntry, Change, Store};

type Result<T> = std::result::Result<T, EngineError>;

impl Engine {
    /// Put a rule on record; one that is there from the start, or was put before, is changed by it.
    pub async fn put_stuck_rule(&self, rule: StuckRule, by: String) -> Result<()> {
        self.with_store(move |store| put(store, rule, "api", by)).await?
    }

    /// Take a rule off the record; one that is there from the start is as it was. Whether there was one.
    pub async fn remove_stuck_rule(&self, name: String, by: String) -> Result<bool> {
        self.with_store(move |store| remove(store, &name, by)).await?
    }

    /// Whether remedies are applied at all, by every node, from the next look on.
    pub async fn set_stuck_auto(&self, remedies: Remedies, by: String) -> Result<()> {
        self.with_store(move |store| switch(store, remedies, by)).await?
    }
}

/// Rules that several nodes put at once are put by the first; so often the others look again.
const TRIES: usize = 5;
const CONFIGURATION: &str = "configuration";

/// What the configuration says, and nothing that it says no more.
pub fn put_all(store: &mut dyn Store, config: &StuckConfig) -> Result<()> {
    for rule in &config.rules {
        put(store, rule.clone(), CONFIGURATION, "the configuration".into())?;
    }
    if config.left_out == LeftOut::Keep {
        return Ok(());
    }
    let is_left_out = |stored: &StoredRule| {
        stored.source == CONFIGURATION && config.rules.iter().all(|rule| rule.name != stored.rule.name)
    };
    for stored in record::rules(store.reader())?.into_iter().filter(is_left_out) {
        // Whoever changed or removed it meanwhile knows better.
        remove_seen(store, &stored, "the configuration".into())?;
    }
    Ok(())
}

fn put(store: &mut dyn Store, rule: StuckRule, source: &'static str, by: String) -> Result<()> {
    let known = record::rules(store.reader())?;
    put_from(store, known, (&rule, source), &by)
}

/// Put a rule, beginning with what was seen of the record. Whoever says the same at the same time is right too; between two who do not, the
/// last configuration holds, and a person is told to look again.
fn put_from(
    store: &mut dyn Store,
    mut known: Vec<StoredRule>,
    (rule, source): (&StuckRule, &'static str),
    by: &str,
) -> Result<()> {
    for _ in 0..TRIES {
        match put_over(store, &known, (rule, source), by) {
            Err(EngineError::StuckRuleChanged(_)) => known = record::rules(store.reader())?,
            done => return done,
        }
        let says_same = known.iter().any(|stored| stored.rule == *rule);
        if !says_same && source != CONFIGURATION {
            break;
        }
    }
    Err(EngineError::StuckRuleChanged(rule.name.clone()))
}

/// Put a rule over what was on record when it was looked at.
fn put_over(
    store: &mut dyn Store,
    known: &[StoredRule],
    (rule, source): (&StuckRule, &'static str),
    by: &str,
) -> Result<()> {
    let mut wrong = faults(rule);
    let before = known.iter().find(|stored| stored.rule.name == rule.name);
    if before.is_none() && known.len() >= limits::STUCK_RULES_MAX {
        let problem = format!("there are {} rules on record already", known.len());
        wrong.push(Fault { field: "name".into(), problem, fix: "remove one that nobody needs".into() });
    }
    if !wrong.is_empty() {
        let named =
            |fault: Fault| Fault { field: format!("stuck.rule {}: {}", rule.name, fault.field), ..fault };
        return Err(EngineError::Invalid(wrong.into_iter().map(named).collect()));
    }
    // Nothing is written down where nothing changes.
    if before.is_some_and(|stored| stored.rule == *rule && stored.source == source) {
        return Ok(());
    }
    let from_start = defaults().into_iter().find(|other| other.name == rule.name);
    let was = before.map(|stored| &stored.rule).or(from_start.as_ref());
    let entry = AuditEntry {
        who: by.into(),
        verb: "set stuck rule".into(),
        target: format!("stuck rule {}", rule.name),
        why: None,
        before: was.map(told),
        after: Some(told(rule)),
    };
    let (changed_at, version) = (store.now(), before.map_or(0, |stored| stored.version));
    let stored = StoredRule { rule: rule.clone(), source, changed_at, changed_by: by.into(), version };
    let put = Change::PutStuckRule(Box::new(stored));
    if store.change(vec![put, Change::Audit { at: changed_at, entry }])?.starts_with(&[0]) {
        return Err(EngineError::StuckRuleChanged(rule.name.clone()));
    }
    Ok(())
}

fn remove(store: &mut dyn Store, name: &str, by: String) -> Result<bool> {
    let known = record::rules(store.reader())?;
    let Some(before) = known.into_iter().find(|stored| stored.rule.name == name) else { return Ok(false) };
    if !remove_seen(store, &before, by)? {
        return Err(EngineError::StuckRuleChanged(name.into()));
    }
    Ok(true)
}

/// Whether it was as it was seen.
fn remove_seen(store: &mut dyn Store, seen: &StoredRule, by: String) -> Result<bool> {
    let name = seen.rule.name.clone();
    let entry = AuditEntry {
        who: by,
        verb: "remove stuck rule".into(),
        target: format!("stuck rule {name}"),
        why: None,
        before: Some(told(&seen.rule)),
        after: None,
    };
    let at = store.now();
    let removed = Change::RemoveStuckRule { name, version: seen.version };
    let found = store.change(vec![removed, Change::Audit { at, entry }])?;
    Ok(!found.starts_with(&[0]))
}

fn switch(store: &mut dyn Store, remedies: Remedies, by: String) -> Result<()> {
    let on = remedies == Remedies::Apply;
    let before = record::auto(store.reader())?;
    let entry = AuditEntry {
        who: by,
        verb: "switch stuck remedies".into(),
        target: "stuck remedies".into(),
        why: None,
        before: Some(before.to_string()),
        after: Some(on.to_string()),
    };
    let at = store.now();
    store.change(vec![
        Change::PutSetting { name: record::AUTO, value: on.to_string() },
        Change::Audit { at, entry },
    ])?;
    Ok(())
}

/// A rule in one line, for the audit.
fn told(rule: &StuckRule) -> String {
    serde_json::to_string(rule).expect("a rule is plain data")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;
    use store::sqlite::Holder;
    use store::{Database, SimClock};

    fn rule(older_than: u64) -> StuckRule {
        let rule =
            defaults().into_iter().find(|rule| rule.name == "step-waiting").expect("a rule from the start");
        StuckRule { older_than: Duration::from_secs(older_than), ..rule }
    }

    #[test]
    fn the_same_rule_put_by_two_nodes_at_once_is_no_conflict() {
        let dir = tempfile::tempdir().unwrap();
        let database = Database::Sqlite(dir.path().join("steps.db"));
        let mut store = database.open(Some(Arc::new(SimClock::default())), Holder::default()).unwrap();
        let store = &mut *store;
        let on_record = |store: &mut dyn Store| {
            let all = record::rules(store.reader()).unwrap();
            (all[0].rule.older_than.as_secs(), all[0].version)
        };
        // All of them have looked, and there was nothing.
        for who in ["one", "two"] {
            put_from(store, Vec::new(), (&rule(60), CONFIGURATION), who).unwrap();
            assert_eq!(on_record(store), (60, 1), "{who}");
        }
        let changed = put_from(store, Vec::new(), (&rule(90), "api"), "anna");
        assert!(
            matches!(changed, Err(EngineError::StuckRuleChanged(_))),
            "a person looks again: {changed:?}"
        );
        put_from(store, Vec::new(), (&rule(90), CONFIGURATION), "three").unwrap();
        assert_eq!(on_record(store), (90, 2), "the last configuration holds");
    }
}
