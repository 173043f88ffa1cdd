//! `[stuck]` and `[[stuck.rule]]`: how often it is looked for what is stuck, how careful remedies are, and the rules.

use super::{suggest, unknown};
use definition::duration;
use engine::StuckConfig;
use model::{StuckPolicy, limits};
use serde::Deserialize;
use std::time::Duration;
use wire::StuckRuleBody;

pub const KEYS: [&str; 6] = ["every", "auto", "per_hour", "per_entity_per_day", "cooling_off", "rule"];
pub const RULE_KEYS: [&str; 21] = [
    "name",
    "enabled",
    "entity",
    "detect",
    "states",
    "action",
    "definition",
    "type",
    "relatable_type",
    "labels",
    "older_than",
    "clock",
    "severity",
    "remedy",
    "auto",
    "remedy_by",
    "reason",
    "status",
    "remind_every",
    "max",
    "attempts",
];

/// Exactly what the file said.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RawStuck {
    every: Option<String>,
    auto: Option<bool>,
    per_hour: Option<u32>,
    per_entity_per_day: Option<u32>,
    cooling_off: Option<String>,
    rule: Vec<StuckRuleBody>,
}

/// Keys that are not known.
pub fn strange(table: &toml::Table) -> Vec<String> {
    let Some(toml::Value::Table(stuck)) = table.get("stuck") else { return Vec::new() };
    let mut faults = unknown(stuck, &KEYS, "stuck.");
    for rule in stuck.get("rule").and_then(toml::Value::as_array).into_iter().flatten() {
        let rule = rule.as_table().into_iter();
        faults.extend(rule.flat_map(|rule| unknown(rule, &RULE_KEYS, "stuck.rule.")));
    }
    faults
}

/// The rules are whole when they are put on record; what they say is looked at here.
pub fn check(raw: RawStuck, faults: &mut Vec<String>) -> StuckConfig {
    let usual = StuckPolicy::default();
    let mut span =
        |name: &str, text: Option<String>, usual: Duration| match text.as_deref().map(duration::parse) {
            None => usual,
            Some(Ok(span)) => span,
            Some(Err(fix)) => {
                faults.push(format!("stuck.{name}: {} is no span of time; {fix}", text.unwrap_or_default()));
                usual
            }
        };
    let policy = StuckPolicy {
        auto: raw.auto.unwrap_or(usual.auto),
        per_hour: raw.per_hour.unwrap_or(usual.per_hour),
        per_entity_per_day: raw.per_entity_per_day.unwrap_or(usual.per_entity_per_day),
        cooling_off: span("cooling_off", raw.cooling_off, usual.cooling_off),
    };
    let every = match raw.every.as_deref() {
        Some("never") => None,
        _ => Some(span("every", raw.every, limits::STUCK_EVERY_DEFAULT)),
    };
    if every.is_some_and(|every| every < limits::STUCK_EVERY_MIN || every > limits::STUCK_AGE_MAX) {
        let least = limits::STUCK_EVERY_MIN.as_secs();
        faults.push(format!("stuck.every: write {least}s or more, or `never`"));
    }
    StuckConfig { every, policy, rules: rules(raw.rule, faults), ..StuckConfig::default() }
}

