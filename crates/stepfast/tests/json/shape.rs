//! The fields of a value, without what is in them.

use serde_json::Value;
use std::collections::BTreeSet;

/// What the lines of one answer have in common or apart: every field that one of them has.
pub fn of_all(values: &[Value]) -> String {
    let mut fields = BTreeSet::new();
    values.iter().for_each(|value| paths(value, "", &mut fields));
    if fields.is_empty() {
        "  (no fields)\n".into()
    } else {
        fields.iter().map(|f| format!("  {f}\n")).collect()
    }
}

/// Those whose own fields are somebody's data, not ours.
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

fn paths(value: &Value, path: &str, into: &mut BTreeSet<String>) {
    let last = path.rsplit('.').next().unwrap_or_default().trim_end_matches("[]");
    match value {
        Value::Object(fields) if !DATA.contains(&last) => {
            for (name, inner) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                into.insert(path.clone());
                paths(inner, &path, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| paths(item, &format!("{path}[]"), into)),
        _ => {}
    }
}

#[test]
fn a_shape_is_the_names_of_fields() {
    let value = serde_json::json!({"a": 1, "b": [{"c": null}, {"d": {"e": 2}}], "labels": {"x": 1}});
    assert_eq!(of_all(&[value]), "  a\n  b\n  b[].c\n  b[].d\n  b[].d.e\n  labels\n");
    assert_eq!(of_all(&[Value::Bool(true)]), "  (no fields)\n");
}
