//! A sentence about what holds a step, with ways to the steps and workflows that it names, and as people read it.

use super::markdown::inline;
use crate::words::clock;
use maud::{Markup, html};

/// Characters of an id.
const ID: usize = 36;

/// The sentence, with each `step ID` and `workflow ID` as a link.
pub fn linked(sentence: &str) -> Markup {
    let (mut rest, mut parts) = (sentence, Vec::new());
    while let Some((at, path)) = next(rest) {
        let (before, from) = rest.split_at(at);
        let (id, behind) = from.split_at(ID);
        parts.push((before, Some((path, id))));
        rest = behind;
    }
    parts.push((rest, None));
    html! {
        @for (text, link) in parts { (inline(&clocked(text))) @if let Some((path, id)) = link { a.mono href={ (path) (id) } { (id) } } }
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

/// Where the first id stands, and where its page is.
fn next(text: &str) -> Option<(usize, &'static str)> {
    let kinds = [
        ("step ", "/step-dispatcher/steps/"),
        ("workflow ", "/workflows/"),
        ("parent ", "/step-dispatcher/steps/"),
    ];
    let found = kinds.iter().flat_map(|(word, path)| {
        let starts = text.match_indices(word).map(|(at, _)| at + word.len());
        starts.filter(|at| is_id(&text[*at..])).map(|at| (at, *path)).take(1)
    });
    found.min_by_key(|(at, _)| *at)
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
}
