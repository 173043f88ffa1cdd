//! Definitions as a list: each name with its versions, and how many workflows of each are not over.

use super::address::{escaped, query};
use super::layout::{lost, plain};
use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Params, page_size};
use crate::words::{clock, number};
use axum::extract::State;
use maud::{Markup, html};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use wire::{DefinitionPage, DefinitionView};

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wanted {
    after: Option<String>,
    limit: Option<usize>,
}

pub async fn page(State(app): State<Arc<App>>, Params(wanted): Params<Wanted>) -> Result<Markup, ApiError> {
    let limit = page_size(wanted.limit)?;
    let strange = |text: &str| format!("after: `{text}` is no place in this list; follow its links");
    let after = wanted.after.as_deref();
    let after =
        after.map(|text| answers::definition_cursor(text).ok_or_else(|| ApiError::BadRequest(strange(text))));
    let after = after.transpose()?;
    let page = app.read(move |browse| answers::definitions(browse, None, after.as_ref(), limit)).await?;
    Ok(plain(&app, "Definitions", None, render(&page)))
}

/// The page of a version.
pub fn address(workflow: &str, version: &str) -> String {
    format!("/definitions/{}/{}", escaped(workflow), escaped(version))
}

fn render(page: &DefinitionPage) -> Markup {
    html! {
        h1 { "Definitions" }
        p.aside { "What workflows are runs of. A workflow stays with the version it began with." }
        (lost())
        div data-live="definitions" {
            @if page.definitions.is_empty() {
                p.empty { "There is none yet. Store one with " code { "stepfast apply order.yaml" } "." }
            } @else {
                ul.rows { @for versions in by_name(&page.definitions) { (named(versions)) } }
            }
            @if let Some(next) = &page.next { p { a.button href=(query("/definitions", &[("after", next.clone())])) { "More definitions" } } }
        }
    }
}

/// Versions of one name, which stand together.
fn by_name(all: &[DefinitionView]) -> impl Iterator<Item = &[DefinitionView]> {
    all.chunk_by(|one, next| one.workflow == next.workflow)
}

fn named(versions: &[DefinitionView]) -> Markup {
    let Some(newest) = versions.first() else { return html! {} };
    let live: u64 = versions.iter().map(|version| version.live).sum();
    html! {
        li.attempt {
            span.what { b { a href=(address(&newest.workflow, &newest.version)) { (newest.workflow) } } " " (newest.version) }
            span.aside { (clock(&newest.created_at)) " by " (newest.created_by) }
            span.payload {
                @if live > 0 { a href=(query("/workflows", &[("workflow", newest.workflow.clone())])) { (number(live as i64)) " not over" } }
                @else { "none under way" }
                @for old in &versions[1..] {
                    " · " a href=(address(&old.workflow, &old.version)) { (old.version) }
                    @if old.live > 0 { " (" (number(old.live as i64)) " not over)" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_a_name_stand_together() {
        let one = |workflow: &str, version: &str, live| DefinitionView {
            workflow: workflow.into(),
            version: version.into(),
            hash: String::new(),
            created_at: "2027-01-15T08:00:00.000000Z".into(),
            created_by: "anna".into(),
            live,
        };
        let definitions = vec![one("a", "2.0.0", 1), one("a", "1.0.0", 2), one("<b>", "1.0.0", 0)];
        assert_eq!(by_name(&definitions).map(<[_]>::len).collect::<Vec<_>>(), [2, 1]);
        let html = render(&DefinitionPage { definitions, next: None }).into_string();
        assert!(html.contains("3 not over") && html.contains("/definitions/%3Cb%3E/1.0.0"), "{html}");
    }
}
