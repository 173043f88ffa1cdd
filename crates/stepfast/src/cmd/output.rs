//! Data on standard output: tables for people, one JSON object a line for programs.

use crate::bench::Figures;
use crate::screen::{self, Paint};
use model::Timestamp;
use serde::Serialize;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is printed stands here instead while a page is gathered, so that a look is drawn at once.
static PAGE: Mutex<Option<String>> = Mutex::new(None);

fn page() -> MutexGuard<'static, Option<String>> {
    PAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on nothing is printed until [`gathered`] is asked.
pub fn gather() {
    *page() = Some(String::new());
}

/// What would have been printed.
pub fn gathered() -> String {
    page().take().unwrap_or_default()
}

/// One object on one line. Arguments and answers are kept as they were written; a line break in JSON is never part of a text.
pub fn line(value: &impl Serialize) {
    text(serde_json::to_string(value).unwrap_or_default().replace(['\n', '\r'], " "));
}

pub fn text(words: impl std::fmt::Display) {
    match &mut *page() {
        Some(page) => page.push_str(&format!("{words}\n")),
        // A reader that closed the pipe has seen enough.
        None => drop(writeln!(std::io::stdout(), "{words}")),
    }
}

pub fn table(head: &[&str], rows: Vec<Vec<String>>) {
    let fitted = screen::table(head, rows, screen::width(), Paint::stdout());
    text(fitted.text);
    if !fitted.left_out.is_empty() {
        eprintln!("no room for {}; see --json", fitted.left_out.join(", "));
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
    let value = serde_json::to_value(figures).unwrap_or_default();
    for (name, value) in value.as_object().into_iter().flatten().filter(|(_, v)| !v.is_null()) {
        let value = value.as_str().map_or_else(|| value.to_string(), String::from);
        text(format_args!("{name:<22} {value}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    #[test]
    fn what_was_written_on_many_lines_is_one_line_of_json() {
        gather();
        line(&RawValue::from_string("{\n \"x\": \"a\\nb\",\r\n \"y\": 1\n}".into()).unwrap());
        let told = gathered();
        assert_eq!(told.lines().count(), 1, "{told}");
        let read: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(read, serde_json::json!({"x": "a\nb", "y": 1}));
    }
}
