//! Nodes with their worker sessions, and the last ticks of the dispatch groups.

use super::address::query;
use super::layout::{lost, plain};
use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Params;
use crate::words::{clock, number};
use axum::extract::State;
use maud::{Markup, html};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use wire::{NodeView, SessionView, TickView};

/// Ticks that are shown.
const TICKS_SHOWN: usize = 50;

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    dispatch_group: Option<String>,
}

pub async fn page(State(app): State<Arc<App>>, Params(wanted): Params<Wanted>) -> Result<Markup, ApiError> {
    let (now, group) = (app.now(), wanted.dispatch_group.clone());
    let read = move |browse: &store::Browse| {
        let ticks = answers::ticks(browse, group.as_deref(), None, TICKS_SHOWN)?.ticks;
        let groups = browse.groups()?.iter().map(|status| status.dispatch_group.to_string()).collect();
        Ok(Page { nodes: answers::nodes(browse, now)?.nodes, ticks, groups })
    };
    let page = app.read(read).await?;
    Ok(plain(&app, "Nodes and ticks", None, render(&page, wanted.dispatch_group.as_deref())))
}

struct Page {
    nodes: Vec<NodeView>,
    ticks: Vec<TickView>,
    groups: Vec<String>,
}

fn render(page: &Page, chosen: Option<&str>) -> Markup {
    let (live, gone): (Vec<_>, Vec<_>) = page.nodes.iter().partition(|node| node.live);
    html! {
        h1 { "Nodes and ticks" }
        (lost())
        section aria-label="Nodes" data-live="nodes" {
            h2 { "Nodes" }
            @if live.is_empty() { p.empty { "No node runs." } }
            @for node in &live { (one(node, "open")) }
            @if !gone.is_empty() {
                p.aside { (number(gone.len() as i64)) " more have ended or fallen silent." }
                @for node in &gone { (one(node, "closed")) }
            }
        }
        section aria-label="Ticks" {
            h2 { "Ticks" }
            p.aside { "One line for each second in which a dispatch group did something, the last first." }
            nav.chips aria-label="Dispatch group" {
                (chip("all", None, chosen))
                @for name in &page.groups { (chip(name, Some(name), chosen)) }
            }
            div data-live="ticks" { (table(&page.ticks)) }
        }
    }
}

fn one(node: &NodeView, fold: &str) -> Markup {
    html! {
        details data-key=(node.id) open[fold == "open"] {
            summary {
                span.dot.(if node.live { "online" } else { "offline" }) {}
                span.who { (node.host) " " span.aside { "pid " (node.pid) } }
                span.aside { (standing(node)) ", v" (node.version) ", since " (clock(&node.started_at)) }
                span.sum { (groups(node)) }
            }
            div.inside {
                p.aside { "Seen " (clock(&node.seen_at)) @if let Some(url) = &node.url { " at " (url) } " · " span.mono { (node.id) } }
                @if node.sessions.is_empty() { p { "No worker is connected to it." } } @else { (sessions(&node.sessions)) }
            }
        }
    }
}

/// What it is to the others.
fn standing(node: &NodeView) -> &'static str {
    match (node.live, node.leader, node.standby) {
        (false, ..) => "gone",
        (true, true, _) => "live, leader",
        (true, false, true) => "live, stands by",
        (true, false, false) => "live",
    }
}

fn groups(node: &NodeView) -> String {
    match node.dispatch_groups.as_slice() {
        [] => "no dispatch group".into(),
        all => all.join(", "),
    }
}

fn sessions(rows: &[SessionView]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Workers" { table {
            thead { tr { th { "Worker" } th.n { "Room" } th { "Queues" } th { "Actions" } th { "Lease until" } } }
            tbody {
                @for row in rows {
                    tr {
                        th scope="row" { (row.host) @if !row.live { " (silent)" } }
                        td.n { (row.capacity) } td { (row.queues.join(", ")) } td { (row.actions.join(", ")) }
                        td.when { (clock(&row.lease_ends_at)) }
                    }
                }
            }
        } }
    }
}

fn chip(word: &str, group: Option<&str>, chosen: Option<&str>) -> Markup {
    let is_chosen = group == chosen;
    let said: Vec<(&str, String)> =
        group.map(|group| ("dispatch_group", group.to_string())).into_iter().collect();
    html! {
        a.chip.(if is_chosen { "chosen" } else { "open" }) href=(query("/nodes", &said)) aria-current=[is_chosen.then_some("true")] { (word) }
    }
}

fn table(ticks: &[TickView]) -> Markup {
    if ticks.is_empty() {
        return html! { p.empty { "Nothing was done yet." } };
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Ticks" { table {
            thead { tr { th { "Began" } th { "Group" } th.n { "Turns" } th.n { "Dispatched" } th.n { "Decided in" } th { "What moved" } } }
            tbody {
                @for tick in ticks {
                    tr {
                        td.when { (clock(&tick.started_at)) } td { (tick.dispatch_group) } td.n { (number(tick.turns as i64)) }
                        td.n { (number(tick.steps_dispatched as i64)) @if tick.left_over > 0 { " (full)" } }
                        td.n { (format!("{:.1} ms", tick.duration_ms)) } td { (phases(tick)) }
                    }
                }
            }
        } }
    }
}

fn phases(tick: &TickView) -> String {
    let told: Vec<String> = tick
        .phases
        .iter()
        .map(|phase| format!("{} {}", phase.phase.replace('_', " "), number(phase.rows as i64)))
        .collect();
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::PhaseView;

    #[test]
    fn a_tick_says_what_moved() {
        let phase = |phase: &str, rows| PhaseView { phase: phase.into(), rows, duration_ms: 0.0 };
        let tick = TickView {
            id: 1,
            dispatch_group: "alpha".into(),
            started_at: "2027-01-15T08:00:00.000000Z".into(),
            completed_at: "2027-01-15T08:00:01.000000Z".into(),
            duration_ms: 1.24,
            turns: 3,
            progress: 1,
            steps_dispatched: 1_200,
            capped: 1,
            left_over: 1,
            phases: vec![phase("complete_parents", 2), phase("dispatch", 1_200)],
        };
        assert_eq!(phases(&tick), "complete parents 2, dispatch 1,200");
        let html = table(&[tick]).into_string();
        assert!(html.contains("1,200 (full)") && html.contains("1.2 ms"), "{html}");
    }

    #[test]
    fn a_node_says_whether_it_leads_or_stands_by() {
        let node = |live, leader, standby| NodeView {
            id: "7".into(),
            host: "anna".into(),
            pid: 1,
            url: None,
            version: "1.2.3".into(),
            live,
            started_at: "2027-01-15T08:00:00.000000Z".into(),
            seen_at: "2027-01-15T08:00:00.000000Z".into(),
            ended_at: None,
            dispatch_groups: Vec::new(),
            owned_since: Default::default(),
            leader,
            standby,
            sessions: Vec::new(),
        };
        for (of, told) in [
            (node(true, true, false), ">live, leader, v1.2.3"),
            (node(true, false, true), ">live, stands by, v1.2.3"),
            (node(true, false, false), ">live, v1.2.3"),
            (node(false, false, true), ">gone, v1.2.3"),
        ] {
            let html = one(&of, "open").into_string();
            assert!(html.contains(told), "{told} is not in {html}");
        }
    }
}
