//! JSON Schemas must be ones that values can be checked by.

use super::Finding;
use crate::reader::join;
use crate::suggest::nearest;
use jsonschema::Draft;
use model::definition::{Definition, Shape};
use serde_json::Value;

pub(super) fn check(definition: &Definition) -> Vec<Finding> {
    let input = definition.input.iter().map(|shape| ("input".to_string(), shape));
    let steps = definition.steps.iter().enumerate();
    let produced =
        steps.filter_map(|(n, step)| Some((format!("steps[{n}].produces"), step.produces.as_ref()?)));
    let steps = definition.steps.iter().enumerate();
    let sent = steps.filter_map(|(n, step)| {
        Some((format!("steps[{n}].pause_after.payload"), step.pause_after.as_ref()?.payload.as_ref()?))
    });
    input
        .chain(produced)
        .chain(sent)
        .filter_map(|(field, shape)| fault(&join(&field, "schema"), shape))
        .collect()
}

const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

fn fault(field: &str, shape: &Shape) -> Option<Finding> {
    let schema = shape.schema.as_ref()?;
    // References to elsewhere are not followed: what a definition means must not change by itself.
    if let Some((at, reference)) = elsewhere(schema, String::new()) {
        let problem = format!("`{reference}` is not in this file");
        return Some(Finding::new(
            format!("{field}{at}"),
            problem,
            "write it below `$defs`, and point to #/$defs/…",
        ));
    }
    let error = match jsonschema::draft202012::meta::validate(schema) {
        Err(error) => error.to_owned(),
        Ok(()) => jsonschema::options().with_draft(Draft::Draft202012).build(schema).err()?,
    };
    let pointer = error.instance_path().to_string();
    let at = format!("{field}{}", path(schema, &pointer));
    let written = schema.pointer(&pointer).and_then(Value::as_str).unwrap_or_default();
    Some(match pointer.rsplit('/').next() {
        Some("type") => {
            let fix = nearest(written, TYPES.into_iter()).map(|word| format!("write `{word}`"));
            let fix = fix.unwrap_or_else(|| format!("write one of {}", TYPES.join(", ")));
            Finding::new(at, format!("`{written}` is not a type of JSON Schema"), fix)
        }
        Some("pattern") => {
            let fix = "write one as JavaScript knows them, such as ^[a-z]+$";
            Finding::new(at, format!("`{written}` is not a regular expression"), fix)
        }
        _ => Finding::new(
            at,
            format!("no value can be checked by this: {error}"),
            "write it as JSON Schema 2020-12 has it",
        ),
    })
}

/// The first reference that leads out of the schema, and where it stands.
fn elsewhere(schema: &Value, at: String) -> Option<(String, &str)> {
    match schema {
        Value::Object(entries) => entries.iter().find_map(|(key, value)| match value.as_str() {
            Some(text) if matches!(key.as_str(), "$ref" | "$dynamicRef") && !text.starts_with('#') => {
                Some((format!("{at}.{key}"), text))
            }
            _ => elsewhere(value, format!("{at}.{key}")),
        }),
        Value::Array(values) => {
            values.iter().enumerate().find_map(|(n, value)| elsewhere(value, format!("{at}[{n}]")))
        }
        _ => None,
    }
}

/// A JSON pointer as the path of a field.
fn path(schema: &Value, pointer: &str) -> String {
    let (mut at, mut path) = (Some(schema), String::new());
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        match at {
            Some(Value::Array(values)) => {
                path.push_str(&format!("[{name}]"));
                at = name.parse().ok().and_then(|n: usize| values.get(n));
            }
            _ => {
                path.push_str(&format!(".{name}"));
                at = at.and_then(|value| value.get(&name));
            }
        }
    }
    path
}
