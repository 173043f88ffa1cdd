//! Every source file opens with a sentence that says what it is for.

use super::Finding;
use super::source::Source;
use std::path::Path;

pub fn find(source: &Source) -> Vec<Finding> {
    if !needs_header(&source.path) {
        return Vec::new();
    }
    let first = source.lines.iter().find(|line| !line.code.trim().is_empty() || !line.comment.is_empty());
    let header = first.filter(|line| line.code.trim().is_empty()).map(|line| line.comment.trim());
    let says =
        header.and_then(|comment| comment.strip_prefix("//!")).is_some_and(|said| !said.trim().is_empty());
    if says { Vec::new() } else { vec![source.finding(1, "file does not open with a `//!` sentence")] }
}

/// Files under `crates/*/src`, `fuzz/src` and `xtask/src`.
fn needs_header(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let parts: Vec<&str> = parts.iter().map(|part| part.as_ref()).collect();
    matches!(parts[..], ["crates", _, "src", ..] | ["fuzz" | "xtask", "src", ..])
}

#[cfg(test)]
mod tests {
    use super::find;
    use crate::tidy::source::Source;

    fn found(path: &str, text: &str) -> usize {
        find(&Source::new(path, text)).len()
    }

    #[test]
    fn a_file_without_a_sentence_is_told() {
        assert_eq!(found("crates/rules/src/why.rs", "//! Says why.\nuse a;"), 0);
        assert_eq!(found("crates/rules/src/why.rs", "use a;\n//! Says why."), 1);
        assert_eq!(found("crates/rules/src/why.rs", "//!\nuse a;"), 1);
        assert_eq!(found("crates/rules/src/why.rs", "// Says why.\nuse a;"), 1);
        assert_eq!(found("crates/rules/src/why.rs", ""), 1);
        assert_eq!(found("xtask/src/a.rs", "use a;"), 1);
        assert_eq!(found("fuzz/src/a.rs", "use a;"), 1);
        assert_eq!(found("crates/rules/tests/why.rs", "use a;"), 0);
    }
}
