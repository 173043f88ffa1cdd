//! Executions as a list, newest first, with the look-up of one by its key.

use super::address::{escaped, query};
use super::layout::{lost, nothing, plain};
use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::executions;
use crate::extract::{Params, page_size};
use crate::words::clock;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use model::ExecutionState;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use store::executions::ExecutionFilter;
use wire::{ExecutionPage, ExecutionView};

/// What a form leaves empty is not asked for.
#[derive(Clone, Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    namespace: String,
    key: String,
    state: String,
    after: String,
    limit: Option<usize>,
}

pub async fn page(State(app): State<Arc<App>>, Params(wanted): Params<Wanted>) -> Result<Response, ApiError> {
    if !wanted.namespace.is_empty() && !wanted.key.is_empty() {
        return Ok(Redirect::to(&address(&wanted.namespace, &wanted.key)).into_response());
    }
    let filter = wanted.filter()?;
    let page = app.read(move |browse| answers::executions_within(browse, &filter)).await?;
    Ok(plain(&app, "Executions", None, render(&page, &wanted)).into_response())
}

/// The page of one.
pub fn address(namespace: &str, key: &str) -> String {
    format!("/executions/{}/{}", escaped(namespace), escaped(key))
}

impl Wanted {
    fn filter(&self) -> Result<ExecutionFilter, ApiError> {
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let bad = |problem: String| ApiError::BadRequest(problem);
        let state = given(&self.state).map(|word| word.parse().map_err(|e| bad(format!("state: {e}"))));
        let after = given(&self.after).map(|text| {
            let unknown = || bad(format!("after: `{text}` is no place in this list; follow its links"));
            executions::read_cursor(&text).ok_or_else(unknown)
        });
        Ok(ExecutionFilter {
            namespace: given(&self.namespace),
            state: state.transpose()?,
            after: after.transpose()?,
            limit: page_size(self.limit)?,
        })
    }

    /// The same list with another state, or further down.
    fn address(&self, state: &str, after: &str) -> String {
        let pairs = [("namespace", self.namespace.as_str()), ("state", state), ("after", after)];
        let said: Vec<(&str, String)> = pairs
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name, value.into()))
            .collect();
        query("/executions", &said)
    }
}

fn render(page: &ExecutionPage, wanted: &Wanted) -> Markup {
    html! {
        h1 { "Executions" }
        p.aside { "What is done once under a key, however often it is asked for." }
        (lost())
        (look_up(wanted))
        nav.chips aria-label="State" {
            (chip("all", wanted, ""))
            @for state in ExecutionState::ALL { (chip(state.word(), wanted, state.word())) }
        }
        div data-live="executions" {
            @if page.executions.is_empty() {
                (nothing("execution", page.next.as_ref()))
                @if !wanted.key.is_empty() { p { "To find one by its key, write its namespace too." } }
            } @else {
                ul.rows { @for one in &page.executions { (row(one)) } }
            }
            @if let Some(next) = &page.next { p { a.button href=(wanted.address(&wanted.state, next)) { "Older executions" } } }
        }
    }
}

fn look_up(wanted: &Wanted) -> Markup {
    html! {
        form.fields method="get" action="/executions" role="search" aria-label="Find executions" {
            div { label for="namespace" { "Namespace" } input #namespace name="namespace" type="text" value=(wanted.namespace) autocomplete="off"; }
            div { label for="key" { "Key" } input #key name="key" type="text" value=(wanted.key) autocomplete="off"; }
            button.button.strong type="submit" { "Find" }
        }
    }
}

fn chip(word: &str, wanted: &Wanted, state: &str) -> Markup {
    let is_chosen = wanted.state == state;
    html! {
        a.chip.(if is_chosen { "chosen" } else { "open" }) href=(wanted.address(state, "")) aria-current=[is_chosen.then_some("true")] {
            (word.replace('_', " "))
        }
    }
}

fn row(one: &ExecutionView) -> Markup {
    html! {
        li {
            a href=(address(&one.namespace, &one.key)) {
                span.state.(tone(&one.state)) { (one.state.replace('_', " ")) }
                span.what { b { (one.key) } " " (one.namespace) }
                span.aside { (tries(one)) " · " (clock(&one.updated_at)) }
                @if let Some(error) = &one.error { span.error { (error) } }
            }
        }
    }
}

/// How often it was tried, and how often it may fail.
pub fn tries(one: &ExecutionView) -> String {
    let tries = if one.attempt == 1 { "1 attempt".into() } else { format!("{} attempts", one.attempt) };
    match one.failed_attempts {
        0 => tries,
        n => format!("{tries}, {n} failed of {}", one.max_attempts),
    }
}

/// Which colour the state of an execution has.
pub fn tone(state: &str) -> &'static str {
    match state {
        "in_progress" => "cyan",
        "done" => "green",
        "failed" => "red",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_any_key() {
        assert_eq!(address("a/b", "ü?"), "/executions/a%2Fb/%C3%BC%3F");
        let wanted = Wanted { namespace: "a&b".into(), ..Wanted::default() };
        assert_eq!(wanted.address("failed", ""), "/executions?namespace=a%26b&state=failed");
        assert_eq!(Wanted::default().address("", ""), "/executions");
    }

    #[test]
    fn a_place_that_is_none_is_refused() {
        let wanted = Wanted { after: "x".into(), ..Wanted::default() };
        assert!(wanted.filter().unwrap_err().to_string().contains("is no place in this list"));
        let wanted = Wanted { state: "gone".into(), ..Wanted::default() };
        assert!(wanted.filter().unwrap_err().to_string().starts_with("state: "));
    }
}
