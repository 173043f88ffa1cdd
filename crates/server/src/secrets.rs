//! What a definition calls secret is shown to nobody: not in the input of a workflow, nor wherever the value came to stand since.
//!
//! Why    a sealed value stands in the input, and in the arguments, answers and errors it came to; nobody is shown the text that stands
//!        for it. A workflow that was started before values were sealed has them in clear, so its values are hidden too.

use model::definition::Definition;
use model::{HIDDEN, Pinned, Workflow, WorkflowId, hide_sealed, limits};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::rc::Rc;
use store::{Browse, Result, StoreError};

/// Shorter values are hidden in the input alone: elsewhere they would be found in everything.
const SOUGHT_BYTES_MIN: usize = 4;
/// Texts are cut to no less than this where they are told in short.
const CUT_CHARS: usize = 60;

#[derive(Default, Debug)]
pub struct Secrets {
    /// Where they stand in the input, such as `card`, `number`.
    paths: Vec<Vec<String>>,
    /// What they are, the longest first.
    values: Vec<String>,
}

impl Secrets {
    pub fn of(definition: &Definition, input: &str) -> Secrets {
        if definition.secrets.is_empty() {
            return Secrets::default();
        }
        let path = |secret: &String| secret.split('.').skip(1).map(String::from).collect();
        let paths: Vec<Vec<String>> = definition.secrets.iter().map(path).collect();
        let mut values = Vec::new();
        let mut input: Value = serde_json::from_str(input).unwrap_or_default();
        for path in &paths {
            at(&mut input, path, &mut |value| gather(value, &mut values));
        }
        values.retain(|value| value.len() >= SOUGHT_BYTES_MIN && !model::Sealed::is_in(value));
        let mut secrets = Secrets { paths, values: Vec::new() };
        secrets.seek(values.iter().flat_map(|value| forms(value)).collect());
        secrets
    }

    /// These are hidden too, wherever they stand.
    fn seek(&mut self, more: Vec<String>) {
        self.values.extend(more);
        self.values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.values.dedup();
    }

    /// The input of the workflow.
    pub fn hide_input(&self, input: Box<RawValue>) -> Box<RawValue> {
        if self.paths.is_empty() {
            return self.hide(input);
        }
        let mut read: Value = serde_json::from_str(input.get()).unwrap_or_default();
        for path in &self.paths {
            at(&mut read, path, &mut |value| *value = HIDDEN.into());
        }
        written(self.covered(read))
    }

    pub fn hide(&self, json: Box<RawValue>) -> Box<RawValue> {
        // What stands for a value has no sign that JSON escapes, so the rest stays to the letter.
        let json = match hide_sealed(json.get()) {
            Some(hidden) => RawValue::from_string(hidden).unwrap_or_else(|_| RawValue::NULL.to_owned()),
            None => json,
        };
        if self.values.is_empty() {
            return json;
        }
        written(self.covered(serde_json::from_str(json.get()).unwrap_or_default()))
    }

    pub fn hide_text(&self, text: String) -> String {
        let text = hide_sealed(&text).unwrap_or(text);
        self.values.iter().fold(text, |text, value| text.replace(value.as_str(), HIDDEN))
    }

    /// A step of the workflow.
    pub fn hide_step(&self, step: &mut wire::StepView) {
        step.arguments = self.hide(std::mem::replace(&mut step.arguments, RawValue::NULL.to_owned()));
        step.response = step.response.take().map(|json| self.hide(json));
        for text in [&mut step.error_message, &mut step.error_stack_trace, &mut step.note] {
            *text = text.take().map(|text| self.hide_text(text));
        }
    }

    /// What its runs came to.
    pub fn hide_attempts(&self, attempts: &mut [wire::AttemptView]) {
        for attempt in attempts {
            attempt.message = attempt.message.take().map(|text| self.hide_text(text));
            if let Some(delivery) = &mut attempt.delivery {
                delivery.response_body = delivery.response_body.take().map(|text| self.hide_text(text));
            }
        }
    }

    /// What its runs said.
    pub fn hide_log(&self, log: &mut [wire::LogView]) {
        log.iter_mut().for_each(|line| line.text = self.hide_text(std::mem::take(&mut line.text)));
    }

