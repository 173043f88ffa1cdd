//! One execution: where it is, what it answered, and everything that happened to it.

use super::executions::{tone, tries};
use super::layout::{lost, plain};
use crate::app::App;
use crate::error::ApiError;
use crate::executions::show_view;
use crate::extract::Path;
use crate::words::clock;
use axum::extract::State;
use maud::{Markup, html};
use model::ExecutionName;
use std::sync::Arc;
use wire::{ExecutionShow, MomentView};

pub async fn page(
    State(app): State<Arc<App>>,
    Path((namespace, key)): Path<(String, String)>,
) -> Result<Markup, ApiError> {
    let name = ExecutionName { namespace, key };
    let asked = name.clone();
    let found = app.read(move |browse| browse.execution(&asked)).await?;
    let shown = found.ok_or_else(|| ApiError::NotFound(format!("there is no execution {name}")))?;
    Ok(plain(&app, &name.key, None, render(&show_view(&shown))))
}

fn render(shown: &ExecutionShow) -> Markup {
    let one = &shown.execution;
    html! {
        (lost())
        div data-live="execution" {
            h1 { (one.key) " " span.state.(tone(&one.state)) { (one.state.replace('_', " ")) } }
            p.aside.id { (one.namespace) " · " (tries(one)) }
            @if let Some(error) = &one.error { section aria-label="Error" { h2 { "Error" } pre #error .error tabindex="0" { (error) } } }
            section aria-label="Facts" { h2 { "Facts" } (facts(shown)) }
            @if let Some(answer) = &shown.answer { section aria-label="Answer" { h2 { "Answer" } pre #answer tabindex="0" { (answer.get()) } } }
        }
        section aria-label="History" {
            h2 { "History" }
            ol.rows data-live="history" { @for moment in &shown.history { (happened(moment)) } }
        }
        p { a href="/executions" { "All executions" } }
    }
}

fn facts(shown: &ExecutionShow) -> Markup {
    let one = &shown.execution;
    let rows = [
        ("Begun", Some(clock(&one.created_at))),
        ("Last written", Some(clock(&one.updated_at))),
        ("Whoever does it must be done by", one.lease_ends_at.as_deref().map(clock)),
        ("Attempts", Some(format!("{} of {}", one.attempt, one.max_attempts))),
        ("Kept until", Some(clock(&one.keep_until))),
        ("SHA-256 of its input", Some(shown.input_hash.clone())),
    ];
    html! {
        dl.facts {
            @for (name, value) in rows.into_iter().filter_map(|(name, value)| Some((name, value?))) {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

fn happened(moment: &MomentView) -> Markup {
    let is_bad = moment.event == "failed";
    html! {
        li.attempt {
            span { b { "Attempt " (moment.attempt) } " " (moment.event.replace('_', " ")) }
            span.aside { (clock(&moment.at)) " · owner …" (moment.owner) }
            @if let Some(error) = &moment.error { span.(if is_bad { "error" } else { "aside" }) { (error) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_told_and_is_never_markup() {
        let json = serde_json::json!({
            "execution": {"namespace": "<i>", "key": "<b>", "state": "failed", "attempt": 2, "failed_attempts": 2, "max_attempts": 3,
                "error": "<u>", "created_at": "2027-01-15T08:00:00.000000Z", "updated_at": "2027-01-15T08:00:00.000000Z",
                "keep_until": "2027-04-15T08:00:00.000000Z"},
            "input_hash": "00",
            "history": [{"at": "2027-01-15T08:00:00.000000Z", "attempt": 1, "event": "failed", "owner": "abc", "error": "<s>"}]
        });
        let html = render(&serde_json::from_value(json).unwrap()).into_string();
        for part in ["<i>", "<b><", "<u>", "<s>"] {
            assert!(!html.contains(part), "{part} in {html}");
        }
        assert!(html.contains("2 attempts, 2 failed of 3") && html.contains("&lt;s&gt;"), "{html}");
    }
}
