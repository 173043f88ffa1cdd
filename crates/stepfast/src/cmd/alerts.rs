//! `alerts`: what stands still, who was told, and the review queue.

use super::{output, whoever};
use crate::Refused;
use crate::cli::{Alerts, Common, ListAlerts};
use crate::config::Settings;
use crate::door::{Door, ask_server};
use crate::screen::plain;
use anyhow::{Context, Result};
use model::Timestamp;
use serde::de::DeserializeOwned;
use server::answers;
use std::process::ExitCode;
use store::{AlertFilter, Browse, Clock, StoreError, SystemClock};
use wire::{AlertFiguresView, AlertPage, AlertReviewBody, AlertShow, AlertView};

pub async fn run(settings: &Settings, common: &Common, verb: Alerts) -> Result<ExitCode> {
    let said = |text: String, by| AlertReviewBody { text: Some(text), to: None, by: Some(whoever(by)) };
    match verb {
        Alerts::List(args) => list(settings, common, &args).await,
        Alerts::Show { id } => show(settings, common, id).await,
        Alerts::Figures => figures(settings, common).await,
        Alerts::Ack(args) => {
            let body = AlertReviewBody { by: Some(whoever(args.by)), ..AlertReviewBody::default() };
            review(settings, common, (args.id, "ack"), body).await
        }
        Alerts::Assign { id, to, by } => {
            let body = AlertReviewBody { to, by: Some(whoever(by)), text: None };
            review(settings, common, (id, "assign"), body).await
        }
        Alerts::Note(args) => review(settings, common, (args.id, "note"), said(args.text, args.by)).await,
        Alerts::Resolve(args) => {
            review(settings, common, (args.id, "resolve"), said(args.text, args.by)).await
        }
        Alerts::Reopen(args) => review(settings, common, (args.id, "reopen"), said(args.text, args.by)).await,
    }
}

/// From the server that is named, or from the database itself.
async fn read<T: DeserializeOwned>(
    settings: &Settings,
    common: &Common,
    path: &[&str],
    query: &[(&str, String)],
    here: impl FnOnce(&Browse, Timestamp) -> Result<T, StoreError>,
) -> Result<T> {
    match common.server.as_deref() {
        Some(server) => {
            let found = crate::door::ask_with(settings, server, path, query).await?;
            serde_json::from_value(found).context("the server answers in another language")
        }
        None => Ok(here(&settings.database.browse()?, SystemClock::default().now())?),
    }
}

fn filter(args: &ListAlerts) -> Result<AlertFilter> {
    let open = match (args.closed, args.all) {
        (_, true) => None,
        (closed, _) => Some(!closed),
    };
    let severity = args.severity.as_deref().map(str::parse).transpose();
    Ok(AlertFilter {
        open,
        in_review: args.queue,
        severity: severity
            .map_err(|problem: model::UnknownWord| Refused(format!("--severity: {problem}")))?,
        assigned_to: args.assigned.clone(),
        entity: args.entity.clone(),
        entity_id: args.entity_id.clone(),
        rule: args.rule.clone(),
        before: args.after,
        limit: args.limit.clamp(1, model::limits::PAGE_ROWS_MAX),
    })
}

fn query(args: &ListAlerts) -> Vec<(&'static str, String)> {
    let state = if args.all {
        "all"
    } else if args.closed {
        "closed"
    } else {
        "open"
    };
    let pairs = [
        ("severity", &args.severity),
        ("assigned", &args.assigned),
        ("entity", &args.entity),
        ("entity_id", &args.entity_id),
        ("rule", &args.rule),
    ];
    let some = pairs.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
    let all =
        [("state", state.to_string()), ("queue", args.queue.to_string()), ("limit", args.limit.to_string())];
    let after = args.after.map(|after| ("after", after.to_string()));
    all.into_iter().chain(some).chain(after).collect()
}

