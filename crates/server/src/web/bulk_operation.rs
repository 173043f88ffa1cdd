//! One bulk operation: what was asked for, how far it is, what was refused, and the way to end it.

use super::bulk::{bar, is_over, standing, title};
use super::forms::{self, Button, Takes};
use super::layout::{lost, plain};
use super::workflows::tone;
use crate::access::Caller;
use crate::answers::{self, BulkRecord};
use crate::api::missing_bulk;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::ThisWorkflow;
use crate::words::{clock, number};
use axum::extract::State;
use maud::{Markup, html};
use model::Right;
use serde_json::Value;
use std::sync::Arc;
use wire::{BulkFilter, BulkRefusal, BulkView};

pub async fn page(
    State(app): State<Arc<App>>,
    caller: Caller,
    ThisWorkflow(id): ThisWorkflow,
) -> Result<Markup, ApiError> {
    let may_operate = caller.must(Right::Operate).is_ok();
    let found = app.read(move |browse| answers::bulk_operation(browse, &caller, id)).await?;
    let record = found.ok_or_else(|| missing_bulk(id))?;
    Ok(plain(&app, "Bulk operation", may_operate.then_some("forms.js"), render(&record, may_operate)))
}

fn render(record: &BulkRecord, may_operate: bool) -> Markup {
    let one = &record.view;
    html! {
        (lost())
        div.head data-live="head" {
            h1 data-over[is_over(one)] { (title(one)) " " span.state.(tone(&one.state)) { (one.state) } }
            p.aside.mono { (one.id) }
            p.progress { (bar(one)) span { (standing(one)) } }
            (facts(record))
            @if !one.progress.refusals.is_empty() { (refused(one)) }
        }
        @if may_operate {
            (forms::around())
            div data-live="verbs" { @if !is_over(one) { (cancel(one)) } }
        }
        p { a href="/bulk" { "All bulk operations" } }
    }
}

fn facts(record: &BulkRecord) -> Markup {
    let (one, order) = (&record.view, record.order.as_ref());
    let meant = format!("{}{}", if one.more { "more than " } else { "" }, number(one.matched as i64));
    let rows = [
        ("Which", order.map(|order| meant_by(&order.filter))),
        ("Meant when it was asked for", Some(meant)),
        ("Why", Some(one.why.clone())),
        ("By", Some(one.by.clone())),
        ("At most in a second", order.and_then(|order| order.per_second).map(|rate| rate.to_string())),
        ("Asked for", Some(clock(&one.created_at))),
        ("Ended", one.completed_at.as_deref().map(clock)),
    ];
    html! {
        dl.facts {
            @for (name, value) in rows.into_iter().filter_map(|(name, value)| Some((name, value?))) {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// Everything that was said, as it was said.
fn meant_by(filter: &BulkFilter) -> String {
    let said = serde_json::to_value(filter).unwrap_or_default();
    let fields = said.as_object().into_iter().flatten();
    fields
        .map(|(name, value)| format!("{}: {}", name.replace('_', " "), plainly(value)))
        .collect::<Vec<_>>()
        .join(" · ")
}

fn plainly(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plainly).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| format!("{name}:{}", plainly(value)))
            .collect::<Vec<_>>()
            .join(", "),
        other => other.to_string(),
    }
}

fn refused(one: &BulkView) -> Markup {
    let (told, all) = (&one.progress.refusals, one.progress.refused);
    html! {
        section aria-label="Refused" {
            h2.second { "Refused" }
            ul.rows { @for refusal in told { (refusal_of(one, refusal)) } }
            @if all > told.len() as u64 { p.aside { "The first " (told.len()) " of " (number(all as i64)) " are on record." } }
        }
    }
}

fn refusal_of(one: &BulkView, refusal: &BulkRefusal) -> Markup {
    let at = if one.what == "workflows" { "/workflows/" } else { "/step-dispatcher/steps/" };
    html! {
        li.attempt {
            span.what { a.mono href={ (at) (super::escaped(&refusal.id)) } { (refusal.id) } }
            span.payload { (refusal.why) }
        }
    }
}

fn cancel(one: &BulkView) -> Markup {
    let button = Button {
        text: "Cancel",
        post: &format!("/v1/bulk/{}/cancel", one.id),
        body: serde_json::json!({}),
        asks: "Ask for no more of them? What was done stays done.",
        takes: Takes::NeededWhy,
    };
    html! {
        section aria-label="What can be done" {
            h2.second { "What can be done" }
            p { (forms::button(&button)) " " span.aside { "What was done stays done." } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bulk::tests::one;
    use super::*;
    use crate::bulk::{BulkOrder, What};

    fn record(state: &str) -> BulkRecord {
        let labels = [("team".to_string(), "<s>".to_string())].into();
        let filter =
            BulkFilter { state: vec!["failed".into(), "stopped".into()], labels, ..BulkFilter::default() };
        let order = BulkOrder {
            what: What::Steps,
            filter,
            verb: Some("skip".into()),
            decision: None,
            why: "<b>".into(),
            by: "<i>".into(),
            per_second: Some(2.5),
            matched: 1_500,
            more: true,
            scope: Vec::new(),
        };
        BulkRecord { view: one(state), order: Some(order) }
    }

    #[test]
    fn it_says_which_were_meant_and_what_was_refused_as_text() {
        let html = render(&record("running"), true).into_string();
        assert!(html.contains("labels: team:&lt;s&gt; · state: failed, stopped"), "{html}");
        assert!(html.contains("more than 1,500") && html.contains(">2.5<"), "{html}");
        assert!(html.contains("href=\"/step-dispatcher/steps/7\"") && html.contains("&lt;u&gt;"), "{html}");
        for markup in ["<b>", "<i>", "<u>", "<s>"] {
            assert!(!html.contains(markup), "{markup} is in {html}");
        }
        assert!(html.contains("data-post=\"/v1/bulk/1/cancel\"") && !html.contains("data-over"), "{html}");
    }

    #[test]
    fn what_is_over_is_not_cancelled_and_a_viewer_cancels_nothing() {
        let html = render(&record("succeeded"), true).into_string();
        assert!(html.contains("data-over") && !html.contains("/cancel\""), "{html}");
        assert!(!render(&record("running"), false).into_string().contains("data-post"));
    }
}
