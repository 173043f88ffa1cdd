//! The way around: every page for people with the key that leads to it, in the order in which one looks for trouble.

use crate::access::is_open;
use maud::{Markup, html};

/// A page: its name, its address, and the letter that leads to it behind `g`.
struct Place(&'static str, &'static str, char);

/// Places under one heading.
type Part = (&'static str, &'static [Place]);

const PARTS: [Part; 4] = [
    (
        "Work",
        &[
            Place("Overview", "/step-dispatcher", 'o'),
            Place("Workflows", "/workflows", 'w'),
            Place("Steps", "/step-dispatcher/steps", 's'),
            Place("Flows", "/flows", 'f'),
            Place("Bulk operations", "/bulk", 'b'),
        ],
    ),
    (
        "Needs somebody",
        &[
            Place("Alerts", "/alerts", 'a'),
            Place("Polls and pauses", "/waiting", 'p'),
            Place("Half done", "/progress", 'h'),
            Place("Notifications", "/notifications", 't'),
        ],
    ),
    (
        "Holds back",
        &[
            Place("Message groups", "/message-groups", 'm'),
            Place("Pools", "/pools", 'l'),
            Place("Executions", "/executions", 'e'),
        ],
    ),
    (
        "Set up",
        &[
            Place("Definitions", "/definitions", 'd'),
            Place("Nodes and ticks", "/nodes", 'n'),
            Place("Settings", "/settings", 'c'),
            Place("Keys", "/keys", 'k'),
            Place("Audit", "/audit", 'u'),
        ],
    ),
];

/// What whoever looks may open of a part.
fn open(places: &'static [Place]) -> impl Iterator<Item = &'static Place> {
    places.iter().filter(|Place(_, href, _)| is_open(href))
}

/// The list beside a page; whoever may open none of it is shown the way in.
pub fn list() -> Markup {
    let parts = PARTS.into_iter().filter(|&(_, places)| open(places).next().is_some());
    let parts: Vec<Part> = parts.collect();
    html! {
        @for &(heading, places) in &parts {
            p.part { (heading) }
            ul { @for Place(name, href, key) in open(places) { li { a href=(href) data-key=(key) { (name) } } } }
        }
        @if parts.is_empty() { ul { li { a href="/sign-in" { "Sign in" } } } }
    }
}

/// What the keys do, told when somebody presses `?`.
pub fn keys() -> Markup {
    let others = [("?", "This sheet"), ("/", "To the field at the top"), ("Esc", "Close this sheet")];
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl.keys {
                @for (key, does) in others { div { dt { kbd { (key) } } dd { (does) } } }
                @for Place(name, _, key) in PARTS.into_iter().flat_map(|(_, places)| open(places)) {
                    div { dt { kbd { "g" } " " kbd { (key) } } dd { (name) } }
                }
            }
            button #keys-close .button type="button" { "Close" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_page_has_a_key_of_its_own() {
        let all: Vec<&Place> = PARTS.iter().flat_map(|(_, places)| *places).collect();
        let keys: HashSet<char> = all.iter().map(|place| place.2).collect();
        assert_eq!(keys.len(), all.len());
        let paths: HashSet<&str> = super::super::routes().parts().1.routes().iter().map(|r| r.path).collect();
        for Place(name, href, _) in all {
            assert!(paths.contains(href), "{name} leads to {href}, where there is nothing");
        }
    }
}
