//! What a list is asked for beside the fields and chips that it shows anyway: told, kept when its form is sent, and each with the way to do without it.

use super::address::query;
use maud::{Markup, html};

pub struct Beside {
    name: String,
    value: String,
    /// The list without it, from its beginning.
    without: String,
}

/// Of the pairs of a list those that it does not show itself, which is told by their place and name.
pub fn beside(path: &str, pairs: &[(&str, String)], is_shown: impl Fn(usize, &str) -> bool) -> Vec<Beside> {
    let of = |(n, (name, value)): (usize, &(&str, String))| {
        let others: Vec<(&str, String)> = pairs
            .iter()
            .enumerate()
            .filter(|(m, (name, _))| *m != n && *name != "after")
            .map(|(_, pair)| pair.clone())
            .collect();
        Beside { name: (*name).into(), value: value.clone(), without: query(path, &others) }
    };
    pairs.iter().enumerate().filter(|(n, (name, _))| !is_shown(*n, name)).map(of).collect()
}

/// Each as a chip that leads to the list without it.
pub fn chips(all: &[Beside]) -> Markup {
    html! {
        @if !all.is_empty() {
            nav.chips.beside aria-label="Also asked for" {
                @for Beside { name, value, without } in all {
                    @let name = name.replace('_', " ");
                    a.chip.chosen href=(without) aria-label={ "without " (name) " " (value) } { (name) ": " (value) " ×" }
                }
            }
        }
    }
}

/// For the form, behind its fields: of what may be said twice, its field is the first.
pub fn kept(all: &[Beside]) -> Markup {
    html! { @for Beside { name, value, .. } in all { input type="hidden" name=(name) value=(value); } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_kept_and_can_be_left_out() {
        let pairs = [
            ("state", "failed".to_string()),
            ("pool", "<card>".to_string()),
            ("block_id", "7".to_string()),
            ("after", "9".to_string()),
        ];
        let all = beside("/x", &pairs, |_, name| matches!(name, "state" | "after"));
        let html = chips(&all).into_string();
        for part in [
            "href=\"/x?state=failed&amp;block_id=7\" aria-label=\"without pool &lt;card&gt;\">pool: &lt;card&gt; ×</a>",
            "href=\"/x?state=failed&amp;pool=%3Ccard%3E\" aria-label=\"without block id 7\">block id: 7 ×</a>",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        let kept = kept(&all).into_string();
        assert_eq!(
            kept,
            "<input type=\"hidden\" name=\"pool\" value=\"&lt;card&gt;\"><input type=\"hidden\" name=\"block_id\" value=\"7\">"
        );
        assert_eq!(chips(&[]).into_string(), "", "most lists are asked for nothing else");
    }
}
