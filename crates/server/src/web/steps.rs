//! Steps as a list, newest first.

use super::address::query;
use super::beside::{Beside, beside, chips, kept};
use super::bulk_form;
use super::layout::{Frame, lost, nothing, page as framed, tone};
use crate::access::Caller;
use crate::answers;
use crate::api::Wanted;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Params;
use crate::words::clock;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use model::{Right, State as StepState, StepId};
use std::sync::Arc;
use store::Filter;

const LIST: &str = "/step-dispatcher/steps";

pub async fn page(
    State(app): State<Arc<App>>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Result<Response, ApiError> {
    let wanted = given(wanted);
    // Whoever has an id writes it where they would write anything else.
    if let Some(id) = wanted.action.as_deref().and_then(|text| text.parse::<StepId>().ok()) {
        return Ok(Redirect::to(&format!("/step-dispatcher/steps/{id}")).into_response());
    }
    let chosen = wanted.clone();
    let filter = Filter { queues: caller.queues(), ..wanted.filter()? };
    let page = app.read(move |browse| answers::steps_within(browse, &filter)).await?;
    let frame = Frame {
        title: "Steps",
        version: app.site.version,
        host: &app.site.host,
        script: None,
        controls: html! {},
    };
    let said = chosen.pairs().into_iter().map(|(name, value)| (name.to_string(), value));
    let many = caller.must(Right::Operate).ok().and_then(|()| bulk_form::address("steps", said));
    Ok(framed(frame, render(&page, &chosen, many.as_deref())).into_response())
}

/// What a form leaves empty is not asked for.
fn given(wanted: Wanted) -> Wanted {
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    Wanted {
        action: some(wanted.action),
        step_key: some(wanted.step_key),
        state: some(wanted.state),
        ..wanted
    }
}

/// What has neither a field nor a chip of its own.
fn others(chosen: &Wanted) -> Vec<Beside> {
    beside(LIST, &chosen.pairs(), |_, name| {
        matches!(name, "state" | "action" | "step_key" | "limit" | "after")
    })
}

fn search(chosen: &Wanted, others: &[Beside]) -> Markup {
    html! {
        form.fields method="get" action=(LIST) role="search" aria-label="Find steps" {
            @if let Some(state) = &chosen.state { input type="hidden" name="state" value=(state); }
            div { label for="action" { "Action, or the id of a step" } input #action name="action" type="search" value=[chosen.action.as_deref()] autocomplete="off"; }
            div { label for="step_key" { "Key" } input #step_key name="step_key" type="search" value=[chosen.step_key.as_deref()] autocomplete="off"; }
            (kept(others))
            button.button.strong type="submit" { "Find" }
        }
    }
}

/// With the way to do the same to all of them, for whoever may.
fn render(page: &wire::StepPage, chosen: &Wanted, many: Option<&str>) -> Markup {
    let state = chosen.state.as_deref().unwrap_or_default();
    // A chip is a choice anew: beside a status that was asked for it would mostly find nothing.
    let of = |state: Option<String>| Wanted { state, status: None, after: None, ..chosen.clone() };
    let others = others(chosen);
    html! {
        h1 { "Steps" }
        (lost())
        (search(chosen, &others))
        (chips(&others))
        nav.chips aria-label="State" {
            (chip("all", &of(None), state.is_empty() && chosen.status.is_none()))
            @for one in StepState::ALL {
                (chip(one.word(), &of(Some(one.to_string())), state == one.word()))
            }
        }
        @if let Some(many) = many { (bulk_form::all_of_these(many)) }
        div data-live="steps" {
            @if page.steps.is_empty() {
                (nothing("step", page.next.as_ref()))
            } @else {
                ul.rows { @for step in &page.steps { (row(step)) } }
            }
            @if let Some(next) = &page.next {
                p { a.button href=(address(&Wanted { after: Some(next.clone()), ..chosen.clone() })) { "Older steps" } }
            }
        }
    }
}

fn chip(word: &str, wanted: &Wanted, is_chosen: bool) -> Markup {
    html! { a.chip.(if is_chosen { "chosen" } else { "open" }) href=(address(wanted)) { (word.replace('_', " ")) } }
}

pub fn row(step: &wire::StepView) -> Markup {
    html! {
        li {
            a href={ "/step-dispatcher/steps/" (step.id) } {
                span.state.(tone(&step.state)) { (step.state.replace('_', " ")) }
                span.what { b { (step.action) } @if let Some(label) = &step.label { " " (label) } }
                span.aside { (step.dispatch_group) " · " (step.queue) " · " (clock(&step.created_at)) }
                @if let Some(error) = &step.error_message { span.error { (error) } }
            }
        }
    }
}

/// The address of a list.
fn address(wanted: &Wanted) -> String {
    query(LIST, &wanted.pairs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_what_was_chosen() {
        let wanted = Wanted { action: Some("a&b=ü".into()), limit: Some(5), ..Wanted::default() };
        assert_eq!(address(&wanted), "/step-dispatcher/steps?action=a%26b%3D%C3%BC&limit=5");
        assert_eq!(address(&Wanted::default()), "/step-dispatcher/steps");
    }

    #[test]
    fn a_list_says_what_it_is_asked_for_and_its_form_keeps_it() {
        let some = |text: &str| Some(text.to_string());
        let wanted = Wanted {
            state: some("failed"),
            action: some("pay"),
            pool: some("card"),
            dispatch_group: some("alpha"),
            limit: Some(5),
            ..Wanted::default()
        };
        let page = wire::StepPage { steps: Vec::new(), next: None };
        let html = render(&page, &wanted, None).into_string();
        let without = "href=\"/step-dispatcher/steps?state=failed&amp;action=pay&amp;dispatch_group=alpha&amp;limit=5\" aria-label=\"without pool card\">pool: card ×";
        assert!(html.contains(without) && html.contains(">dispatch group: alpha ×"), "{html}");
        assert!(html.contains("<input type=\"hidden\" name=\"pool\" value=\"card\">"), "{html}");
        assert_eq!(
            html.matches("aria-label=\"without").count(),
            2,
            "the rest stands in fields and chips: {html}"
        );
    }
}
