//! Pools: what each allows, how much of it is used, when the next may start, and the form that sets one.

use super::address::{escaped, query};
use super::forms::{self, Button, Takes};
use super::layout::{lost, plain};
use crate::access::Caller;
use crate::app::App;
use crate::convert;
use crate::error::ApiError;
use crate::words::{clock, number};
use axum::extract::State;
use maud::{Markup, html};
use model::Right;
use std::sync::Arc;
use wire::PoolView;

pub async fn page(State(app): State<Arc<App>>, caller: Caller) -> Result<Markup, ApiError> {
    let now = app.now();
    let pools = app.read(|browse| browse.pools()).await?;
    let pools: Vec<PoolView> = pools.iter().map(|pool| convert::pool_view(pool, now)).collect();
    let may_operate = caller.must(Right::Operate).is_ok();
    Ok(plain(&app, "Pools", may_operate.then_some("forms.js"), render(&pools, may_operate)))
}

fn render(pools: &[PoolView], may_operate: bool) -> Markup {
    html! {
        h1 { "Pools" }
        p.aside { "Limits that steps share: how many run at once, and how many start in a span of time." }
        @if may_operate { (forms::around()) }
        (lost())
        div data-live="pools" {
            @if pools.is_empty() {
                p.empty { "There is no pool. A step names one with " code { "pool" } "; until it exists, the step waits." }
            } @else {
                (table(pools, may_operate))
            }
        }
        @if may_operate { (form()) }
    }
}

fn table(pools: &[PoolView], may_operate: bool) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Pools" { table.list {
            thead { tr {
                th { "Pool" } th { "Running" } th { "Waiting" } th { "Rate" } th.n { "Burst" } th { "Next may start" }
                @if may_operate { th { span.unseen { "What can be done" } } }
            } }
            tbody { @for pool in pools { (row(pool, may_operate)) } }
        } }
    }
}

fn row(pool: &PoolView, may_operate: bool) -> Markup {
    html! {
        tr {
            th scope="row" { (pool.name) }
            td { (used(pool)) }
            td { a href=(waiting(pool)) { "list" span.unseen { " of what waits for " (pool.name) } } }
            td { (pool.rate.as_deref().unwrap_or("any")) }
            td.n { @if let Some(burst) = pool.burst { (burst) } }
            td.when { @if let Some(at) = &pool.next_start_at { (clock(at)) } @else { (may_start(pool)) } }
            @if may_operate { td { (remove(pool)) } }
        }
    }
}

/// How much of it is taken, as a bar where there is an end to it.
fn used(pool: &PoolView) -> Markup {
    let n = number(pool.used as i64);
    html! {
        @match pool.concurrency {
            Some(most) => {
                progress max=(most.max(1)) value=(pool.used.min(most as usize)) aria-label={ "Used of " (pool.name) } {}
                " " (n) " of " (number(most.into()))
            }
            None => { (n) ", no limit" }
        }
    }
}

/// Those that could need it next; counting them would read each.
fn waiting(pool: &PoolView) -> String {
    query("/step-dispatcher/steps", &[("pool", pool.name.clone()), ("state", "pending".into())])
}

fn may_start(pool: &PoolView) -> &'static str {
    match pool.concurrency {
        Some(0) => "never: nothing may run",
        Some(most) if pool.used >= most as usize => "when one ends",
        _ => "now",
    }
}

fn remove(pool: &PoolView) -> Markup {
    forms::button(&Button {
        text: "Remove",
        post: &format!("/v1/pools/{}/remove", escaped(&pool.name)),
        body: serde_json::json!({}),
        asks: &format!("Remove the pool {}? That is refused while steps of it run or wait.", pool.name),
        takes: Takes::NeededWhy,
    })
}

fn form() -> Markup {
    html! {
        section aria-labelledby="set-title" {
            h2 #set-title { "Set a pool" }
            p.aside { "A name that exists gets these limits at once, on every node; what is left out has no limit." }
            form.fields data-post="/v1/pools" {
                div { label for="name" { "Name" } input #name name="name" type="text" maxlength="255" required autocomplete="off"; }
                div { label for="concurrency" { "At once" } input #concurrency name="concurrency" type="number" min="0" data-as="number"; }
                div { label for="rate" { "Rate, such as 100/m" } input #rate name="rate" type="text" autocomplete="off"; }
                div { label for="burst" { "Burst" } input #burst name="burst" type="number" min="1" data-as="number"; }
                button.button.strong type="submit" { "Set" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(concurrency: Option<u32>, used: usize) -> PoolView {
        PoolView { name: "<b>".into(), concurrency, rate: None, burst: None, used, next_start_at: None }
    }

    #[test]
    fn a_pool_says_when_the_next_may_start() {
        let told = [(None, 9), (Some(0), 0), (Some(2), 1), (Some(2), 2)]
            .map(|(most, used)| may_start(&pool(most, used)));
        assert_eq!(told, ["now", "never: nothing may run", "now", "when one ends"]);
    }

    #[test]
    fn only_who_may_is_offered_to_change_one() {
        let html = render(&[pool(Some(3), 1)], false).into_string();
        assert!(
            html.contains("1 of 3")
                && html.contains("&lt;b&gt;")
                && !html.contains("data-post")
                && html.contains("/step-dispatcher/steps?pool=%3Cb%3E&amp;state=pending"),
            "{html}"
        );
        let html = render(&[pool(Some(3), 1)], true).into_string();
        assert!(html.contains("data-post=\"/v1/pools/%3Cb%3E/remove\""), "{html}");
    }
}
