//! Pictures of definitions and of workflows, coloured by where their steps are.
//!
//! Why    a picture that stands alone brings its own style, which the pages' rules for a browser would refuse; so it has its own rules.

use crate::describe::{Answers, Operation};
use crate::error::ApiError;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use definition::graph;
use model::Fault;
use model::definition::Definition;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::HashMap;
use store::StoreError;
use tokio::task::spawn_blocking;

/// The colours of states, beside the looks of the graph itself; they follow the page's where there is one.
pub const STATES: &str = include_str!("../assets/graph-states.css");

/// Nothing runs in it, and nothing is fetched.
const RULES: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
                     frame-ancestors 'none'";

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    #[default]
    Svg,
    Mermaid,
    Text,
}

/// A drawing, or the text of one.
pub struct Picture(Response);

impl IntoResponse for Picture {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Answers for Picture {
    fn answer(about: &mut Operation) {
        about.answers(200, [("image/svg+xml", None), ("text/plain", None)]);
    }
}

/// A definition by itself.
pub async fn definition(definition: Definition, format: Format) -> Result<Picture, ApiError> {
    let drawn = match format {
        Format::Svg => drawn(move || graph::svg(&definition)).await?,
        Format::Mermaid => drawn(move || graph::mermaid(&definition)).await?,
        Format::Text => drawn(move || graph::text(&definition)).await?,
    };
    Ok(match format {
        Format::Svg => alone(drawn),
        Format::Mermaid | Format::Text => Picture(drawn.into_response()),
    })
}

/// A workflow as a picture that stands alone.
pub async fn workflow(definition: Definition, shown: &wire::WorkflowShow) -> Result<Picture, ApiError> {
    let style = format!("</title><style>{}{STATES}</style>", graph::STYLE);
    Ok(alone(figure(definition, shown).await?.replacen("</title>", &style, 1)))
}

/// A workflow as a part of a page that has the style.
pub async fn figure(definition: Definition, shown: &wire::WorkflowShow) -> Result<String, ApiError> {
    let states: HashMap<String, &'static str> =
        shown.steps.iter().map(|step| (step.key.clone(), class(&step.state))).collect();
    drawn(move || graph::figure(&definition, &|key| states.get(key).copied())).await
}

/// A definition by itself, as a part of a page that has the style.
pub async fn plain(definition: Definition) -> Result<String, ApiError> {
    drawn(move || graph::figure(&definition, &|_| None)).await
}

/// What a state is called in the style.
fn class(state: &str) -> &'static str {
    match state {
        "ahead" => "is-ahead",
        "completed" => "is-completed",
        "skipped" => "is-skipped",
        "cancelled" | "superseded" => "is-cancelled",
        "failed" | "stopped" | "timed_out" => "is-failed",
        "running" | "dispatched" | "polling" => "is-running",
        _ => "is-pending",
    }
}

/// The layout of a large graph takes a while.
async fn drawn(
    draw: impl FnOnce() -> Result<String, Vec<Fault>> + Send + 'static,
) -> Result<String, ApiError> {
    let given_up = |_| ApiError::NotReady("the graph was not drawn to its end".into());
    let corrupt = |faults: Vec<Fault>| {
        let value = faults.first().map(ToString::to_string).unwrap_or_default();
        ApiError::Store(StoreError::Corrupt { table: "definitions", column: "text", value })
    };
    spawn_blocking(draw).await.map_err(given_up)?.map_err(corrupt)
}

fn alone(svg: String) -> Picture {
    let mut response = svg.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(RULES));
    Picture(response)
}
