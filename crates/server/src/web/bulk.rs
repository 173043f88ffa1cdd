//! Bulk operations as a list, newest first, with how far each is, and the form for a new one.

use super::address::query;
use super::bulk_form::{self, Wanted};
use super::layout::{lost, nothing, plain};
use super::workflows::tone;
use crate::access::Caller;
use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::words::{clock, number};
use axum::extract::State;
use maud::{Markup, html};
use model::{Right, WorkflowState};
use std::sync::Arc;
use store::Browse;
use wire::{BulkPage, BulkView};

/// Operations on a page.
const SHOWN: usize = 50;

pub async fn page(State(app): State<Arc<App>>, caller: Caller, wanted: Wanted) -> Result<Markup, ApiError> {
    let (after, may_operate) = (wanted.after()?, caller.must(Right::Operate).is_ok());
    let read = move |browse: &Browse| answers::bulk_operations_within(browse, &caller, after, SHOWN);
    let page = app.read(read).await?;
    let form = may_operate.then(|| bulk_form::section(&wanted));
    Ok(plain(&app, "Bulk operations", may_operate.then_some("bulk.js"), render(&page, form)))
}

fn render(page: &BulkPage, form: Option<Markup>) -> Markup {
    html! {
        h1 { "Bulk operations" }
        p.aside { "The same done to many steps or workflows, a few at a time." }
        (lost())
        @if let Some(form) = form { (form) }
        section aria-label="What was asked for" data-live="bulk" {
            h2 { "What was asked for" }
            @if page.bulk.is_empty() && page.next.is_none() { p.empty { "Nobody has asked for one yet." } }
            @else if page.bulk.is_empty() { (nothing("bulk operation", page.next.as_ref())) }
            @else { ul.rows { @for one in &page.bulk { (row(one)) } } }
            @if let Some(next) = &page.next { p { a.button href=(query("/bulk", &[("after", next.clone())])) { "Older operations" } } }
        }
    }
}

fn row(one: &BulkView) -> Markup {
    html! {
        li {
            a href={ "/bulk/" (one.id) } {
                span.state.(tone(&one.state)) { (one.state) }
                span.what { b { (title(one)) } " " (one.why) }
                span.aside { (clock(&one.created_at)) }
                span.held.quiet { (bar(one)) " " (standing(one)) " · by " (one.by) }
            }
        }
    }
}

/// What is done to what.
pub fn title(one: &BulkView) -> String {
    format!("{} {}", one.verb.replace('_', " "), one.what)
}

pub fn is_over(one: &BulkView) -> bool {
    one.state.parse::<WorkflowState>().is_ok_and(WorkflowState::is_over)
}

/// How much of it was looked at. What has gone elsewhere since it was counted is not found any more.
pub fn bar(one: &BulkView) -> Markup {
    let most = one.matched.max(1);
    let far = if one.state == WorkflowState::Succeeded.word() { most } else { one.progress.looked.min(most) };
    html! { progress max=(most) value=(far) aria-label={ "Looked at by " (title(one)) } {} }
}

/// How far it is, in words.
pub fn standing(one: &BulkView) -> String {
    let told = |n: u64| number(n.min(i64::MAX as u64) as i64);
    let (progress, over) = (&one.progress, if one.more { "more than " } else { "" });
    let looked = format!("{} of {over}{} looked at", told(progress.looked), told(one.matched));
    format!("{looked}: {} done, {} refused", told(progress.done), told(progress.refused))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use wire::{BulkProgress, BulkRefusal};

    pub fn one(state: &str) -> BulkView {
        let refusals = vec![BulkRefusal { id: "7".into(), why: "<u>".into() }];
        BulkView {
            id: "1".into(),
            state: state.into(),
            what: "steps".into(),
            verb: "skip_compensation".into(),
            why: "<b>".into(),
            by: "<i>".into(),
            matched: 1_500,
            more: true,
            progress: BulkProgress { looked: 64, done: 63, refused: 1, refusals, after: None },
            created_at: "2027-01-15T08:00:00.000000Z".into(),
            completed_at: None,
            revision: 1,
        }
    }

    #[test]
    fn a_row_says_how_far_it_is_and_is_never_markup() {
        let html = row(&one("running")).into_string();
        assert!(html.contains("64 of more than 1,500 looked at: 63 done, 1 refused"), "{html}");
        assert!(
            html.contains("max=\"1500\" value=\"64\"") && html.contains("skip compensation steps"),
            "{html}"
        );
        assert!(!html.contains("<b><b>") && !html.contains("<i>") && html.contains("&lt;i&gt;"), "{html}");
        assert!(row(&one("succeeded")).into_string().contains("value=\"1500\""), "what is over is over");
        assert!(is_over(&one("cancelled")) && !is_over(&one("running")));
    }
}
