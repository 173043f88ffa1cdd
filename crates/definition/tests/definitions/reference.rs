//! `docs/reference/definition.md`: the page that is made from the JSON Schema, and the test that holds it to it.

use crate::{blesses, definition};
use serde_json::{Map, Value};
use std::fmt::Write;

const HEAD: &str = "# Definition files

Made from [the JSON Schema](../definition.schema.json) by `STEPFAST_BLESS=1 cargo nextest run -p stepfast-definition reference`; a test
compares. `stepfast schema` prints the schema for your editor, `stepfast validate FILE` tells everything that is wrong with a file, with its
place. [Definitions](../definitions.md) explains with examples what is only listed here.

A **duration** is written `90s`, `5m`, `2h30m`, `7d` or `500ms`. An **expression** is [CEL](../expressions.md). A **template** is any value;
texts in it may hold `${expression}`. Keys with a **!** must be there.
";

#[test]
fn the_reference_is_what_the_schema_says() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/definition.md");
    let page = page();
    if blesses() {
        std::fs::write(&path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/reference/definition.md is not what the schema says; STEPFAST_BLESS=1 writes it anew"
    );
}

#[test]
fn every_key_of_the_schema_is_in_it_with_its_meaning() {
    let page = page();
    for part in [
        "| `workflow` **!** |",
        "## `steps[]`",
        "| `max_parallel` | 1 to 1000000 |",
        "## `steps[].pause_after.poll`",
        "| `interval` | duration | `5m` |",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains("| ? |"), "a form has no words: {page}");
}

fn page() -> String {
    let schema = definition::schema();
    let mut page = HEAD.to_string();
    section(&mut page, "", &schema);
    page
}

/// One object with its keys, then those that stand in it.
fn section(page: &mut String, path: &str, object: &Value) {
    let title = if path.is_empty() { "The file".to_string() } else { format!("`{path}`") };
    let _ = writeln!(page, "\n## {title}\n\n| key | takes | default | meaning |\n|---|---|---|---|");
    let nothing = Map::new();
    let keys = object["properties"].as_object().unwrap_or(&nothing);
    for must in [true, false] {
        for (key, of) in keys.iter().filter(|(key, _)| is_required(object, key) == must) {
            let mark = if must { " **!**" } else { "" };
            let default = of.get("default").map(|value| format!("`{}`", bare(value))).unwrap_or_default();
            let about = of["description"].as_str().unwrap_or_default();
            let _ = writeln!(page, "| `{key}`{mark} | {} | {default} | {about} |", takes(of));
        }
    }
    for line in choices(object) {
        let _ = writeln!(page, "\n{line}");
    }
    for (key, of) in keys {
        let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if let Some((suffix, inner)) = inner(of) {
            section(page, &format!("{below}{suffix}"), inner);
        }
    }
}

fn is_required(object: &Value, key: &str) -> bool {
    object["required"].as_array().is_some_and(|all| all.iter().any(|name| name == key))
}

/// The object in which keys stand, wherever it is.
fn inner(of: &Value) -> Option<(&'static str, &Value)> {
    let is_object = |value: &&Value| value["properties"].is_object();
    let form = || of["oneOf"].as_array()?.iter().find(is_object);
    let item = Some(&of["items"]).filter(is_object).map(|items| ("[]", items));
    Some(of).filter(is_object).or_else(form).map(|found| ("", found)).or(item)
}

/// What must stand beside what.
fn choices(object: &Value) -> Vec<String> {
    let names = |list: &Value| -> Vec<String> {
        let all = list.as_array().into_iter().flatten();
        all.filter_map(|one| Some(format!("`{}`", one["required"][0].as_str()?))).collect()
    };
    let mut lines = Vec::new();
    if object["oneOf"].is_array() {
        lines.push(format!("Exactly one of {}.", names(&object["oneOf"]).join(", ")));
    }
    for (key, beside) in object["dependentSchemas"].as_object().into_iter().flatten() {
        lines.push(format!("`{key}` only beside {}.", names(&beside["anyOf"]).join(" or ")));
    }
    lines
}

fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// What may be written, in words.
fn takes(of: &Value) -> String {
    if let Some(forms) = of["oneOf"].as_array() {
        return forms.iter().map(takes).collect::<Vec<_>>().join(", or ");
    }
    if let Some(words) = of["enum"].as_array() {
        return words.iter().map(|word| format!("`{}`", bare(word))).collect::<Vec<_>>().join(", ");
    }
    match (of["type"].as_str(), of["pattern"].as_str()) {
        (Some("string"), Some(pattern)) => pattern_words(pattern).into(),
        (Some("string"), None) => "text".into(),
        (Some("integer"), _) => format!("{} to {}", of["minimum"], of["maximum"]),
        (Some("number"), _) => format!("a number, {} to {}", of["minimum"], of["maximum"]),
        (Some("array"), _) if of["items"]["properties"].is_object() => "a list of objects, below".into(),
        (Some("array"), _) => format!("a list: {}", takes(&of["items"])),
        (Some("object"), _) if of["properties"].is_object() => "an object, below".into(),
        (Some("object"), _) => format!("a map: {}", takes(&of["additionalProperties"])),
        (None, _) if of["type"].is_array() => "a JSON Schema".into(),
        (None, _) => "template".into(),
        (Some(_), _) => "?".into(),
    }
}

fn pattern_words(pattern: &str) -> &'static str {
    match pattern {
        "\\S" => "expression",
        _ if pattern.contains("ms)") => "duration",
        _ if pattern.starts_with("^(0|") => "a version, as `1.2.3`",
        _ if pattern.starts_with("^input") => "a path, as `input.card`",
        "^\\S(.*\\S)?$" => "a name",
        _ => "a key, as `send-invoice`",
    }
}
