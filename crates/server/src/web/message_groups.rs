//! Message groups as a list: those with something to do, and those that are held back.

use super::address::{message_group, query};
use super::layout::{Frame, lost, page as framed};
use crate::answers;
use crate::api::WantedGroups;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Params, page_size};
use crate::words::{clock, number};
use axum::extract::State;
use maud::{Markup, html};
use std::sync::Arc;
use wire::{HoldView, MessageGroupPage, MessageGroupView};

/// So many steps of a line are counted.
const COUNTED: usize = 1_000;

pub async fn page(
    State(app): State<Arc<App>>,
    Params(wanted): Params<WantedGroups>,
) -> Result<Markup, ApiError> {
    let limit = page_size(wanted.limit)?;
    let after = wanted.after.clone().unwrap_or_default();
    let page = app.read(move |browse| answers::message_groups(browse, &after, limit)).await?;
    let frame = Frame {
        title: "Message groups",
        version: app.site.version,
        host: &app.site.host,
        script: None,
        controls: html! {},
    };
    Ok(framed(frame, render(&page, &wanted)))
}

fn render(page: &MessageGroupPage, wanted: &WantedGroups) -> Markup {
    html! {
        h1 { "Message groups" }
        (lost())
        div data-live="message-groups" {
            @if page.message_groups.is_empty() {
                p.empty { "No message group has anything to do, and none is held back." }
            } @else {
                ul.rows { @for group in &page.message_groups { (row(group)) } }
            }
            @if let Some(next) = &page.next {
                p { a.button href=(following(next, wanted.limit)) { "More message groups" } }
            }
        }
    }
}

fn following(next: &str, limit: Option<usize>) -> String {
    let limit = limit.map(|limit| ("limit", limit.to_string()));
    let pairs: Vec<_> = [Some(("after", next.to_string())), limit].into_iter().flatten().collect();
    query("/message-groups", &pairs)
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
