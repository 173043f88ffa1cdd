//! The step dispatcher's page: figures, breaker, hosts; and the two routes that keep it live.

use super::address::query;
use super::chart;
use super::layout::{Frame, page as framed};
use crate::access::Caller;
use crate::answers::{self, Rates, Window};
use crate::api::explained;
use crate::app::App;
use crate::convert;
use crate::error::ApiError;
use crate::extract::{Params, Posted};
use crate::words::{clock, number};
use axum::Json;
use axum::extract::State;
use maud::{Markup, html};
use model::Right;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use wire::{ActionFigures, DashboardView, Figures, GroupFigures, HostFigures};

/// So many hosts are shown unfolded.
const HOSTS_OPEN_MAX: usize = 2;
/// The list that a row leads to.
const STEPS: &str = "/step-dispatcher/steps";
/// Who switched, in the audit, where there is no key.
const BY: &str = "dashboard";

async fn figures(app: &App) -> Result<DashboardView, ApiError> {
    let (now, host, version) = (app.now(), app.site.host.clone(), app.site.version);
    app.read(move |browse| answers::dashboard(browse, &host, version, now)).await
}

/// How far back the charts look.
#[derive(Clone, Copy, Deserialize, Default, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Span {
    #[default]
    Hour,
    Day,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    span: Span,
}

pub async fn page(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Result<Markup, ApiError> {
    let window = match wanted.span {
        Span::Hour => Window::Hour,
        Span::Day => Window::Day,
    };
    let now = app.now();
    let rates = app.read(move |browse| answers::rates(browse, window, now)).await?;
    let switch = if caller.must(Right::Operate).is_ok() { Switch::Theirs } else { Switch::Shown };
    Ok(render(&figures(&app).await?, &rates, switch))
}

pub async fn api(State(app): State<Arc<App>>) -> Result<Json<DashboardView>, ApiError> {
    Ok(Json(figures(&app).await?))
}

pub async fn toggle(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(wire::ToggleBody { enabled, why }): Posted<wire::ToggleBody>,
) -> Result<Json<wire::ToggledView>, ApiError> {
    let (now, by, why) = (app.now(), caller.signed(Some(BY.into()))?, explained(why)?);
    let body = wire::BreakerBody { off: !enabled, why, ..wire::BreakerBody::default() };
    let set = app.site.engine.set_breaker(None, convert::breaker(&body, &by, now), &by).await?;
    Ok(Json(wire::ToggledView { can_dispatch_steps: !set.is_off(now) }))
}

/// Whether whoever looks may use the switch, or only sees how it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Switch {
    Theirs,
    Shown,
}

/// A figure on the page: its name, its key in the API, its colour, and whether it also has leaf steps.
struct Card(&'static str, &'static str, &'static str);

const LIVE: [Card; 5] = [
    Card("Pending", "pending", ""),
    Card("Dispatched", "dispatched", ""),
    Card("Running", "running", "cyan"),
    Card("Throttled", "throttled", "orange"),
    Card("Polling", "polling", "cyan"),
];
const ENDED: [Card; 6] = [
    Card("Completed", "completed", "green"),
    Card("Failed", "failed", "red"),
    Card("Stopped", "stopped", "red"),
    Card("Timed out", "timed_out", "red"),
    Card("Skipped", "skipped", ""),
    Card("Cancelled", "cancelled", ""),
];

/// All steps and leaf steps of a card; none where leaves are not told apart.
fn counted(f: &Figures, key: &str) -> (i64, Option<i64>) {
    match key {
        "pending" => (f.pending, Some(f.child_pending)),
        "dispatched" => (f.dispatched, Some(f.child_dispatched)),
        "running" => (f.running, Some(f.child_running)),
        "throttled" => (f.throttled, None),
        "polling" => (f.polling, Some(f.child_polling)),
        "completed" => (f.completed, Some(f.child_completed)),
        "failed" => (f.failed, Some(f.child_failed)),
        "stopped" => (f.stopped, Some(f.child_stopped)),
        "timed_out" => (f.timed_out, Some(f.child_timed_out)),
        "skipped" => (f.skipped, Some(f.child_skipped)),
        _ => (f.cancelled, Some(f.child_cancelled)),
    }
}

fn zero(n: i64) -> Option<&'static str> {
    (n == 0).then_some("zero")
}

