//! The steps of a workflow as a table.

use super::layout::tone;
use crate::words::{clock, number};
use maud::{Markup, html};
use wire::{ItemCounts, WorkflowStepView};

/// Steps that are shown; the graph of more is a list anyway.
const SHOWN: usize = 500;

pub fn table(steps: &[WorkflowStepView]) -> Markup {
    html! {
        table.steps {
            thead { tr { th { "Step" } th { "State" } th.n { "Attempt" } th { "What happened" } } }
            tbody { @for step in steps.iter().take(SHOWN) { (row(step)) } }
        }
        @if steps.len() > SHOWN { p.aside { "The first " (SHOWN) " of " (number(steps.len() as i64)) " are shown." } }
    }
}

fn row(step: &WorkflowStepView) -> Markup {
    html! {
        tr {
            th scope="row" {
                @if let Some(id) = &step.step_id { a href={ "/step-dispatcher/steps/" (id) } { (step.key) } }
                @else { (step.key) }
                span.aside { (what(step)) }
            }
            td { span.state.(tone(&step.state)) { (step.state.replace('_', " ")) } }
            td.n { @if let Some(attempt) = step.attempt { (attempt) } }
            td { (told(step)) }
        }
    }
}

fn what(step: &WorkflowStepView) -> String {
    let kind = step.kind.replace('_', "-");
    let what = match &step.action {
        Some(action) if step.kind == "action" => action.clone(),
        Some(action) => format!("{kind} of {action}"),
        None => kind,
    };
    step.branch.as_ref().map_or(what.clone(), |branch| format!("{what} · branch {branch}"))
}

fn told(step: &WorkflowStepView) -> Markup {
    let ended = step.completed_at.as_deref().map(|at| format!("ended {}", clock(at)));
    let begun = step.started_at.as_deref().map(|at| format!("started {}", clock(at)));
    let is_over = step.completed_at.is_some();
    html! {
        @if let Some(when) = if is_over { ended } else { begun } { p.aside { (when) } }
        @if let Some(reason) = &step.reason { p { (reason.replace('_', " ")) } }
        @if let Some(items) = &step.items { p { (counted(items)) } }
        @if let Some(polls) = &step.polls { (super::polls::brief(polls)) }
        @if let Some(below) = &step.below { p { "Workflow " a.mono href={ "/workflows/" (below) } { (below) } } }
        @for why in step.why.iter().flatten() { p { (why) } }
        @if let Some(error) = &step.error { (payload(step, "Error", error)) }
        @if let Some(output) = &step.output { (payload(step, "Output", output.get())) }
        @if !step.earlier.is_empty() {
            p.aside {
                "Earlier: "
                @for (n, run) in step.earlier.iter().enumerate() {
                    @if n > 0 { ", " }
                    a href={ "/step-dispatcher/steps/" (run.step_id) } { "run " (run.run) } " " (run.state.replace('_', " "))
                }
            }
        }
    }
}

fn payload(step: &WorkflowStepView, name: &str, text: &str) -> Markup {
    let tone = if name == "Error" { "error" } else { "plain" };
    // An error is what one came to read.
    let is_open = name == "Error" && tone_is_red(step);
    html! {
        details.payload data-key={ (step.key) " " (name) } open[is_open] { summary { (name) } pre.(tone) { (text) } }
    }
}

fn tone_is_red(step: &WorkflowStepView) -> bool {
    tone(&step.state) == "red"
}

fn counted(items: &ItemCounts) -> String {
    let parts = [
        (items.completed, "completed"),
        (items.failed, "failed"),
        (items.live, "live"),
        (items.to_come, "to come"),
    ];
    let told: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{} {word}", number(i64::from(*n))))
        .collect();
    let total = number(i64::from(items.total));
    if told.is_empty() { format!("{total} items") } else { format!("{total} items: {}", told.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_counted_in_words() {
        let items = ItemCounts { total: 1_200, to_come: 1_000, live: 100, completed: 99, failed: 1 };
        assert_eq!(counted(&items), "1,200 items: 99 completed, 1 failed, 100 live, 1,000 to come");
        let none = ItemCounts { total: 0, to_come: 0, live: 0, completed: 0, failed: 0 };
        assert_eq!(counted(&none), "0 items");
    }

    #[test]
    fn text_from_outside_is_never_markup() {
        let step = WorkflowStepView {
            key: "<b>".into(),
            kind: "fan_out".into(),
            action: Some("<i>".into()),
            state: "failed".into(),
            error: Some("<script>".into()),
            ..WorkflowStepView::default()
        };
        let html = table(&[step]).into_string();
        assert!(html.contains("&lt;b&gt;") && html.contains("fan-out of &lt;i&gt;"), "{html}");
        assert!(html.contains("<details class=\"payload\" data-key=\"&lt;b&gt; Error\" open>"), "{html}");
        assert!(!html.contains("<script>"));
    }
}
