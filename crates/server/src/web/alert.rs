//! One alert: what is known of it, what happened to it, and what can be done about it.

use super::address::{escaped, message_group};
use super::alerts::{about, since, tone};
use super::layout::{Frame, lost, page as framed};
use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Path;
use crate::words::{clock, times};
use axum::extract::State;
use engine::EngineError;
use maud::{Markup, html};
use model::Right;
use std::sync::Arc;
use wire::{AlertShow, AlertView};

pub async fn page(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<u64>,
) -> Result<Markup, ApiError> {
    let now = app.now();
    let found = app.read(move |browse| answers::alert(browse, id, now)).await?;
    let shown = found.ok_or(ApiError::Engine(EngineError::NoAlert(id)))?;
    let may_operate = caller.must(Right::Operate).is_ok();
    let title = format!("Alert {id}");
    let frame = Frame {
        title: &title,
        version: app.site.version,
        host: &app.site.host,
        script: may_operate.then_some("alert.js"),
        controls: html! {},
    };
    Ok(framed(frame, render(&shown, may_operate)))
}

/// The page of the thing, where it has one.
fn link(alert: &AlertView) -> Option<String> {
    let id = &alert.entity_id;
    match alert.entity.as_str() {
        "step" => Some(format!("/step-dispatcher/steps/{}", escaped(id))),
        "workflow" | "compensation" => Some(format!("/workflows/{}", escaped(id))),
        "pause" => id.split('/').next().map(|workflow| format!("/workflows/{}", escaped(workflow))),
        "message_group" => Some(message_group(id)),
        _ => None,
    }
}

fn render(shown: &AlertShow, may_operate: bool) -> Markup {
    let alert = &shown.alert;
    html! {
        (lost())
        div data-live="head" {
            h1 { (alert.reason) " " span.state.(tone(&alert.severity)) { (alert.severity) } }
            p { (alert.message) }
            p.aside.id {
                @if let Some(href) = link(alert) { a href=(href) { (about(alert)) } } @else { (about(alert)) }
                " · " (since(alert))
            }
            (facts(alert))
        }
        @if may_operate { (verbs(alert)) }
        section aria-label="History" {
            h2 { "History" }
            div.scroll tabindex="0" role="region" aria-label="History" { table {
                thead { tr { th { "At" } th { "What" } th { "Who" } th { "Words" } } }
                tbody data-live="history" {
                    @for moment in &shown.history {
                        tr { td.when { (clock(&moment.at)) } td { (moment.moment.replace('_', " ")) } td { (moment.who) } td { (moment.text) } }
                    }
                }
            } }
        }
        p { a href="/alerts" { "All alerts" } }
    }
}

fn facts(alert: &AlertView) -> Markup {
    let state = match (&alert.closed_at, &alert.closed_by) {
        (Some(at), by) => format!("closed {} by {}", clock(at), by.as_deref().unwrap_or("nobody")),
        _ if alert.in_review => "open, waits for a person".into(),
        _ => "open".into(),
    };
    let rows = [
        ("State", Some(state)),
        ("Rule", alert.rule.clone()),
        ("User", alert.user.clone()),
        ("Remedy", Some(format!("{}, tried {}", alert.remedy, times(alert.attempts.into())))),
        ("Last action", alert.action_taken.clone()),
        ("Assigned to", alert.assigned_to.clone()),
        ("Acknowledged by", alert.acknowledged_by.clone()),
        ("Administrator told", alert.admin_notified_at.as_deref().map(clock)),
        ("User told", alert.user_notified_at.as_deref().map(clock)),
        ("Resolution", alert.resolution_notes.clone()),
    ];
    html! {
        section aria-label="What is known" {
            dl.facts { @for (name, value) in rows { @if let Some(value) = value { div { dt { (name) } dd { (value) } } } } }
        }
    }
}

