//! What is found wrong on the way, before it is shown: a place, a path, what, and what to write.

use crate::diagnostic::{Diagnostic, Spot};
use crate::limits::FAULTS_MAX;
use std::collections::BTreeSet;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Note {
    pub spot: Spot,
    pub field: String,
    pub message: String,
    pub fix: String,
}

/// Faults in the order they are found, and the fields that are known to be wrong: what follows only from them is not told.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub list: Vec<Note>,
    wrong: BTreeSet<String>,
    /// Faults that found no room.
    left_out: usize,
}

impl Notes {
    pub fn add(&mut self, spot: Spot, field: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.mark(field);
        if self.is_full() {
            self.left_out += 1;
            return;
        }
        let (message, fix) = (message.into(), fix.into());
        self.list.push(Note { spot, field: field.into(), message, fix });
    }

    /// Nobody reads so much: what else is wrong is only counted.
    pub fn is_full(&self) -> bool {
        self.list.len() >= 10 * FAULTS_MAX
    }

    /// Nothing more is to be said about this field.
    pub fn mark(&mut self, field: &str) {
        if self.wrong.len() < 10 * FAULTS_MAX {
            self.wrong.insert(field.into());
        }
    }

    /// It, or something it is part of, is wrong already.
    pub fn is_wrong(&self, field: &str) -> bool {
        let ends = field.char_indices().filter(|(_, c)| matches!(c, '.' | '[')).map(|(at, _)| at);
        ends.chain([field.len()]).any(|end| self.wrong.contains(&field[..end]))
    }

    /// It, or something in it, is wrong already.
    pub fn is_wrong_within(&self, field: &str) -> bool {
        let behind = self.wrong.range(field.to_string()..).next();
        behind.is_some_and(|wrong| {
            wrong.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// In the order of the file, each once, and not more than a person can read.
    pub fn diagnostics(mut self, source: &Source) -> Vec<Diagnostic> {
        self.list.sort_by_key(|note| (note.spot.line, note.spot.column));
        self.list.dedup_by(|a, b| (a.spot, &a.message) == (b.spot, &b.message));
        let more = self.list.len().saturating_sub(FAULTS_MAX) + self.left_out;
        self.list.truncate(FAULTS_MAX);
        if let Some(last) = self.list.last().filter(|_| more > 0) {
            let (spot, field) = (last.spot, String::new());
            let message = format!("{more} more faults are not shown");
            self.list.push(Note { spot, field, message, fix: "mend those above first".into() });
        }
        self.list.into_iter().map(|note| source.show(note)).collect()
    }
}

/// The text that is read, by lines.
pub(crate) struct Source<'a> {
    pub name: &'a str,
    lines: Vec<&'a str>,
}

impl<'a> Source<'a> {
    pub fn new(name: &'a str, text: &'a str) -> Source<'a> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let ends = |c: char| c == '\n' || c == '\r';
        let mut lines: Vec<&str> = text.split('\n').collect();
        // A lone carriage return ends a line too.
        if text.contains('\r') {
            lines =
                lines.iter().flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split(ends)).collect();
        }
        Source { name, lines }
    }

    pub fn line(&self, number: u32) -> &'a str {
        (number as usize).checked_sub(1).and_then(|at| self.lines.get(at)).copied().unwrap_or_default()
    }

    fn show(&self, note: Note) -> Diagnostic {
        let Note { spot, field, message, fix } = note;
        let (line, column) = (spot.line.max(1), spot.column.max(1));
        let source_line = self.line(line).chars().take(10_000).collect();
        Diagnostic {
            file: self.name.into(),
            line,
            column,
            width: spot.width,
            source_line,
            field,
            message,
            fix,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inside_something_wrong_is_wrong() {
        let mut notes = Notes::default();
        notes.mark("steps[1].branch");
        let wrong = |field| notes.is_wrong(field);
        assert!(wrong("steps[1].branch") && wrong("steps[1].branch.choose") && wrong("steps[1].branch[0]"));
        assert!(notes.is_wrong_within("steps[1]") && notes.is_wrong_within("steps[1].branch"));
        assert!(!notes.is_wrong_within("steps[1].branch.choose") && !notes.is_wrong_within("step"));
        assert!(!wrong("steps[1]") && !wrong("steps[1].branches") && !wrong("steps[11].branch"));
    }

    #[test]
    fn there_is_an_end_to_what_is_told() {
        let mut notes = Notes::default();
        for n in 0..5_000 {
            notes.add(Spot { line: n + 1, column: 1, width: 1 }, &format!("steps[{n}]"), "wrong", "write it");
        }
        let told = notes.diagnostics(&Source::new("x.yaml", ""));
        assert_eq!(told.len(), FAULTS_MAX + 1);
        assert_eq!(told[FAULTS_MAX].message, "4900 more faults are not shown");
    }

    #[test]
    fn lines_end_in_three_ways() {
        let source = Source::new("x.yaml", "\u{feff}a\nb\r\nc\rd");
        assert_eq!([1, 2, 3, 4, 5].map(|n| source.line(n)), ["a", "b", "c", "d", ""]);
    }
}
