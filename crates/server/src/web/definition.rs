//! One version of a definition: its graph, what it says, and what is different from another version.

use super::address::query;
use super::definitions::address;
use super::layout::{lost, plain};
use super::markdown::inline;
use crate::answers;
use crate::app::App;
use crate::drawing;
use crate::error::ApiError;
use crate::extract::{Params, Path};
use crate::words::{clock, number};
use axum::extract::State;
use definition::graph::Looks;
use engine::EngineError;
use maud::{Markup, PreEscaped, html};
use model::definition::Definition;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use store::{Browse, Result as Read};
use wire::DefinitionView;

/// Versions that can be compared with.
const VERSIONS_SHOWN: usize = 100;

#[derive(Deserialize, JsonSchema)]
pub struct Newest {
    workflow: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct Versioned {
    workflow: String,
    version: String,
}

/// The newest, if no version is named.
struct Named {
    workflow: String,
    version: Option<String>,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Compared {
    against: Option<String>,
}

struct Page {
    about: DefinitionView,
    definition: Definition,
    versions: Vec<DefinitionView>,
    /// Another version, and what this one says differently.
    compared: Option<(String, Vec<String>)>,
}

pub async fn page(
    State(app): State<Arc<App>>,
    Path(Newest { workflow }): Path<Newest>,
    compared: Params<Compared>,
) -> Result<Markup, ApiError> {
    shown(&app, Named { workflow, version: None }, compared).await
}

pub async fn page_of_version(
    State(app): State<Arc<App>>,
    Path(Versioned { workflow, version }): Path<Versioned>,
    compared: Params<Compared>,
) -> Result<Markup, ApiError> {
    shown(&app, Named { workflow, version: Some(version) }, compared).await
}

async fn shown(app: &App, named: Named, Params(compared): Params<Compared>) -> Result<Markup, ApiError> {
    let name = [Some(named.workflow.clone()), named.version.clone()]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ");
    let found = app.read(move |browse| read(browse, &named, compared.against.as_deref())).await?;
    let page = found.ok_or(ApiError::Engine(EngineError::NoDefinition(name)))?;
    let drawing = drawing::laid_out(&app.drawings, &page.about.hash, page.definition.clone()).await?;
    let picture = drawing.figure(&Looks::NONE);
    Ok(plain(app, &page.about.workflow, None, render(&page, &picture)))
}

fn read(browse: &Browse, named: &Named, against: Option<&str>) -> Read<Option<Page>> {
    let Some((about, definition)) = answers::definition(browse, &named.workflow, named.version.as_deref())?
    else {
        return Ok(None);
    };
    let versions = answers::definitions(browse, Some(&named.workflow), None, VERSIONS_SHOWN)?.definitions;
    // Without another word, what is new in it.
    let before = versions.iter().skip_while(|one| one.version != about.version).nth(1);
    let other = against.or(before.map(|one| one.version.as_str()));
    let other = other
        .map(|version| answers::definition(browse, &named.workflow, Some(version)))
        .transpose()?
        .flatten();
    let compared = other.map(|(about, old)| {
        (about.version, definition::diff(&old, &definition).iter().map(ToString::to_string).collect())
    });
    Ok(Some(Page { about, definition, versions, compared }))
}

fn render(page: &Page, picture: &str) -> Markup {
    let about = &page.about;
    html! {
        link rel="stylesheet" href="/assets/graph.css";
        (lost())
        div data-live="head" {
            h1 { (about.workflow) " " span.state { (about.version) } }
            @if let Some(text) = &page.definition.description { p { (text) } }
            p.aside.id { "Stored " (clock(&about.created_at)) " by " (about.created_by) " · " span.mono { (about.hash) } }
            p {
                a href=(query("/workflows", &[("workflow", about.workflow.clone())])) { "Its workflows" }
                ", " (number(about.live as i64)) " of this version not over"
            }
        }
        section aria-label="Graph" {
            h2 { "Graph" }
            div.graph data-live="graph" tabindex="0" role="region" aria-label="Graph" { (PreEscaped(picture)) }
        }
        (differences(page))
        section aria-label="Definition" {
            h2 { "Definition" }
            pre data-live="definition" tabindex="0" { (written(&page.definition)) }
        }
        p { a href="/definitions" { "All definitions" } }
    }
}

fn written(definition: &Definition) -> String {
    serde_json::to_string_pretty(&answers::as_written(definition)).unwrap_or_default()
}

fn differences(page: &Page) -> Markup {
    let others = || page.versions.iter().filter(|one| one.version != page.about.version);
    let against = page.compared.as_ref().map(|(version, _)| version.as_str());
    html! {
        section aria-label="Versions" {
            h2 { "Versions" }
            // What somebody chooses to compare with stays chosen, so the form is as it was when the page was opened.
            @if others().next().is_some() {
                form.fields method="get" action=(address(&page.about.workflow, &page.about.version)) {
                    div {
                        label for="against" { "What is different from" }
                        select #against name="against" {
                            @for one in others() { option value=(one.version) selected[against == Some(one.version.as_str())] { (one.version) } }
                        }
                    }
                    button.button type="submit" { "Compare" }
                }
            }
            div data-live="versions" {
                @if let Some((version, changes)) = &page.compared { (changed(version, changes)) }
                @if others().next().is_none() { p.empty { "There is no other version." } }
                @else {
                    p.aside {
                        "Look at: "
                        @for (n, one) in others().enumerate() {
                            @if n > 0 { ", " } a href=(address(&one.workflow, &one.version)) { (one.version) }
                        }
                    }
                }
            }
        }
    }
}

fn changed(version: &str, changes: &[String]) -> Markup {
    html! {
        h3 { "Compared with " (version) }
        @if changes.is_empty() { p.empty { "They say the same." } }
        @else { ul.changes { @for change in changes { li { (inline(change)) } } } }
    }
}
