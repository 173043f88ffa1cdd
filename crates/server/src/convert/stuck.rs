//! Rules about what is stuck as people write them, and what a look came to.

use super::{instant, maybe};
use definition::duration;
use engine::{Detected, Detection};
use model::{Fault, Severity, StuckCall, StuckClock, StuckRule, limits};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;
use wire::{StuckCallBody, StuckRuleBody, StuckRuleView};

/// Collects what cannot be read.
#[derive(Default)]
struct Reading(Vec<Fault>);

impl Reading {
    fn put(&mut self, field: &str, problem: String, fix: String) {
        self.0.push(Fault { field: field.into(), problem, fix });
    }
    fn word<T: FromStr<Err: Display>>(&mut self, field: &str, text: Option<String>, is: T) -> T {
        let Some(text) = text else { return is };
        text.parse().unwrap_or_else(|problem: T::Err| {
            let told = problem.to_string();
            let (problem, fix) = told.split_once("; ").unwrap_or((&told, "write another"));
            self.put(field, problem.into(), fix.into());
            is
        })
    }
    fn span(&mut self, field: &str, text: Option<String>, is: Duration) -> Duration {
        let Some(text) = text else { return is };
        duration::parse(&text).unwrap_or_else(|fix| {
            self.put(field, format!("`{text}` is no span of time"), fix);
            is
        })
    }
}

/// The rule that a request asks for, from the one of this name if there is one; everything that cannot be read.
pub fn stuck_rule(body: StuckRuleBody, is: Option<StuckRule>) -> Result<StuckRule, Vec<Fault>> {
    let mut reading = Reading::default();
    let mut rule = is.unwrap_or_else(|| blank(&body.name));
    rule.enabled = body.enabled.unwrap_or(rule.enabled);
    if let Some(word) = body.entity {
        match word.parse() {
            Ok(entity) => rule.entity = Some(entity),
            Err(problem) => reading.put("entity", problem.to_string(), "write one of these".into()),
        }
    }
    if let Some(StuckCallBody { action, queue, arguments, every }) = body.detect {
        let usual = rule.detect_every.unwrap_or(limits::STUCK_EVERY_DEFAULT);
        rule.detect_every = Some(reading.span("detect.every", every, usual));
        rule.detect = Some(StuckCall { action, queue, arguments });
    }
    if let Some(StuckCallBody { action, queue, arguments, every }) = body.remedy_by {
        if every.is_some() {
            reading.put(
                "remedy_by.every",
                "a remedy is not applied by the clock".into(),
                "leave it out".into(),
            );
        }
        rule.remedy_by = Some(StuckCall { action, queue, arguments });
    }
    rule.states = body.states.unwrap_or(rule.states);
    rule.action = body.action.or(rule.action);
    rule.definition = body.definition.or(rule.definition);
    rule.flow_type = body.flow_type.or(rule.flow_type);
    rule.relatable_type = body.relatable_type.or(rule.relatable_type);
    rule.labels = body.labels.unwrap_or(rule.labels);
    rule.older_than = reading.span("older_than", body.older_than, rule.older_than);
    rule.clock = reading.word("clock", body.clock, rule.clock);
    rule.severity = reading.word("severity", body.severity, rule.severity);
    rule.remedy = reading.word("remedy", body.remedy, rule.remedy);
    rule.auto = body.auto.or(rule.auto);
    rule.reason = body.reason.or(rule.reason);
    rule.status = body.status.or(rule.status);
    rule.remind_every = reading.span("remind_every", body.remind_every, rule.remind_every);
    rule.max = body.max.unwrap_or(rule.max);
    rule.attempts = body.attempts.unwrap_or(rule.attempts);
    if reading.0.is_empty() { Ok(rule) } else { Err(reading.0) }
}

