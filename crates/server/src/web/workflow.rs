//! One workflow: where it is, its graph, its steps, what happened to it, and what can be done about it.

use super::address::query;
use super::gantt;
use super::layout::{Frame, page as framed};
use super::markdown::inline;
use super::workflow_steps;
use super::workflow_verbs::section as verbs;
use super::workflows::{message_tone, tone, took};
use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::convert::event_note;
use crate::drawing;
use crate::error::ApiError;
use crate::extract::{Params, ThisWorkflow};
use crate::words::{clock, span, times};
use axum::extract::State;
use engine::possible::Offers;
use maud::{Markup, PreEscaped, html};
use model::{Right, WorkflowState};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use wire::{CompensationView, DecisionView, PauseView, WorkflowEventPage, WorkflowShow};

/// Events that are shown at once.
const EVENTS_SHOWN: usize = 100;
/// Characters of what goes with an event.
const DATA_SHOWN: usize = 300;

/// Everything the page shows.
struct Page {
    shown: WorkflowShow,
    picture: String,
    /// The newest first, or those before one.
    events: WorkflowEventPage,
    wanted: Wanted,
    decisions: Vec<DecisionView>,
    /// None for whoever may only look.
    doable: Option<Offers>,
    timeline: Option<answers::Timeline>,
}

#[derive(Deserialize, Default, Clone, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    /// Older events than this one.
    pub before: Option<u64>,
    /// Steps in this state alone.
    pub state: Option<String>,
    /// Of so many of them, those behind.
    pub from: usize,
}

impl Wanted {
    /// The address of the page that shows this.
    pub fn address(&self, id: &str, part: &str) -> String {
        let pairs = [
            ("state", self.state.clone()),
            ("from", (self.from > 0).then(|| self.from.to_string())),
            ("before", self.before.map(|before| before.to_string())),
        ];
        let pairs: Vec<_> = pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        query(&format!("/workflows/{id}"), &pairs) + part
    }
}

pub async fn page(
    State(app): State<Arc<App>>,
    caller: Caller,
    ThisWorkflow(id): ThisWorkflow,
    Params(wanted): Params<Wanted>,
) -> Result<Markup, ApiError> {
    let shown = app.workflow(id).await?;
    let row = app.workflow_row(id).await?;
    let drawing = app.drawing(&row.definition).await?;
    let picture = drawing::figure(&drawing, &shown);
    let before = wanted.before;
    let events = app.read(move |browse| answers::events_before(browse, id, before, EVENTS_SHOWN)).await?;
    let decisions = app.read(move |browse| answers::decisions(browse, id)).await?;
    let now = app.now();
    let timeline = app.read(move |browse| answers::timeline(browse, id, now)).await?;
    let doable = match caller.must(Right::Operate) {
        Ok(_) => Some(app.possible(row).await?),
        Err(_) => None,
    };
    let page = Page {
        timeline,
        doable,
        events: events.unwrap_or_else(|| WorkflowEventPage { events: Vec::new(), next: None }),
        wanted,
        decisions: decisions.map(|page| page.decisions).unwrap_or_default(),
        picture,
        shown,
    };
    let frame = Frame {
        title: &page.shown.workflow.workflow,
        version: app.site.version,
        host: &app.site.host,
        script: Some("workflows.js"),
        controls: html! {},
    };
    Ok(framed(frame, render(&page)))
}

fn render(page: &Page) -> Markup {
    let shown = &page.shown;
    html! {
        link rel="stylesheet" href="/assets/graph.css";
        p #lost .notice.lost role="alert" hidden { "The server does not answer; what stands here is not new." }
        div.head data-live="head" { (head(shown)) }
        section aria-label="Waits for" data-live="pauses" { (pauses(page)) }
        @if let Some(doable) = &page.doable { (verbs(shown, doable)) }
        section aria-label="Graph" {
            h2 { "Graph" }
            div.graph data-live="graph" tabindex="0" role="region" aria-label="Graph" { (PreEscaped(&page.picture)) }
        }
        section aria-label="Timeline" data-live="times" {
            h2 { "Timeline" }
            @if let Some(timeline) = &page.timeline { (gantt::render(timeline)) }
        }
        section #steps aria-label="Steps" { h2 { "Steps" } div data-live="steps" { (workflow_steps::render(&shown.steps, &shown.workflow.id, &page.wanted)) } }
        (undone(shown))
        section aria-label="Payloads" data-live="payloads" { (payloads(shown)) }
        section #history aria-label="History" data-live="history" { (history(page)) (branches(&page.decisions)) }
        p { a href="/workflows" { "All workflows" } }
    }
}

fn head(shown: &WorkflowShow) -> Markup {
    let workflow = &shown.workflow;
    // Nothing of it will change any more.
    let is_final = workflow.state.parse::<WorkflowState>().is_ok_and(WorkflowState::is_final);
    let is_over = is_final || workflow.resolved_at.is_some();
    html! {
        h1 data-over[is_over] { (workflow.workflow) " " span.state.(tone(&workflow.state)) { (workflow.state.replace('_', " ")) } }
        p.aside.mono { (workflow.id) }
        @if let Some(message) = &workflow.message { p.held.message.(message_tone(&workflow.state)) { (inline(message)) } }
        p.progress {
            progress max="100" value=(shown.percent) aria-label="How much is over" {}
            span { (shown.percent) " %" }
            @if let Some(message) = &shown.status_message { span.aside { (message) } }
        }
        (facts(shown))
    }
}