fn render(view: &DashboardView, rates: &Rates, switch: Switch) -> Markup {
    let frame = Frame {
        title: "Step dispatcher",
        version: &view.version,
        host: &view.host,
        script: Some("step-dispatcher.js"),
        controls: controls(view, switch),
    };
    framed(
        frame,
        html! {
            h1 { "Step dispatcher" }
            p #notice .notice role="status" hidden[view.words.breaker.is_none()] { (view.words.breaker.as_deref().unwrap_or("")) }
            p #alerts .notice hidden[view.words.alerts.is_none()] {
                a #alerts-text href="/alerts" { (view.words.alerts.as_deref().unwrap_or("")) }
            }
            p #lost .notice.lost role="alert" hidden { "The server does not answer; these figures are old." }
            p #told .notice.lost role="alert" hidden {}
            @if switch == Switch::Theirs { (question()) }
            noscript { p.notice { "Without JavaScript this page shows the figures as they were when it was loaded." } }
            section #global aria-label="All hosts" {
                div.heading {
                    h2 { "All hosts" }
                    p.aside #oldest { (view.words.oldest.as_deref().unwrap_or("nothing waits to start")) }
                }
                div.cards.live { @for c in &LIVE { (card(c, &view.global)) } }
                div.cards.ended { @for c in &ENDED { (card(c, &view.global)) } }
            }
            section aria-label="Over time" {
                div.heading {
                    h2 { "Over time" }
                    nav.aside aria-label="How far back" { (back("The last hour", Window::Hour, rates)) " · " (back("The last day", Window::Day, rates)) }
                }
                div #charts { (chart::render(rates)) }
            }
            section aria-label="Active actions" {
                h2 { "Active actions" }
                div #actions { (actions(&view.actions)) }
                p #left-out .aside.below hidden[view.left_out == 0] { (left_out(view.left_out)) }
            }
            section aria-label="Hosts" {
                h2 { "Hosts" }
                div #hosts data-open-max=(HOSTS_OPEN_MAX) { (hosts(&view.hostnames)) }
            }
            section aria-label="Dispatch groups" {
                h2 { "Dispatch groups" }
                div #groups { (groups(&view.dispatch_groups)) }
            }
            p.aside { "Updated " time #updated { (clock(&view.now)) } span #again hidden { ", again every 3 s" } }
        },
    )
}

fn back(words: &str, window: Window, rates: &Rates) -> Markup {
    let href = match window {
        Window::Hour => "/step-dispatcher",
        Window::Day => "/step-dispatcher?span=day",
    };
    html! { a href=(href) aria-current=[(rates.window == window).then_some("true")] { (words) } }
}

/// Why dispatch is switched off, asked before it is.
fn question() -> Markup {
    html! {
        dialog #off aria-labelledby="off-text" {
            p #off-text { "Dispatch nothing new? What runs goes on." }
            div.because {
                label for="off-why" { "Why, for the record" }
                input #off-why type="text" maxlength="1000" autocomplete="off" required;
            }
            div.choice {
                button #off-do .button.strong type="button" { "Switch off" }
                button #off-leave .button type="button" { "Leave it as it is" }
            }
        }
    }
}

fn left_out(n: usize) -> String {
    format!("{} more actions and hosts are not shown.", number(n as i64))
}

fn controls(view: &DashboardView, switch: Switch) -> Markup {
    let light = if view.safe_to_restart {
        "safe"
    } else if view.breaker.off {
        "draining"
    } else {
        "busy"
    };
    let is_shown = switch == Switch::Shown;
    let title =
        is_shown.then_some("Who may operate can switch dispatch: a key with the role operator or admin.");
    html! {
        div.controls {
            p #restart .light.(light) role="status" { span.dot {} span #restart-text { (view.words.restart) } }
            button #switch type="button" role="switch" aria-checked=(view.can_dispatch_steps) aria-label="Dispatch steps" disabled[is_shown] title=[title] {
                span.track { span.knob {} }
                span #switch-text { @if view.can_dispatch_steps { "Dispatch on" } @else { "Dispatch off" } }
            }
        }
    }
}

