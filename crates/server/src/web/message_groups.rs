//! Message groups as a list: those with something to do, and those that are held back; by how their names begin and by what holds them.

use super::address::{message_group, query};
use super::layout::{Frame, lost, nothing, page as framed};
use crate::answers;
use crate::api::WantedMessageGroups as Wanted;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Params;
use crate::words::{clock, number};
use axum::extract::State;
use maud::{Markup, html};
use std::sync::Arc;
use wire::{HoldView, MessageGroupPage, MessageGroupView};

/// So many steps of a line are counted.
const COUNTED: usize = 1_000;

/// The same list with another hold, or further down.
fn listed(wanted: &Wanted, held: &str, after: Option<&str>) -> String {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_string());
    let pairs = [
        ("name", some(&wanted.name)),
        ("held", some(held)),
        ("after", after.map(Into::into)),
        ("limit", wanted.limit.map(|limit| limit.to_string())),
    ];
    let pairs: Vec<_> = pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    query("/message-groups", &pairs)
}

pub async fn page(State(app): State<Arc<App>>, Params(wanted): Params<Wanted>) -> Result<Markup, ApiError> {
    let filter = wanted.filter()?;
    let page = app.read(move |browse| answers::message_groups(browse, &filter)).await?;
    let frame = Frame {
        title: "Message groups",
        version: app.site.version,
        host: &app.site.host,
        script: None,
        controls: html! {},
    };
    Ok(framed(frame, render(&page, &wanted)))
}

fn render(page: &MessageGroupPage, wanted: &Wanted) -> Markup {
    let is_all = wanted.name.is_empty() && wanted.held.is_empty();
    html! {
        h1 { "Message groups" }
        (lost())
        (search(wanted))
        nav.chips aria-label="What holds it back" {
            @for (held, word) in [("", "all"), ("blocked", "blocked"), ("paused", "paused")] { (chip(word, held, wanted)) }
        }
        div data-live="message-groups" {
            @if page.message_groups.is_empty() && is_all {
                p.empty { "No message group has anything to do, and none is held back." }
            } @else if page.message_groups.is_empty() {
                (nothing("message group", None))
            } @else {
                ul.rows { @for group in &page.message_groups { (row(group)) } }
            }
            @if let Some(next) = &page.next {
                p { a.button href=(listed(wanted, &wanted.held, Some(next))) { "More message groups" } }
            }
        }
    }
}

fn search(wanted: &Wanted) -> Markup {
    html! {
        form.fields method="get" action="/message-groups" role="search" aria-label="Find message groups" {
            @if !wanted.held.is_empty() { input type="hidden" name="held" value=(wanted.held); }
            div { label for="name" { "Name, or how it begins" } input #name name="name" type="search" value=(wanted.name) autocomplete="off"; }
            button.button.strong type="submit" { "Find" }
        }
    }
}

fn chip(word: &str, held: &str, wanted: &Wanted) -> Markup {
    let is_chosen = wanted.held == held;
    html! {
        a.chip.(if is_chosen { "chosen" } else { "open" }) href=(listed(wanted, held, None)) aria-current=[is_chosen.then_some("true")] { (word) }
    }
}

fn row(group: &MessageGroupView) -> Markup {
    html! {
        li {
            a href=(message_group(&group.message_group)) {
                span.state.(tone(&group.state)) { (group.state) }
                span.what { b { (group.message_group) } }
                span.aside { (standing(group)) }
                @for hold in &group.holds { span.held.(hold_tone(hold)) { (held(hold)) } }
            }
        }
    }
}

/// Which colour the state of a message group has.
pub fn tone(state: &str) -> &'static str {
    match state {
        "running" => "cyan",
        "paused" => "orange",
        "blocked" => "red",
        _ => "",
    }
}

pub fn hold_tone(hold: &HoldView) -> &'static str {
    if hold.blocked_by.is_some() { "red" } else { "orange" }
}

/// How many steps of it there are, and how they are done.
pub fn standing(group: &MessageGroupView) -> String {
    let in_line = match group.waiting {
        COUNTED.. => format!("{}+ in line", number(COUNTED as i64)),
        n => format!("{n} in line"),
    };
    let flies = if group.in_flight { "1 in flight" } else { "none in flight" };
    let mode = group.mode.as_ref().map(|mode| format!(" · {}", mode.replace('_', " "))).unwrap_or_default();
    format!("{in_line} · {flies}{mode} · {}", group.dispatch_group)
}

/// What holds a message group back, since when, by whom and why.
pub fn held(hold: &HoldView) -> String {
    let since = clock(&hold.at);
    let why = hold.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    match (&hold.blocked_by, &hold.by) {
        // Here the reason of a step is why.
        (Some(step), _) => {
            format!("Blocked since {since} by step {step}, which failed{}", why.replace('_', " "))
        }
        (None, Some(by)) => format!("Paused since {since} by {by}{why}"),
        (None, None) => format!("Paused since {since}{why}"),
    }
}
