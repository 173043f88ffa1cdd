//! The form for a bulk operation: which ones are meant, and what is done to each, previewed before it is run.

use super::address::query;
use crate::bulk::What;
use crate::codes;
use crate::describe::{Asks, Operation};
use crate::error::ApiError;
use crate::pages::place;
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use engine::{Verb, WorkflowVerb};
use maud::{Markup, html};
use model::{State, WorkflowId, WorkflowState};
use schemars::JsonSchema;

const NAMES: &str = "what, state, action, queue, dispatch_group, step_key, relatable_type, relatable_id, block_id, workflow_id, \
                     message_group, pool, workflow, version, label, from, to, quiet_since, after";

/// The same by name, for the description of the API.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is read by its names alone")]
struct Named {
    /// What the form is for: `steps` (usual) or `workflows`.
    what: Option<String>,
    /// What the form says at first: one state or more, with commas between them.
    state: Option<String>,
    action: Option<String>,
    queue: Option<String>,
    dispatch_group: Option<String>,
    step_key: Option<String>,
    relatable_type: Option<String>,
    relatable_id: Option<String>,
    block_id: Option<String>,
    workflow_id: Option<String>,
    message_group: Option<String>,
    pool: Option<String>,
    workflow: Option<String>,
    version: Option<String>,
    /// As `name:value`.
    #[schemars(default)]
    label: Vec<String>,
    from: Option<String>,
    to: Option<String>,
    quiet_since: Option<String>,
    /// `next` of the page before.
    after: Option<String>,
}

impl Asks for Wanted {
    fn ask(about: &mut Operation) {
        about.fields::<Named>("query");
        about.refuses(codes::BAD_REQUEST);
    }
}

/// What the form says at first, as it was written; `label` may be said more than once.
pub struct Wanted {
    pairs: Vec<(String, String)>,
}

impl<S: Send + Sync> FromRequestParts<S> for Wanted {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let read = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let Query(pairs) = read.map_err(|refused| ApiError::BadRequest(refused.body_text()))?;
        let strange = pairs.iter().find(|(name, _)| NAMES.split(", ").all(|known| known != name));
        match strange {
            Some((name, _)) => {
                Err(ApiError::BadRequest(format!("`{name}` is not a parameter; these are: {NAMES}")))
            }
            None => Ok(Wanted { pairs }),
        }
    }
}

