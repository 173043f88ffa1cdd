//! One thing wrong with a definition file: where, the line itself, what, and what to write instead.

use crate::limits::SHOWN_CHARS_MAX;
use serde::Serialize;
use std::fmt;

/// A place in a file, counted from 1; a value that stands in no file has none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Spot {
    pub line: u32,
    /// In characters.
    pub column: u32,
    /// Characters to underline.
    pub width: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Diagnostic {
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub width: u32,
    pub source_line: String,
    /// The path of what it is about, for example `steps[2].branch.choose`.
    pub field: String,
    pub message: String,
    pub fix: String,
}

impl Diagnostic {
    /// What is shown of the line, and where in it the underlining begins and how long it is.
    fn shown(&self) -> (String, usize, usize) {
        let clean = |c: char| if c.is_control() { ' ' } else { c };
        let column = self.column.max(1) as usize - 1;
        let from = if column < SHOWN_CHARS_MAX - 20 { 0 } else { column - 20 };
        let text: String = self.source_line.chars().skip(from).take(SHOWN_CHARS_MAX).map(clean).collect();
        let text = text.trim_end().to_string();
        let length = text.chars().count();
        let at = column - from;
        let width = (self.width as usize).clamp(1, (length.saturating_sub(at)).max(1));
        let (before, lead) = if from > 0 { ("… ", 2) } else { ("", 0) };
        (format!("{before}{text}"), at + lead, width)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { file, line, column, message, fix, .. } = self;
        writeln!(f, "{file}:{line}:{column}: {message}")?;
        let number = line.to_string();
        let space = " ".repeat(number.len());
        let (text, at, width) = self.shown();
        writeln!(f, " {space} |")?;
        writeln!(f, " {number} | {text}")?;
        writeln!(f, " {space} | {}{}", " ".repeat(at), "^".repeat(width))?;
        write!(f, " {space} = {fix}")
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(column: u32, width: u32, source_line: &str) -> String {
        let (file, field) = ("order.yaml".into(), "steps[0].actoin".into());
        let (message, fix) = ("unknown key `actoin`".into(), "write `action`".into());
        let source_line = source_line.into();
        Diagnostic { file, line: 12, column, width, source_line, field, message, fix }.to_string()
    }

    #[test]
    fn it_shows_the_line_and_what_to_write() {
        assert_eq!(
            at(5, 6, "    actoin: inventory.reserve"),
            "order.yaml:12:5: unknown key `actoin`\n    |\n 12 |     actoin: inventory.reserve\n    |     ^^^^^^\n    = write `action`"
        );
    }

    #[test]
    fn long_lines_are_cut_and_control_characters_are_not_shown() {
        let long = format!("{}\u{1b}here{}", "x".repeat(300), "y".repeat(300));
        let text = at(302, 4, &long);
        let line = text.lines().nth(2).unwrap();
        let under = text.lines().nth(3).unwrap();
        assert!(line.chars().count() < 140, "{text}");
        let start = under.chars().position(|c| c == '^').unwrap();
        assert_eq!(line.chars().skip(start).take(4).collect::<String>(), "here");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn what_lies_behind_the_line_is_still_marked() {
        assert!(at(40, 9, "key: x").ends_with("^\n    = write `action`"));
    }
}