/// It leads to its steps where they are a list: throttled is no state, but pending for a while.
fn card(Card(name, key, tone): &Card, figures: &Figures) -> Markup {
    let (all, leaves) = counted(figures, key);
    let inside = html! {
        span.name { (name) }
        span.n.(zero(all).unwrap_or("some")) data-figure=(key) { (number(all)) }
        @if let Some(leaves) = leaves {
            span.child {
                "Child " span.wide { (name.to_lowercase()) " " }
                b.(zero(leaves).unwrap_or("some")) data-figure={ "child_" (key) } { (number(leaves)) }
            }
        }
    };
    html! {
        @if *key == "throttled" { div.card.(tone) { (inside) } }
        @else { a.card.(tone) href={ "/step-dispatcher/steps?state=" (key) } { (inside) } }
    }
}

fn cell(n: i64, tone: &str) -> Markup {
    html! { td.n.(tone).(zero(n).unwrap_or("some")) { (number(n)) } }
}

fn actions(rows: &[ActionFigures]) -> Markup {
    if rows.is_empty() {
        return html! { p.empty { "Nothing is running." } };
    }
    html! {
        table.figures {
            thead { tr { th { "Action" } th.n { "Running" } th.n { "Child running" } th.n { "Throttled" } th.n.minor { "Dispatched" } } }
            tbody {
                @for row in rows {
                    tr {
                        th scope="row" { a href=(query(STEPS, &[("action", row.action.clone())])) { (row.action) } }
                        (cell(row.running, "cyan"))
                        (cell(row.child_running, "purple"))
                        (cell(row.throttled, "orange"))
                        (cell(row.dispatched, "minor"))
                    }
                }
            }
        }
    }
}

fn hosts(rows: &[HostFigures]) -> Markup {
    if rows.is_empty() {
        return html! { p.empty { "No worker has connected yet." } };
    }
    let are_few = rows.len() <= HOSTS_OPEN_MAX;
    html! { @for row in rows { (host(row, are_few)) } }
}

fn host(row: &HostFigures, is_open: bool) -> Markup {
    let f = &row.figures;
    let figures = [
        ("Running", f.running, "cyan"),
        ("Child running", f.child_running, "purple"),
        ("Throttled", f.throttled, "orange"),
        ("Dispatched", f.dispatched, ""),
        ("Completed", f.completed, "green"),
        ("Failed", f.failed, "red"),
    ];
    html! {
        details data-host=(row.hostname) open[is_open] {
            summary {
                span.dot.(if row.online { "online" } else { "offline" }) {}
                span.who { (row.hostname) }
                span.aside {
                    @if row.online { (row.sessions) " online, room for " (number(row.capacity as i64)) } @else { "offline" }
                }
                span.sum.(zero(f.running).unwrap_or("some")) { (number(f.running)) " running" }
            }
            dl.strip {
                @for (name, n, tone) in figures {
                    div { dt { (name) } dd.(tone).(zero(n).unwrap_or("some")) { (number(n)) } }
                }
            }
            (actions(&row.actions))
        }
    }
}

fn groups(rows: &[GroupFigures]) -> Markup {
    html! {
        table.figures {
            thead { tr {
                th { "Group" } th.n { "Pending" } th.n { "Running" } th.n.minor { "Throttled" } th.n.minor { "Completed" } th.n { "Failed" }
                th.last { "Dispatch" }
            } }
            tbody {
                @for row in rows {
                    tr {
                        th scope="row" { a href=(query(STEPS, &[("dispatch_group", row.dispatch_group.clone())])) { (row.dispatch_group) } }
                        (cell(row.figures.pending, ""))
                        (cell(row.figures.running, "cyan"))
                        (cell(row.figures.throttled, "orange minor"))
                        (cell(row.figures.completed, "green minor"))
                        (cell(row.figures.failed, "red"))
                        td.last { (standing(row)) }
                    }
                }
            }
        }
    }
}

/// Whether a group dispatches, in a word.
fn standing(row: &GroupFigures) -> &'static str {
    match (row.owned, row.can_dispatch_steps) {
        (false, _) => "no owner",
        (true, false) => "off",
        (true, true) => "on",
    }
}
