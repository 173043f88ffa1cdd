//! The rules that are there from the start, for everything of ours that can stand still; each can be changed or switched off by its name.

use model::{Remedy, Severity, StuckClock, StuckRule, Watched, limits};
use std::collections::BTreeMap;
use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// One line of the table: name, entity, states, seconds, clock, severity, remedy.
type Line = (&'static str, Watched, &'static [&'static str], u64, StuckClock, Severity, Remedy);

const TABLE: [Line; 11] = {
    use StuckClock::{Progress, State};
    [
        ("step-waiting", Watched::Step, &["pending", "polling"], HOUR, State, Severity::High, Remedy::Notify),
        (
            "step-running",
            Watched::Step,
            &["dispatched", "running"],
            HOUR,
            State,
            Severity::High,
            Remedy::Notify,
        ),
        (
            "workflow-failed",
            Watched::Workflow,
            &["failed"],
            HOUR,
            State,
            Severity::Critical,
            Remedy::Escalate,
        ),
        ("workflow-paused", Watched::Workflow, &["paused"], HOUR, State, Severity::High, Remedy::Escalate),
        (
            "workflow-still",
            Watched::Workflow,
            &["pending", "running"],
            DAY,
            Progress,
            Severity::Medium,
            Remedy::Notify,
        ),
        (
            "compensation-failed",
            Watched::Compensation,
            &["compensation_failed"],
            15 * MINUTE,
            State,
            Severity::Critical,
            Remedy::Escalate,
        ),
        (
            "compensation-still",
            Watched::Compensation,
            &["compensating"],
            HOUR,
            Progress,
            Severity::High,
            Remedy::Notify,
        ),
        ("pause-overdue", Watched::Pause, &["waiting"], 15 * MINUTE, State, Severity::High, Remedy::Notify),
        (
            "message-group-blocked",
            Watched::MessageGroup,
            &["blocked"],
            HOUR,
            State,
            Severity::High,
            Remedy::Escalate,
        ),
        (
            "dispatch-group-unowned",
            Watched::DispatchGroup,
            &["no_owner"],
            5 * MINUTE,
            State,
            Severity::Critical,
            Remedy::Escalate,
        ),
        ("breaker-off", Watched::Breaker, &["off"], DAY, State, Severity::Medium, Remedy::Notify),
    ]
};

/// Tracked flows, which know themselves when they should be over.
const FLOWS: [Line; 2] = [
    (
        "flow-overdue",
        Watched::Flow,
        &["pending", "running"],
        0,
        StuckClock::State,
        Severity::High,
        Remedy::Escalate,
    ),
    ("flow-failed", Watched::Flow, &["failed"], HOUR, StuckClock::State, Severity::High, Remedy::Escalate),
];

fn rule(&(name, entity, states, older_than, clock, severity, remedy): &Line) -> StuckRule {
    StuckRule { clock, severity, remedy, ..plain(name, entity, states, Duration::from_secs(older_than)) }
}

fn plain(name: &str, entity: Watched, states: &[&str], older_than: Duration) -> StuckRule {
    StuckRule {
        name: name.into(),
        enabled: true,
        entity: Some(entity),
        detect: None,
        detect_every: None,
        states: states.iter().map(ToString::to_string).collect(),
        action: None,
        definition: None,
        flow_type: None,
        relatable_type: None,
        labels: BTreeMap::new(),
        older_than,
        clock: StuckClock::State,
        severity: Severity::Medium,
        remedy: Remedy::Notify,
        auto: None,
        remedy_by: None,
        reason: None,
        status: None,
        remind_every: limits::REMIND_EVERY_DEFAULT,
        max: limits::STUCK_FINDINGS_DEFAULT,
        attempts: limits::REMEDY_ATTEMPTS_DEFAULT,
    }
}

/// Every rule that is there from the start.
pub fn defaults() -> Vec<StuckRule> {
    TABLE.iter().chain(&FLOWS).map(rule).collect()
}

/// The rules that hold: those from the start, with what is on record over them by name.
pub fn overlaid(stored: Vec<StuckRule>) -> Vec<StuckRule> {
    let mut all: BTreeMap<String, StuckRule> =
        defaults().into_iter().map(|rule| (rule.name.clone(), rule)).collect();
    all.extend(stored.into_iter().map(|rule| (rule.name.clone(), rule)));
    all.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stuck::faults;

    #[test]
    fn the_defaults_are_sound_and_cover_everything_of_ours() {
        for rule in defaults() {
            assert_eq!(faults(&rule), [], "{}", rule.name);
        }
        let entities: Vec<Watched> = defaults().iter().filter_map(|rule| rule.entity).collect();
        for entity in Watched::ALL {
            assert!(entities.contains(entity), "no rule from the start watches over a {entity}");
        }
    }

    #[test]
    fn a_rule_on_record_takes_the_place_of_one_of_its_name() {
        let off = StuckRule { enabled: false, ..rule(&TABLE[0]) };
        let all = overlaid(vec![off]);
        assert_eq!(all.len(), defaults().len());
        assert!(!all.iter().find(|rule| rule.name == "step-waiting").unwrap().enabled);
    }

    /// The table of the page is this one.
    #[test]
    fn the_page_tells_the_defaults() {
        let page = include_str!("../../../../docs/stuck.md");
        for rule in defaults() {
            let (entity, states) = (rule.entity.unwrap(), rule.states.join(", "));
            let age = if rule.older_than.is_zero() {
                "at once".into()
            } else {
                crate::stuck::span(rule.older_than)
            };
            let line = format!(
                "| `{}` | {entity} | {states} | {age} | {} | {} | {} |",
                rule.name, rule.clock, rule.severity, rule.remedy
            );
            assert!(page.contains(&line), "docs/stuck.md lacks the line\n{line}");
        }
    }
}
