//! A form from a JSON Schema, and a payload from what was entered.

use maud::{Markup, html};
use serde_json::{Map, Value};

/// Fields of a form; of a schema with more, all is written as JSON.
const FIELDS_MAX: usize = 50;
/// Text longer than this has room for lines.
const LINE_CHARS_MAX: u64 = 200;

/// What may be entered.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Line,
    Lines,
    Number,
    Whole,
    YesNo,
    OneOf(Vec<Value>),
    Json,
}

/// One field of the form.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The key in the payload; the payload itself where there is none.
    key: Option<String>,
    name: String,
    title: String,
    about: Option<String>,
    kind: Kind,
    required: bool,
}

/// The fields that a payload of this schema needs.
pub fn inputs(schema: Option<&Value>) -> Vec<Input> {
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let Some(properties) = properties.filter(|all| !all.is_empty() && all.len() <= FIELDS_MAX) else {
        let (title, name) = ("Payload, as JSON".into(), "payload".into());
        return vec![Input { key: None, name, title, about: None, kind: Kind::Json, required: false }];
    };
    let required = schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    let is_required = |key: &str| required.is_some_and(|all| all.iter().any(|one| one == key));
    let text = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).map(String::from);
    let input = |(n, (key, of)): (usize, (&String, &Value))| Input {
        key: Some(key.clone()),
        name: format!("field-{n}"),
        title: text(of, "title").unwrap_or_else(|| key.replace(['_', '-'], " ")),
        about: text(of, "description"),
        kind: kind(of),
        required: is_required(key),
    };
    properties.iter().enumerate().map(input).collect()
}

fn kind(of: &Value) -> Kind {
    if let Some(values) = of.get("enum").and_then(Value::as_array) {
        return Kind::OneOf(values.clone());
    }
    let longest = of.get("maxLength").and_then(Value::as_u64);
    match of.get("type").and_then(Value::as_str) {
        Some("string") if longest.is_some_and(|most| most <= LINE_CHARS_MAX) => Kind::Line,
        Some("string") => Kind::Lines,
        Some("number") => Kind::Number,
        Some("integer") => Kind::Whole,
        Some("boolean") => Kind::YesNo,
        _ => Kind::Json,
    }
}

/// What was entered, as the schema wants it; what was left empty is left out.
pub fn payload(inputs: &[Input], entered: &[(String, String)]) -> Result<Value, String> {
    let mut made = Map::new();
    for input in inputs {
        let text = entered.iter().find(|(name, _)| *name == input.name).map(|(_, text)| text.as_str());
        let text = text.unwrap_or_default();
        let value = match text.trim().is_empty() {
            true => None,
            false => Some(input.read(text).map_err(|what| format!("{}: {what}", input.title))?),
        };
        match (&input.key, value) {
            (None, value) => return Ok(value.unwrap_or_default()),
            (Some(key), Some(value)) => drop(made.insert(key.clone(), value)),
            (Some(_), None) => {}
        }
    }
    Ok(Value::Object(made))
}

impl Input {
    fn read(&self, text: &str) -> Result<Value, String> {
        match &self.kind {
            Kind::Line | Kind::Lines => Ok(Value::from(text.replace("\r\n", "\n"))),
            Kind::Number => {
                let number: Option<f64> = text.trim().parse().ok();
                number.filter(|n| n.is_finite()).map(Value::from).ok_or_else(|| "write a number".into())
            }
            Kind::Whole => {
                text.trim().parse::<i64>().map(Value::from).map_err(|_| "write a whole number".into())
            }
            Kind::YesNo => Ok(Value::Bool(text == "true")),
            Kind::OneOf(values) => {
                let chosen = text.parse::<usize>().ok().and_then(|n| values.get(n));
                chosen.cloned().ok_or_else(|| "choose one".into())
            }
            Kind::Json => {
                serde_json::from_str(text).map_err(|problem| format!("this is not JSON: {problem}"))
            }
        }
    }

