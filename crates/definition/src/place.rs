//! From the path of a field to its place in the file.
//!
//! Why    the checks look at the model and name fields, as `steps[2].branch.choose`; people look at a file.

use crate::diagnostic::Spot;
use crate::notes::Source;
use crate::tree::{Body, Node, Style};

/// A part of an expression: line and column in its text, from 1, and how many characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub line: u32,
    pub column: u32,
    pub width: u32,
}

/// What a path leads to, as far as it goes: the key it stands behind, and the value.
struct Found<'t> {
    key: Option<Spot>,
    node: &'t Node,
    /// The whole path is there.
    whole: bool,
}

fn find<'t>(root: &'t Node, field: &str) -> Found<'t> {
    let mut found = Found { key: None, node: root, whole: false };
    let mut rest = field;
    loop {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if rest.is_empty() {
            return Found { whole: true, ..found };
        }
        let next = match &found.node.body {
            Body::List(nodes) => index(rest).and_then(|(n, behind)| Some((None, nodes.get(n)?, behind))),
            Body::Map(entries) => {
                let fits =
                    |key: &str| rest.strip_prefix(key).filter(|r| r.is_empty() || r.starts_with(['.', '[']));
                // Keys of free values may hold points, so the longest that fits is meant.
                let fitting = entries.iter().filter_map(|entry| Some((entry, fits(&entry.key)?)));
                let longest = fitting.max_by_key(|(entry, _)| entry.key.len());
                longest.map(|(entry, behind)| (Some(entry.spot), &entry.value, behind))
            }
            Body::Scalar(_) => None,
        };
        let Some((key, node, behind)) = next else { return found };
        (found, rest) = (Found { key, node, whole: false }, behind);
    }
}

fn index(path: &str) -> Option<(usize, &str)> {
    let (number, behind) = path.strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, behind))
}

/// The place of a field; of one that is not written, the place of what it belongs to.
pub(crate) fn locate(root: &Node, field: &str) -> Spot {
    let found = find(root, field);
    let is_scalar = matches!(found.node.body, Body::Scalar(_));
    match found.key {
        Some(key) if !(found.whole && is_scalar) => key,
        _ => found.node.spot,
    }
}

/// The place of a part of the text that a field holds.
pub(crate) fn locate_part(root: &Node, field: &str, part: Part, source: &Source) -> Spot {
    let found = find(root, field);
    let Body::Scalar(scalar) = &found.node.body else { return locate(root, field) };
    let start = found.node.spot;
    let Some(text) = scalar.text.lines().nth(part.line as usize - 1) else { return start };
    let (line, lead) = match scalar.style {
        Style::Plain | Style::Quoted if part.line > 1 => return start,
        Style::Plain => (start.line, start.column - 1),
        Style::Quoted => (start.line, start.column),
        Style::Literal => {
            let line = start.line + part.line - 1;
            let indent = source.line(line).chars().take_while(|c| *c == ' ').count() as u32;
            (line, indent - text.chars().take_while(|c| *c == ' ').count().min(indent as usize) as u32)
        }
        Style::Folded => return start,
    };
    // Escapes and folded lines move what is behind them; then the whole is marked.
    let written: String = source.line(line).chars().skip(lead as usize).take(text.chars().count()).collect();
    if written != text {
        return start;
    }
    Spot { line, column: lead + part.column, width: part.width.max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notes::Notes;
    use crate::parse::parse;

    fn place(text: &str, field: &str) -> (u32, u32) {
        let root = parse(text, &mut Notes::default()).unwrap();
        let spot = locate(&root, field);
        (spot.line, spot.column)
    }

    #[test]
    fn a_path_leads_to_its_place() {
        let text = "a:\n  - b: 1\n    c.d: {e: [x, y]}\n";
        assert_eq!(place(text, "a[0].b"), (2, 8));
        assert_eq!(place(text, "a[0].c.d.e[1]"), (3, 18));
        assert_eq!(
            place(text, "a[0].c.d.f"),
            (3, 5),
            "what is not there is told of at the key it belongs to"
        );
        assert_eq!(place(text, "a[0].z"), (2, 5));
        assert_eq!(place(text, "a[7]"), (1, 1));
        assert_eq!(place(text, ""), (1, 1));
    }

    fn part(text: &str, line: u32, column: u32) -> (u32, u32) {
        let root = parse(text, &mut Notes::default()).unwrap();
        let spot = locate_part(&root, "when", Part { line, column, width: 1 }, &Source::new("x", text));
        (spot.line, spot.column)
    }

    #[test]
    fn a_part_of_a_text_has_a_place_where_it_can_be_found() {
        assert_eq!(part("when: input.x", 1, 7), (1, 13));
        assert_eq!(part("when: \"input.x\"", 1, 7), (1, 14));
        assert_eq!(part("{\"when\": \"input.x\"}", 1, 7), (1, 17));
        assert_eq!(part("when: |\n  input\n    .x\n", 2, 4), (3, 6));
        assert_eq!(part("when: \"\\x69nput.x\"", 1, 7), (1, 7), "escapes move it");
        assert_eq!(part("when: >\n  input\n  .x\n", 1, 7), (2, 3));
        assert_eq!(part("when: \"input\n  .x\"", 1, 7), (1, 7));
        assert_eq!(part("when: x", 9, 9), (1, 7));
    }
}