fn facts(shown: &WorkflowShow) -> Markup {
    let workflow = &shown.workflow;
    let (mut rows, told) = (Vec::new(), |at: &Option<String>| at.as_deref().map(clock));
    let mut fact = |name: &'static str, value: Option<String>| rows.extend(value.map(|value| (name, value)));
    fact("Version", Some(workflow.version.clone()));
    fact("Created", Some(clock(&workflow.created_at)));
    fact("Started", told(&workflow.started_at));
    fact(if workflow.state == "failed" { "Failed at" } else { "Ended" }, told(&workflow.completed_at));
    fact("Tries again by itself", told(&workflow.auto_retry_at));
    fact("Took", took(workflow).map(span));
    fact("Expected by", told(&workflow.expected_at));
    fact("Dispatch group", Some(workflow.dispatch_group.clone()));
    let labels: Vec<String> =
        workflow.labels.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    fact("Labels", (!labels.is_empty()).then(|| labels.join(", ")));
    html! {
        dl.facts {
            @for (name, value) in rows { div { dt { (name) } dd { (value) } } }
            @if let Some(parent) = &workflow.parent_step_id {
                div { dt { "Started by step" } dd { a.mono href={ "/step-dispatcher/steps/" (parent) } { (parent) } } }
            }
        }
    }
}

/// What it waits for, since when, and until when.
fn pauses(page: &Page) -> Markup {
    let waiting: Vec<&PauseView> =
        page.shown.pauses.iter().filter(|pause| pause.state == "waiting").collect();
    html! {
        @if !waiting.is_empty() {
            h2 { "Waits for" }
            ul.rows {
                @for pause in waiting {
                    li.attempt {
                        span { b { (pause.trigger.as_deref().unwrap_or("a date")) } " behind " (pause.step) }
                        span.aside { "since " (clock(&pause.registered_at)) }
                        @if let Some(until) = pause.timeout_at.as_ref().or(pause.resume_at.as_ref()) { span.aside { "until " (clock(until)) } }
                        @if pause.reminders > 0 { span.aside { "reminded " (times(pause.reminders.into())) } }
                        @if let Some(trigger) = &pause.trigger {
                            span.mono.payload { "stepfast trigger " (pause.workflow_id) " " (trigger) }
                            @if page.doable.is_some() { span.payload { a.button href=(super::waiting::answer(&pause.workflow_id, trigger)) { "Answer" } } }
                        }
                    }
                }
            }
        }
    }
}

/// What is undone, and what was decided about it.
fn undone(shown: &WorkflowShow) -> Markup {
    html! {
        section aria-label="Undone" data-live="undone" {
            @if !shown.compensations.is_empty() {
                h2 { "Undone" }
                ul.rows {
                    @for run in &shown.compensations {
                        li {
                            @match &run.step_id {
                                Some(id) => { a.line href={ "/step-dispatcher/steps/" (id) } { (undone_step(run)) } }
                                None => { div.line { (undone_step(run)) } }
                            }
                        }
                    }
                }
            }
            @if !shown.resolutions.is_empty() {
                h2.second { "Decided" }
                ul.rows {
                    @for decision in &shown.resolutions {
                        li.attempt {
                            span { b { (decision.decision.replace('_', " ")) } @if let Some(step) = &decision.step { " " (step) } " by " (decision.by) }
                            span.aside { (clock(&decision.at)) }
                            @if !decision.why.is_empty() { span.aside.payload { (decision.why) } }
                        }
                    }
                }
            }
        }
    }
}

fn undone_step(run: &CompensationView) -> Markup {
    html! {
        span.state.(tone(&run.state)) { (run.state) }
        span.what { b { (run.step_key) } " by " (run.action) }
        @if let Some(error) = &run.error { span.error { (error) } }
    }
}

fn payloads(shown: &WorkflowShow) -> Markup {
    html! {
        details data-key="input" { summary { "Input" } pre { (shown.input.get()) } }
        @if let Some(output) = &shown.output { details data-key="output" { summary { "Output" } pre { (output.get()) } } }
    }
}

/// What happened to it, the last of it first.
fn history(page: &Page) -> Markup {
    let at = |before| Wanted { before, ..page.wanted.clone() }.address(&page.shown.workflow.id, "#history");
    html! {
        h2 { "History" }
        @if page.events.events.is_empty() { p.empty { "Nothing has happened yet." } }
        @else {
            ol.rows {
                @for event in &page.events.events {
                    li.attempt {
                        span { b { (event.kind) } @if let Some(key) = &event.step_key { " " (key) } }
                        span.aside { (clock(&event.at)) }
                        @if let Some(note) = event_note(event) { span.mono.payload { (short(&note)) } }
                    }
                }
            }
        }
        @if page.wanted.before.is_some() || page.events.next.is_some() {
            p {
                @if page.wanted.before.is_some() { a.button href=(at(None)) { "Newest" } " " }
                @if let Some(next) = &page.events.next { a.button href=(at(next.parse().ok())) { "Older" } }
            }
        }
    }
}

/// What was decided on its way.
fn branches(decisions: &[DecisionView]) -> Markup {
    html! {
        @if !decisions.is_empty() {
            h2.second { "Branches" }
            ol.rows {
                @for decision in decisions {
                    li.attempt {
                        span { b { (decision.step_key) } " " (decision.kind.replace('_', " ")) " → " (decision.result.get()) }
                        span.aside { (clock(&decision.at)) }
                        span.mono.payload { (decision.expression) "  from  " (short(decision.inputs.get())) }
                    }
                }
            }
        }
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(DATA_SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into(),
    }
}