async fn list(settings: &Settings, common: &Common, args: &ListAlerts) -> Result<ExitCode> {
    let wanted = filter(args)?;
    let page: AlertPage = read(settings, common, &["v1", "alerts"], &query(args), |browse, now| {
        answers::alerts(browse, &wanted, now)
    })
    .await?;
    if common.json {
        page.alerts.iter().for_each(output::line);
    } else {
        let head =
            ["id", "severity", "entity", "reason", "description", "stuck since", "state", "assigned to"];
        output::table(&head, page.alerts.into_iter().map(row).collect());
    }
    if let Some(next) = page.next {
        output::note(format_args!("there are more; see --after {next}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn row(alert: AlertView) -> Vec<String> {
    let state = match (alert.in_review, &alert.closed_by) {
        (true, _) => "in review".into(),
        (_, Some(by)) => format!("closed by {by}"),
        _ => alert.state.clone(),
    };
    vec![
        alert.id.to_string(),
        alert.severity,
        format!("{} {}", alert.entity, alert.entity_id),
        alert.reason,
        alert.message,
        output::instant(Some(&alert.since)),
        state,
        alert.assigned_to.unwrap_or_else(|| "-".into()),
    ]
}

/// The queue table of specification 003, and the figures above it.
pub async fn queue(settings: &Settings, common: &Common) -> Result<()> {
    let args = ListAlerts { queue: true, limit: 100, ..ListAlerts::default() };
    let wanted = filter(&args)?;
    let page: AlertPage = read(settings, common, &["v1", "alerts"], &query(&args), |browse, now| {
        answers::alerts(browse, &wanted, now)
    })
    .await?;
    if common.json {
        page.alerts.iter().for_each(output::line);
        return Ok(());
    }
    figures(settings, common).await?;
    output::text("\nReview queue");
    let rows = page.alerts.into_iter().map(|alert| {
        let what = format!("{} {}", alert.entity, alert.entity_id);
        let since = output::instant(Some(&alert.since));
        vec![alert.id.to_string(), alert.reason, alert.severity, what, alert.message, since]
    });
    output::table(&["id", "type", "severity", "entity", "description", "stuck since"], rows.collect());
    Ok(())
}

async fn show(settings: &Settings, common: &Common, id: u64) -> Result<ExitCode> {
    let path = ["v1", "alerts", &id.to_string()];
    let here = |browse: &Browse, now| answers::alert(browse, id, now);
    let found: Option<AlertShow> = match common.server.as_deref() {
        Some(server) => {
            let found = ask_server(settings, Some(server), &path, None).await?;
            Some(serde_json::from_value(found).context("the server answers in another language")?)
        }
        None => here(&settings.database.browse()?, SystemClock::default().now())?,
    };
    let shown = found.ok_or_else(|| Refused(format!("there is no alert {id}")))?;
    if common.json {
        output::line(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    let alert = &shown.alert;
    let (what, reason) = (plain(&alert.entity_id), plain(&alert.reason));
    output::text(format_args!("alert {id}: {} {what} ({reason})", alert.entity));
    output::text(format_args!("{}, {}: {}", alert.state, alert.severity, plain(&alert.message)));
    if let Some(notes) = &alert.resolution_notes {
        output::text(format_args!("resolved: {}", plain(notes)));
    }
    let rows = shown.history.iter().map(|moment| {
        vec![
            output::instant(Some(&moment.at)),
            moment.moment.clone(),
            moment.who.clone(),
            moment.text.clone(),
        ]
    });
    output::table(&["at", "what", "who", "words"], rows.collect());
    Ok(ExitCode::SUCCESS)
}

async fn figures(settings: &Settings, common: &Common) -> Result<ExitCode> {
    let found: AlertFiguresView =
        read(settings, common, &["v1", "alerts", "figures"], &[], answers::alert_figures).await?;
    if common.json {
        output::line(&found);
        return Ok(ExitCode::SUCCESS);
    }
    let percent = found.auto_resolved_percent.map_or("-".into(), |share| format!("{share} %"));
    let median = found.median_seconds_to_resolve.map_or("-".into(), |s| format!("{s} s"));
    let mut rows = vec![
        vec!["Total unresolved".into(), found.open.to_string()],
        vec!["Review queue".into(), found.in_review.to_string()],
        vec!["Acknowledged".into(), found.acknowledged.to_string()],
        vec![format!("Closed in {} days", found.days), found.closed.to_string()],
        vec!["Auto-resolved".into(), format!("{} ({percent})", found.auto_resolved)],
        vec!["Median time to resolve".into(), median],
    ];
    rows.extend(found.by_severity.iter().map(|(word, n)| vec![format!("Open, {word}"), n.to_string()]));
    rows.extend(found.by_entity.iter().map(|(word, n)| vec![format!("Open, {word}"), n.to_string()]));
    output::table(&["alerts", "count"], rows);
    Ok(ExitCode::SUCCESS)
}

async fn review(
    settings: &Settings,
    common: &Common,
    (id, verb): (u64, &str),
    body: AlertReviewBody,
) -> Result<ExitCode> {
    let door = Door::open(settings, common.server.as_deref(), "alerts")?;
    let done = door.review(id, verb, body).await;
    door.close().await?;
    let alert = done?;
    if common.json {
        output::line(&alert);
    } else {
        let whose = alert.assigned_to.as_ref().map(|who| format!(", assigned to {who}")).unwrap_or_default();
        let seen = alert.acknowledged_by.as_ref().map(|who| format!(", acknowledged by {who}"));
        let seen = seen.filter(|_| alert.state == "open").unwrap_or_default();
        output::text(plain(&format!("alert {id} is {}{seen}{whose}", alert.state)));
    }
    Ok(ExitCode::SUCCESS)
}
