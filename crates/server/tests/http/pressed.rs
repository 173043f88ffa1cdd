//! Every button and form of every page is pressed by a test: one that is new and that nobody presses is missed here.

use crate::every_button::{OF_ALERTS, OF_FLOWS, OF_GROUPS, OF_STEPS, OF_WORKFLOWS};
use crate::showcase::{Showcase, everything};
use crate::states;
use std::collections::BTreeSet;

const EVERY_BUTTON: &str = include_str!("every_button.rs");
const BUTTONS: &str = include_str!("buttons.rs");
const BULK: &str = include_str!("bulk_page.rs");
const OVERVIEW: &str = include_str!("overview.rs");
const EVERY_PAGE: &str = include_str!("every_page.rs");

/// What has no verb, the tests in which it is pressed, and the words there that do it.
const PRESSED: [(&str, &str, &str); 36] = [
    ("#switch", OVERVIEW, "press(&mut browser, \"switch\")"),
    ("#off-do", OVERVIEW, "press(&mut browser, \"off-do\")"),
    ("#off-leave", EVERY_BUTTON, "desk.click(\"#off-leave\")"),
    ("#keys-open", EVERY_BUTTON, "desk.click(\"#keys-open\")"),
    ("#keys-close", EVERY_PAGE, "getElementById('keys-close').click()"),
    ("#sure-do", BUTTONS, "getElementById('sure-do').click()"),
    ("#sure-leave", BUTTONS, "getElementById('sure-leave').click()"),
    ("steps #do", EVERY_BUTTON, "self.click(\"#do\")"),
    ("workflows #do", EVERY_BUTTON, "self.click(\"#do\")"),
    ("message-groups #do", EVERY_BUTTON, "self.click(\"#do\")"),
    ("flows #do", EVERY_BUTTON, "self.click(\"#do\")"),
    ("bulk #do", BULK, "press(&mut browser, \"#do\")"),
    ("steps #leave", EVERY_BUTTON, "(format!(\"/step-dispatcher/steps/{step}\"), \"cancel\")"),
    ("workflows #leave", EVERY_BUTTON, "(format!(\"/workflows/{workflow}\"), \"cancel\")"),
    ("message-groups #leave", EVERY_BUTTON, "(\"/message-groups/waits\".to_string(), \"pause\")"),
    ("flows #leave", EVERY_BUTTON, "(format!(\"/flows/{flow}\"), \"cancel\")"),
    ("bulk #leave", EVERY_BUTTON, "desk.leave_it()"),
    ("/v1/breaker", EVERY_BUTTON, "desk.click(\"[data-row=everywhere] button\")"),
    ("/v1/breaker of a group", BUTTONS, "button[data-body*='\"beta\"']"),
    ("/v1/stuck/auto", BUTTONS, "button[data-post='/v1/stuck/auto']"),
    ("/v1/keys/*/revoke", BUTTONS, "button[data-post$=revoke]"),
    ("/v1/pools/*/remove", BUTTONS, "button[data-post$=remove]"),
    ("/v1/bulk/*/cancel", BULK, "button[data-post$=cancel]"),
    ("form /v1/keys", BUTTONS, "(\"scope\", \"slow, mail\")"),
    ("form /v1/pools", BUTTONS, "(\"burst\", \"2\")"),
    ("form #order", BULK, "press(&mut browser, \"#order button\")"),
    ("form /step-dispatcher/steps", EVERY_BUTTON, "(steps, \"action\", \"ghost\""),
    ("form /workflows", EVERY_BUTTON, "(\"/workflows\", \"workflow\", \"undoable\""),
    ("form /message-groups", EVERY_BUTTON, "desk.fill(\"name\", \"north-\")"),
    ("form /executions", EVERY_BUTTON, "desk.look_at(\"/executions\")"),
    ("form /definitions/*", EVERY_BUTTON, "desk.fill(\"against\", \"1.0.0\")"),
    ("form /audit", EVERY_BUTTON, "desk.look_at(\"/audit\")"),
    ("form /waiting/*", BUTTONS, "form.answer button"),
    ("form /approve/*", EVERY_PAGE, "form.answer button"),
    ("form /sign-in", EVERY_BUTTON, "form.sign-in button"),
    ("form /sign-out", EVERY_BUTTON, "\"Signed in\""),
];

/// The tags of a name, each with its attributes as they are written.
fn tags<'h>(html: &'h str, name: &str) -> Vec<&'h str> {
    let begins = format!("<{name}");
    let tags = html.split(begins.as_str()).skip(1).filter(|rest| rest.starts_with([' ', '>']));
    tags.filter_map(|rest| rest.split('>').next()).collect()
}

fn value<'t>(tag: &'t str, attribute: &str) -> Option<&'t str> {
    tag.split_once(&format!(" {attribute}=\""))?.1.split('"').next()
}

/// The kind of a page: its list.
fn kind(path: &str) -> &str {
    let path = path.strip_prefix("/step-dispatcher").filter(|rest| !rest.is_empty()).unwrap_or(path);
    path.trim_start_matches('/').split(['/', '?']).next().unwrap_or_default()
}

