//! API keys for an administrator: those there are, one more, and the end of one.

use super::forms::{self, Button, Takes};
use super::layout::{lost, plain};
use crate::app::App;
use crate::convert;
use crate::error::ApiError;
use crate::words::{clock, number};
use axum::extract::State;
use maud::{Markup, html};
use model::Role;
use std::sync::Arc;
use wire::KeyView;

pub async fn page(State(app): State<Arc<App>>) -> Result<Markup, ApiError> {
    let now = app.now();
    let keys = app.read(|browse| browse.keys()).await?;
    let keys: Vec<KeyView> = keys.iter().map(|key| convert::key_view(key, now)).collect();
    Ok(plain(&app, "Keys", Some("forms.js"), render(&keys, app.keys.refused())))
}

fn render(keys: &[KeyView], refused: u64) -> Markup {
    html! {
        h1 { "Keys" }
        p.aside { "Whoever calls from another machine shows a key. What it may do is its role; a scope keeps it to some queues." }
        (lost())
        (forms::around())
        section #made .notice aria-label="The new key" hidden {
            p { "This is the key. It is shown now and never again: only its hash is kept." }
            p { output #made-text .mono.secret tabindex="-1" {} }
            p { a href="/keys" { "I have put it away" } }
        }
        (form())
        section aria-label="Keys" data-live="keys" {
            h2 { "Keys there are" }
            @if keys.is_empty() { p.empty { "There is none: only this machine is answered." } } @else { (table(keys)) }
            @if refused > 0 { p.aside { (number(refused as i64)) " calls with a wrong key were refused by this node." } }
        }
    }
}

fn form() -> Markup {
    html! {
        section aria-labelledby="new-title" {
            h2 #new-title { "A new key" }
            form.fields data-post="/v1/keys" data-shows="key" {
                div { label for="name" { "Whose it is" } input #name name="name" type="text" maxlength="255" required autocomplete="off"; }
                div {
                    label for="role" { "Role" }
                    select #role name="role" { @for role in Role::ALL { option value=(role.word()) { (role.word()) ": " (may(*role)) } } }
                }
                div { label for="scope" { "Queues, or none for all" } input #scope name="scope" type="text" data-as="list" autocomplete="off"; }
                div { label for="days" { "Ends after days" } input #days name="expires_days" type="number" min="1" data-as="number"; }
                button.button.strong type="submit" { "Make" }
            }
        }
    }
}

/// What a role may do, in a few words.
fn may(role: Role) -> &'static str {
    match role {
        Role::Viewer => "looks",
        Role::Operator => "looks, starts and decides",
        Role::Worker => "does steps",
        Role::Admin => "everything",
    }
}

fn table(keys: &[KeyView]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Keys there are" { table.list {
            thead { tr { th { "Whose" } th { "Role" } th { "State" } th { "Queues" } th { "Made" } th { "Last used" } th { span.unseen { "What can be done" } } } }
            tbody { @for key in keys { (row(key)) } }
        } }
    }
}

fn row(key: &KeyView) -> Markup {
    let tone = if key.state == "live" { "green" } else { "quiet" };
    html! {
        tr {
            th scope="row" { (key.name) }
            td { (key.role) }
            td { span.state.(tone) { (key.state) } @if let Some(at) = &key.expires_at { span.aside { " until " (clock(at)) } } }
            td { (if key.scope.is_empty() { "all".to_string() } else { key.scope.join(", ") }) }
            td { span.when { (clock(&key.created_at)) } " by " (key.created_by) }
            td.when { (key.last_used_at.as_deref().map_or_else(|| "never".to_string(), clock)) }
            td { @if key.revoked_at.is_none() { (revoke(key)) } }
        }
    }
}

fn revoke(key: &KeyView) -> Markup {
    forms::button(&Button {
        text: "Revoke",
        post: &format!("/v1/keys/{}/revoke", key.id),
        body: serde_json::json!({}),
        asks: &format!(
            "Revoke the key of {}? Whoever uses it is refused within a second, for good.",
            key.name
        ),
        takes: Takes::Nothing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_key_that_lives_can_be_revoked() {
        let key = |state: &str, revoked: Option<&str>| KeyView {
            id: "7".into(),
            name: "<b>".into(),
            role: "viewer".into(),
            scope: vec![],
            state: state.into(),
            created_at: "2027-01-15T08:00:00.000000Z".into(),
            created_by: "anna".into(),
            expires_at: None,
            revoked_at: revoked.map(Into::into),
            last_used_at: None,
        };
        let html =
            table(&[key("live", None), key("revoked", Some("2027-01-15T08:00:00.000000Z"))]).into_string();
        assert_eq!(html.matches("data-post").count(), 1, "{html}");
        assert!(html.contains("/v1/keys/7/revoke") && !html.contains("<b>"), "{html}");
    }
}
