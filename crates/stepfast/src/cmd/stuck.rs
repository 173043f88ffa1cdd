//! `stuck`: look for what stands still, and the rules that judge it. A dry run writes nothing at all.

use super::{alerts, output, whoever};
use crate::cli::{Common, Detect, OnOff, SetRule, Stuck};
use crate::config::Settings;
use crate::door::{Door, ask_server, order};
use anyhow::{Context, Result};
use engine::Remedies;
use server::{answers, convert};
use std::process::ExitCode;
use store::{Clock, SystemClock};
use wire::{DetectBody, DetectionView, StuckRuleBody, StuckRulePage};

pub async fn run(settings: &Settings, common: &Common, verb: Stuck) -> Result<ExitCode> {
    match verb {
        Stuck::Detect(args) => detect(settings, common, args).await,
        Stuck::Rules => rules(settings, common).await,
        Stuck::SetRule(args) => set_rule(settings, common, *args).await,
        Stuck::RemoveRule { name, by } => {
            let door = Door::open(settings, common.server.as_deref(), "stuck remove-rule")?;
            let removed = door.remove_stuck_rule(&name, whoever(by)).await;
            door.close().await?;
            removed?;
            told(
                common.json,
                &serde_json::json!({ "removed": name }),
                &format!("rule {name} is off the record"),
            );
            Ok(ExitCode::SUCCESS)
        }
        Stuck::Auto { switch, by } => {
            let on = switch == OnOff::On;
            let door = Door::open(settings, common.server.as_deref(), "stuck auto")?;
            let remedies = if on { Remedies::Apply } else { Remedies::Leave };
            let set = door.set_stuck_auto(remedies, whoever(by)).await;
            door.close().await?;
            set?;
            let words = if on { "remedies are applied" } else { "no remedy is applied by itself" };
            told(common.json, &serde_json::json!({ "auto": on }), words);
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn set_rule(settings: &Settings, common: &Common, args: SetRule) -> Result<ExitCode> {
    let is_on = |switch: OnOff| switch == OnOff::On;
    let body = StuckRuleBody {
        name: args.name,
        entity: args.entity,
        states: Some(args.states).filter(|states| !states.is_empty()),
        action: args.action,
        definition: args.definition,
        older_than: args.older_than,
        clock: args.clock,
        severity: args.severity,
        remedy: args.remedy,
        auto: args.auto.map(is_on),
        enabled: args.enabled.map(is_on),
        by: Some(whoever(args.by)),
        ..StuckRuleBody::default()
    };
    let door = Door::open(settings, common.server.as_deref(), "stuck set-rule")?;
    let set = door.put_stuck_rule(body).await;
    door.close().await?;
    let set = set?;
    let words = format!("rule {} is on record", set.rule.name);
    told(common.json, &serde_json::to_value(&set)?, &words);
    Ok(ExitCode::SUCCESS)
}

fn told(json: bool, value: &serde_json::Value, words: &str) {
    if json {
        output::line(value);
    } else {
        output::text(words);
    }
}

async fn detect(settings: &Settings, common: &Common, args: Detect) -> Result<ExitCode> {
    let by = Some(whoever(args.by));
    let body = DetectBody { auto_resolve: args.auto_resolve, dry_run: args.dry_run, by };
    let detection = match (body.dry_run, common.server.as_deref()) {
        (true, Some(server)) => {
            let body = serde_json::to_value(&body)?;
            let found = ask_server(settings, Some(server), &["v1", "stuck", "detect"], Some(body)).await?;
            serde_json::from_value(found).context("the server answers in another language")?
        }
        // Whoever decides for the database is not asked, and nothing decides here: it is only read.
        (true, None) => {
            let (browse, now) = (settings.database.browse()?, SystemClock::default().now());
            let found = engine::dry_detect(&browse, settings.engine.stuck.policy, order(&body), now)?;
            convert::detection_view(&found)
        }
        (false, server) => {
            let door = Door::open(settings, server, "stuck detect")?;
            let found = door.detect(&body).await;
            door.close().await?;
            found?
        }
    };
    if common.json {
        output::line(&detection);
    } else {
        show(&detection, args.auto_resolve);
    }
    if args.show_queue {
        alerts::queue(settings, common).await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The tables of specification 003: what is stuck by sort, and what was done about it.
fn show(detection: &DetectionView, auto_resolve: bool) {
    let would = if detection.dry_run { " (dry run: nothing is written)" } else { "" };
    let mut counts: Vec<Vec<String>> = detection
        .by_entity
        .iter()
        .map(|(entity, n)| vec![format!("Stuck {entity}"), n.to_string()])
        .collect();
    counts.push(vec!["Total".into(), detection.total.to_string()]);
    output::text(format_args!("Stuck now{would}"));
    output::table(&["what", "count"], counts);
    if !detection.found.is_empty() {
        output::text("");
        let rows = detection.found.iter().map(|one| {
            let what = format!("{} {}", one.entity, one.entity_id);
            let since = output::instant(Some(&one.since));
            vec![one.severity.clone(), what, one.message.clone(), since, one.done.join(", ")]
        });
        let done = if detection.dry_run { "would be" } else { "done" };
        output::table(&["severity", "entity", "description", "stuck since", done], rows.collect());
    }
    output::text("");
    let mut done = vec![
        vec!["Opened".into(), detection.opened.to_string()],
        vec!["Closed, observed".into(), detection.closed.len().to_string()],
        vec!["Escalated".into(), detection.escalated.to_string()],
    ];
    if auto_resolve {
        done.push(vec!["Remedies applied".into(), detection.remedies.to_string()]);
        done.push(vec!["Remedies refused".into(), detection.failed.to_string()]);
    }
    output::table(&[if detection.dry_run { "would be" } else { "outcome" }, "count"], done);
    detection.asked.iter().for_each(|rule| {
        output::note(format_args!(
            "rule {rule}: its action was asked; what it answers is heard by a later look"
        ))
    });
    detection.faults.iter().for_each(output::note);
}

async fn rules(settings: &Settings, common: &Common) -> Result<ExitCode> {
    let page: StuckRulePage = match common.server.as_deref() {
        Some(server) => {
            let found = ask_server(settings, Some(server), &["v1", "stuck", "rules"], None).await?;
            serde_json::from_value(found).context("the server answers in another language")?
        }
        None => answers::stuck_rules(&settings.database.browse()?)?,
    };
    if common.json {
        page.rules.iter().for_each(output::line);
        return Ok(ExitCode::SUCCESS);
    }
    let head = [
        "rule",
        "on",
        "looks at",
        "states",
        "older than",
        "clock",
        "severity",
        "remedy",
        "by itself",
        "from",
    ];
    let rows = page.rules.into_iter().map(|view| {
        let rule = view.rule;
        let yes = |on: Option<bool>| if on == Some(true) { "yes" } else { "no" }.to_string();
        let looks_at = rule.entity.or(rule.detect.map(|detect| format!("{} reports", detect.action)));
        vec![
            rule.name,
            yes(rule.enabled),
            looks_at.unwrap_or_default(),
            rule.states.unwrap_or_default().join(" "),
            rule.older_than.unwrap_or_default(),
            rule.clock.unwrap_or_default(),
            rule.severity.unwrap_or_default(),
            rule.remedy.unwrap_or_default(),
            yes(rule.auto),
            view.fault.unwrap_or(view.source),
        ]
    });
    output::table(&head, rows.collect());
    if !page.auto {
        output::note("no remedy is applied by itself; switch them on with `stepfast stuck auto on`");
    }
    Ok(ExitCode::SUCCESS)
}
