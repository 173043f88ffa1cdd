//! What a value must look like: a JSON Schema, compiled once.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// Complaints about one value that are told.
const COMPLAINTS_MAX: usize = 5;
/// Characters of a complaint: it may quote the value.
const COMPLAINT_CHARS_MAX: usize = 300;

/// Steps of one match of a pattern that looks around.
const LOOK_AROUND_STEPS_MAX: usize = 10_000;

#[derive(Debug)]
pub struct Shape(Validator);

impl Shape {
    /// Nothing outside the schema is read: a reference to a file or another server is a fault.
    ///
    /// A pattern takes time that grows with the text alone; one that looks around, which that cannot do, has so many steps and no more.
    pub fn compile(schema: &Value) -> Result<Shape, String> {
        let options = || jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
        let steady = options().with_pattern_options(PatternOptions::regex()).build(schema);
        let around = PatternOptions::fancy_regex().backtrack_limit(LOOK_AROUND_STEPS_MAX);
        let built = steady.or_else(|_| options().with_pattern_options(around).build(schema));
        built.map(Shape).map_err(|problem| problem.to_string())
    }
    /// What is wrong with a value: where, and what.
    pub fn complaints(&self, value: &Value) -> Vec<(String, String)> {
        let all = self.0.iter_errors(value).take(COMPLAINTS_MAX);
        all.map(|error| (error.instance_path().to_string(), shortened(&error.to_string()))).collect()
    }
    /// The same as one sentence.
    pub fn complaint(&self, value: &Value) -> Option<String> {
        let all = self.complaints(value).into_iter();
        let words: Vec<String> =
            all.map(|(at, what)| if at.is_empty() { what } else { format!("{at}: {what}") }).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(COMPLAINT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn complaints_say_where_and_what() {
        let shape = Shape::compile(
            &json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}),
        )
        .unwrap();
        assert_eq!(shape.complaint(&json!({"n": 1})), None);
        assert_eq!(shape.complaint(&json!({})).as_deref(), Some("\"n\" is a required property"));
        assert_eq!(
            shape.complaint(&json!({"n": "x"})).as_deref(),
            Some("/n: \"x\" is not of type \"integer\"")
        );
        let long = shape.complaint(&json!({"n": "x".repeat(10_000)})).unwrap();
        assert!(long.len() < 400, "{long}");
    }

    #[test]
    fn a_hostile_text_takes_no_longer_than_another() {
        let text = json!(format!("{}!", "a".repeat(50_000)));
        for pattern in ["^(a+)+$", "^(a|a)*$", "^(?=a)(a+)+$"] {
            let shape = Shape::compile(&json!({"pattern": pattern})).unwrap();
            assert!(shape.complaint(&text).is_some(), "{pattern}");
        }
        let shape = Shape::compile(&json!({"pattern": "^(?!admin)[a-z]+$"})).unwrap();
        assert_eq!(shape.complaint(&json!("mallory")), None);
        assert!(shape.complaint(&json!("admin")).is_some());
    }

    #[test]
    fn nothing_is_fetched() {
        assert!(Shape::compile(&json!({"$ref": "http://127.0.0.1:1/schema"})).is_err());
        assert!(Shape::compile(&json!({"$ref": "file:///etc/passwd"})).is_err());
        assert!(Shape::compile(&json!({"type": "nonsense"})).is_err());
    }
}
