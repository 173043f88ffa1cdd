//! What people did, newest first: who, what, to which thing, why, and what it was before and after. All of it, or what is asked for.

use super::address::query;
use super::layout::{lost, nothing, plain};
use crate::answers;
use crate::api::WantedAudit as Wanted;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Params;
use crate::words::clock;
use axum::extract::State;
use maud::{Markup, html};
use std::sync::Arc;
use wire::{AuditPage, AuditView};

/// Characters of what something was before and after.
const STATE_SHOWN: usize = 200;

pub async fn page(State(app): State<Arc<App>>, Params(wanted): Params<Wanted>) -> Result<Markup, ApiError> {
    let wanted = wanted.without_empty();
    let filter = wanted.filter()?;
    let page = app.read(move |browse| answers::audit(browse, &filter)).await?;
    Ok(plain(&app, "Audit", None, render(&page, &wanted)))
}

fn render(page: &AuditPage, wanted: &Wanted) -> Markup {
    let older = |next: &String| address(Wanted { after: Some(next.clone()), ..wanted.clone() });
    html! {
        h1 { "Audit" }
        p.aside { "Whoever changed something by hand, from a page, the command line or the API." }
        (lost())
        (search(wanted))
        div data-live="audit" {
            @if page.audit.is_empty() && !is_chosen(wanted) { p.empty { "Nobody has changed anything by hand yet." } }
            @else if page.audit.is_empty() { (nothing("change", page.next.as_ref())) }
            @else { ol.rows { @for row in &page.audit { (line(row)) } } }
            @if let Some(next) = &page.next { p { a.button href=(older(next)) { "Older changes" } } }
        }
    }
}

fn address(wanted: Wanted) -> String {
    query("/audit", &wanted.pairs())
}

fn is_chosen(wanted: &Wanted) -> bool {
    let Wanted { who, verb, target, from, to, .. } = wanted;
    [who, verb, target, from, to].into_iter().any(Option::is_some)
}

fn search(wanted: &Wanted) -> Markup {
    let fields = [
        ("who", "Who", &wanted.who),
        ("verb", "Did what, such as cancel", &wanted.verb),
        ("target", "To what: an id, or as pool api", &wanted.target),
        ("from", "From, such as 2027-01-15T08:00:00Z", &wanted.from),
        ("to", "Before", &wanted.to),
    ];
    html! {
        form.fields method="get" action="/audit" role="search" aria-label="Find changes" {
            @for (name, label, value) in fields {
                div { label for=(name) { (label) } input #(name) name=(name) type="search" value=[value.as_deref()] autocomplete="off"; }
            }
            button.button.strong type="submit" { "Find" }
            @if is_chosen(wanted) { a.button href="/audit" { "All changes" } }
        }
    }
}

fn line(row: &AuditView) -> Markup {
    let said = |text: &str| Some(text.to_string());
    let by = Wanted { who: said(actor(&row.who)), ..Wanted::default() };
    let alike = Wanted { verb: said(&row.verb), ..Wanted::default() };
    let about = Wanted { target: said(thing(&row.target)), ..Wanted::default() };
    html! {
        li.attempt {
            span {
                b { a href=(address(alike)) { (row.verb) } } " " (target(&row.target)) " "
                a.aside href=(address(about)) aria-label={ "all of this: " (thing(&row.target)) } { "all of this" }
            }
            span.aside { a href=(address(by)) { (row.who) } " · " (clock(&row.at)) }
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

/// Whoever it was, without from where.
fn actor(who: &str) -> &str {
    who.rsplit_once(" from ").map_or(who, |(who, _)| who)
}

/// The thing, without the trigger of a workflow and the name behind an id.
fn thing(target: &str) -> &str {
    let end = match target.split_once(' ') {
        Some(("workflow", _)) => " `",
        Some(("key" | "subscription", _)) => " (",
        _ => return target,
    };
    target.split_once(end).map_or(target, |(thing, _)| thing)
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

    #[test]
    fn a_row_leads_to_what_is_like_it() {
        let row = AuditView {
            at: "2027-01-15T08:00:00.000000Z".into(),
            who: "ada (key k7) from 10.0.0.5".into(),
            verb: "trigger".into(),
            target: "workflow 8 `ok`".into(),
            why: None,
            before: None,
            after: None,
        };
        let html = line(&row).into_string();
        for link in ["who=ada%20%28key%20k7%29\"", "verb=trigger\"", "target=workflow%208\""] {
            assert!(html.contains(&format!("href=\"/audit?{link}")), "{link}: {html}");
        }
        let things = ["key k7 (ada)", "subscription 7 (crm)", "pool api (old)", "breaker"].map(thing);
        assert_eq!(things, ["key k7", "subscription 7", "pool api (old)", "breaker"]);
        assert_eq!(["loopback", "nobody from ::1"].map(actor), ["loopback", "nobody"]);
    }
}
