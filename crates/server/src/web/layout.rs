//! What every page shares: head, bar, the way around, and foot.

use super::nav;
use crate::access::is_open;
use crate::app::App;
use maud::{DOCTYPE, Markup, html};

pub struct Frame<'a> {
    pub title: &'a str,
    pub version: &'a str,
    pub host: &'a str,
    /// A script of `/assets`, for a page on which something can be done.
    pub script: Option<&'a str>,
    /// What stands at the right of the bar.
    pub controls: Markup,
}

/// Where a page hears that something has changed.
const LIVE: &str = "/step-dispatcher/live";
/// What stands at the foot.
const MORE: [(&str, &str); 3] =
    [("/step-dispatcher/api", "JSON"), ("/metrics", "Metrics"), ("/sign-in", "Sign in")];

/// A page with nothing of its own in the bar.
pub fn plain(app: &App, title: &str, script: Option<&str>, body: Markup) -> Markup {
    let frame = Frame { title, version: app.site.version, host: &app.site.host, script, controls: html! {} };
    page(frame, body)
}

pub fn page(frame: Frame, body: Markup) -> Markup {
    let scripts = ["page.js", "live.js"].into_iter().chain(frame.script);
    html! {
        (DOCTYPE)
        html lang="en" data-listens[is_open(LIVE)] {
            (head(frame.title, scripts))
            body {
                a.skip href="#main" { "Skip to the page" }
                header.bar {
                    (brand(&frame))
                    (frame.controls)
                    details.menu { summary { "Menu" } nav aria-label="Pages" { (nav::list()) } }
                }
                div.frame {
                    nav.side aria-label="Pages" { (nav::list()) }
                    main #main tabindex="-1" { (body) }
                }
                footer {
                    span { "Served by " (frame.host) }
                    nav aria-label="More" {
                        button #keys-open type="button" { "Keys " kbd { "?" } }
                        @for (href, words) in MORE.iter().filter(|(href, _)| is_open(href)) { a href=(href) { (words) } }
                    }
                }
                (nav::keys())
            }
        }
    }
}

/// A page for somebody who may see no other: no way around, and no script.
pub fn bare(frame: Frame, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(frame.title, []))
            body {
                header.bar { (brand(&frame)) (frame.controls) }
                main #main { (body) }
                footer { span { "Served by " (frame.host) } }
            }
        }
    }
}

fn head<'a>(title: &str, scripts: impl IntoIterator<Item = &'a str>) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) " · Stepfast" }
            link rel="stylesheet" href="/assets/page.css";
            link rel="icon" type="image/svg+xml" href="/assets/mark.svg";
            @for script in scripts { script src={ "/assets/" (script) } defer {} }
        }
    }
}

fn brand(frame: &Frame) -> Markup {
    html! {
        a.brand href="/" {
            img src="/assets/mark.svg" alt="" width="28" height="28";
            span.name { "Stepfast" }
            span.badge { "v" (frame.version) }
        }
    }
}

/// What a page that is kept live says when it is not.
pub fn lost() -> Markup {
    html! { p #lost .notice.lost role="alert" hidden { "The server does not answer; what stands here is not new." } }
}

/// What a list says that found nothing: there may be more further back.
pub fn nothing(what: &str, next: Option<&String>) -> Markup {
    html! {
        p.empty {
            @match next {
                Some(_) => { "Among those that were looked through, no " (what) " is like that." }
                None => { "No " (what) " is like that." }
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