/// A rule of which only the name is known.
fn blank(name: &str) -> StuckRule {
    StuckRule {
        name: name.into(),
        enabled: true,
        entity: None,
        detect: None,
        detect_every: None,
        states: Vec::new(),
        action: None,
        definition: None,
        flow_type: None,
        relatable_type: None,
        labels: BTreeMap::new(),
        older_than: Duration::ZERO,
        clock: StuckClock::State,
        severity: Severity::Medium,
        remedy: model::Remedy::Notify,
        auto: None,
        remedy_by: None,
        reason: None,
        status: None,
        remind_every: limits::REMIND_EVERY_DEFAULT,
        max: limits::STUCK_FINDINGS_DEFAULT,
        attempts: limits::REMEDY_ATTEMPTS_DEFAULT,
    }
}

/// A rule as it would be written.
pub fn stuck_rule_body(rule: &StuckRule) -> StuckRuleBody {
    let call = |call: &StuckCall, every: Option<Duration>| StuckCallBody {
        action: call.action.clone(),
        queue: call.queue.clone(),
        arguments: call.arguments.clone(),
        every: every.map(duration::show),
    };
    StuckRuleBody {
        name: rule.name.clone(),
        enabled: Some(rule.enabled),
        entity: rule.entity.map(|entity| entity.to_string()),
        detect: rule.detect.as_ref().map(|detect| call(detect, rule.detect_every)),
        states: (!rule.states.is_empty()).then(|| rule.states.clone()),
        action: rule.action.clone(),
        definition: rule.definition.clone(),
        flow_type: rule.flow_type.clone(),
        relatable_type: rule.relatable_type.clone(),
        labels: (!rule.labels.is_empty()).then(|| rule.labels.clone()),
        older_than: Some(duration::show(rule.older_than)),
        clock: Some(rule.clock.to_string()),
        severity: Some(rule.severity.to_string()),
        remedy: Some(rule.remedy.to_string()),
        auto: Some(rule.is_auto()),
        remedy_by: rule.remedy_by.as_ref().map(|by| call(by, None)),
        reason: Some(rule.reason().into()),
        status: rule.status.clone(),
        remind_every: Some(duration::show(rule.remind_every)),
        max: Some(rule.max),
        attempts: Some(rule.attempts),
        by: None,
    }
}

pub fn stuck_rule_view(
    rule: &StuckRule,
    stored: Option<&store::stuck::StoredRule>,
    fault: Option<String>,
) -> StuckRuleView {
    StuckRuleView {
        rule: stuck_rule_body(rule),
        source: stored.map_or("default", |stored| stored.source).into(),
        changed_at: maybe(stored.map(|stored| stored.changed_at)),
        changed_by: stored.map(|stored| stored.changed_by.clone()),
        fault,
    }
}

pub fn detection_view(detection: &Detection) -> wire::DetectionView {
    let detected = |one: &Detected| wire::DetectedView {
        alert: one.alert,
        rule: one.rule.clone(),
        entity: one.entity.clone(),
        entity_id: one.entity_id.clone(),
        reason: one.reason.clone(),
        severity: one.severity.to_string(),
        user: one.user.clone(),
        since: instant(one.since),
        message: one.message.clone(),
        done: one.done.clone(),
    };
    let left = |(entity, entity_id, how): &(String, String, String)| wire::LeftView {
        entity: entity.clone(),
        entity_id: entity_id.clone(),
        how: how.clone(),
    };
    wire::DetectionView {
        dry_run: detection.dry_run,
        found: detection.found.iter().map(detected).collect(),
        by_entity: detection.by_entity().into_iter().map(|(entity, n)| (entity.to_string(), n)).collect(),
        total: detection.found.len(),
        opened: detection.opened,
        closed: detection.closed.iter().map(left).collect(),
        remedies: detection.remedies,
        escalated: detection.escalated,
        failed: detection.failed,
        asked: detection.asked.clone(),
        faults: detection.faults.clone(),
        database_ms: detection.database_us as f64 / 1_000.0,
    }
}
