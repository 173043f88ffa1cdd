//! One step: what it is, why it is not moving, and what happened to it.

use super::address::message_group;
use super::layout::{lost, plain, tone};
use super::step_verbs::section as verbs;
use super::steps::row as listed;
use super::why::linked;
use crate::access::Caller;
use crate::answers::{self, Family};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::ThisStep;
use crate::words::{clock, exact, number};
use axum::extract::State;
use engine::{Verb, possible};
use maud::{Markup, html};
use model::{Right, State as StepState, limits};
use std::sync::Arc;
use std::time::Duration;
use wire::{AttemptView, ChildrenView, EventView, LogView, StepShow, StepView};

pub async fn page(
    State(app): State<Arc<App>>,
    caller: Caller,
    ThisStep(id): ThisStep,
) -> Result<Markup, ApiError> {
    let shown = app.show(id).await?;
    let mut family = app.read(move |browse| answers::family(browse, id)).await?;
    if let Some(scope) = caller.scope(&app) {
        let is_ours = |step: &StepView| scope.queue(&step.queue);
        family.above.retain(is_ours);
        family.below.retain(is_ours);
    }
    let doable = app.read(move |browse| possible::for_step(browse, id)).await?;
    let may = caller.must(Right::Operate).is_ok();
    let body = render(&Page { shown: &shown, family, doable, may });
    Ok(plain(&app, &shown.step.action, Some("workflows.js"), body))
}

struct Page<'a> {
    shown: &'a StepShow,
    family: Family,
    /// By whoever may.
    doable: Vec<Option<Verb>>,
    /// Whether that is who looks.
    may: bool,
}

fn render(page: &Page) -> Markup {
    let shown = page.shown;
    let step = &shown.step;
    // One that failed can be done again: somebody else may do that while this page is open.
    let is_over = page.doable.is_empty() && step.state.parse::<StepState>().is_ok_and(StepState::is_terminal);
    html! {
        (lost())
        div data-live="head" {
            @if !page.family.above.is_empty() { (above(&page.family.above)) }
            h1 data-over[is_over] { (step.action) " " span.state.(tone(&step.state)) { (step.state.replace('_', " ")) } }
            @if let Some(label) = &step.label { p.label { (label) } }
            p.aside.mono.id { (step.id) }
            (now(shown))
        }
        @if page.may { (verbs(step, &page.doable)) }
        div data-live="rest" {
            section { h2 { "Facts" } (facts(step)) }
            @if let Some(children) = &shown.children { (family(children, &page.family.below)) }
            @if let Some(polls) = &shown.polls { (super::polls::section(polls)) }
            section { h2 { "Arguments" } pre tabindex="0" { (step.arguments.get()) } }
            @if let Some(response) = &step.response { section { h2 { "Response" } pre tabindex="0" { (response.get()) } } }
            @if !shown.attempts.is_empty() { (attempts(&shown.attempts)) }
            @if !shown.log.is_empty() { (log(&shown.log)) }
            @if !shown.history.is_empty() { (history(&shown.history)) }
        }
    }
}

/// What it does now, what holds it, and what went wrong.
fn now(shown: &StepShow) -> Markup {
    let step = &shown.step;
    html! {
        @if let Some(progress) = &shown.progress {
            section aria-label="Progress" { h2 { "Progress" } p { (progress) } }
        }
        @if !shown.why.is_empty() {
            section.held-by aria-label="Why it is not moving" {
                h2 { @if step.state == "running" { "What it waits for" } @else { "Why it is not running" } }
                ul.why { @for why in &shown.why { li { (linked(why)) } } }
            }
        }
        @if let Some(error) = &step.error_message {
            section aria-label="Error" {
                h2 { "Error" }
                pre.error tabindex="0" { (error) }
                @if let Some(trace) = &step.error_stack_trace { pre tabindex="0" { (trace) } }
            }
        }
        @if let Some(note) = &step.note { section { h2 { "Note" } p { (note) } } }
    }
}

/// The way down to it.
fn above(steps: &[StepView]) -> Markup {
    html! {
        nav.crumbs aria-label="Above it" {
            ol { @for step in steps { li { a href={ "/step-dispatcher/steps/" (step.id) } { (step.action) } " " span.state.(tone(&step.state)) { (step.state.replace('_', " ")) } } } }
        }
    }
}

fn facts(step: &StepView) -> Markup {
    let (mut rows, told) = (Vec::new(), |at: &Option<String>| at.as_deref().map(clock));
    let mut fact = |name: &'static str, value: Option<String>| rows.extend(value.map(|v| (name, v)));
    fact("Key", step.step_key.clone());
    fact("Reason", step.reason.as_ref().map(|reason| reason.replace('_', " ")));
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
    fact("Took", step.duration_ms.map(length));
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

fn length(ms: f64) -> String {
    exact(Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default())
}

fn link(name: &str, id: &str) -> Markup {
    html! { div { dt { (name) } dd { a.mono href={ "/step-dispatcher/steps/" (id) } { (id) } } } }
}

fn family(children: &ChildrenView, first: &[StepView]) -> Markup {
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
            @if !first.is_empty() { ul.rows { @for step in first { (listed(step)) } } }
            @if first.len() == answers::BELOW_SHOWN {
                p { "The first " (first.len()) " are shown; " a href={ "/step-dispatcher/steps?block_id=" (children.block_id) } { "list them all" } "." }
            }
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
            @if rows.len() >= limits::PAGE_ROWS_MAX { p.aside { "The last " (number(rows.len() as i64)) " moves." } }
            div.scroll tabindex="0" role="region" aria-label="History" { table {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_says_that_it_is_only_the_last_of_it() {
        let one = EventView {
            at: "2027-01-15T08:00:00.000000Z".into(),
            from: None,
            event: None,
            to: "pending".into(),
            attempt: 0,
        };
        let told = "<p class=\"aside\">The last 1,000 moves.</p>";
        let of = |n| history(&vec![one.clone(); n]).into_string();
        assert!(of(limits::PAGE_ROWS_MAX).contains(told) && !of(limits::PAGE_ROWS_MAX - 1).contains(told));
    }

    #[test]
    fn how_long_it_took_is_told_as_people_say_it() {
        assert_eq!(
            [0.25, 1_234.5, 3_600_000.0, 7_260_000.0].map(length),
            ["0.25 ms", "1.23 s", "60 min 0 s", "2 h 1 min"]
        );
    }
}
