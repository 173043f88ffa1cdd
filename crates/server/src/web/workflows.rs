//! Workflows as a list, newest first.

use super::address::query;
use super::beside::{Beside, beside, chips, kept};
use super::bulk_form;
use super::layout::{Frame, lost, nothing, page as framed};
use super::markdown::inline;
use crate::access::Caller;
use crate::answers;
use crate::api::WantedWorkflows as Wanted;
use crate::app::App;
use crate::error::ApiError;
use crate::words::{clock, span};
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use model::{Right, Timestamp, WorkflowId, WorkflowState};
use std::sync::Arc;
use std::time::Duration;
use wire::{WorkflowPage, WorkflowView};

const LIST: &str = "/workflows";

pub async fn page(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut wanted: Wanted,
) -> Result<Response, ApiError> {
    // What a form leaves empty is not asked for.
    wanted.pairs.retain(|(_, value)| !value.is_empty());
    // Whoever has an id writes it where they would write anything else.
    if let Some(id) = wanted.said("workflow").and_then(|text| text.parse::<WorkflowId>().ok()) {
        return Ok(Redirect::to(&format!("/workflows/{id}")).into_response());
    }
    let (filter, scope) = (wanted.filter()?, caller.scope(&app));
    let page = app.read(move |browse| answers::workflows_within(browse, &filter, scope.as_ref())).await?;
    let frame = Frame {
        title: "Workflows",
        version: app.site.version,
        host: &app.site.host,
        script: None,
        controls: html! {},
    };
    let many =
        caller.must(Right::Operate).ok().and_then(|()| bulk_form::address("workflows", wanted.pairs.clone()));
    Ok(framed(frame, render(&page, &wanted, many.as_deref(), app.now())).into_response())
}

/// With the way to do the same to all of them, for whoever may.
fn render(page: &WorkflowPage, wanted: &Wanted, many: Option<&str>, now: Timestamp) -> Markup {
    let state = wanted.said("state").unwrap_or_default();
    let others = others(wanted);
    html! {
        h1 { "Workflows" @if let Some(name) = wanted.said("workflow") { " " span.state { (name) } } }
        (lost())
        (search(wanted, &others))
        (chips(&others))
        nav.chips aria-label="State" {
            (chip("all", wanted, None, state.is_empty()))
            @for one in WorkflowState::ALL { (chip(one.word(), wanted, Some(one.word()), state == one.word())) }
        }
        @if let Some(many) = many { (bulk_form::all_of_these(many)) }
        div data-live="workflows" {
            @if page.workflows.is_empty() {
                (nothing("workflow", page.next.as_ref()))
            } @else {
                ul.rows { @for workflow in &page.workflows { (row(workflow, now)) } }
            }
            @if let Some(next) = &page.next {
                p { a.button href=(address(&wanted.with("after", Some(next)))) { "Older workflows" } }
            }
        }
    }
}

/// What has neither a field nor a chip of its own; of labels and states the first has one.
fn others(wanted: &Wanted) -> Vec<Beside> {
    let pairs = pairs(wanted);
    let [label, state] = ["label", "state"].map(|one| pairs.iter().position(|(name, _)| *name == one));
    let is_shown = |n| [label, state].contains(&Some(n));
    beside(LIST, &pairs, |n, name| matches!(name, "workflow" | "limit" | "after") || is_shown(n))
}

fn search(wanted: &Wanted, others: &[Beside]) -> Markup {
    html! {
        form.fields method="get" action=(LIST) role="search" aria-label="Find workflows" {
            @if let Some(state) = wanted.said("state") { input type="hidden" name="state" value=(state); }
            div.broad { label for="workflow" { "Definition, or the id of a workflow" } input #workflow name="workflow" type="search" value=[wanted.said("workflow")] autocomplete="off"; }
            div { label for="label" { "Label, as name:value" } input #label name="label" type="search" value=[wanted.said("label")] autocomplete="off"; }
            (kept(others))
            button.button.strong type="submit" { "Find" }
        }
    }
}

fn chip(word: &str, wanted: &Wanted, state: Option<&str>, is_chosen: bool) -> Markup {
    let wanted = wanted.with("after", None).with("state", state);
    html! { a.chip.(if is_chosen { "chosen" } else { "open" }) href=(address(&wanted)) { (word.replace('_', " ")) } }
}

fn row(workflow: &WorkflowView, now: Timestamp) -> Markup {
    html! {
        li {
            a href={ "/workflows/" (workflow.id) } {
                span.state.(tone(&workflow.state)) { (workflow.state.replace('_', " ")) }
                span.what { b { (workflow.workflow) } " " (workflow.version) (labels(workflow)) }
                span.aside title=(clock(&workflow.created_at)) { (age(workflow, now)) }
                @if let Some(message) = &workflow.message { span.held.(message_tone(&workflow.state)) { (inline(message)) } }
            }
        }
    }
}

fn labels(workflow: &WorkflowView) -> Markup {
    html! { @for (name, value) in &workflow.labels { " " span.badge { (name) ": " (value) } } }
}

/// How long ago it was made, and how long it took if it is over or when it is tried again if it is not.
fn age(workflow: &WorkflowView, now: Timestamp) -> String {
    let Some(created) = read(&workflow.created_at) else { return String::new() };
    let ago = format!("{} ago", span(now.since(created)));
    match (took(workflow), &workflow.auto_retry_at) {
        (Some(took), _) => format!("{ago} · took {}", span(took)),
        (None, Some(at)) => format!("{ago} · tries again by itself {}", clock(at)),
        (None, None) => ago,
    }
}

pub fn took(workflow: &WorkflowView) -> Option<Duration> {
    let (from, to) = (workflow.started_at.as_deref()?, workflow.completed_at.as_deref()?);
    Some(read(to)?.since(read(from)?))
}

fn read(instant: &str) -> Option<Timestamp> {
    instant.parse::<jiff::Timestamp>().ok().map(|at| Timestamp(at.as_microsecond()))
}

/// Which colour the state of a workflow has.
pub fn tone(state: &str) -> &'static str {
    match state {
        "running" => "cyan",
        "paused" | "compensating" => "orange",
        "failed" | "compensation_failed" => "red",
        "succeeded" => "green",
        _ => "",
    }
}

pub fn message_tone(state: &str) -> &'static str {
    match state {
        "failed" => "red",
        "paused" => "orange",
        _ => "quiet",
    }
}

