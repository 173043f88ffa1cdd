//! Data on standard output: tables for people, one JSON object a line for programs.

use crate::bench::Figures;
use crate::screen::{self, Paint, plain};
use model::Timestamp;
use serde::Serialize;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// All that a command printed: its data, and what it said beside that.
#[derive(Default)]
pub struct Look {
    pub page: String,
    pub notes: String,
}

/// What is printed stands here instead while a look is gathered, so that it is drawn at once.
static LOOK: Mutex<Option<Look>> = Mutex::new(None);

fn look() -> MutexGuard<'static, Option<Look>> {
    LOOK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on nothing is printed until [`gathered`] is asked.
pub fn gather() {
    *look() = Some(Look::default());
}

/// What would have been printed.
pub fn gathered() -> Look {
    look().take().unwrap_or_default()
}

/// One object on one line. Arguments and answers are kept as they were written; a line break in JSON is never part of a text.
pub fn line(value: &impl Serialize) {
    put(&escaped(serde_json::to_string(value).unwrap_or_default().replace(['\n', '\r'], " ")));
}

/// One object as people read it.
pub fn pretty(value: &impl Serialize) {
    put(&escaped(serde_json::to_string_pretty(value).unwrap_or_default()));
}

/// JSON lets characters stand in a text that a terminal takes for orders; escaped they say the same.
fn escaped(json: String) -> String {
    let is_order = |c: char| matches!(c, '\u{7f}'..='\u{9f}');
    match json.contains(is_order) {
        true => json
            .chars()
            .map(|c| if is_order(c) { format!("\\u{:04x}", u32::from(c)) } else { c.into() })
            .collect(),
        false => json,
    }
}

/// For people. What came from elsewhere may stand in it, and is no order to their terminal.
pub fn text(words: impl std::fmt::Display) {
    put(&screen::harmless(&words.to_string(), Paint::stdout()));
}

/// A fact with its name before it, on one line.
pub fn fact(wide: usize, name: &str, value: impl std::fmt::Display) {
    text(format_args!("{name:<wide$} {}", plain(&value.to_string())));
}

/// Each of its fields that says something.
pub fn facts(wide: usize, value: &impl Serialize) {
    let value = serde_json::to_value(value).unwrap_or_default();
    for (name, value) in value.as_object().into_iter().flatten().filter(|(_, v)| !v.is_null()) {
        match value.as_str() {
            Some(text) => fact(wide, name, text),
            None => fact(wide, name, value),
        }
    }
}

/// Talk beside the data, on standard error.
pub fn note(words: impl std::fmt::Display) {
    let words = screen::harmless(&words.to_string(), Paint::stderr());
    match &mut *look() {
        Some(look) => look.notes.push_str(&format!("{words}\n")),
        // Nobody listens any more.
        None => drop(writeln!(std::io::stderr(), "{words}")),
    }
}

/// As it is, and harmless already.
pub fn put(text: &str) {
    match &mut *look() {
        Some(look) => look.page.push_str(&format!("{text}\n")),
        // A reader that closed the pipe has seen enough.
        None => drop(writeln!(std::io::stdout(), "{text}")),
    }
}

pub fn table(head: &[&str], rows: Vec<Vec<String>>) {
    let fitted = screen::table(head, rows, screen::width(), Paint::stdout());
    text(fitted.text);
    if !fitted.left_out.is_empty() {
        note(format_args!("no room for {}; see --json", fitted.left_out.join(", ")));
    }
}

/// An instant as people read it, in UTC.
pub fn time(at: Option<Timestamp>) -> String {
    at.and_then(|t| jiff::Timestamp::from_microsecond(t.0).ok())
        .map_or_else(|| "-".into(), |t| t.strftime("%Y-%m-%d %H:%M:%S%.3f").to_string())
}

/// An instant of the API as people read it.
pub fn instant(at: Option<&String>) -> String {
    let read = at.and_then(|at| at.parse::<jiff::Timestamp>().ok());
    time(read.map(|at| Timestamp(at.as_microsecond())))
}

pub fn figures(figures: &Figures, json: bool) {
    if json {
        return line(figures);
    }
    facts(22, figures);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    #[test]
    fn what_was_written_on_many_lines_is_one_line_of_json() {
        gather();
        line(&RawValue::from_string("{\n \"x\": \"a\\nb\",\r\n \"y\": 1\n}".into()).unwrap());
        let told = gathered().page;
        assert_eq!(told.lines().count(), 1, "{told}");
        let read: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(read, serde_json::json!({"x": "a\nb", "y": 1}));
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped_in_json() {
        let json = escaped("{\"x\":\"a\u{9b}2J\u{7f}é\"}".into());
        assert_eq!(json, "{\"x\":\"a\\u009b2J\\u007fé\"}");
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["x"], "a\u{9b}2J\u{7f}é");
    }
}
