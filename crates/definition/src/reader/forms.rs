//! Single values: what each form takes, and what to write instead.

use super::Reader;
use crate::diagnostic::Spot;
use crate::duration;
use crate::language::{Form, Need};
use crate::suggest::nearest;
use crate::tree::{Body, Entry, Node, Scalar};
use model::limits::{NAME_BYTES_MAX, PAYLOAD_BYTES_MAX};
use serde_json::Value;

/// What to write where something else is expected.
pub(super) fn instead(node: &Node, form: &Form) -> String {
    if let Body::Scalar(scalar) = &node.body
        && matches!(scalar.value(), Value::Bool(_) | Value::Number(_))
        && form.is_text()
        && !matches!(form, Form::Duration { .. } | Form::Word(_) | Form::Version)
    {
        return format!("put it in quotes: \"{}\"", scalar.text);
    }
    match form {
        Form::WorkflowKey | Form::StepKey => "write a key such as reserve-items".into(),
        Form::BranchKey => "write a key such as high".into(),
        Form::Version => "write major.minor.patch, such as 2.1.0".into(),
        Form::Name => "write a name such as inventory.reserve".into(),
        Form::Text(_) => "write text".into(),
        Form::Duration { .. } => "write a duration such as 90s, 10m or 1h30m".into(),
        Form::Whole { min, max } => format!("write a number from {min} to {max}"),
        Form::Factor { max } => format!("write a number from 1 to {max}, such as 2.0"),
        Form::Word(words) => format!("write one of {}", words.join(", ")),
        Form::Expression => "write an expression in quotes, such as \"input.items\"".into(),
        Form::InputPath => "write where it stands in the input, such as input.card.number".into(),
        Form::List { .. } if matches!(&node.body, Body::Scalar(scalar) if scalar.value().is_string()) => {
            format!("write a list: [{}]", show(node.value().as_str().unwrap_or_default()))
        }
        Form::List { .. } => "write a list: [a, b], or lines that begin with `- `".into(),
        Form::Map { .. } => "write a mapping: { key: value }, or lines with `key: value`".into(),
        Form::Template | Form::JsonSchema => "write a mapping such as { type: object }".into(),
        Form::Object(object) => {
            let required = object.keys.iter().filter(|key| key.need == Need::Required).map(|key| key.name);
            let mut keys: Vec<String> = required.map(String::from).collect();
            if keys.is_empty() {
                keys = object.names().map(String::from).collect();
            }
            let one_of = match object.one_of {
                [] => String::new(),
                names => format!(" and one of {}", names.join(", ")),
            };
            format!("write a mapping with {}{one_of}", keys.join(", "))
        }
        Form::Either(short, long) => format!("{}, or {}", instead(node, short), instead(node, long)),
    }
}

impl Reader<'_> {
    pub(super) fn scalar(&mut self, node: &Node, form: &Form, field: &str) -> Option<Value> {
        let Body::Scalar(scalar) = &node.body else { return self.unexpected(node, form, field) };
        match (form, scalar.value()) {
            (Form::Whole { min, max }, Value::Number(number)) => {
                let fits = number.as_u64().filter(|n| (u64::from(*min)..=u64::from(*max)).contains(n));
                self.in_range(fits.map(Value::from), node, form, field)
            }
            (Form::Factor { max }, Value::Number(number)) => {
                let fits = number.as_f64().filter(|n| (1.0..=f64::from(*max)).contains(n));
                self.in_range(fits.map(Value::from), node, form, field)
            }
            // A version or a duration without its last part looks like a number.
            (Form::Version | Form::Duration { .. }, Value::Number(_)) => {
                self.text_form(&scalar.text, node.spot, form, field)
            }
            (form, Value::String(text)) if form.is_text() => self.text_form(&text, node.spot, form, field),
            _ => self.unexpected(node, form, field),
        }
    }

    fn in_range(&mut self, fits: Option<Value>, node: &Node, form: &Form, field: &str) -> Option<Value> {
        if fits.is_none() {
            let shown = node.value();
            self.note(node.spot, field, format!("{shown} is not possible here"), instead(node, form));
        }
        fits
    }

    /// A text by its form. What has the wrong form is kept if others may refer to it, so that they are not faults too.
    pub(super) fn text_form(&mut self, text: &str, spot: Spot, form: &Form, field: &str) -> Option<Value> {
        match fault(text, form) {
            None => Some(match form {
                Form::Duration { .. } => {
                    Value::from(duration::parse(text).unwrap_or_default().as_millis() as u64)
                }
                _ => Value::from(text),
            }),
            Some((message, fix)) => {
                self.note(spot, field, message, fix);
                matches!(form, Form::WorkflowKey | Form::StepKey | Form::BranchKey).then(|| Value::from(text))
            }
        }
    }

    /// Any value, if it means the same to every reader.
    pub(super) fn free(&mut self, node: &Node, form: &Form, field: &str) -> Option<Value> {
        let is_schema = matches!(form, Form::JsonSchema);
        if is_schema && !matches!(node.value(), Value::Object(_) | Value::Bool(_)) {
            return self.unexpected(node, form, field);
        }
        let before = self.notes.list.len();
        self.clear_words(node, field);
        let value = node.value();
        let bytes = value.to_string().len();
        if bytes > PAYLOAD_BYTES_MAX {
            let fix = format!(
                "write at most {PAYLOAD_BYTES_MAX} bytes; keep large data elsewhere and pass its address"
            );
            self.note(node.spot, field, format!("this is {bytes} bytes long"), fix);
        }
        (self.notes.list.len() == before).then_some(value)
    }

    fn clear_words(&mut self, node: &Node, field: &str) {
        match &node.body {
            Body::Scalar(scalar) if scalar.is_ambiguous() => self.ambiguous(scalar, node.spot, field),
            Body::Scalar(_) => {}
            Body::List(nodes) => {
                nodes
                    .iter()
                    .enumerate()
                    .for_each(|(n, node)| self.clear_words(node, &format!("{field}[{n}]")));
            }
            Body::Map(entries) => {
                entries
                    .iter()
                    .for_each(|entry| self.clear_words(&entry.value, &super::join(field, &entry.key)));
            }
        }
    }

    fn ambiguous(&mut self, scalar: &Scalar, spot: Spot, field: &str) {
        let text = &scalar.text;
        if scalar.value().is_number() {
            let message = format!("`{text}` has more digits than a number keeps");
            return self.note(spot, field, message, format!("write \"{text}\" as text"));
        }
        let meant = match text.to_ascii_lowercase().as_str() {
            "yes" | "on" | "true" => "true".into(),
            "no" | "off" | "false" => "false".into(),
            "null" => "null".to_string(),
            _ => "a number as JSON has it".into(),
        };
        let message = format!("`{text}` is text to some readers, and something else to others");
        self.note(spot, field, message, format!("write \"{text}\" for text, or {meant}"));
    }

    pub(super) fn entries<'n>(
        &mut self,
        node: &'n Node,
        form: &Form,
        (min, max): (usize, usize),
        field: &str,
    ) -> Option<&'n [Entry]> {
        let Body::Map(entries) = &node.body else {
            self.unexpected(node, form, field);
            return None;
        };
        if entries.len() < min {
            self.note(node.spot, field, "nothing is in this mapping", "write at least one entry");
            return None;
        }
        if entries.len() > max {
            self.note(
                node.spot,
                field,
                format!("{} are in this mapping", entries.len()),
                format!("write at most {max}"),
            );
            return None;
        }
        Some(entries)
    }
}