    /// What its polls said. What is cut may end within a secret.
    pub fn hide_polls(&self, polls: &mut wire::PollsView) {
        let hidden = |text: String| {
            let is_cut = text.len() + 4 > limits::POLL_RECORD_BYTES_MAX;
            let text = self.hide_text(text);
            if is_cut { self.hide_begun(text) } else { text }
        };
        polls.last.iter_mut().for_each(|poll| poll.data = poll.data.take().map(hidden));
    }

    /// Without the beginning of a secret at the end.
    fn hide_begun(&self, mut text: String) -> String {
        for value in &self.values {
            let ends = value.char_indices().map(|(at, _)| at).filter(|at| *at > 0).rev();
            if let Some(at) = ends.into_iter().find(|at| text.ends_with(&value[..*at])) {
                text.truncate(text.len() - at);
                return text + HIDDEN;
            }
        }
        text
    }

    fn covered(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.hide_text(text).into(),
            Value::Number(n) if self.values.contains(&n.to_string()) => HIDDEN.into(),
            Value::Array(values) => values.into_iter().map(|value| self.covered(value)).collect(),
            Value::Object(entries) => {
                let covered = |(key, value)| (self.hide_text(key), self.covered(value));
                Value::Object(entries.into_iter().map(covered).collect::<Map<_, _>>())
            }
            plain => plain,
        }
    }
}

