//! Alerts as a list: the review queue first, then what is open, and the figures.

use super::address::query;
use super::layout::{Frame, page as framed};
use crate::answers;
use crate::api::WantedAlerts;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Params;
use crate::words::{clock, number, span};
use axum::extract::State;
use maud::{Markup, html};
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
    let chosen = |state: &str, queue: bool| {
        let is_state = wanted.state.as_deref().unwrap_or("open") == state;
        (is_state && wanted.queue == queue).then_some("page")
    };
    html! {
        h1 { "Alerts" }
        p.aside { (told(figures)) }
        nav.chips aria-label="Which alerts" {
            a.chip.chosen[chosen("open", true).is_some()] href="/alerts?queue=true" aria-current=[chosen("open", true)] { "Review queue (" (figures.in_review) ")" }
            a.chip.chosen[chosen("open", false).is_some()] href="/alerts" aria-current=[chosen("open", false)] { "Open (" (figures.open) ")" }
            a.chip.chosen[chosen("closed", false).is_some()] href="/alerts?state=closed" aria-current=[chosen("closed", false)] { "Closed" }
            a.chip href="/progress" { "Half done" }
        }
        @if page.alerts.is_empty() {
            p.empty { "Nothing here: no alert is like that." }
        } @else {
            ul.rows { @for alert in &page.alerts { (row(alert)) } }
        }
        @if let Some(next) = page.next {
            p { a.button href=(following(next, wanted)) { "More alerts" } }
        }
    }
}

fn following(next: u64, wanted: &WantedAlerts) -> String {
    let pairs = [
        ("state", wanted.state.clone()),
        ("queue", wanted.queue.then(|| "true".to_string())),
        ("severity", wanted.severity.clone()),
        ("assigned", wanted.assigned.clone()),
        ("entity", wanted.entity.clone()),
        ("rule", wanted.rule.clone()),
        ("limit", wanted.limit.map(|limit| limit.to_string())),
        ("before", Some(next.to_string())),
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
                span.what { b { (alert.message) } " " span.aside { (alert.entity) " " (alert.entity_id) } }
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
    format!("stuck since {}, seen {} times", clock(&alert.since), number(alert.seen as i64))
}
