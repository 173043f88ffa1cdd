//! What an expression looked at, short enough to be kept with every decision.

use crate::fault::shortened;
use crate::limits::SUMMARY_BYTES_MAX;
use crate::references::References;
use crate::scope::Scope;
use serde_json::Value;

const TEXT_CHARS_MAX: usize = 80;
/// Lists and objects with more parts than these are counted instead.
const PARTS_MAX: usize = 8;
/// Kept for the entry that says how many more there are.
const REST_BYTES: usize = 32;

/// A JSON object: the way to each value, and the value. What is absent is left out.
pub(crate) fn summary(references: &References, scope: &Scope) -> String {
    let mut told = String::from("{");
    let mut left_out = 0usize;
    for path in &references.paths {
        let Some(value) = path.find(scope) else { continue };
        let name = Value::from(shortened(&path.to_string(), TEXT_CHARS_MAX));
        let entry = format!("{name}:{}", short(value));
        if told.len() + entry.len() + 1 + REST_BYTES > SUMMARY_BYTES_MAX {
            left_out += 1;
            continue;
        }
        if told.len() > 1 {
            told.push(',');
        }
        told.push_str(&entry);
    }
    if left_out > 0 {
        let comma = if told.len() > 1 { "," } else { "" };
        told.push_str(&format!("{comma}\"…\":\"{left_out} more\""));
    }
    told.push('}');
    told
}

fn short(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(shortened(text, TEXT_CHARS_MAX)),
        Value::Array(items) if items.len() <= PARTS_MAX && items.iter().all(is_scalar) => {
            items.iter().map(short).collect()
        }
        Value::Array(items) => Value::from(format!("list of {}", items.len())),
        Value::Object(entries) if entries.len() <= PARTS_MAX && entries.values().all(is_scalar) => {
            let entries = entries.iter();
            entries.map(|(key, value)| (shortened(key, TEXT_CHARS_MAX), short(value))).collect()
        }
        Value::Object(entries) => Value::from(format!("object of {}", entries.len())),
        scalar => scalar.clone(),
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Program;
    use serde_json::json;

    fn told(source: &str, input: &Value) -> String {
        let mut scope = Scope::new();
        scope.bind("input", input).bind_output("check-it", input);
        Program::compile(source).unwrap().inputs(&scope)
    }

    #[test]
    fn every_value_is_told_with_its_way() {
        let input = json!({"n": 3, "s": "x", "list": [1, 2], "deep": [{"a": 1}]});
        assert_eq!(
            told("input.n > 1 && outputs['check-it'].s == 'x' && has(input.none)", &input),
            r#"{"input.n":3,"outputs['check-it'].s":"x"}"#
        );
        assert_eq!(told("input.list", &input), r#"{"input.list":[1,2]}"#);
        assert_eq!(told("input.deep", &input), r#"{"input.deep":"list of 1"}"#);
        assert_eq!(told("input", &input), r#"{"input":"object of 4"}"#);
        assert_eq!(told("1 + 1", &input), "{}");
    }

    #[test]
    fn a_summary_stays_small_and_json_whatever_it_tells() {
        let texts: serde_json::Map<String, Value> =
            (0..100).map(|n| (format!("k{n}"), Value::from("\u{1}".repeat(5000)))).collect();
        let source = (0..30).map(|n| format!("input.k{n} == ''")).collect::<Vec<_>>().join(" || ");
        let told = told(&source, &Value::Object(texts));
        assert!(told.len() <= SUMMARY_BYTES_MAX, "{}", told.len());
        let parsed: Value = serde_json::from_str(&told).unwrap();
        assert!(parsed["…"].as_str().unwrap().ends_with(" more"), "{told}");
    }
}
