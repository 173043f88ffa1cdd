//! A tree to plain values, by the table: what is wrong is noted, and the reading goes on.
//!
//! Why    whoever mends a file wants to know everything at once. So what cannot be read is replaced by something harmless, and
//!        marked, that nothing is told of it which only follows from that.

mod forms;
mod object;

use crate::diagnostic::Spot;
use crate::language::{Form, WORKFLOW};
use crate::notes::Notes;
use crate::tree::{Body, Node};
use serde_json::{Map, Value};

pub(crate) struct Reader<'n> {
    pub notes: &'n mut Notes,
}

/// With what a file begins.
pub(crate) const BEGIN: &str = "write `workflow`, `version` and `steps`";

/// A whole definition as plain values: durations in milliseconds, everything else as it is written.
pub(crate) fn definition(root: &Node, notes: &mut Notes) -> Map<String, Value> {
    let mut reader = Reader { notes };
    if matches!(&root.body, Body::Scalar(scalar) if scalar.value().is_null()) {
        reader.notes.add(root.spot, "", "the file is empty", BEGIN);
        return Map::new();
    }
    reader.object(root, &WORKFLOW, "").unwrap_or_default()
}

impl Reader<'_> {
    fn note(&mut self, spot: Spot, field: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.notes.add(spot, field, message, fix);
    }

    /// What a node says, if it says what is expected.
    pub fn read(&mut self, node: &Node, form: &Form, field: &str) -> Option<Value> {
        match form {
            Form::List { of, min, max } => self.list(node, form, (of, *min, *max), field),
            Form::Map { keys, of, min, max } => {
                let entries = self.entries(node, form, (*min, *max), field)?;
                let mut read = Map::new();
                for entry in entries {
                    let at = join(field, &entry.key);
                    self.text_form(&entry.key, entry.spot, keys, &at);
                    read.insert(
                        entry.key.clone(),
                        self.read(&entry.value, of, &at).unwrap_or(placeholder(of)),
                    );
                }
                Some(read.into())
            }
            Form::Object(object) => self.object(node, object, field).map(Value::Object),
            Form::Either(short, long) => match &node.body {
                Body::Map(_) => self.read(node, long, field),
                Body::Scalar(scalar) if !scalar.value().is_null() => self.short(node, short, long, field),
                _ => self.unexpected(node, form, field),
            },
            Form::Template | Form::JsonSchema => self.free(node, form, field),
            _ => self.scalar(node, form, field),
        }
    }

    fn list(
        &mut self,
        node: &Node,
        form: &Form,
        (of, min, max): (&Form, usize, usize),
        field: &str,
    ) -> Option<Value> {
        let Body::List(nodes) = &node.body else { return self.unexpected(node, form, field) };
        if nodes.len() < min {
            self.note(
                node.spot,
                field,
                "nothing is in this list",
                format!("write at least {}", of.expects()),
            );
        }
        if nodes.len() > max {
            let message = format!("{} are in this list", nodes.len());
            self.note(node.spot, field, message, format!("write at most {max}"));
            return None;
        }
        let read = |(n, node): (usize, &std::sync::Arc<Node>)| {
            self.read(node, of, &format!("{field}[{n}]")).unwrap_or(placeholder(of))
        };
        Some(nodes.iter().enumerate().map(read).collect())
    }

    /// The short form of two; whoever writes it wrong may have meant the other.
    fn short(&mut self, node: &Node, short: &Form, long: &Form, field: &str) -> Option<Value> {
        let before = self.notes.list.len();
        let read = self.read(node, short, field);
        if let (Form::Word(_), Some(note)) = (short, self.notes.list.get_mut(before)) {
            note.fix.push_str(&format!(", or {}", long.expects()));
        }
        read
    }

    /// It is something else than what is expected here.
    fn unexpected(&mut self, node: &Node, form: &Form, field: &str) -> Option<Value> {
        let message = format!("{} where {} is expected", node.kind(), form.expects());
        self.note(node.spot, field, message, forms::instead(node, form));
        None
    }
}

/// The path of something inside.
pub(crate) fn join(field: &str, key: &str) -> String {
    if field.is_empty() { key.into() } else { format!("{field}.{key}") }
}

/// Something harmless in the place of what cannot be read.
pub(crate) fn placeholder(form: &Form) -> Value {
    match form {
        Form::Duration { min, .. } => Value::from(min.as_millis() as u64),
        Form::Whole { min, .. } => Value::from(*min),
        Form::Factor { .. } => Value::from(1.0),
        Form::Word(words) => Value::from(words[0]),
        Form::Template => Value::Null,
        Form::JsonSchema => Value::Bool(true),
        Form::List { .. } => Value::Array(Vec::new()),
        Form::Map { .. } => Value::Object(Map::new()),
        Form::Object(object) => {
            let required = object.keys.iter().filter(|key| key.need == crate::language::Need::Required);
            Value::Object(required.map(|key| (key.name.into(), placeholder(&key.form))).collect())
        }
        Form::Either(short, _) => placeholder(short),
        _ => Value::from(""),
    }
}