/// What is wrong with a text of a form, and what to write.
fn fault(text: &str, form: &Form) -> Option<(String, String)> {
    let wrong = |message: String, fix: &str| Some((message, fix.to_string()));
    match form {
        Form::WorkflowKey if !is_key(text, "-") => wrong(
            format!("`{}` is not a key of a workflow", show(text)),
            "write lower-case words with `-` between them, beginning with a letter, such as order-fulfillment",
        ),
        Form::StepKey if !is_key(text, "-_") => wrong(
            format!("`{}` is not a key of a step", show(text)),
            "write lower-case words with `-` or `_` between them, beginning with a letter, such as reserve-items",
        ),
        Form::BranchKey
            if text.is_empty() || !text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) =>
        {
            wrong(
                format!("`{}` is not a key of a branch", show(text)),
                "write letters, digits, `-` and `_`, such as high",
            )
        }
        Form::Version if !is_version(text) => {
            wrong(format!("`{}` is not a version", show(text)), "write major.minor.patch, such as 2.1.0")
        }
        Form::InputPath if !is_path(text) => wrong(
            format!("`{}` is not a value of the input", show(text)),
            "write where it stands, such as input.card.number",
        ),
        Form::Expression if text.trim().is_empty() => wrong(
            "the expression is empty".into(),
            "write an expression such as \"input.items\", or remove the key",
        ),
        Form::Name if text.trim() != text || text.is_empty() => {
            wrong(format!("`{}` is not a name", show(text)), "write a name without spaces around it")
        }
        Form::Name if text.chars().any(char::is_control) => {
            wrong("the name has control characters".into(), "remove them")
        }
        Form::Duration { min, max } => match duration::parse(text) {
            Err(fix) => Some((format!("`{}` is not a duration", show(text)), fix)),
            Ok(read) if read < *min || read > *max => Some((
                format!("{} is not possible here", show(text)),
                format!("write {} to {}", duration::show(*min), duration::show(*max)),
            )),
            Ok(_) => None,
        },
        Form::Word(words) if !words.contains(&text) => {
            let fix = match nearest(text, words.iter().copied()) {
                Some(word) => format!("write `{word}`"),
                None => format!("write one of {}", words.join(", ")),
            };
            Some((format!("`{}` is not known here", show(text)), fix))
        }
        _ => too_long(text, form),
    }
}

fn too_long(text: &str, form: &Form) -> Option<(String, String)> {
    let most = match form {
        Form::Text(most) => *most,
        Form::Expression => return None,
        _ => NAME_BYTES_MAX,
    };
    (text.len() > most)
        .then(|| (format!("this is {} bytes long", text.len()), format!("use at most {most} bytes")))
}

fn show(text: &str) -> String {
    let mut shown: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().nth(60).is_some() {
        shown.push('…');
    }
    shown
}

fn is_key(text: &str, between: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.split(|c| between.contains(c)).all(|word| !word.is_empty() && word.chars().all(inner))
}

fn is_version(text: &str) -> bool {
    let part = |part: &str| {
        let plain = !part.is_empty() && part.len() < 10 && part.chars().all(|c| c.is_ascii_digit());
        plain && (part == "0" || !part.starts_with('0'))
    };
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3 && parts.iter().all(|text| part(text))
}

fn is_path(text: &str) -> bool {
    let part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    text.strip_prefix("input.").is_some_and(|rest| rest.split('.').all(part))
}
