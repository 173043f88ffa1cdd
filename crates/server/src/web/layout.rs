//! What every page shares: head, bar and foot.

use maud::{DOCTYPE, Markup, html};

pub struct Frame<'a> {
    pub title: &'a str,
    pub version: &'a str,
    pub host: &'a str,
    /// A script of `/assets`, for a page that is live.
    pub script: Option<&'a str>,
    /// What stands at the right of the bar.
    pub controls: Markup,
}

pub fn page(frame: Frame, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (frame.title) " · Stepfast" }
                link rel="stylesheet" href="/assets/page.css";
                link rel="icon" type="image/svg+xml" href="/assets/mark.svg";
                @if let Some(script) = frame.script {
                    script src={ "/assets/" (script) } defer {}
                }
            }
            body {
                header.bar {
                    a.brand href="/step-dispatcher" {
                        img src="/assets/mark.svg" alt="" width="28" height="28";
                        span.name { "Stepfast" }
                        span.badge { "v" (frame.version) }
                    }
                    (frame.controls)
                }
                main { (body) }
                footer {
                    span { "Served by " (frame.host) }
                    nav {
                        a href="/workflows" { "Workflows" }
                        a href="/step-dispatcher/steps" { "Steps" }
                        a href="/message-groups" { "Message groups" }
                        a href="/progress" { "Half done" }
                        a href="/flows" { "Flows" }
                        a href="/notifications" { "Notifications" }
                        a href="/v1/ticks" { "Ticks" }
                        a href="/v1/nodes" { "Nodes" }
                        a href="/alerts" { "Alerts" }
                        a href="/v1/audit" { "Audit" }
                        a href="/step-dispatcher/api" { "JSON" }
                        a href="/sign-in" { "Sign in" }
                    }
                }
            }
        }
    }
}

/// Which colour a state has; only states that mean something have one.
pub fn tone(state: &str) -> &'static str {
    match state {
        "running" | "dispatched" | "polling" => "cyan",
        "completed" => "green",
        "failed" | "stopped" | "timed_out" => "red",
        _ => "",
    }
}
