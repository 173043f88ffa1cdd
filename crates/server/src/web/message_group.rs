//! One message group: what holds it back, its line, and what can be done about it.

use super::address::escaped;
use super::layout::{Frame, lost, page as framed};
use super::message_groups::{held, hold_tone, standing, tone};
use super::steps::row;
use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Path;
use axum::extract::State;
use engine::{GroupVerb, possible};
use maud::{Markup, html};
use model::Right;
use std::sync::Arc;
use store::Browse;
use wire::{HoldView, MessageGroupShow};

/// Steps of a line that are shown.
const SHOWN: usize = 50;

pub async fn page(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Markup, ApiError> {
    let named = name.clone();
    let read = move |browse: &Browse| {
        let group = browse.message_group(&named)?;
        Ok((answers::message_group(browse, &named, SHOWN)?, possible::for_message_group(group.as_ref())))
    };
    let (found, doable) = app.read(read).await?;
    let may_operate = caller.must(Right::Operate).is_ok();
    let frame = Frame {
        title: &name,
        version: app.site.version,
        host: &app.site.host,
        script: may_operate.then_some("message-group.js"),
        controls: html! {},
    };
    let doable = if may_operate { doable } else { Vec::new() };
    Ok(framed(frame, render(&name, found.as_ref(), &doable)))
}

fn render(name: &str, found: Option<&MessageGroupShow>, doable: &[GroupVerb]) -> Markup {
    let state = found.map_or("idle", |shown| shown.group.state.as_str());
    html! {
        (lost())
        div data-live="head" {
            h1 { (name) " " span.state.(tone(state)) { (state) } }
            p.aside.id { @if let Some(shown) = found { (standing(&shown.group)) } @else { "Nothing of it waits or runs, and nothing holds it back." } }
            @if let Some(shown) = found {
                @if !shown.group.holds.is_empty() { (holds(&shown.group.holds)) }
            }
        }
        @if !doable.is_empty() { (verbs(name, doable)) }
        div data-live="line" { @if let Some(shown) = found { (line(shown)) } }
        p { a href="/message-groups" { "All message groups" } }
    }
}

fn holds(rows: &[HoldView]) -> Markup {
    html! {
        section aria-label="What holds it back" {
            h2 { "What holds it back" }
            @for hold in rows {
                p.held.(hold_tone(hold)) {
                    (held(hold))
                    @if let Some(step) = &hold.blocked_by { " " a href={ "/step-dispatcher/steps/" (step) } { "See the step" } }
                }
            }
        }
    }
}

/// What a verb is called and does.
fn about(verb: GroupVerb) -> (&'static str, &'static str) {
    match verb {
        GroupVerb::Pause => ("Pause", "Start nothing of it until it is resumed; what runs goes on."),
        GroupVerb::Resume => ("Resume", "Go on after the pause."),
        GroupVerb::SkipHead => {
            ("Skip head", "Pass over the first: one that failed is forgiven, any other is skipped.")
        }
        GroupVerb::Requeue => ("Requeue", "Make what failed anew, in the place it had."),
        GroupVerb::Ignore => ("Ignore", "Let what failed hold nobody back any more; its state stays."),
        GroupVerb::Cancel => {
            ("Cancel", "Cancel everything that stands in line or runs, and forgive what failed.")
        }
        GroupVerb::Unblock => ("Unblock", "Let nothing hold it back, neither a pause nor what failed."),
    }
}

/// What would become of the group, where no step would change.
fn would(verb: GroupVerb) -> Option<&'static str> {
    match verb {
        GroupVerb::Pause => {
            Some("It would be paused: nothing of it would start until it is resumed, and what runs goes on.")
        }
        GroupVerb::Resume => Some("Its pause would end, and the first in line could start."),
        _ => None,
    }
}

/// It is refused without a reason.
fn needs_why(verb: GroupVerb) -> bool {
    matches!(verb, GroupVerb::Cancel | GroupVerb::SkipHead | GroupVerb::Ignore)
}

fn verbs(name: &str, doable: &[GroupVerb]) -> Markup {
    html! {
        section #verbs aria-label="What can be done" data-at={ "/v1/message-groups/" (escaped(name)) } {
            h2 { "What can be done" }
            noscript { p.notice { "Without JavaScript nothing can be done here; use " code { "stepfast message-groups" } "." } }
            div.because {
                label for="why" { "Why, for the record" }
                input #why type="text" maxlength="1000" autocomplete="off";
            }
            div data-live="verbs" {
                ul.rows.verbs {
                    @for verb in doable {
                        @let (title, does) = about(*verb);
                        li { button.button type="button" data-verb=(verb.word()) data-asks data-would=[would(*verb)] data-needs-why[needs_why(*verb)] { (title) } span.aside { (does) } }
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

fn line(shown: &MessageGroupShow) -> Markup {
    let all = shown.group.waiting + usize::from(shown.group.in_flight);
    html! {
        section aria-label="Line" {
            h2 { "Line" }
            @if shown.queue.is_empty() {
                p.empty { "No step of it waits or runs." }
            } @else {
                ul.rows { @for step in &shown.queue { (row(step)) } }
            }
            @if all > shown.queue.len() { p.aside { "The first " (shown.queue.len()) " are shown." } }
        }
    }
}