fn written(value: Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(&value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// What stands at a path; of a list on the way, in all of its values.
fn at(value: &mut Value, path: &[String], found: &mut dyn FnMut(&mut Value)) {
    match (path, value) {
        ([], value) => found(value),
        (path, Value::Array(values)) => values.iter_mut().for_each(|value| at(value, path, found)),
        ([name, rest @ ..], Value::Object(entries)) => {
            if let Some(value) = entries.get_mut(name) {
                at(value, rest, found);
            }
        }
        _ => {}
    }
}

/// A value as it may stand in texts: as it is, as JSON has it, and cut where decisions and errors cut long ones.
fn forms(value: &str) -> Vec<String> {
    let quoted = Value::from(value).to_string();
    let mut forms = vec![value.to_string(), quoted[1..quoted.len() - 1].to_string()];
    if let Some((end, _)) = value.char_indices().nth(CUT_CHARS) {
        forms.push(value[..end].to_string());
    }
    forms
}

fn gather(value: &Value, values: &mut Vec<String>) {
    match value {
        Value::String(text) => values.push(text.clone()),
        Value::Number(n) => values.push(n.to_string()),
        Value::Array(list) => list.iter().for_each(|value| gather(value, values)),
        Value::Object(entries) => entries.values().for_each(|value| gather(value, values)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Definitions and secrets, read once for a whole answer.
#[derive(Default)]
pub struct Known {
    definitions: HashMap<String, Rc<Definition>>,
    secrets: HashMap<WorkflowId, Rc<Secrets>>,
}

impl Known {
    pub fn definition(&mut self, browse: &Browse, pinned: &Pinned) -> Result<Rc<Definition>> {
        if let Some(definition) = self.definitions.get(&*pinned.hash) {
            return Ok(definition.clone());
        }
        let corrupt = |value: String| StoreError::Corrupt { table: "definitions", column: "text", value };
        let missing = || corrupt(format!("{} {} is not on record", pinned.key, pinned.version));
        let found = browse.definition(&pinned.key, Some(&pinned.version))?.ok_or_else(missing)?;
        let read = serde_json::from_str(&found.text).map_err(|problem| corrupt(problem.to_string()))?;
        let definition: Rc<Definition> = Rc::new(read);
        self.definitions.insert(pinned.hash.to_string(), definition.clone());
        Ok(definition)
    }

    pub fn secrets(&mut self, browse: &Browse, workflow: &Workflow) -> Result<Rc<Secrets>> {
        let definition = self.definition(browse, &workflow.definition)?;
        let mut secrets = Secrets::of(&definition, &workflow.input);
        // What the workflow above was given may have been handed down.
        if let Some(step) = workflow.parent
            && let Some(above) = self.secrets_of_step(browse, step)?
        {
            secrets.seek(above.values.clone());
        }
        let secrets = Rc::new(secrets);
        self.secrets.insert(workflow.id, secrets.clone());
        Ok(secrets)
    }

    /// Of the workflow that a step belongs to.
    pub fn secrets_of_step(&mut self, browse: &Browse, id: model::StepId) -> Result<Option<Rc<Secrets>>> {
        let part = browse.step(id)?.and_then(|row| row.step.in_workflow);
        part.map_or(Ok(None), |part| self.secrets_of(browse, part.workflow))
    }

    /// Of a workflow that is not at hand; none if it is not on record any more.
    pub fn secrets_of(&mut self, browse: &Browse, id: WorkflowId) -> Result<Option<Rc<Secrets>>> {
        if let Some(secrets) = self.secrets.get(&id) {
            return Ok(Some(secrets.clone()));
        }
        browse.workflow(id)?.map(|workflow| self.secrets(browse, &workflow)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        let secrets = ["input.card", "input.users.pin", "input.short", "input.gone.far"].map(String::from);
        let definition = Definition { secrets: secrets.to_vec(), ..Definition::default() };
        let input = r#"{"card": {"number": "4111", "code": 12345}, "users": [{"pin": "abcde"}, {"pin": "abcdef"}], "short": "no"}"#;
        Secrets::of(&definition, input)
    }

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.into()).unwrap()
    }

    #[test]
    fn the_place_in_the_input_is_hidden_whatever_stands_there() {
        let input = raw(
            r#"{"card":{"number":"4111"},"users":[{"pin":"abcde","n":1},{"n":2}],"short":"no","note":"no"}"#,
        );
        assert_eq!(
            secrets().hide_input(input).get(),
            r#"{"card":"[secret]","note":"no","short":"[secret]","users":[{"n":1,"pin":"[secret]"},{"n":2}]}"#
        );
    }

    #[test]
    fn the_value_is_hidden_wherever_it_stands() {
        let shown = secrets().hide(raw(r#"{"a":["card 4111!",12345,"abcdef"],"4111":true,"b":"none"}"#));
        assert_eq!(
            shown.get(),
            r#"{"[secret]":true,"a":["card [secret]!","[secret]","[secret]"],"b":"none"}"#
        );
        assert_eq!(secrets().hide_text("refused: 12345, no".into()), "refused: [secret], no");
    }

    /// Found in review: a value that was cut, or stood escaped in a text, was shown.
    #[test]
    fn a_value_is_hidden_in_the_forms_that_texts_have() {
        let (token, quoted) = ("t".repeat(30) + &"u".repeat(100), "line one\nline \"two\"");
        let definition =
            Definition { secrets: vec!["input.a".into(), "input.b".into()], ..Definition::default() };
        let input = serde_json::json!({"a": token, "b": quoted}).to_string();
        let secrets = Secrets::of(&definition, &input);
        let cut: String = token.chars().take(80).collect();
        assert_eq!(
            secrets.hide_text(format!("it is {cut}…")).matches('t').count(),
            2,
            "of `it` and `secret`"
        );
        let told = serde_json::json!({"b": quoted}).to_string();
        assert_eq!(secrets.hide_text(told), r#"{"b":"[secret]"}"#);
    }

    #[test]
    fn what_stands_for_a_sealed_value_is_shown_nowhere() {
        let sealed = model::Sealed::written("k1", WorkflowId::of(7).0, "AAAA");
        let none = Secrets::default();
        assert_eq!(
            none.hide(raw(&format!(r#"{{"b":1.10, "a":"x {sealed}"}}"#))).get(),
            r#"{"b":1.10, "a":"x [secret]"}"#
        );
        assert_eq!(none.hide_text(format!("refused {sealed}")), "refused [secret]");
        let definition = Definition { secrets: vec!["input.card".into()], ..Definition::default() };
        let input = format!(r#"{{"card":"{sealed}","n":1}}"#);
        let secrets = Secrets::of(&definition, &input);
        assert_eq!(secrets.hide_input(raw(&input)).get(), r#"{"card":"[secret]","n":1}"#);
    }

    #[test]
    fn without_secrets_payloads_are_shown_to_the_letter() {
        let none = Secrets::of(&Definition::default(), "{}");
        assert_eq!(none.hide(none.hide_input(raw(r#"{"b":1.10, "a":1}"#))).get(), r#"{"b":1.10, "a":1}"#);
    }
}
