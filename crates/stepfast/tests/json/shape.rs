//! The fields of a value and what kind each is of, without what is in them.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The kinds that were seen of each field.
type Fields = BTreeMap<String, BTreeSet<&'static str>>;

/// Of a field that was nothing wherever it was seen.
const NOTHING: &str = "null";

/// What the lines of one answer have in common or apart: every field that one of them has.
pub fn of_all(values: &[Value]) -> String {
    let mut fields = Fields::new();
    values.iter().for_each(|value| paths(value, "", &mut fields));
    if fields.is_empty() {
        return "  (no fields)\n".into();
    }
    let line = |(path, kinds): (&String, &BTreeSet<&str>)| format!("  {path}: {}\n", told(kinds));
    fields.iter().map(line).collect()
}

/// A field that is sometimes nothing is of the kind that it is otherwise.
fn told(kinds: &BTreeSet<&str>) -> String {
    let some: Vec<&str> = kinds.iter().copied().filter(|kind| *kind != NOTHING).collect();
    if some.is_empty() { NOTHING.into() } else { some.join("|") }
}

/// Lines of what was found that say something else than what is stored; all of it, if a field has come or gone. A field that is nothing
/// in one of them may be of any kind in the other.
pub fn news<'a>(stored: &str, found: &'a str) -> Vec<&'a str> {
    let parts = |line: &str| line.split_once(": ").map(|(path, kind)| (path.to_string(), kind.to_string()));
    let is_alike = |old: &str, new: &str| match (parts(old), parts(new)) {
        (Some((old, was)), Some((new, is))) => old == new && (was == is || was == NOTHING || is == NOTHING),
        _ => old == new,
    };
    if stored.lines().count() != found.lines().count() {
        return found
            .lines()
            .filter(|new| !stored.lines().any(|old| is_alike(old, new)))
            .chain([""])
            .collect();
    }
    let pairs = stored.lines().zip(found.lines());
    pairs.filter(|(old, new)| !is_alike(old, new)).map(|(_, new)| new).collect()
}

/// Those whose own fields are somebody's data, not ours, and which may be of any kind.
const DATA: [&str; 14] = [
    "arguments",
    "response",
    "input",
    "output",
    "payload",
    "labels",
    "definition",
    "properties",
    "default",
    "data",
    "after",
    "before",
    "answer",
    "details",
];

fn is_data(path: &str) -> bool {
    DATA.contains(&path.rsplit('.').next().unwrap_or_default().trim_end_matches("[]"))
}

fn paths(value: &Value, path: &str, into: &mut Fields) {
    match value {
        Value::Object(fields) if !is_data(path) => {
            for (name, inner) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let kind = if is_data(&path) { "data" } else { kind(inner) };
                into.entry(path.clone()).or_default().insert(kind);
                paths(inner, &path, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| paths(item, &format!("{path}[]"), into)),
        _ => {}
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => NOTHING,
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

#[test]
fn a_shape_is_the_names_and_kinds_of_fields() {
    let value = serde_json::json!({"a": 1, "b": [{"c": null}, {"d": {"e": "2"}}], "labels": {"x": 1}});
    let told = "  a: number\n  b: list\n  b[].c: null\n  b[].d: object\n  b[].d.e: string\n  labels: data\n";
    assert_eq!(of_all(&[value]), told);
    assert_eq!(of_all(&[Value::Bool(true)]), "  (no fields)\n");
    let two = [serde_json::json!({"a": null}), serde_json::json!({"a": true})];
    assert_eq!(of_all(&two), "  a: bool\n");
}

#[test]
fn a_number_that_becomes_a_text_is_news_and_what_is_nothing_is_none() {
    assert_eq!(news("list\n  a: number\n", "list\n  a: string\n"), ["  a: string"]);
    assert!(news("list\n  a: number\n", "list\n  a: null\n").is_empty());
    assert!(news("list\n  a: null\n", "list\n  a: string\n").is_empty());
    assert_eq!(news("list\n  a: number\n", "list\n  b: number\n"), ["  b: number"]);
    assert_eq!(news("list\n", "list\n  b: number\n"), ["  b: number", ""]);
    assert_eq!(news("list\n  b: number\n", "list\n"), [""]);
}