/// What would not be refused as things stand.
fn possible(alert: &AlertView) -> Vec<(&'static str, &'static str, &'static str)> {
    if alert.state == "closed" {
        return vec![("reopen", "Reopen", "It is not over; say why.")];
    }
    let mut all = vec![
        ("assign", "Assign", "It is theirs whose name is written above."),
        ("note", "Note", "Write something down; no remedy runs by itself any more."),
        ("resolve", "Resolve", "It is over; say what was done."),
    ];
    if alert.assigned_to.is_some() {
        all.insert(1, ("unassign", "Unassign", "It is nobody's again."));
    }
    if alert.acknowledged_at.is_none() {
        all.insert(0, ("ack", "Acknowledge", "It was seen; it is not told again."));
    }
    all
}

/// It is refused without any, or would mean something else.
fn needs_words(verb: &str) -> bool {
    matches!(verb, "assign" | "note" | "resolve" | "reopen")
}

fn verbs(alert: &AlertView) -> Markup {
    html! {
        section #verbs aria-label="What can be done" data-at={ "/v1/alerts/" (alert.id) } {
            h2 { "What can be done" }
            noscript { p.notice { "Without JavaScript nothing can be done here; use " code { "stepfast alerts" } "." } }
            div.because {
                label for="text" { "Words, or a name" }
                input #text type="text" maxlength="2000" autocomplete="off";
            }
            ul.rows.verbs data-live="verbs" {
                @for (verb, title, does) in possible(alert) {
                    li { button.button type="button" data-verb=(verb) data-needs-why[needs_words(verb)] { (title) } span.aside { (does) } }
                }
            }
            p #told .notice.lost role="alert" hidden {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_is_taken_from_somebody_only_by_the_button_that_says_so() {
        let alert = |more: serde_json::Value| {
            let mut json = serde_json::json!({
                "id": 7, "entity": "step", "entity_id": "1", "reason": "waits", "severity": "high", "message": "m",
                "state": "open", "in_review": false, "opened_at": "2027-01-15T08:00:00.000000Z",
                "updated_at": "2027-01-15T08:00:00.000000Z", "labels": {}, "data": null, "since": "2027-01-15T08:00:00.000000Z",
                "duration_seconds": 1, "seen": 1, "remedy": "notify", "auto_resolvable": false, "auto_resolved": false,
                "attempts": 0, "history": []
            });
            json.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let shown: AlertShow = serde_json::from_value(json).unwrap();
            render(&shown, true).into_string()
        };
        let nobodys = alert(serde_json::json!({}));
        assert!(
            nobodys.contains("data-verb=\"assign\" data-needs-why") && !nobodys.contains("unassign"),
            "{nobodys}"
        );
        let theirs = alert(serde_json::json!({"assigned_to": "bo"}));
        assert!(theirs.contains("data-verb=\"unassign\">Unassign<"), "{theirs}");
    }

    #[test]
    fn what_is_told_is_never_markup_and_what_is_over_can_only_be_reopened() {
        let json = serde_json::json!({
            "id": 7, "entity": "bonus", "entity_id": "<b>1</b>", "reason": "lost", "severity": "high", "message": "<i>m</i>",
            "state": "closed", "in_review": false, "opened_at": "2027-01-15T08:00:00.000000Z",
            "updated_at": "2027-01-15T08:00:00.000000Z", "closed_at": "2027-01-15T09:00:00.000000Z", "closed_by": "anna",
            "labels": {}, "data": null, "since": "2027-01-15T08:00:00.000000Z", "duration_seconds": 3600, "seen": 2,
            "remedy": "notify", "auto_resolvable": false, "auto_resolved": false, "attempts": 0,
            "history": [{"at": "2027-01-15T08:00:00.000000Z", "moment": "note", "who": "<u>", "text": "<s>"}]
        });
        let shown: AlertShow = serde_json::from_value(json).unwrap();
        let html = render(&shown, true).into_string();
        for part in ["<b>1", "<i>m", "<u>", "<s>"] {
            assert!(!html.contains(part), "{part} in {html}");
        }
        assert!(html.contains("data-verb=\"reopen\"") && !html.contains("data-verb=\"ack\""), "{html}");
        assert!(!render(&shown, false).into_string().contains("data-verb"));
    }
}
