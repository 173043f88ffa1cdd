//! Settings: this node, the dispatch switches, what counts as stuck, and who is sent events.

use super::forms::{self, Button, Takes};
use super::layout::{lost, plain};
use crate::access::{Caller, is_open};
use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::words::clock;
use axum::extract::State;
use maud::{Markup, html};
use model::Right;
use serde_json::json;
use std::sync::Arc;
use wire::{BreakerView, BreakersView, StuckRulePage, StuckRuleView, SubscriptionView};

/// Subscriptions that are shown.
const SUBSCRIPTIONS_SHOWN: usize = 100;

struct Page {
    facts: Vec<(&'static str, String)>,
    breakers: BreakersView,
    stuck: StuckRulePage,
    subscriptions: Vec<SubscriptionView>,
    may_operate: bool,
}

pub async fn page(State(app): State<Arc<App>>, caller: Caller) -> Result<Markup, ApiError> {
    let (now, facts, may_operate) = (app.now(), facts(&app), caller.must(Right::Operate).is_ok());
    let read = move |browse: &store::Browse| {
        Ok(Page {
            facts,
            breakers: answers::breakers(browse, now)?,
            stuck: answers::stuck_rules(browse)?,
            subscriptions: answers::subscriptions(browse, None, SUBSCRIPTIONS_SHOWN)?.subscriptions,
            may_operate,
        })
    };
    let page = app.read(read).await?;
    Ok(plain(&app, "Settings", may_operate.then_some("forms.js"), render(&page)))
}

fn facts(app: &App) -> Vec<(&'static str, String)> {
    let queues: Vec<&str> = app.site.engine.queues().iter().map(|name| &**name).collect();
    let asks = if app.site.require_key { "from everybody" } else { "from other machines" };
    vec![
        ("Version", app.site.version.into()),
        ("Host", app.site.host.clone()),
        ("Database", app.site.database.to_string()),
        ("Queues", queues.join(", ")),
        ("A key is asked for", asks.into()),
    ]
}

fn render(page: &Page) -> Markup {
    html! {
        h1 { "Settings" }
        (lost())
        @if page.may_operate { (forms::around()) }
        section aria-label="This node" {
            h2 { "This node" }
            dl.facts { @for (name, value) in &page.facts { div { dt { (name) } dd { (value) } } } }
            p.aside.below { "These come from the configuration it was started with." }
        }
        section aria-label="Dispatch" {
            h2 { "Dispatch" }
            p.aside { "What is switched off starts nothing new; what runs goes on." }
            (switches(page))
        }
        section aria-label="Stuck" {
            h2 { "What counts as stuck" }
            div data-live="remedies" { (remedies(page)) }
            (rules(&page.stuck.rules))
        }
        section aria-label="Subscriptions" {
            h2 { "Subscriptions" }
            div data-live="subscriptions" { (subscriptions(&page.subscriptions)) }
        }
        p { a href="/notifications" { "Channels and what they were told" } @if is_open("/keys") { " · " a href="/keys" { "Keys" } } }
    }
}

fn switches(page: &Page) -> Markup {
    let all = std::iter::once(&page.breakers.everywhere).chain(&page.breakers.groups);
    html! {
        div.scroll tabindex="0" role="region" aria-label="Dispatch" { table.list {
            thead { tr { th { "Dispatch group" } th { "Dispatch" } th { "Since, by whom and why" } @if page.may_operate { th { span.unseen { "Switch" } } } } }
            tbody data-live="switches" {
                @for breaker in all {
                    tr data-row=(breaker.dispatch_group.as_deref().unwrap_or("everywhere")) {
                        th scope="row" { (breaker.dispatch_group.as_deref().unwrap_or("everywhere")) }
                        td { span.state.(if breaker.off { "orange" } else { "green" }) { (if breaker.off { "off" } else { "on" }) } }
                        td { (told(breaker)) }
                        @if page.may_operate { td { (switch(breaker)) } }
                    }
                }
            }
        } }
    }
}

fn told(breaker: &BreakerView) -> String {
    if !breaker.off {
        return String::new();
    }
    let since = breaker.since.as_deref().map(clock).unwrap_or_default();
    let until = breaker.until.as_deref().map(|at| format!(" until {}", clock(at))).unwrap_or_default();
    let by = breaker.by.as_deref().map(|by| format!(", {by}")).unwrap_or_default();
    let why = breaker.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("{since}{until}{by}{why}")
}

fn switch(breaker: &BreakerView) -> Markup {
    let place = breaker.dispatch_group.as_deref();
    let of = place.map_or("everywhere".to_string(), |group| format!("in {group}"));
    let (text, asks) = match breaker.off {
        true => ("Switch on", format!("Dispatch steps {of} again?")),
        false => ("Switch off", format!("Dispatch nothing new {of}? What runs goes on.")),
    };
    let body = match place {
        Some(group) => json!({ "dispatch_group": group, "off": !breaker.off }),
        None => json!({ "off": !breaker.off }),
    };
    // What is switched on is back as it was; what is switched off has somebody wonder why.
    let takes = if breaker.off { Takes::Why } else { Takes::NeededWhy };
    forms::button(&Button { text, post: "/v1/breaker", body, asks: &asks, takes })
}

fn remedies(page: &Page) -> Markup {
    let auto = page.stuck.auto;
    let (text, asks) = match auto {
        true => ("Stop remedies", "Apply no remedy by itself any more? Alerts are still made and told."),
        false => ("Apply remedies", "Let rules apply their remedies by themselves again?"),
    };
    let of =
        Button { text, post: "/v1/stuck/auto", body: json!({ "auto": !auto }), asks, takes: Takes::Nothing };
    html! {
        p.spread {
            @if auto { "Rules that say so apply their remedy by themselves." } @else { "No remedy is applied by itself: that is switched off." }
            @if page.may_operate { (forms::putting(&of)) }
        }
    }
}

fn rules(rules: &[StuckRuleView]) -> Markup {
    let word = |text: &Option<String>| text.clone().unwrap_or_default();
    html! {
        div.scroll tabindex="0" role="region" aria-label="Rules" { table.list {
            thead { tr { th { "Rule" } th { "Over" } th { "Older than" } th { "Severity" } th { "Remedy" } th { "From" } } }
            tbody data-live="rules" {
                @for one in rules {
                    tr {
                        th scope="row" { (one.rule.name) @if one.rule.enabled == Some(false) { " (off)" } }
                        td { (word(&one.rule.entity)) } td { (word(&one.rule.older_than)) } td { (word(&one.rule.severity)) }
                        td { (word(&one.rule.remedy)) @if one.rule.auto == Some(true) { ", by itself" } }
                        td { (one.source) @if let Some(fault) = &one.fault { " " span.held.red { (fault) } } }
                    }
                }
            }
        } }
    }
}

fn subscriptions(rows: &[SubscriptionView]) -> Markup {
    if rows.is_empty() {
        return html! { p.empty { "Nobody is sent events. " code { "stepfast subscriptions add" } " makes a subscription." } };
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Subscriptions" { table.list {
            thead { tr { th { "Name" } th { "To" } th { "Events" } th { "Of" } } }
            tbody {
                @for one in rows {
                    tr {
                        th scope="row" { (one.name) @if !one.active { " (off)" } }
                        td.mono { (one.url) }
                        td { (if one.types.is_empty() { "all".to_string() } else { one.types.join(", ") }) }
                        td { (one.workflow.as_deref().unwrap_or("every workflow")) }
                    }
                }
            }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_asks_for_the_opposite() {
        let breaker = BreakerView {
            dispatch_group: Some("alpha".into()),
            off: true,
            can_dispatch_steps: false,
            why: Some("<b>".into()),
            by: Some("anna".into()),
            since: Some("2027-01-15T08:00:00.000000Z".into()),
            until: None,
        };
        assert_eq!(told(&breaker), "2027-01-15 08:00:00 UTC, anna: <b>");
        let html = switch(&breaker).into_string();
        assert!(
            html.contains("&quot;off&quot;:false") && html.contains("Dispatch steps in alpha again?"),
            "{html}"
        );
        let html = switch(&BreakerView { off: false, dispatch_group: None, ..breaker }).into_string();
        assert!(html.contains("{&quot;off&quot;:true}") && html.contains("everywhere"), "{html}");
    }
}
