//! What people did, newest first: who, what, to which thing, why, and what it was before and after.

use super::address::query;
use super::layout::plain;
use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Params, page_size};
use crate::words::clock;
use axum::extract::State;
use maud::{Markup, html};
use model::limits;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use wire::AuditView;

/// Characters of what something was before and after.
const STATE_SHOWN: usize = 200;

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    limit: Option<usize>,
}

pub async fn page(State(app): State<Arc<App>>, Params(wanted): Params<Wanted>) -> Result<Markup, ApiError> {
    let limit = page_size(wanted.limit)?;
    let rows = app.read(move |browse| answers::audit(browse, None, limit)).await?.audit;
    Ok(plain(&app, "Audit", None, render(&rows, limit)))
}

fn render(rows: &[AuditView], limit: usize) -> Markup {
    // The list is read from its newest end, so a longer one is the same and more.
    let more = (rows.len() == limit && limit < limits::PAGE_ROWS_MAX)
        .then(|| (limit * 4).min(limits::PAGE_ROWS_MAX));
    html! {
        h1 { "Audit" }
        p.aside { "Whoever changed something by hand, from a page, the command line or the API." }
        @if rows.is_empty() { p.empty { "Nobody has changed anything by hand yet." } }
        @else { ol.rows { @for row in rows { (line(row)) } } }
        @if let Some(more) = more { p { a.button href=(query("/audit", &[("limit", more.to_string())])) { "Show " (more) } } }
        @else if rows.len() == limits::PAGE_ROWS_MAX { p.aside { "The last " (rows.len()) " are shown; the table " code { "audit" } " has all of them." } }
    }
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
