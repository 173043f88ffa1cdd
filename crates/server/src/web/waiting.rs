//! Polls and pauses: what workflows wait for, from people and from elsewhere, with a way to answer.

use super::address::{escaped, query};
use super::layout::{lost, plain};
use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Params, page_size};
use crate::words::{clock, span, times};
use axum::extract::State;
use maud::{Markup, html};
use model::{Right, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use store::PollFilter;
use store::pauses::Waiting;
use wire::{PauseView, PollPage, PollingView};

/// Pauses that are shown, the oldest first.
const PAUSES_SHOWN: usize = 200;

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    after: Option<String>,
    limit: Option<usize>,
}

pub async fn page(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Result<Markup, ApiError> {
    let strange = |text: &str| {
        ApiError::BadRequest(format!("after: `{text}` is no place in this list; follow its links"))
    };
    let after =
        wanted.after.as_deref().map(|text| answers::read_poll_cursor(text).ok_or_else(|| strange(text)));
    let filter = PollFilter { due_at: None, after: after.transpose()?, limit: page_size(wanted.limit)? };
    let now = app.now();
    let read = move |browse: &store::Browse| {
        let pauses = answers::pauses(browse, (None, Waiting::All), PAUSES_SHOWN)?.pauses;
        Ok((pauses, answers::polls(browse, &filter, now)?))
    };
    let (pauses, polls) = app.read(read).await?;
    let may_operate = caller.must(Right::Operate).is_ok();
    let body = render(&pauses, &polls, &Looking { now, may_operate });
    Ok(plain(&app, "Polls and pauses", None, body))
}

/// Who looks, and when.
struct Looking {
    now: Timestamp,
    may_operate: bool,
}

fn render(pauses: &[PauseView], polls: &PollPage, looking: &Looking) -> Markup {
    html! {
        h1 { "Polls and pauses" }
        (lost())
        section aria-label="Pauses" data-live="pauses" {
            h2 { "Wait for somebody, or for a date" }
            @if pauses.is_empty() { p.empty { "No workflow waits for anybody." } }
            @else { ul.rows { @for pause in pauses { (awaited(pause, looking)) } } }
            @if pauses.len() == PAUSES_SHOWN { p.aside { "The oldest " (PAUSES_SHOWN) " are shown; " code { "stepfast pauses" } " lists more." } }
        }
        section aria-label="Polls" data-live="polls" {
            h2 { "Ask again and again" }
            @if polls.polls.is_empty() { p.empty { "No step waits for its next poll." } }
            @else { ul.rows { @for poll in &polls.polls { (polled(poll)) } } }
            @if let Some(next) = &polls.next { p { a.button href=(query("/waiting", &[("after", next.clone())])) { "Later polls" } } }
        }
    }
}

fn awaited(pause: &PauseView, looking: &Looking) -> Markup {
    let since = waited(&pause.registered_at, looking.now);
    html! {
        li.attempt {
            span.what {
                b { a href={ "/workflows/" (pause.workflow_id) } { (pause.workflow) } }
                " waits for " b { (pause.trigger.as_deref().unwrap_or("a date")) } " behind " (pause.step)
                @if pause.workflow_state != "paused" && pause.workflow_state != "running" { " " span.badge { (pause.workflow_state) } }
            }
            span.aside { "for " (since) }
            span.payload {
                "since " (clock(&pause.registered_at))
                @if let Some(until) = pause.timeout_at.as_ref().or(pause.resume_at.as_ref()) { ", until " (clock(until)) }
                @if pause.reminders > 0 { ", reminded " (times(pause.reminders.into())) }
            }
            @if let Some(trigger) = pause.trigger.as_ref().filter(|_| looking.may_operate) {
                span.payload { a.button href=(answer(&pause.workflow_id, trigger)) { "Answer" } }
            }
        }
    }
}

/// The page on which a pause is answered.
pub fn answer(workflow: &str, trigger: &str) -> String {
    format!("/waiting/{}/{}", escaped(workflow), escaped(trigger))
}

fn waited(since: &str, now: Timestamp) -> String {
    let since = since.parse::<jiff::Timestamp>().map(|at| Timestamp(at.as_microsecond()));
    since.map_or_else(|_| String::new(), |at| span(now.since(at)))
}

fn polled(poll: &PollingView) -> Markup {
    let times = if poll.polls == 1 { "polled once".into() } else { format!("polled {} times", poll.polls) };
    html! {
        li.attempt {
            span.what {
                b { a href={ "/step-dispatcher/steps/" (poll.step_id) } { (poll.step_key.as_deref().unwrap_or(&poll.action)) } }
                @if let (Some(id), Some(name)) = (&poll.workflow_id, &poll.workflow) { " of " a href={ "/workflows/" (id) } { (name) } }
            }
            span.aside {
                @match &poll.next_poll_at {
                    Some(_) if poll.is_due => "due now",
                    Some(at) => { "next " (clock(at)) }
                    None => "held with its workflow",
                }
            }
            span.payload { (poll.action) ", " (times) @if let Some(at) = &poll.poll_started_at { " since " (clock(at)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_may_is_led_to_an_answer() {
        let pause = PauseView {
            workflow_id: "7".into(),
            workflow: "<b>".into(),
            workflow_state: "failed".into(),
            step: "ask".into(),
            trigger: Some("ok/7".into()),
            registered_at: "2027-01-15T08:00:00.000000Z".into(),
            ..PauseView::default()
        };
        let now = Timestamp(1_800_000_060_000_000);
        let polls = PollPage { polls: vec![], next: None };
        let html =
            render(std::slice::from_ref(&pause), &polls, &Looking { now, may_operate: true }).into_string();
        assert!(html.contains("href=\"/waiting/7/ok%2F7\"") && html.contains("for 60 s"), "{html}");
        assert!(!html.contains("<b><b>") && html.contains("&lt;b&gt;"), "{html}");
        let html = render(&[pause], &polls, &Looking { now, may_operate: false }).into_string();
        assert!(!html.contains("/waiting/7"), "{html}");
    }
}
