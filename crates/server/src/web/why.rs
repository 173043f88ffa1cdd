//! A sentence about what holds a step, with ways to what it names, and as people read it.

use super::address::message_group;
use super::markdown::inline;
use crate::words::clock;
use maud::{Markup, html};

/// Characters of an id.
const ID: usize = 36;

/// The sentence, with each `step ID`, `workflow ID`, message group, pool and breaker as a link.
pub fn linked(sentence: &str) -> Markup {
    let (mut rest, mut parts) = (sentence, Vec::new());
    while let Some(named) = next(rest) {
        let (before, from) = rest.split_at(named.at);
        let (text, behind) = from.split_at(named.long);
        parts.push((before, Some((named.path, text))));
        rest = behind;
    }
    parts.push((rest, None));
    html! {
        @for (text, link) in parts {
            (inline(&clocked(text)))
            @if let Some((path, text)) = link { a class=[is_id(text).then_some("mono")] href=(path) { (inline(text)) } }
        }
    }
}

/// With every instant to the second, as elsewhere on a page.
fn clocked(text: &str) -> String {
    let told = |word: &str| match word.parse::<jiff::Timestamp>() {
        Ok(_) => clock(word),
        Err(_) => word.to_string(),
    };
    text.split(' ').map(told).collect::<Vec<_>>().join(" ")
}

/// Something that a sentence names: where it stands, how long its name is, and where its page is.
struct Named {
    at: usize,
    long: usize,
    path: String,
}

/// Where the page of a name is.
type PageOf = fn(&str) -> String;

/// The first that is named.
fn next(text: &str) -> Option<Named> {
    let ids = [
        ("step ", "/step-dispatcher/steps/"),
        ("workflow ", "/workflows/"),
        ("parent ", "/step-dispatcher/steps/"),
    ];
    let ids = ids.iter().filter_map(|(word, path)| {
        let mut starts = text.match_indices(word).map(|(at, _)| at + word.len());
        let at = starts.find(|at| is_id(&text[*at..]))?;
        Some(Named { at, long: ID, path: format!("{path}{}", &text[at..at + ID]) })
    });
    let quoted: [(&str, PageOf); 2] = [("message group `", message_group), ("pool `", |_| "/pools".into())];
    let quoted = quoted.iter().filter_map(|(word, path)| {
        let at = text.find(word)? + word.len() - 1;
        let name = text[at + 1..].split_once('`')?.0;
        Some(Named { at, long: name.len() + 2, path: path(name) })
    });
    let breaker = "the breaker";
    let breaker = text.find(breaker).map(|at| Named { at, long: breaker.len(), path: "/settings".into() });
    ids.chain(quoted).chain(breaker).min_by_key(|named| named.at)
}

fn is_id(text: &str) -> bool {
    let Some(id) = text.get(..ID) else { return false };
    let fits = |(n, byte): (usize, u8)| match n {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    id.bytes().enumerate().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sentence_names_is_a_step_away() {
        let (a, b) = ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002");
        let html = linked(&format!("behind step {a} of <b> in workflow {b}.")).into_string();
        assert!(
            html.starts_with(&format!(
                "behind step <a class=\"mono\" href=\"/step-dispatcher/steps/{a}\">{a}</a> of &lt;b&gt;"
            )),
            "{html}"
        );
        assert!(html.contains(&format!("href=\"/workflows/{b}\">{b}</a>.")), "{html}");
        let html = linked("see `stepfast show`, at 2027-01-15T08:00:00.000000Z").into_string();
        assert_eq!(html, "see <code>stepfast show</code>, at 2027-01-15 08:00:00 UTC");
        assert_eq!(linked("the next step is step 7").into_string(), "the next step is step 7");
    }

    #[test]
    fn what_has_a_name_and_no_id_is_a_step_away_too() {
        let told = |sentence: &str| linked(sentence).into_string();
        assert_eq!(
            told("its message group `a/7` is blocked; see `stepfast message-groups show a/7`"),
            "its message group <a href=\"/message-groups/a%2F7\"><code>a/7</code></a> is blocked; \
             see <code>stepfast message-groups show a/7</code>"
        );
        assert_eq!(
            told("its pool `card` is full: 2 of 2 run"),
            "its pool <a href=\"/pools\"><code>card</code></a> is full: 2 of 2 run"
        );
        assert_eq!(
            told("the breaker is off everywhere, switched off by ann (`x`)"),
            "<a href=\"/settings\">the breaker</a> is off everywhere, switched off by ann (<code>x</code>)"
        );
        assert_eq!(told("a message group `that has no end"), "a message group `that has no end");
    }
}
