//! A file as a tree of values that know where they stand.
//!
//! Why    everything wrong with a file is told at once, each with its place. So the text becomes a tree first, whatever it says,
//!        and is understood afterwards.

use crate::diagnostic::Spot;
use serde_json::{Map, Number, Value};
use std::sync::Arc;

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Node {
    pub spot: Spot,
    pub body: Body,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Body {
    Scalar(Scalar),
    List(Vec<Arc<Node>>),
    Map(Vec<Entry>),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub spot: Spot,
    pub value: Arc<Node>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Scalar {
    pub text: String,
    pub style: Style,
}

/// How a scalar is written, which says whether its text can be found in the file as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    Plain,
    Quoted,
    /// Behind `|`, line by line.
    Literal,
    /// Behind `>`, its lines joined.
    Folded,
}

impl Scalar {
    /// What JSON would say: plain text may be a number, `true`, `false` or nothing. Everything else is text.
    pub fn value(&self) -> Value {
        if self.style != Style::Plain {
            return Value::String(self.text.clone());
        }
        match self.text.as_str() {
            "" | "~" | "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            text => number(text).map_or_else(|| Value::String(text.into()), Value::Number),
        }
    }

    /// Readers of YAML differ in what these words mean, so whoever writes one is asked to say.
    pub fn is_ambiguous(&self) -> bool {
        let text = self.text.as_str();
        if self.style != Style::Plain || matches!(text, "true" | "false" | "null" | "~" | "") {
            return false;
        }
        let lower = text.to_ascii_lowercase();
        match self.value() {
            // A whole number that does not fit is rounded by some.
            Value::Number(number) => number.is_f64() && !text.contains(['.', 'e', 'E']),
            _ => {
                matches!(lower.as_str(), "yes" | "no" | "on" | "off" | "true" | "false" | "null")
                    || looks_like_number(&lower)
            }
        }
    }
}

fn number(text: &str) -> Option<Number> {
    let first = *text.as_bytes().first()?;
    if !(first == b'-' || first.is_ascii_digit()) {
        return None;
    }
    serde_json::from_str::<Number>(text).ok()
}

/// `0123`, `1_000`, `0x1f`, `+5`, `.5` and `.inf` are numbers for some readers.
fn looks_like_number(lower: &str) -> bool {
    let bare = lower.strip_prefix(['+', '-']).unwrap_or(lower);
    let based = |prefix: &str, base: u32| {
        bare.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_digit(base)))
    };
    let digits = |c: char| c.is_ascii_digit() || c == '_';
    matches!(bare, ".inf" | ".nan")
        || based("0x", 16)
        || based("0o", 8)
        || (bare.starts_with(|c: char| c.is_ascii_digit()) && bare.chars().all(digits))
        || bare.strip_prefix('.').is_some_and(|rest| !rest.is_empty() && rest.chars().all(digits))
        || (lower.starts_with('+') && number(bare).is_some())
        || (bare.contains('e')
            && bare.starts_with(|c: char| c.is_ascii_digit())
            && bare.parse::<f64>().is_ok())
}

impl Node {
    /// What it is called in a message.
    pub fn kind(&self) -> &'static str {
        match &self.body {
            Body::List(_) => "a list",
            Body::Map(_) => "a mapping",
            Body::Scalar(scalar) => match scalar.value() {
                Value::Null => "nothing",
                Value::Bool(_) => "a truth value",
                Value::Number(_) => "a number",
                _ => "text",
            },
        }
    }

    pub fn value(&self) -> Value {
        match &self.body {
            Body::Scalar(scalar) => scalar.value(),
            Body::List(nodes) => nodes.iter().map(|node| node.value()).collect(),
            Body::Map(entries) => entries
                .iter()
                .map(|entry| (entry.key.clone(), entry.value.value()))
                .collect::<Map<_, _>>()
                .into(),
        }
    }

    /// A value that stands in no file.
    pub fn of(value: &Value) -> Node {
        let scalar = |text: String, style| Body::Scalar(Scalar { text, style });
        let body = match value {
            Value::Null => scalar("null".into(), Style::Plain),
            Value::Bool(_) | Value::Number(_) => scalar(value.to_string(), Style::Plain),
            Value::String(text) => scalar(text.clone(), Style::Quoted),
            Value::Array(values) => {
                Body::List(values.iter().map(|value| Arc::new(Node::of(value))).collect())
            }
            Value::Object(entries) => Body::Map(
                entries
                    .iter()
                    .map(|(key, value)| Entry {
                        key: key.clone(),
                        spot: Spot::default(),
                        value: Arc::new(Node::of(value)),
                    })
                    .collect(),
            ),
        };
        Node { spot: Spot::default(), body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Scalar {
        Scalar { text: text.into(), style: Style::Plain }
    }

    #[test]
    fn plain_text_is_what_json_says() {
        let said = |text| plain(text).value().to_string();
        assert_eq!(
            ["5", "-1.5e3", "true", "~", "", "null"].map(said),
            ["5", "-1500.0", "true", "null", "null", "null"]
        );
        assert_eq!(
            ["no", "0123", "1_000", ".5", "2.1.0"].map(said),
            ["\"no\"", "\"0123\"", "\"1_000\"", "\".5\"", "\"2.1.0\""]
        );
        assert_eq!(Scalar { text: "5".into(), style: Style::Quoted }.value(), Value::from("5"));
    }

    #[test]
    fn what_readers_disagree_about_is_known() {
        for text in [
            "yes",
            "No",
            "TRUE",
            "off",
            "0123",
            "1_000",
            "0x1f",
            "1e999",
            "+5",
            ".5",
            "-.INF",
            "Null",
            "123456789012345678901234567890",
        ] {
            assert!(plain(text).is_ambiguous(), "{text}");
        }
        for text in ["true", "5", "-2", "1e3", "yesterday", "2.1.0", "10m", "0xyz", "a_b", "+", "."] {
            assert!(!plain(text).is_ambiguous(), "{text}");
        }
    }

    #[test]
    fn a_value_goes_through_the_tree_unchanged() {
        let value = serde_json::json!({"a": [1, 2.5, "true", null, true], "b": {"c": ""}});
        assert_eq!(Node::of(&value).value(), value);
    }
}
