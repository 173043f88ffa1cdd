//! The rules on record: put, changed and removed while work runs; and the switch for all remedies.

use super::Remedies;
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

/// What the configuration says.
pub fn put_all(store: &mut dyn Store, rules: &[StuckRule]) -> Result<()> {
    rules.iter().try_for_each(|rule| put(store, rule.clone(), "configuration", "the configuration".into()))
}

fn put(store: &mut dyn Store, rule: StuckRule, source: &'static str, by: String) -> Result<()> {
    let mut wrong = faults(&rule);
    let known = record::rules(store.reader())?;
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
    if before.is_some_and(|stored| stored.rule == rule) {
        return Ok(());
    }
    let from_start = defaults().into_iter().find(|other| other.name == rule.name);
    let was = before.map(|stored| &stored.rule).or(from_start.as_ref());
    let entry = AuditEntry {
        who: by.clone(),
        verb: "set stuck rule".into(),
        target: format!("stuck rule {}", rule.name),
        why: None,
        before: was.map(told),
        after: Some(told(&rule)),
    };
    let (changed_at, version) = (store.now(), before.map_or(0, |stored| stored.version));
    let name = rule.name.clone();
    let stored = StoredRule { rule, source, changed_at, changed_by: by, version };
    if store.change(vec![Change::PutStuckRule(Box::new(stored))])? == [0] {
        return Err(EngineError::StuckRuleChanged(name));
    }
    store.change(vec![Change::Audit { at: changed_at, entry }])?;
    Ok(())
}

fn remove(store: &mut dyn Store, name: &str, by: String) -> Result<bool> {
    let known = record::rules(store.reader())?;
    let Some(before) = known.into_iter().find(|stored| stored.rule.name == name) else { return Ok(false) };
    let entry = AuditEntry {
        who: by,
        verb: "remove stuck rule".into(),
        target: format!("stuck rule {name}"),
        why: None,
        before: Some(told(&before.rule)),
        after: None,
    };
    let at = store.now();
    store.change(vec![Change::RemoveStuckRule { name: name.into() }, Change::Audit { at, entry }])?;
    Ok(true)
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