    pub fn markup(&self) -> Markup {
        let Input { name, title, about, required, .. } = self;
        html! {
            label for=(name) { (title) @if *required { " *" } }
            @if let Some(about) = about { p.aside { (about) } }
            @match &self.kind {
                Kind::Line => { input id=(name) type="text" name=(name) required[*required]; }
                Kind::Number => { input id=(name) type="text" inputmode="decimal" name=(name) required[*required]; }
                Kind::Whole => { input id=(name) type="text" inputmode="numeric" name=(name) required[*required]; }
                Kind::Lines => { textarea id=(name) name=(name) rows="3" required[*required] {} }
                Kind::Json => { textarea.mono id=(name) name=(name) rows="5" spellcheck="false" required[*required] {} }
                Kind::YesNo => (choice(name, *required, &[("true".into(), "Yes".into()), ("false".into(), "No".into())])),
                Kind::OneOf(values) => (choice(name, *required, &shown(values))),
            }
        }
    }
}

/// Values by their place, as people read them.
fn shown(values: &[Value]) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), String::from);
    values.iter().enumerate().map(|(n, value)| (n.to_string(), word(value))).collect()
}

fn choice(name: &str, required: bool, options: &[(String, String)]) -> Markup {
    html! {
        select id=(name) name=(name) required[required] {
            option value="" { "–" }
            @for (value, word) in options { option value=(value) { (word) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({"type": "object", "required": ["approved", "level"], "properties": {
            "approved": {"type": "boolean", "title": "Do you approve?"},
            "level": {"enum": ["low", 2, null]},
            "amount": {"type": "number"},
            "days": {"type": "integer"},
            "note": {"type": "string"},
            "name": {"type": "string", "maxLength": 50},
            "more": {"type": "array"},
        }})
    }

    /// What is entered, by the key of its field.
    fn sent(entered: &[(&str, &str)]) -> Result<Value, String> {
        let inputs = inputs(Some(&schema()));
        let name = |key: &str| inputs.iter().find(|i| i.key.as_deref() == Some(key)).unwrap().name.clone();
        let entered: Vec<(String, String)> =
            entered.iter().map(|(key, text)| (name(key), text.to_string())).collect();
        payload(&inputs, &entered)
    }

    #[test]
    fn what_is_entered_becomes_what_the_schema_names() {
        let all = [
            ("approved", "true"),
            ("level", "1"),
            ("amount", " 2.5"),
            ("days", "-3"),
            ("note", "a\r\nb"),
            ("name", "Ada"),
            ("more", "[1, {}]"),
        ];
        assert_eq!(
            sent(&all).unwrap(),
            json!({"approved": true, "level": 2, "amount": 2.5, "days": -3, "note": "a\nb", "name": "Ada", "more": [1, {}]})
        );
        assert_eq!(sent(&[("approved", "false"), ("note", " ")]).unwrap(), json!({"approved": false}));
        for (key, text, told) in [
            ("amount", "much", "amount: write a number"),
            ("amount", "inf", "amount: write a number"),
            ("days", "2.5", "days: write a whole number"),
            ("level", "9", "level: choose one"),
            ("more", "[", "more: this is not JSON"),
        ] {
            let problem = sent(&[(key, text)]).unwrap_err();
            assert!(problem.starts_with(told), "{problem}");
        }
    }

    #[test]
    fn what_is_no_object_is_written_as_json() {
        for schema in [None, Some(json!({"type": "string"})), Some(json!({"properties": {}}))] {
            let inputs = inputs(schema.as_ref());
            assert_eq!(inputs.len(), 1);
            assert_eq!(payload(&inputs, &[("payload".into(), "[1]".into())]).unwrap(), json!([1]));
            assert_eq!(payload(&inputs, &[]).unwrap(), Value::Null);
        }
    }

    #[test]
    fn titles_and_words_are_text_and_nothing_else() {
        let schema =
            json!({"properties": {"x": {"enum": ["<b>"], "title": "<script>", "description": "a & b"}}});
        let markup: String = inputs(Some(&schema)).iter().map(|input| input.markup().into_string()).collect();
        assert!(
            markup.contains("&lt;script&gt;") && markup.contains("a &amp; b") && markup.contains("&lt;b&gt;")
        );
        assert!(!markup.contains("<script>"));
    }
}
