//! Tracked flows as a list, newest first.

use super::address::query;
use super::layout::{Frame, lost, nothing, page as framed, tone};
use crate::answers;
use crate::api::WantedFlows as Wanted;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Params;
use crate::words::clock;
use axum::extract::State;
use maud::{Markup, html};
use model::FlowState;
use std::sync::Arc;
use wire::{FlowPage, FlowView};

pub async fn page(State(app): State<Arc<App>>, Params(wanted): Params<Wanted>) -> Result<Markup, ApiError> {
    let chosen = wanted.state.clone();
    let filter = wanted.filter()?;
    let page = app.read(move |browse| answers::flows(browse, &filter)).await?;
    let frame = Frame {
        title: "Flows",
        version: app.site.version,
        host: &app.site.host,
        script: None,
        controls: html! {},
    };
    Ok(framed(frame, render(&page, chosen.as_deref())))
}

fn render(page: &FlowPage, chosen: Option<&str>) -> Markup {
    html! {
        h1 { "Flows" }
        (lost())
        nav.chips aria-label="State" {
            (chip("all", None, chosen.is_none()))
            @for state in FlowState::ALL { (chip(state.word(), Some(state.word()), chosen == Some(state.word()))) }
        }
        div data-live="flows" {
            @if page.flows.is_empty() { (nothing("flow", page.next.as_ref())) }
            @else { ul.rows { @for flow in &page.flows { (row(flow)) } } }
            @if let Some(next) = &page.next { p { a.button href=(address(chosen, Some(next))) { "Older flows" } } }
        }
    }
}

fn chip(word: &str, state: Option<&str>, is_chosen: bool) -> Markup {
    html! { a.chip.(if is_chosen { "chosen" } else { "open" }) href=(address(state, None)) { (word) } }
}

fn address(state: Option<&str>, after: Option<&str>) -> String {
    let pairs = [("state", state), ("after", after)];
    let said: Vec<(&str, String)> =
        pairs.into_iter().filter_map(|(name, value)| Some((name, value?.to_string()))).collect();
    query("/flows", &said)
}

fn row(flow: &FlowView) -> Markup {
    html! {
        li {
            a href={ "/flows/" (flow.id) } {
                span.state.(tone(&flow.state)) { (flow.state) }
                span.what { b { (flow.kind) } (about(flow)) }
                span.aside { "since " (clock(&flow.updated_at)) }
                @if let Some(words) = flow.error.as_ref().or(flow.message.as_ref()) { span.held.(tone(&flow.state)) { (words) } }
            }
        }
    }
}

/// Which one it is, and for whom.
pub fn about(flow: &FlowView) -> Markup {
    html! {
        @for part in [&flow.key, &flow.entity_type, &flow.entity_id].into_iter().filter(|part| !part.is_empty()) { " " (part) }
        @if flow.run > 1 { " " span.badge { "run " (flow.run) } }
        @if let Some(user) = &flow.user { " " span.badge { "for " (user) } }
    }
}
