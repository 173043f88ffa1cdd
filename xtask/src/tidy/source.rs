//! A Rust file as rules see it: masked lines, and which of them are tests.

use super::Finding;
use super::mask::{Masked, mask};
use std::path::{Path, PathBuf};

pub struct Source {
    /// From the root of the repository.
    pub path: PathBuf,
    pub lines: Vec<Line>,
}

pub struct Line {
    /// Counted from 1.
    pub number: usize,
    pub code: String,
    pub comment: String,
    pub in_test: bool,
}

impl Source {
    pub fn new(path: impl Into<PathBuf>, text: &str) -> Source {
        let path = path.into();
        let masked = mask(text.strip_suffix('\n').unwrap_or(text));
        let in_test = if is_test_file(&path) { vec![true; masked.len()] } else { test_lines(&masked) };
        let line = |(at, (masked, in_test)): (usize, (Masked, bool))| Line {
            number: at + 1,
            code: masked.code,
            comment: masked.comment,
            in_test,
        };
        Source { path, lines: masked.into_iter().zip(in_test).enumerate().map(line).collect() }
    }

    pub fn finding(&self, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, message: message.into() }
    }
}

fn is_test_file(path: &Path) -> bool {
    path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests")
}

/// The lines of every item behind `#[cfg(test)]`.
fn test_lines(lines: &[Masked]) -> Vec<bool> {
    let mut marks = vec![false; lines.len()];
    for start in 0..lines.len() {
        let Some(column) = lines[start].code.find("#[cfg(test)]") else { continue };
        let end = item_end(lines, start, column).unwrap_or(lines.len() - 1);
        marks[start..=end].fill(true);
    }
    marks
}

/// The line on which the item ends that begins here: at its closing brace, or at a semicolon before any brace.
///
/// Semicolons inside brackets, as in `[u8; 4]`, belong to a type.
pub fn item_end(lines: &[impl AsRef<str>], start: usize, column: usize) -> Option<usize> {
    let (mut brackets, mut braces) = (0_i64, 0_i64);
    for (at, line) in lines.iter().enumerate().skip(start) {
        let skipped = if at == start { column } else { 0 };
        for c in line.as_ref()[skipped..].chars() {
            match c {
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets -= 1,
                '{' => braces += 1,
                '}' => {
                    braces -= 1;
                    if braces <= 0 {
                        return Some(at);
                    }
                }
                ';' if brackets == 0 && braces == 0 => return Some(at),
                _ => {}
            }
        }
    }
    None
}

impl AsRef<str> for Masked {
    fn as_ref(&self) -> &str {
        &self.code
    }
}

impl AsRef<str> for Line {
    fn as_ref(&self) -> &str {
        &self.code
    }
}

/// Whether the pattern stands in the code as itself and not as a part of a longer name.
pub fn names(code: &str, pattern: &str) -> bool {
    let is_name = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    code.match_indices(pattern).any(|(at, _)| {
        let (before, after) = (code[..at].chars().next_back(), code[at + pattern.len()..].chars().next());
        let left = is_name(pattern.chars().next()) && is_name(before);
        let right = is_name(pattern.chars().next_back()) && is_name(after);
        !left && !right
    })
}

#[cfg(test)]
mod tests {
    use super::{Source, names};

    fn tested(path: &str, text: &str) -> Vec<usize> {
        let source = Source::new(path, text);
        source.lines.iter().filter(|line| line.in_test).map(|line| line.number).collect()
    }

    #[test]
    fn test_items_are_marked_to_their_end() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() {}\n}\nfn c() {}\n";
        assert_eq!(tested("crates/a/src/lib.rs", text), [2, 3, 4, 5]);
        assert_eq!(tested("crates/a/src/lib.rs", "#[cfg(test)]\nmod tests;\nfn c() {}"), [1, 2]);
        assert_eq!(tested("crates/a/tests/all.rs", "fn c() {\n}"), [1, 2]);
        assert_eq!(tested("crates/a/src/tests.rs", "fn c() {\n}"), [1, 2]);
    }

    #[test]
    fn a_name_is_whole() {
        assert!(names("use rand::Rng;", "rand::"));
        assert!(!names("operand::of(x)", "rand::"));
        assert!(names("pub async fn a()", "async"));
        assert!(!names("is_async = true", "async"));
        assert!(names("asyncs(async {})", "async"));
    }
}
