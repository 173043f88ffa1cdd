//! Alerts as a list: the review queue first, then what is open, and the figures.

use super::address::query;
use super::layout::{Frame, lost, page as framed};
use crate::answers;
use crate::api::WantedAlerts;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Params;
use crate::words::{clock, number, span, times};
use axum::extract::State;
use maud::{Markup, html};
use model::Severity;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use wire::{AlertFiguresView, AlertPage, AlertView};

pub async fn page(
    State(app): State<Arc<App>>,
    Params(wanted): Params<WantedAlerts>,
) -> Result<Markup, ApiError> {
    let (filter, now) = (wanted.filter()?, app.now());
    let (page, figures) = app
        .read(move |browse| {
            Ok((answers::alerts(browse, &filter, now)?, answers::alert_figures(browse, now)?))
        })
        .await?;
    let frame = Frame {
        title: "Alerts",
        version: app.site.version,
        host: &app.site.host,
        script: None,
        controls: html! {},
    };
    Ok(framed(frame, render(&page, &figures, &wanted)))
}

fn render(page: &AlertPage, figures: &AlertFiguresView, wanted: &WantedAlerts) -> Markup {
    let of = |state: &str, queue: bool| WantedAlerts {
        state: (state != "open").then(|| state.to_string()),
        queue,
        ..wanted.clone()
    };
    let is = |state: &str, queue: bool| {
        wanted.state.as_deref().unwrap_or("open") == state && wanted.queue == queue
    };
    html! {
        h1 { "Alerts" }
        (lost())
        div data-live="alerts" {
            p.aside { (told(figures)) }
            nav.chips aria-label="Which alerts" {
                (chip(&format!("Review queue ({})", figures.in_review), &of("open", true), is("open", true)))
                (chip(&format!("Open ({})", figures.open), &of("open", false), is("open", false)))
                (chip("Closed", &of("closed", false), is("closed", false)))
                a.chip href="/progress" { "Half done" }
            }
            (filters(page, wanted))
            @if page.alerts.is_empty() {
                p.empty { "Nothing here: no alert is like that." }
            } @else {
                ul.rows { @for alert in &page.alerts { (row(alert)) } }
            }
            @if let Some(next) = page.next {
                p { a.button href=(address(wanted, Some(next))) { "More alerts" } }
            }
        }
    }
}

/// Which of them: how grave, whose, and by which rule. People and rules are those of what is shown.
fn filters(page: &AlertPage, wanted: &WantedAlerts) -> Markup {
    let of_severity = |severity: Option<String>| WantedAlerts { severity, ..wanted.clone() };
    let of_assigned = |assigned: Option<String>| WantedAlerts { assigned, ..wanted.clone() };
    let of_rule = |rule: Option<String>| WantedAlerts { rule, ..wanted.clone() };
    let people = page.alerts.iter().filter_map(|alert| alert.assigned_to.as_deref());
    let rules = page.alerts.iter().filter_map(|alert| alert.rule.as_deref());
    let people: BTreeSet<&str> =
        people.chain(wanted.assigned.as_deref()).filter(|who| !who.is_empty()).collect();
    let rules: BTreeSet<&str> = rules.chain(wanted.rule.as_deref()).collect();
    let is_severity = |word: &str| wanted.severity.as_deref() == Some(word);
    html! {
        nav.chips aria-label="Severity" {
            (chip("any severity", &of_severity(None), wanted.severity.is_none()))
            @for one in Severity::ALL.iter().rev() { (chip(one.word(), &of_severity(Some(one.to_string())), is_severity(one.word()))) }
        }
        nav.chips aria-label="Whose" {
            (chip("anybody's", &of_assigned(None), wanted.assigned.is_none()))
            (chip("nobody's", &of_assigned(Some(String::new())), wanted.assigned.as_deref() == Some("")))
            @for who in people { (chip(who, &of_assigned(Some(who.into())), wanted.assigned.as_deref() == Some(who))) }
        }
        @if !rules.is_empty() {
            nav.chips aria-label="Rule" {
                (chip("any rule", &of_rule(None), wanted.rule.is_none()))
                @for rule in rules { (chip(rule, &of_rule(Some(rule.into())), wanted.rule.as_deref() == Some(rule))) }
            }
        }
    }
}

/// Something else is asked for then, from its beginning.
fn chip(words: &str, wanted: &WantedAlerts, is_chosen: bool) -> Markup {
    html! { a.chip.(if is_chosen { "chosen" } else { "open" }) href=(address(wanted, None)) aria-current=[is_chosen.then_some("true")] { (words) } }
}

fn address(wanted: &WantedAlerts, before: Option<u64>) -> String {
    let pairs = [
        ("state", wanted.state.clone()),
        ("queue", wanted.queue.then(|| "true".to_string())),
        ("severity", wanted.severity.clone()),
        ("assigned", wanted.assigned.clone()),
        ("entity", wanted.entity.clone()),
        ("entity_id", wanted.entity_id.clone()),
        ("rule", wanted.rule.clone()),
        ("limit", wanted.limit.map(|limit| limit.to_string())),
        ("before", before.map(|before| before.to_string())),
    ];
    let pairs: Vec<_> = pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    query("/alerts", &pairs)
}

fn told(figures: &AlertFiguresView) -> String {
    let closed = format!("{} closed in {} days", number(figures.closed as i64), figures.days);
    let by_itself = figures.auto_resolved_percent.map(|share| format!(", {share} % by themselves"));
    let median = figures
        .median_seconds_to_resolve
        .map(|s| format!(", half of them within {}", span(Duration::from_secs(s))));
    format!("{closed}{}{}.", by_itself.unwrap_or_default(), median.unwrap_or_default())
}

fn row(alert: &AlertView) -> Markup {
    let long = span(Duration::from_secs(alert.duration_seconds));
    html! {
        li {
            a href={ "/alerts/" (alert.id) } {
                span.state.(tone(&alert.severity)) { (alert.severity) }
                span.what { b { (alert.message) } " " span.aside { (about(alert)) } }
                span.aside {
                    @if alert.in_review { "in review · " }
                    @if let Some(who) = &alert.assigned_to { (who) " · " }
                    (long)
                    @if let Some(by) = &alert.closed_by { ", closed by " (by) }
                }
            }
        }
    }
}

/// Which colour a severity has.
pub fn tone(severity: &str) -> &'static str {
    match severity {
        "critical" | "high" => "red",
        "medium" => "cyan",
        _ => "",
    }
}

/// Since when, as people read it.
pub fn since(alert: &AlertView) -> String {
    format!("stuck since {}, seen {}", clock(&alert.since), times(alert.seen as i64))
}

/// What it is about.
pub fn about(alert: &AlertView) -> String {
    format!("{} {}", alert.entity.replace('_', " "), alert.entity_id)
}
