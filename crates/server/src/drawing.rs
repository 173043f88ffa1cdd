//! Pictures of definitions and of workflows, coloured by where their steps are.
//!
//! Why    a picture that stands alone brings its own style, which the pages' rules for a browser would refuse; so it has its own rules.

use crate::describe::{Answers, Operation};
use crate::error::ApiError;
use crate::kept::Kept;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use definition::graph::{self, Drawing, Link, Looks};
use model::definition::Definition;
use model::{Fault, Reason};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::Arc;
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

/// Definitions that are laid out.
pub type Drawings = Kept<Drawing>;

/// A definition laid out, unless that was done before.
pub async fn laid_out(
    drawings: &Drawings,
    hash: &str,
    definition: Definition,
) -> Result<Arc<Drawing>, ApiError> {
    if let Some(found) = drawings.find(hash) {
        return Ok(found);
    }
    let drawing = made(move || Drawing::of(&definition)).await?;
    Ok(drawings.keep(hash, drawing))
}

/// A definition by itself.
pub async fn definition(
    drawings: &Drawings,
    (hash, definition): (&str, Definition),
    format: Format,
) -> Result<Picture, ApiError> {
    let text = match format {
        Format::Svg => return Ok(alone(laid_out(drawings, hash, definition).await?.alone(&Looks::NONE))),
        Format::Mermaid => made(move || graph::mermaid(&definition)).await?,
        Format::Text => made(move || graph::text(&definition)).await?,
    };
    Ok(Picture(text.into_response()))
}

/// A workflow as a picture that stands alone.
pub fn workflow(drawing: &Drawing, shown: &wire::WorkflowShow) -> Picture {
    let style = format!("</title><style>{}{STATES}</style>", graph::STYLE);
    // It may be looked at anywhere, so it leads nowhere.
    alone(drawn(drawing, shown, &|_| None).replacen("</title>", &style, 1))
}

/// A workflow as a part of a page that has the style; what was begun leads to the pages of its steps.
pub fn figure(drawing: &Drawing, shown: &wire::WorkflowShow) -> String {
    drawn(drawing, shown, &|step| {
        let href = format!("/step-dispatcher/steps/{}", step.step_id.as_ref()?);
        Some(Link { href, name: format!("{}, {}", step.key, step.state.replace('_', " ")) })
    })
}

fn drawn(
    drawing: &Drawing,
    shown: &wire::WorkflowShow,
    link: &dyn Fn(&wire::WorkflowStepView) -> Option<Link>,
) -> String {
    let steps: HashMap<&str, &wire::WorkflowStepView> =
        shown.steps.iter().map(|step| (step.key.as_str(), step)).collect();
    drawing.figure(&Looks {
        step: &|key| steps.get(key).map(|step| class(&step.state)),
        chosen: &|key| chosen(steps.get(key)?),
        link: &|key| link(steps.get(key).copied()?),
    })
}

/// The branches that a step chose, if it has.
fn chosen(step: &wire::WorkflowStepView) -> Option<Vec<String>> {
    let is_aside = step.reason.as_deref() == Some(Reason::NotOnActiveBranch.word());
    match step.state.as_str() {
        _ if step.kind != "branch" => None,
        "completed" => serde_json::from_str(step.output.as_ref()?.get()).ok(),
        "skipped" if is_aside => Some(Vec::new()),
        "skipped" => Some(vec![graph::SKIPPED.into()]),
        _ => None,
    }
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

/// The layout of a large graph takes a while, as does all else that is made of a definition.
pub async fn made<T: Send + 'static>(
    make: impl FnOnce() -> Result<T, Vec<Fault>> + Send + 'static,
) -> Result<T, ApiError> {
    let given_up = |_| ApiError::NotReady("the definition was not read to its end".into());
    let corrupt = |faults: Vec<Fault>| {
        let value = faults.first().map(ToString::to_string).unwrap_or_default();
        ApiError::Store(StoreError::Corrupt { table: "definitions", column: "text", value })
    };
    spawn_blocking(make).await.map_err(given_up)?.map_err(corrupt)
}

fn alone(svg: String) -> Picture {
    let mut response = svg.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(RULES));
    Picture(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(keys: &[&str]) -> Definition {
        let steps: Vec<_> = keys.iter().map(|key| serde_json::json!({"key": key})).collect();
        let text = serde_json::json!({"workflow": "w", "version": "1.0.0", "steps": steps});
        serde_json::from_value(text).unwrap()
    }

    #[tokio::test]
    async fn what_was_laid_out_is_not_laid_out_again() {
        let drawings = Drawings::default();
        let first = laid_out(&drawings, "h", of(&["a", "b"])).await.unwrap();
        let second = laid_out(&drawings, "h", of(&["never", "looked", "at"])).await.unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        let Picture(answer) = definition(&drawings, ("h", of(&["never"])), Format::Svg).await.unwrap();
        let bytes = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        assert_eq!(std::str::from_utf8(&bytes).unwrap(), first.alone(&Looks::NONE));
    }

    #[test]
    fn a_branch_that_was_passed_over_took_the_way_past_it() {
        let step = |state: &str, reason: Option<&str>| wire::WorkflowStepView {
            kind: "branch".into(),
            state: state.into(),
            reason: reason.map(Into::into),
            output: (state == "completed").then(|| crate::convert::raw(r#"["high"]"#)),
            ..wire::WorkflowStepView::default()
        };
        assert_eq!(chosen(&step("completed", None)), Some(vec!["high".into()]));
        assert_eq!(chosen(&step("skipped", Some("condition_false"))), Some(vec![graph::SKIPPED.into()]));
        assert_eq!(chosen(&step("skipped", Some("not_on_active_branch"))), Some(Vec::new()));
        assert_eq!(chosen(&step("ahead", None)), None);
        let action = wire::WorkflowStepView { kind: "action".into(), ..step("completed", None) };
        assert_eq!(chosen(&action), None, "its answer chooses nothing");
    }
}