fn rules(raw: Vec<StuckRuleBody>, faults: &mut Vec<String>) -> Vec<model::StuckRule> {
    let defaults = rules::stuck::defaults();
    let names: Vec<String> = defaults.iter().map(|rule| rule.name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut all: Vec<model::StuckRule> = Vec::new();
    for body in raw {
        let name = body.name.clone();
        if all.iter().any(|rule| rule.name == name) {
            faults.push(format!("stuck.rule {name}: it is there twice; give one of them another name"));
            continue;
        }
        let from_start = defaults.iter().find(|rule| rule.name == name).cloned();
        let is_new = from_start.is_none();
        match server::convert::stuck_rule(body, from_start) {
            Ok(rule) => {
                let told = |fault: &model::Fault| format!("stuck.rule {name}: {fault}");
                let wrong: Vec<String> = rules::stuck::faults(&rule).iter().map(told).collect();
                // A rule that says nothing of what it looks at is most often one from the start, misspelt.
                if is_new && rule.entity.is_none() && rule.detect.is_none() {
                    faults.push(format!(
                        "stuck.rule {name}: no rule from the start has this name; {}",
                        suggest(&name, &names)
                    ));
                }
                faults.extend(wrong);
                all.push(rule);
            }
            Err(wrong) => faults.extend(wrong.iter().map(|fault| format!("stuck.rule {name}: {fault}"))),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<StuckConfig, String> {
        let table: toml::Table = text.parse().unwrap();
        let mut faults = strange(&table);
        if !faults.is_empty() {
            return Err(faults.join("\n"));
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct File {
            stuck: RawStuck,
        }
        let file: File = toml::from_str(text).map_err(|e| e.to_string())?;
        let config = check(file.stuck, &mut faults);
        if faults.is_empty() { Ok(config) } else { Err(faults.join("\n")) }
    }

    #[test]
    fn nothing_said_is_a_look_every_fifteen_minutes() {
        let config = read("").unwrap();
        assert_eq!(config.every, Some(Duration::from_secs(900)));
        assert_eq!(config.policy, StuckPolicy::default());
        assert_eq!(config.rules, []);
        assert_eq!(read("[stuck]\nevery = \"never\"").unwrap().every, None);
    }

    #[test]
    fn a_rule_from_the_start_is_changed_by_its_name() {
        let text = "[stuck]\nauto = false\nper_hour = 3\n[[stuck.rule]]\nname = \"step-waiting\"\nolder_than = \"5m\"\n\
                    [[stuck.rule]]\nname = \"bonus\"\ndetect = { action = \"bonus.stuck\", every = \"5m\" }\nremedy = \"escalate\"";
        let config = read(text).unwrap();
        assert!(!config.policy.auto && config.policy.per_hour == 3);
        let told: Vec<String> =
            config.rules.iter().map(|r| format!("{} {:?} {:?}", r.name, r.entity, r.older_than)).collect();
        assert_eq!(told, ["step-waiting Some(Step) 300s", "bonus None 0ns"]);
        assert_eq!(config.rules[0].states, ["pending", "polling"], "the rest stays");
    }

    #[test]
    fn every_fault_of_a_rule_is_told_with_what_to_write_instead() {
        for (text, part) in [
            ("[stuck]\nevry = \"5m\"", "stuck.evry is not a setting; did you mean `every`?"),
            ("[stuck]\nevery = \"5\"", "stuck.every: 5 is no span of time; name the unit: 5s"),
            ("[stuck]\nevery = \"1s\"", "stuck.every: write 10s or more, or `never`"),
            (
                "[[stuck.rule]]\nname = \"a\"\nolder = \"5m\"",
                "stuck.rule.older is not a setting; did you mean `older_than`?",
            ),
            (
                "[[stuck.rule]]\nname = \"step-wating\"",
                "no rule from the start has this name; did you mean `step-waiting`?",
            ),
            ("[[stuck.rule]]\nname = \"a\"\nentity = \"stp\"", "stuck.rule a: entity: `stp` is not a entity"),
            (
                "[[stuck.rule]]\nname = \"a\"\nentity = \"breaker\"\nremedy = \"retry\"",
                "remedy: `retry` is nothing that can be done to a breaker; write escalate, notify",
            ),
            (
                "[[stuck.rule]]\nname = \"a\"\ndetect = { action = \"x\" }\nremedy = \"cancel\"",
                "remedy_by: nobody is named who can `cancel` what is reported",
            ),
            (
                "[[stuck.rule]]\nname = \"a\"\nentity = \"step\"\nstates = [\"done\"]",
                "states[0]: a step is never stuck in `done`; write pending, dispatched",
            ),
            (
                "[[stuck.rule]]\nname = \"a\"\nentity = \"step\"\nolder_than = \"soon\"",
                "older_than: `soon` is no span of time",
            ),
            (
                "[[stuck.rule]]\nname = \"A b\"\nentity = \"step\"",
                "name: `A b` is no name of a rule; write 1 to 255 of a to z",
            ),
            (
                "[[stuck.rule]]\nname = \"a\"\nentity = \"step\"\nmax = 0",
                "max: 0 is out of range; write 1 to 1000",
            ),
            (
                "[[stuck.rule]]\nname = \"a\"\nentity = \"step\"\n[[stuck.rule]]\nname = \"a\"\nentity = \"step\"",
                "stuck.rule a: it is there twice",
            ),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains(part), "{part}\nin\n{refused}");
        }
    }
}
