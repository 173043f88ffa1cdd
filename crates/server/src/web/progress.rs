//! What is half done: workflows, trees of steps and flows of which something is done and something is not, and those that failed.

use super::address::query;
use super::layout::{Frame, lost, page as framed, tone};
use crate::answers;
use crate::api::WantedProgress as Wanted;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Params;
use crate::words::clock;
use axum::extract::State;
use maud::{Markup, html};
use std::sync::Arc;
use wire::{PartView, ProgressPage, ProgressShow};

/// Names that are listed of each kind.
const NAMED: usize = 8;

pub async fn page(State(app): State<Arc<App>>, Params(wanted): Params<Wanted>) -> Result<Markup, ApiError> {
    let ((after, limit), now) = (wanted.page()?, app.now());
    let page = app.read(move |browse| answers::half_done(browse, after, limit, now)).await?;
    let frame = Frame {
        title: "Half done",
        version: app.site.version,
        host: &app.site.host,
        script: None,
        controls: html! {},
    };
    Ok(framed(frame, render(&page)))
}

fn render(page: &ProgressPage) -> Markup {
    html! {
        h1 { "Half done" }
        (lost())
        p.aside { "Begun and not over, or failed; the oldest first." }
        div data-live="half-done" {
            @if page.half_done.is_empty() {
                p.empty { "Nothing is half done." }
            } @else {
                ul.rows { @for one in &page.half_done { (row(one)) } }
            }
            @if let Some(next) = &page.next {
                p { a.button href=(query("/progress", &[("after", next.clone())])) { "Younger ones" } }
            }
        }
    }
}

fn row(one: &ProgressShow) -> Markup {
    html! {
        li {
            a href=(address(one)) {
                span.state.(tone(&one.state)) { (one.state) }
                span.what { b { (one.name) } @if let Some(entity) = &one.entity { " " (entity) } " " span.badge { (one.kind) } }
                span.aside title=(clock(&one.since)) { (one.percent) " % · since " (clock(&one.since)) }
                span.held.(tone(&one.state)) { (one.sentence) }
                span.aside { (parts(one)) }
            }
        }
    }
}

fn address(one: &ProgressShow) -> String {
    match one.kind.as_str() {
        "workflow" => format!("/workflows/{}", one.id),
        "flow" => format!("/flows/{}", one.id),
        _ => format!("/step-dispatcher/steps/{}", one.id),
    }
}

/// Which of its parts are where.
fn parts(one: &ProgressShow) -> String {
    let kinds = [("done", &one.completed), ("failed", &one.failed), ("left", &one.pending)];
    let told = kinds.into_iter().filter(|(_, parts)| !parts.is_empty());
    told.map(|(word, parts)| format!("{word}: {}", names(parts))).collect::<Vec<_>>().join(" · ")
}

fn names(parts: &[PartView]) -> String {
    let mut names: Vec<&str> = parts.iter().take(NAMED).map(|part| part.name.as_str()).collect();
    if parts.len() > NAMED {
        names.push("…");
    }
    names.join(", ")
}