fn address(wanted: &Wanted) -> String {
    query(LIST, &pairs(wanted))
}

fn pairs(wanted: &Wanted) -> Vec<(&str, String)> {
    wanted.pairs.iter().map(|(name, value)| (name.as_str(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflow(started: Option<&str>, completed: Option<&str>) -> WorkflowView {
        let at = |seconds: Option<&str>| seconds.map(|s| format!("2027-01-15T08:00:{s}.000000Z"));
        WorkflowView {
            paused_by: None,
            id: "1".into(),
            workflow: "order".into(),
            version: "1.0.0".into(),
            state: "running".into(),
            message: None,
            labels: Default::default(),
            parent_step_id: None,
            dispatch_group: "alpha".into(),
            created_at: "2027-01-15T08:00:00.000000Z".into(),
            started_at: at(started),
            completed_at: at(completed),
            expected_at: None,
            auto_retry_at: None,
            resolved_at: None,
            cancel_requested_at: None,
            has_skips: false,
            revision: 0,
        }
    }

    #[test]
    fn an_age_says_also_how_long_it_took_and_when_it_is_tried_again() {
        let now = Timestamp(1_800_000_060_000_000);
        assert_eq!(age(&workflow(Some("10"), None), now), "60 s ago");
        assert_eq!(age(&workflow(Some("10"), Some("40")), now), "60 s ago · took 30 s");
        let auto_retry_at = Some("2027-01-15T09:00:00.000000Z".into());
        let failed = WorkflowView { auto_retry_at, ..workflow(Some("10"), None) };
        assert_eq!(age(&failed, now), "60 s ago · tries again by itself 2027-01-15 09:00:00 UTC");
    }

    #[test]
    fn a_chip_keeps_what_else_was_chosen() {
        let wanted = Wanted { pairs: vec![("label".into(), "a:b&c".into()), ("after".into(), "x".into())] };
        let chip = chip("failed", &wanted, Some("failed"), false).into_string();
        assert!(chip.contains("href=\"/workflows?label=a%3Ab%26c&amp;state=failed\""), "{chip}");
    }

    #[test]
    fn a_list_says_what_it_is_asked_for_and_its_form_keeps_it() {
        let pair = |(name, value): (&str, &str)| (name.to_string(), value.to_string());
        let said = [("label", "team:blue"), ("state", "failed"), ("version", "1.0.0"), ("label", "b:c")];
        let said = said.into_iter().chain([("state", "paused")]);
        let wanted = Wanted { pairs: said.map(pair).collect() };
        let page = WorkflowPage { workflows: Vec::new(), next: None };
        let html = render(&page, &wanted, None, Timestamp(0)).into_string();
        for part in [
            "href=\"/workflows?label=team%3Ablue&amp;state=failed&amp;label=b%3Ac&amp;state=paused\" aria-label=\"without version 1.0.0\">version: 1.0.0 ×",
            "href=\"/workflows?label=team%3Ablue&amp;state=failed&amp;version=1.0.0&amp;state=paused\" aria-label=\"without label b:c\">label: b:c ×",
            "<input type=\"hidden\" name=\"version\" value=\"1.0.0\"><input type=\"hidden\" name=\"label\" value=\"b:c\"><input type=\"hidden\" name=\"state\" value=\"paused\">",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        assert_eq!(
            html.matches("aria-label=\"without").count(),
            3,
            "the first label and the first state have their own: {html}"
        );
    }
}
