//! What people did, newest first: who, what, to which thing, why, and what it was before and after.

use super::address::query;
use super::layout::{lost, plain};
use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Params, page_size};
use crate::pages::{Wanted, place};
use crate::words::clock;
use axum::extract::State;
use maud::{Markup, html};
use std::sync::Arc;
use wire::{AuditPage, AuditView};

/// Characters of what something was before and after.
const STATE_SHOWN: usize = 200;

pub async fn page(State(app): State<Arc<App>>, Params(wanted): Params<Wanted>) -> Result<Markup, ApiError> {
    let (limit, after) = (page_size(wanted.limit)?, place(wanted.after.as_deref())?);
    let page = app.read(move |browse| answers::audit(browse, after, limit)).await?;
    Ok(plain(&app, "Audit", None, render(&page, wanted.limit)))
}

fn render(page: &AuditPage, limit: Option<usize>) -> Markup {
    html! {
        h1 { "Audit" }
        p.aside { "Whoever changed something by hand, from a page, the command line or the API." }
        (lost())
        div data-live="audit" {
            @if page.audit.is_empty() { p.empty { "Nobody has changed anything by hand yet." } }
            @else { ol.rows { @for row in &page.audit { (line(row)) } } }
            @if let Some(next) = &page.next { p { a.button href=(older(next, limit)) { "Older changes" } } }
        }
    }
}

fn older(next: &str, limit: Option<usize>) -> String {
    let limit = limit.map(|limit| ("limit", limit.to_string()));
    let pairs: Vec<_> = [Some(("after", next.to_string())), limit].into_iter().flatten().collect();
    query("/audit", &pairs)
}

fn line(row: &AuditView) -> Markup {
    html! {
        li.attempt {
            span { b { (row.verb) } " " (target(&row.target)) }
            span.aside { (row.who) " · " (clock(&row.at)) }
            @if let Some(why) = &row.why { span.payload { "“" (why) "”" } }
            @if row.before.is_some() || row.after.is_some() {
                span.payload.mono { (short(row.before.as_deref())) " → " (short(row.after.as_deref())) }
            }
        }
    }
}

/// What it was, as far as one reads it in a list.
fn short(text: Option<&str>) -> String {
    let text = text.unwrap_or("nothing");
    match text.char_indices().nth(STATE_SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into(),
    }
}

/// What it was done to, and a way there where it has a page.
fn target(text: &str) -> Markup {
    let page =
        |path: &str, rest: &str| rest.split(' ').next().map(|id| format!("{path}/{}", super::escaped(id)));
    let path = match text.split_once(' ') {
        Some(("step", rest)) => page("/step-dispatcher/steps", rest),
        Some(("workflow", rest)) => page("/workflows", rest),
        Some(("alert", rest)) => page("/alerts", rest),
        Some(("flow", rest)) => page("/flows", rest),
        Some(("message", rest)) => rest.strip_prefix("group ").map(super::address::message_group),
        _ => None,
    };
    html! { @match path { Some(path) => a href=(path) { (text) }, None => (text) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_a_step_away() {
        let cases = [
            ("step 7", "href=\"/step-dispatcher/steps/7\""),
            ("workflow 8", "href=\"/workflows/8\""),
            ("workflow 8 `ok`", "href=\"/workflows/8\""),
            ("message group a/7", "href=\"/message-groups/a%2F7\""),
            ("alert 3", "href=\"/alerts/3\""),
        ];
        for (text, link) in cases {
            assert!(target(text).into_string().contains(link), "{text}");
        }
        assert_eq!(target("pool <b>").into_string(), "pool &lt;b&gt;");
        assert_eq!((short(None), short(Some("on"))), ("nothing".into(), "on".into()));
        assert_eq!(short(Some(&"ü".repeat(300))).chars().count(), 201);
    }
}