/// A call of the API without what it is about.
fn call(path: &str) -> String {
    match path.split('/').collect::<Vec<_>>()[..] {
        ["", "v1", of, _, verb] => format!("/v1/{of}/*/{verb}"),
        _ => path.into(),
    }
}

/// What a button does, where it stands; none where its form says it.
fn button(page: &str, tag: &str) -> Option<String> {
    if let Some(verb) = value(tag, "data-verb") {
        return Some(format!("{} {verb}", kind(page)));
    }
    if let Some(path) = value(tag, "data-post") {
        let of_group = value(tag, "data-body").is_some_and(|body| body.contains("dispatch_group"));
        return Some(call(path) + if of_group { " of a group" } else { "" });
    }
    let id = value(tag, "id")?;
    let stands_often = ["do", "leave"].contains(&id);
    Some(if stands_often { format!("{} #{id}", kind(page)) } else { format!("#{id}") })
}

fn form(tag: &str) -> String {
    let to = |path: &str| match path.trim_start_matches('/').split_once('/') {
        Some((first @ ("definitions" | "waiting" | "approve"), _)) => format!("/{first}/*"),
        _ => path.to_string(),
    };
    let id = value(tag, "id").map(|id| format!("#{id}"));
    let sent = || value(tag, "data-post").or_else(|| value(tag, "action")).map(to);
    format!("form {}", id.or_else(sent).unwrap_or_default())
}

/// What tests press, with the verbs from their tables.
fn pressed() -> BTreeSet<String> {
    let verbs = |kind: &'static str, verbs: Vec<&'static str>| {
        verbs.into_iter().map(move |verb| format!("{kind} {verb}"))
    };
    let mut all: BTreeSet<String> = PRESSED.iter().map(|(key, ..)| key.to_string()).collect();
    all.extend(verbs("workflows", OF_WORKFLOWS.map(|row| row.2).to_vec()));
    all.extend(verbs("steps", OF_STEPS.map(|row| row.0).to_vec()));
    // The step that was failed by hand is retried.
    all.extend(verbs("steps", vec!["retry"]));
    all.extend(verbs("message-groups", OF_GROUPS.map(|row| row.1).to_vec()));
    all.extend(verbs("alerts", OF_ALERTS.map(|row| row.0).to_vec()));
    all.extend(verbs("flows", OF_FLOWS.map(|row| row.0).to_vec()));
    all
}

#[tokio::test]
async fn every_button_and_form_of_every_page_is_pressed_by_a_test() {
    let Showcase { place, mut pages, .. } = everything().await;
    place.post("/v1/breaker", r#"{"off": false}"#).await.ok();
    // Groups in every state are on pages of their own.
    pages.extend(states::message_groups(&place).await.iter().map(|name| format!("/message-groups/{name}")));
    let mut found = BTreeSet::new();
    for path in &pages {
        let page = place.get(path).await;
        found.extend(tags(page.text(), "button").into_iter().filter_map(|tag| button(path, tag)));
        found.extend(tags(page.text(), "form").into_iter().map(form));
    }
    let pressed = pressed();
    let missed: Vec<&String> = found.difference(&pressed).collect();
    assert!(missed.is_empty(), "no test presses these: {missed:#?}");
    assert!(found.len() > 40, "{} were found: {found:?}", found.len());
    place.close().await;
}

#[test]
fn whatever_is_said_to_be_pressed_is() {
    let gone = PRESSED.iter().filter(|(_, test, words)| !test.contains(words));
    let gone: Vec<&str> = gone.map(|(key, ..)| *key).collect();
    assert!(gone.is_empty(), "the test that pressed them does not: {gone:?}");
}

#[test]
fn a_button_is_known_by_what_it_does_and_where_it_stands() {
    let html = "<buttonless><button class=\"button\" data-verb=\"cancel\" data-asks>Cancel</button><button type=\"submit\">Find</button>
        <button id=\"do\">Yes</button><button data-post=\"/v1/pools/a%2Fb/remove\" data-body=\"{}\">Remove</button>
        <button data-post=\"/v1/breaker\" data-body=\"{&quot;dispatch_group&quot;:&quot;beta&quot;}\">Off</button>";
    let of = |page| -> Vec<String> {
        tags(html, "button").into_iter().filter_map(|tag| button(page, tag)).collect()
    };
    let posts = ["/v1/pools/*/remove", "/v1/breaker of a group"];
    assert_eq!(of("/step-dispatcher/steps/7"), [&["steps cancel", "steps #do"][..], &posts].concat());
    assert_eq!(of("/workflows?state=failed")[..2], ["workflows cancel", "workflows #do"]);
    assert_eq!(kind("/step-dispatcher"), "step-dispatcher");
    assert_eq!(form(" class=\"answer\" method=\"post\" action=\"/waiting/7/approve\""), "form /waiting/*");
    assert_eq!(form(" id=\"order\" data-what=\"steps\""), "form #order");
}
