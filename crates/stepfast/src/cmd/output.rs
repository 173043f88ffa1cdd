//! Data on standard output: tables for people, one JSON object a line for programs.

use crate::bench::Figures;
use comfy_table::{Table, presets};
use model::Timestamp;
use serde::Serialize;
use std::io::Write;

pub fn line(value: &impl Serialize) {
    let text = serde_json::to_string(value).unwrap_or_default();
    // A reader that closed the pipe has seen enough.
    let _ = writeln!(std::io::stdout(), "{text}");
}

pub fn text(words: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{words}");
}

pub fn table(head: &[&str], rows: Vec<Vec<String>>) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head.to_vec());
    for row in rows {
        table.add_row(row);
    }
    text(table.trim_fmt());
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
