//! The steps of a workflow as a table; of a large one a page at a time, by state.

use super::layout::{nothing, tone};
use super::workflow::Wanted;
use crate::words::{clock, number};
use maud::{Markup, html};
use std::collections::BTreeMap;
use wire::{ItemCounts, WorkflowStepView};

/// Steps on a page; the graph of more is a list anyway.
const SHOWN: usize = 500;

pub fn render(steps: &[WorkflowStepView], id: &str, wanted: &Wanted) -> Markup {
    let like = |step: &&WorkflowStepView| wanted.state.as_ref().is_none_or(|state| *state == step.state);
    let all: Vec<&WorkflowStepView> = steps.iter().filter(like).collect();
    let page: Vec<&WorkflowStepView> = all.iter().copied().skip(wanted.from).take(SHOWN).collect();
    html! {
        @if steps.len() > SHOWN || wanted.state.is_some() { (states(steps, id, wanted)) }
        @if page.is_empty() { (nothing("step", None)) } @else { (table(&page)) }
        @if page.len() < all.len() { (around(all.len(), page.len(), id, wanted)) }
    }
}

/// Those of one state alone; what failed comes first.
fn states(steps: &[WorkflowStepView], id: &str, wanted: &Wanted) -> Markup {
    let mut counts: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for step in steps {
        *counts.entry((!tone_is_red(step), step.state.as_str())).or_default() += 1;
    }
    html! {
        nav.chips aria-label="State of the steps" {
            (chip(("all", steps.len()), None, id, wanted))
            @for ((_, state), n) in counts { (chip((state, n), Some(state), id, wanted)) }
        }
    }
}

fn chip((word, n): (&str, usize), state: Option<&str>, id: &str, wanted: &Wanted) -> Markup {
    let is_chosen = wanted.state.as_deref() == state;
    let of = Wanted { state: state.map(Into::into), from: 0, ..wanted.clone() };
    html! {
        a.chip.(if is_chosen { "chosen" } else { "open" }) href=(of.address(id, "#steps")) aria-current=[is_chosen.then_some("true")] {
            (word.replace('_', " ")) " (" (number(n as i64)) ")"
        }
    }
}

/// Where in the table one is, and the way on.
fn around(all: usize, shown: usize, id: &str, wanted: &Wanted) -> Markup {
    let at = |from| Wanted { from, ..wanted.clone() }.address(id, "#steps");
    let end = wanted.from + shown;
    html! {
        @if shown > 0 { p.aside.below { "Steps " (number(wanted.from as i64 + 1)) " to " (number(end as i64)) " of " (number(all as i64)) "." } }
        p {
            @if wanted.from > 0 { a.button href=(at(wanted.from.min(all).saturating_sub(SHOWN))) { "Steps before" } " " }
            @if end < all { a.button href=(at(end)) { "More steps" } }
        }
    }
}

fn table(steps: &[&WorkflowStepView]) -> Markup {
    html! {
        table.steps {
            thead { tr { th { "Step" } th { "State" } th.n { "Attempt" } th { "What happened" } } }
            tbody { @for step in steps { (row(step)) } }
        }
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

    fn steps(n: usize, failed: &[usize]) -> Vec<WorkflowStepView> {
        let state = |at| if failed.contains(&at) { "failed" } else { "completed" };
        let step = |at: usize| WorkflowStepView {
            key: format!("s{at}"),
            state: state(at).into(),
            ..WorkflowStepView::default()
        };
        (0..n).map(step).collect()
    }

    /// The first and the last step on a page, and where its links lead.
    fn seen(steps: &[WorkflowStepView], wanted: &Wanted) -> (String, Vec<String>) {
        let html = render(steps, "7", wanted).into_string();
        let rows: Vec<&str> = html.split("<th scope=\"row\">").skip(1).collect();
        let name = |row: &&str| row.split('<').next().unwrap_or_default().to_string();
        let ends = [rows.first(), rows.last()].map(|row| row.map(name).unwrap_or_default());
        let links = html.split("href=\"").skip(1).filter_map(|link| link.split('"').next());
        (ends.join(" to "), links.map(|link| link.trim_start_matches("/workflows/7").to_string()).collect())
    }

    #[test]
    fn a_large_workflow_is_paged_to_its_end() {
        let all = steps(1_001, &[1_000]);
        let at = |from| seen(&all, &Wanted { from, ..Wanted::default() });
        let chips = ["#steps", "?state=failed#steps", "?state=completed#steps"];
        let with = |links: &[&str]| chips.iter().chain(links).map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(at(0), ("s0 to s499".into(), with(&["?from=500#steps"])));
        assert_eq!(at(500), ("s500 to s999".into(), with(&["#steps", "?from=1000#steps"])));
        assert_eq!(at(1_000), ("s1000 to s1000".into(), with(&["?from=500#steps"])));
        assert_eq!(at(5_000), (" to ".into(), with(&["?from=501#steps"])), "past the end is a way back");
        assert_eq!(
            seen(&all[..500], &Wanted::default()),
            ("s0 to s499".into(), vec![]),
            "at the limit it is all"
        );
    }

    #[test]
    fn what_failed_is_a_click_away_however_far_down_it_is() {
        let all = steps(1_001, &[700, 1_000]);
        let wanted = Wanted { state: Some("failed".into()), ..Wanted::default() };
        assert_eq!(seen(&all, &wanted).0, "s700 to s1000");
        let html = render(&all, "7", &Wanted::default()).into_string();
        assert!(html.contains("failed (2)") && html.contains("completed (999)"), "{html}");
        let none = Wanted { state: Some("skipped".into()), ..Wanted::default() };
        assert!(render(&all, "7", &none).into_string().contains("No step is like that."));
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
        let html = table(&[&step]).into_string();
        assert!(html.contains("&lt;b&gt;") && html.contains("fan-out of &lt;i&gt;"), "{html}");
        assert!(html.contains("<details class=\"payload\" data-key=\"&lt;b&gt; Error\" open>"), "{html}");
        assert!(!html.contains("<script>"));
    }
}
