//! One tracked flow: how far it is, its steps, what was said about it, and what can be done about it.

use super::flows::about;
use super::layout::{Frame, lost, page as framed, tone};
use crate::access::Caller;
use crate::answers;
use crate::api::missing_flow;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::ThisFlow;
use crate::words::clock;
use axum::extract::State;
use maud::{Markup, html};
use model::{FlowState, Right};
use std::sync::Arc;
use wire::{FlowMomentView, FlowShow, FlowStepView, FlowView};

pub async fn page(
    State(app): State<Arc<App>>,
    caller: Caller,
    ThisFlow(id): ThisFlow,
) -> Result<Markup, ApiError> {
    let found = app.read(move |browse| answers::flow(browse, id)).await?;
    let shown = found.ok_or_else(|| missing_flow(id))?;
    let may_operate = caller.must(Right::Operate).is_ok();
    let doable = may_operate.then(|| possible(&shown.flow));
    let frame = Frame {
        title: &shown.flow.kind,
        version: app.site.version,
        host: &app.site.host,
        script: may_operate.then_some("message-group.js"),
        controls: html! {},
    };
    Ok(framed(frame, render(&shown, doable.as_deref())))
}

/// A verb, what it is called and does, and what would become of the flow.
struct Doable {
    verb: &'static str,
    title: &'static str,
    does: &'static str,
    would: &'static str,
    /// It is refused without a reason.
    needs_why: bool,
}

/// What would not be refused as things stand.
fn possible(flow: &FlowView) -> Vec<Doable> {
    let retry = Doable {
        verb: "retry",
        title: "Retry",
        does: "Enqueue what was declared to do it again.",
        would: "A step would be made that does what was declared to do it again.",
        needs_why: false,
    };
    let (does, would) = match flow.can_cancel {
        true => (
            "Enqueue what was declared to call it off.",
            "A step would be made that does what was declared to call it off.",
        ),
        false => (
            "Put on record that it is over; nothing is undone by that.",
            "It would be cancelled for good, and nothing would be undone by that.",
        ),
    };
    let cancel = Doable { verb: "cancel", title: "Cancel", does, would, needs_why: true };
    let all = [Some(retry).filter(|_| flow.can_retry), Some(cancel)];
    all.into_iter().flatten().filter(|_| !is_over(flow)).collect()
}

fn is_over(flow: &FlowView) -> bool {
    flow.state.parse::<FlowState>().is_ok_and(FlowState::is_over)
}

/// Nothing is offered to whoever may only look.
fn render(shown: &FlowShow, doable: Option<&[Doable]>) -> Markup {
    let flow = &shown.flow;
    html! {
        (lost())
        div.head data-live="head" {
            h1 data-over[is_over(flow)] { (flow.kind) (about(flow)) " " span.state.(tone(&flow.state)) { (flow.state) } }
            p.aside.mono { (flow.id) }
            @if let Some(error) = &flow.error { p.held.message.red { (error) } }
            p.progress {
                progress max="100" value=(shown.percent) aria-label="How much is over" {}
                span { (shown.percent) " %" }
                span.aside { (shown.sentence) }
            }
            (facts(flow))
        }
        @if let Some(doable) = doable { (verbs(flow, doable)) }
        div data-live="rest" {
            section aria-label="Steps" { h2 { "Steps" } (steps(&shown.steps)) }
            section aria-label="History" { h2 { "History" } ol.rows { @for moment in &shown.history { (said(moment)) } } }
        }
        p { a href="/flows" { "All flows" } " · " a href="/progress" { "What is half done" } }
    }
}

fn facts(flow: &FlowView) -> Markup {
    let rows = [
        ("Started", Some(format!("{} by {}", clock(&flow.started_at), flow.started_by))),
        ("Last said", Some(clock(&flow.updated_at))),
        ("Expected by", Some(clock(&flow.timeout_at))),
        ("Finished", flow.finished_at.as_deref().map(clock)),
        ("State before", flow.previous_state.clone()),
    ];
    html! {
        dl.facts {
            @for (name, value) in rows.into_iter().filter_map(|(name, value)| Some((name, value?))) {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

fn steps(steps: &[FlowStepView]) -> Markup {
    html! {
        @if steps.is_empty() { p.empty { "It has no steps." } }
        @else {
            ul.rows {
                @for step in steps {
                    li.line {
                        span.state.(tone(&step.state)) { (step.state) }
                        span.what { b { (step.name) } @if step.optional { " " span.badge { "optional" } } }
                        @if let Some(at) = &step.at { span.aside { (clock(at)) } }
                        @if let Some(message) = &step.message { span.held.(tone(&step.state)) { (message) } }
                    }
                }
            }
        }
    }
}

fn said(moment: &FlowMomentView) -> Markup {
    html! {
        li.attempt {
            span { b { (moment.event.replace('_', " ")) } @if let Some(step) = &moment.step { " " (step) } }
            span.aside { (clock(&moment.at)) " by " (moment.by) " · " (moment.state) }
            @if let Some(message) = &moment.message { span.mono.payload { (message) } }
        }
    }
}

fn verbs(flow: &FlowView, doable: &[Doable]) -> Markup {
    html! {
        section #verbs aria-label="What can be done" data-at={ "/v1/flows/" (flow.id) } hidden[doable.is_empty()] {
            h2 { "What can be done" }
            noscript { p.notice { "Without JavaScript nothing can be done here; use " code { "stepfast flows" } "." } }
            div.because {
                label for="why" { "Why, for the record" }
                input #why type="text" maxlength="1000" autocomplete="off";
            }
            div data-live="verbs" {
                @if !doable.is_empty() {
                    ul.rows.verbs {
                        @for Doable { verb, title, does, would, needs_why } in doable {
                            li { button.button type="button" data-verb=(verb) data-asks data-would=(would) data-needs-why[*needs_why] { (title) } span.aside { (does) } }
                        }
                    }
                }
            }
            div #sure .notice hidden {
                p #would {}
                button #do .button.strong type="button" aria-describedby="would" { "Yes" } " "
                button #leave .button type="button" { "Leave it as it is" }
            }
            p #told .notice.lost role="alert" hidden {}
        }
    }
}
