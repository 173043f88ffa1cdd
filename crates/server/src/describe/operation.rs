//! What is known of one route while its handler tells it.

use super::schemas::Schemas;
use crate::codes::Code;
use schemars::JsonSchema;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A parameter, with what may stand there.
pub struct Parameter {
    pub name: String,
    /// `path`, `query` or `header`.
    pub place: &'static str,
    pub is_required: bool,
    pub schema: Value,
}

/// The body of an answer: its media type, and its schema where it is JSON.
pub type Content = (&'static str, Option<Value>);

pub struct Operation {
    pub schemas: Schemas,
    pub parameters: Vec<Parameter>,
    /// What stands in the path, in its order, where the handler gives no names.
    pub positions: Vec<Value>,
    /// The schema of the body.
    pub body: Option<Value>,
    /// Answers by status; more than one content where the caller may choose.
    pub answers: BTreeMap<u16, Vec<Content>>,
    /// The answer names what the thing is now in its `ETag`.
    pub is_tagged: bool,
    /// Codes of refusals by status.
    pub problems: BTreeMap<u16, BTreeSet<&'static str>>,
}

impl Operation {
    pub fn new(schemas: Schemas) -> Operation {
        Operation {
            schemas,
            parameters: Vec::new(),
            positions: Vec::new(),
            body: None,
            answers: BTreeMap::new(),
            is_tagged: false,
            problems: BTreeMap::new(),
        }
    }

    pub fn refuses(&mut self, code: &'static Code) {
        self.problems.entry(code.status.as_u16()).or_default().insert(code.word);
    }

    pub fn answers(&mut self, status: u16, content: impl IntoIterator<Item = Content>) {
        self.answers.entry(status).or_default().extend(content);
    }

    /// JSON of this type.
    pub fn answers_json<T: JsonSchema>(&mut self, status: u16) {
        let schema = self.schemas.written::<T>();
        self.answers(status, [("application/json", Some(schema))]);
    }

    /// The fields of a type as parameters.
    pub fn fields<T: JsonSchema>(&mut self, place: &'static str) {
        let whole = self.schemas.fields::<T>();
        let required = whole.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let Some(fields) = whole.get("properties").and_then(Value::as_object) else {
            if place == "path" {
                self.positions.extend(positions(whole));
            }
            return;
        };
        for (name, schema) in fields {
            let is_required = place == "path" || required.iter().any(|known| known == name);
            self.parameter(place, name, is_required, schema.clone());
        }
    }

    pub fn parameter(&mut self, place: &'static str, name: &str, is_required: bool, schema: Value) {
        // A handler may look at the same part of the path twice.
        if !self.parameters.iter().any(|known| known.name == name && known.place == place) {
            self.parameters.push(Parameter { name: name.into(), place, is_required, schema });
        }
    }
}

/// What a tuple, or one value, says of the places in a path.
fn positions(whole: Map<String, Value>) -> Vec<Value> {
    match whole.get("prefixItems").and_then(Value::as_array) {
        Some(items) => items.clone(),
        None => vec![Value::Object(whole)],
    }
}
