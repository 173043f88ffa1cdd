//! One step: what it is, why it is not moving, and what happened to it.

use super::address::message_group;
use super::layout::{Frame, page as framed, tone};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::ThisStep;
use crate::words::clock;
use axum::extract::State;
use maud::{Markup, html};
use std::sync::Arc;
use wire::{AttemptView, ChildrenView, EventView, LogView, StepShow, StepView};

pub async fn page(State(app): State<Arc<App>>, ThisStep(id): ThisStep) -> Result<Markup, ApiError> {
    let shown = app.show(id).await?;
    let frame = Frame {
        title: &shown.step.action,
        version: app.site.version,
        host: &app.site.host,
        script: None,
        controls: html! {},
    };
    Ok(framed(frame, render(&shown)))
}

pub fn render(shown: &StepShow) -> Markup {
    let step = &shown.step;
    html! {
        h1 { (step.action) " " span.state.(tone(&step.state)) { (step.state.replace('_', " ")) } }
        @if let Some(label) = &step.label { p.label { (label) } }
        p.aside.mono.id { (step.id) }
        @if let Some(progress) = &shown.progress {
            section aria-label="Progress" { h2 { "Progress" } p { (progress) } }
        }
        @if !shown.why.is_empty() {
            section aria-label="Why it is not moving" {
                h2 { @if step.state == "running" { "What it waits for" } @else { "Why it is not running" } }
                ul.why { @for why in &shown.why { li { (why) } } }
            }
        }
        @if let Some(error) = &step.error_message {
            section aria-label="Error" {
                h2 { "Error" }
                pre.error { (error) }
                @if let Some(trace) = &step.error_stack_trace { pre { (trace) } }
            }
        }
        @if let Some(note) = &step.note { section { h2 { "Note" } p { (note) } } }
        section { h2 { "Facts" } (facts(step)) }
        @if let Some(children) = &shown.children { (family(children)) }
        @if let Some(polls) = &shown.polls { (super::polls::section(polls)) }
        section { h2 { "Arguments" } pre { (step.arguments.get()) } }
        @if let Some(response) = &step.response { section { h2 { "Response" } pre { (response.get()) } } }
        @if !shown.attempts.is_empty() { (attempts(&shown.attempts)) }
        @if !shown.log.is_empty() { (log(&shown.log)) }
        @if !shown.history.is_empty() { (history(&shown.history)) }
    }
}

fn facts(step: &StepView) -> Markup {
    let (mut rows, told) = (Vec::new(), |at: &Option<String>| at.as_deref().map(clock));
    let mut fact = |name: &'static str, value: Option<String>| rows.extend(value.map(|v| (name, v)));
    fact("Key", step.step_key.clone());
    fact("Reason", step.reason.clone());
    fact("Dispatch group", Some(step.dispatch_group.clone()));
    fact("Queue", Some(format!("{}, {} priority", step.queue, step.priority)));
    fact("Pool", step.pool.clone());
    fact("Kind", (step.kind != "default").then(|| step.kind.clone()));
    let of = format!(
        "{}, {} failed of {}, {} lost",
        step.attempt, step.failed_attempts, step.max_attempts, step.lost_attempts
    );
    fact("Attempt", Some(of));
    fact("Run", step.run.filter(|run| *run > 1).map(|run| run.to_string()));
    fact("Item", step.item.map(|item| (item + 1).to_string()));
    fact("Branch", step.branch_key.clone());
    fact("Late reports", (step.late_reports > 0).then(|| step.late_reports.to_string()));
    fact("Host", step.host.clone());
    fact(
        "About",
        step.relatable_type.as_ref().map(|t| format!("{t} {}", step.relatable_id.as_deref().unwrap_or(""))),
    );
    fact("Not before", told(&step.dispatch_after));
    fact("Created", Some(clock(&step.created_at)));
    fact("Started", told(&step.started_at));
    fact("Ended", told(&step.completed_at));
    fact("Took", step.duration_ms.map(|ms| format!("{ms} ms")));
    html! {
        dl.facts {
            @for (name, value) in rows { div { dt { (name) } dd { (value) } } }
            @if let Some(group) = &step.message_group {
                div { dt { "Message group" } dd { a href=(message_group(group)) { (group) } ", " (step.mode.replace('_', " ")) } }
            }
            @if let Some(workflow) = &step.workflow_id {
                div { dt { "Workflow" } dd { a.mono href={ "/workflows/" (workflow) } { (workflow) } } }
            }
            @if let Some(parent) = &step.parent_step_id { (link("Parent", parent)) }
            @if let Some(by) = &step.superseded_by { (link("Superseded by", by)) }
            @if let Some(block) = &step.block_id {
                div { dt { "Block" } dd { a.mono href={ "/step-dispatcher/steps?block_id=" (block) } { (block) } ", index " (step.index) } }
            }
        }
    }
}

fn link(name: &str, id: &str) -> Markup {
    html! { div { dt { (name) } dd { a.mono href={ "/step-dispatcher/steps/" (id) } { (id) } } } }
}

fn family(children: &ChildrenView) -> Markup {
    let told: Vec<String> = children
        .steps
        .iter()
        .map(|(state, n)| format!("{n} {}", state.replace('_', " ")))
        .chain(
            children
                .resolvers
                .iter()
                .map(|(state, n)| format!("{n} {} (resolvers)", state.replace('_', " "))),
        )
        .collect();
    html! {
        section {
            h2 { "Children" }
            p { (told.join(", ")) "; at index " (children.current_index) " of " (children.last_index) "; succeeds by " (children.success) }
            p { a href={ "/step-dispatcher/steps?block_id=" (children.block_id) } { "List them" } }
        }
    }
}

fn attempts(rows: &[AttemptView]) -> Markup {
    html! {
        section {
            h2 { "Attempts that did not simply succeed, and deliveries" }
            ul.rows {
                @for row in rows {
                    li.attempt {
                        span { b { "Attempt " (row.attempt) } " " (row.outcome.replace('_', " ")) }
                        span.aside { (clock(&row.at)) @if let Some(host) = &row.host { " on " (host) } }
                        @if let Some(delivery) = &row.delivery { span.aside { (delivery) } }
                        @if let Some(message) = &row.message { span.error { (message) } }
                    }
                }
            }
        }
    }
}

fn log(rows: &[LogView]) -> Markup {
    html! {
        section {
            h2 { "What its runs said" }
            ul.rows {
                @for row in rows {
                    li.attempt {
                        span.mono { (row.text) }
                        span.aside { (clock(&row.at)) ", attempt " (row.attempt) }
                    }
                }
            }
        }
    }
}

fn history(rows: &[EventView]) -> Markup {
    html! {
        section {
            h2 { "History" }
            div.scroll { table {
                thead { tr { th { "At" } th { "From" } th { "Event" } th { "To" } th.n { "Attempt" } } }
                tbody {
                    @for row in rows {
                        tr {
                            td.when { (clock(&row.at)) } td { (row.from.as_deref().unwrap_or("")) }
                            td { (row.event.as_deref().unwrap_or("created")) } td { (row.to) } td.n { (row.attempt) }
                        }
                    }
                }
            } }
        }
    }
}
