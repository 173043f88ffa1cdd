//! A to-do names the issue in which it will be done.

use super::Finding;
use super::source::Source;
use std::path::Path;

const MESSAGE: &str = "a to-do names no issue; write `#` and its number beside it";

pub fn find_in_rust(source: &Source) -> Vec<Finding> {
    let bare = source.lines.iter().filter(|line| is_bare(&line.comment));
    bare.map(|line| source.finding(line.number, MESSAGE)).collect()
}

pub fn find_in_sql(path: &Path, text: &str) -> Vec<Finding> {
    let comments = text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, line.split_once("--")?.1)));
    let bare = comments.filter(|(_, comment)| is_bare(comment));
    bare.map(|(line, _)| Finding { path: path.to_owned(), line, message: MESSAGE.into() }).collect()
}

fn is_bare(comment: &str) -> bool {
    let is_doubt = ["TODO", "FIXME"].iter().any(|word| comment.contains(word));
    is_doubt && !names_issue(comment, "#") && !names_issue(comment, "issue ")
}

fn names_issue(comment: &str, before: &str) -> bool {
    comment
        .match_indices(before)
        .any(|(at, _)| comment[at + before.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::{find_in_rust, find_in_sql};
    use crate::tidy::source::Source;
    use std::path::Path;

    #[test]
    fn a_bare_to_do_is_told() {
        let found = |text: &str| find_in_rust(&Source::new("crates/store/src/a.rs", text)).len();
        assert_eq!(found("// TODO: later"), 1);
        assert_eq!(found("let a = 1; /* FIXME # */"), 1);
        assert_eq!(found("// TODO-liveness (#12): who wakes it?"), 0);
        assert_eq!(found("// TODO: see issue 12"), 0);
        assert_eq!(found("let a = \"TODO\";"), 0);
    }

    #[test]
    fn a_bare_to_do_in_sql_is_told() {
        let found = |text: &str| find_in_sql(Path::new("a.sql"), text).len();
        assert_eq!(found("select 1\n-- TODO index"), 1);
        assert_eq!(found("select 1 -- TODO index, #3"), 0);
    }
}