impl Wanted {
    fn said(&self, name: &str) -> &str {
        self.pairs.iter().find(|(said, _)| said == name).map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    pub fn after(&self) -> Result<Option<WorkflowId>, ApiError> {
        place(Some(self.said("after")).filter(|after| !after.is_empty()))
    }
}

/// The way to the form, with what a list was asked for; none where the form cannot say the same.
pub fn address(what: &str, pairs: impl IntoIterator<Item = (String, String)>) -> Option<String> {
    let mut said = vec![("what", what.to_string())];
    for (name, value) in pairs {
        match NAMES.split(", ").find(|known| *known == name) {
            Some("what" | "after") => {}
            Some(known) => said.push((known, value)),
            // How much of a list is shown is no part of what is meant, and what runs inside of another never is.
            None if name == "limit" || name == "nested" => {}
            None => return None,
        }
    }
    Some(query("/bulk", &said))
}

/// Beside a list.
pub fn all_of_these(address: &str) -> Markup {
    html! { p.aside { a href=(address) { "All of these…" } " Do the same to each." } }
}

/// A text that is asked for: its name over HTTP, and as people read it.
type Field = (&'static str, &'static str);

const OF_STEPS: [Field; 10] = [
    ("action", "Action"),
    ("queue", "Queue"),
    ("dispatch_group", "Dispatch group"),
    ("step_key", "Key"),
    ("relatable_type", "About what kind"),
    ("relatable_id", "About which"),
    ("message_group", "Message group"),
    ("pool", "Pool"),
    ("workflow_id", "Id of a workflow"),
    ("block_id", "Id of a block"),
];
const OF_WORKFLOWS: [Field; 5] = [
    ("workflow", "Definition"),
    ("version", "Version"),
    ("from", "Made from"),
    ("to", "Made before"),
    ("quiet_since", "Quiet since"),
];

pub fn section(wanted: &Wanted) -> Markup {
    let (of, what, fields): (What, &str, &[Field]) = match wanted.said("what") {
        "workflows" => (What::Workflows, "workflows", &OF_WORKFLOWS),
        _ => (What::Steps, "steps", &OF_STEPS),
    };
    html! {
        section aria-labelledby="order-title" {
            h2 #order-title { "The same for many " (what) }
            p.aside { "How many are meant is counted, and what would become of a few is tried; nothing is done before you say so." }
            noscript { p.notice { "Without JavaScript nothing can be done here; use " code { "stepfast bulk run" } "." } }
            nav.chips aria-label="What" { (chip("steps", what)) (chip("workflows", what)) }
            form #order .fields data-what=(what) {
                div { label for="state" { "State" } (states(wanted.said("state"), of)) }
                @for (name, words) in fields { (text(name, words, wanted.said(name))) }
                @if of == What::Workflows { (labels(wanted)) }
                div { label for="verb" { "What is done" } select #verb name="verb" { @for verb in verbs(of) { option value=(verb) { (verb.replace('_', " ")) } } } }
                div { label for="per_second" { "At most in a second" } input #per_second name="per_second" type="number" min="0.01" max="10000" step="any"; }
                div.broad { label for="why" { "Why, for the record" } input #why name="why" type="text" maxlength="1000" autocomplete="off"; }
                button.button.strong type="submit" { "Preview" }
            }
            p #told .notice.lost role="alert" hidden {}
            div #sure .notice hidden {
                p #would tabindex="-1" {}
                ul #sample .why {}
                button #do .button.strong type="button" aria-describedby="would" { "Yes" } " "
                button #leave .button type="button" { "Leave it as it is" }
            }
        }
    }
}

fn chip(one: &str, chosen: &str) -> Markup {
    let is_chosen = one == chosen;
    let href = query("/bulk", &[("what", one.to_string())]);
    html! { a.chip.(if is_chosen { "chosen" } else { "open" }) href=(href) aria-current=[is_chosen.then_some("true")] { (one) } }
}

fn text(name: &str, words: &str, said: &str) -> Markup {
    let like = matches!(name, "from" | "to" | "quiet_since").then_some("2027-01-15T08:00:00Z");
    html! { div { label for=(name) { (words) } input id=(name) name=(name) type="text" data-filter="text" value=(said) placeholder=[like] autocomplete="off"; } }
}

/// Each state, and what was asked for where that is several.
fn states(said: &str, of: What) -> Markup {
    let words: Vec<&str> = match of {
        What::Workflows => WorkflowState::ALL.iter().map(|state| state.word()).collect(),
        What::Steps => State::ALL.iter().map(|state| state.word()).collect(),
    };
    html! {
        select #state name="state" data-filter="list" {
            option value="" { "any" }
            @if !said.is_empty() && !words.contains(&said) { option value=(said) selected { (said.replace(',', ", ")) } }
            @for word in &words { option value=(word) selected[*word == said] { (word.replace('_', " ")) } }
        }
    }
}

/// As many as were asked for, and one where none was.
fn labels(wanted: &Wanted) -> Markup {
    let said = wanted.pairs.iter().filter(|(name, _)| name == "label").map(|(_, value)| value.as_str());
    let mut said: Vec<&str> = said.collect();
    if said.is_empty() {
        said.push("");
    }
    html! {
        @for (n, value) in said.into_iter().enumerate() {
            @let id = format!("label-{n}");
            div { label for=(id) { "Label, as name:value" } input id=(id) name="label" type="text" data-filter="label" value=(value) autocomplete="off"; }
        }
    }
}

fn verbs(of: What) -> Vec<&'static str> {
    match of {
        What::Workflows => WorkflowVerb::plain().iter().map(WorkflowVerb::word).collect(),
        What::Steps => ["retry"].into_iter().chain(Verb::ALL.iter().map(|verb| verb.word())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn wanted(pairs: &[(&str, &str)]) -> Wanted {
        Wanted { pairs: pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect() }
    }

    #[test]
    fn a_list_leads_to_the_form_only_where_it_can_say_the_same() {
        let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
        let address = |pairs: Vec<(String, String)>| address("steps", pairs);
        assert_eq!(
            address(vec![
                pair("state", "failed"),
                pair("action", "a&b"),
                pair("limit", "5"),
                pair("after", "7")
            ]),
            Some("/bulk?what=steps&state=failed&action=a%26b".into())
        );
        assert_eq!(address(vec![pair("status", "pending")]), None, "more would be meant than is listed");
    }

    #[test]
    fn what_was_asked_for_stands_in_the_form_as_text() {
        let said = [
            ("what", "workflows"),
            ("state", "failed,paused"),
            ("workflow", "\"><b>"),
            ("label", "a:<i>"),
            ("label", "c:d"),
        ];
        let html = section(&wanted(&said)).into_string();
        assert!(
            html.contains("value=\"failed,paused\" selected")
                && html.contains("value=\"&quot;&gt;&lt;b&gt;\""),
            "{html}"
        );
        assert!(html.contains("value=\"a:&lt;i&gt;\"") && html.contains("id=\"label-1\""), "{html}");
        assert!(html.contains("value=\"mark_resolved\"") && !html.contains("id=\"queue\""), "{html}");
        let html = section(&wanted(&[("state", "failed")])).into_string();
        assert!(html.contains("data-what=\"steps\"") && html.contains("value=\"failed\" selected"), "{html}");
    }

    #[test]
    fn the_description_names_what_is_read() {
        let schema = schemars::schema_for!(Named).to_value();
        let described: BTreeSet<&str> =
            schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(described, NAMES.split(", ").collect());
    }
}
