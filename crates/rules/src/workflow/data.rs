//! What the expressions of a workflow may look at: its input, and what its steps answered.
//!
//! Why    an expression of a workflow of thousands of steps reads one or two answers. So an answer is read as JSON once, when it is
//!        first asked for, and an expression is shown only what it names.

use super::Plan;
use expr::{References, Scope};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// A text, and what it says once somebody has asked.
#[derive(Clone, Debug, Default)]
pub struct Text {
    text: Arc<str>,
    value: OnceLock<Arc<Value>>,
}

impl Text {
    fn value(&self) -> Arc<Value> {
        // What was stored was looked at when it came; a text that is no JSON is shown as the text it is.
        let read =
            || serde_json::from_str(&self.text).unwrap_or_else(|_| Value::String(self.text.to_string()));
        self.value.get_or_init(|| Arc::new(read())).clone()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text { text: text.into(), value: OnceLock::new() }
    }
}

impl From<Arc<str>> for Text {
    fn from(text: Arc<str>) -> Text {
        Text { text, value: OnceLock::new() }
    }
}

/// The input of a workflow, what its steps answered, by their number in the definition, and behind them what was sent to triggers.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    input: Text,
    outputs: BTreeMap<u32, Text>,
}

impl Answers {
    pub fn of(input: Arc<str>) -> Answers {
        Answers { input: input.into(), outputs: BTreeMap::new() }
    }
    pub fn put(&mut self, step: u32, answer: impl Into<Text>) {
        self.outputs.insert(step, answer.into());
    }
    /// It is not current any more.
    pub fn remove(&mut self, step: u32) {
        self.outputs.remove(&step);
    }
    pub fn get(&self, step: u32) -> Option<&Arc<str>> {
        self.outputs.get(&step).map(|text| &text.text)
    }
}

#[derive(Clone, Copy)]
pub struct Data<'a> {
    plan: &'a Plan,
    answers: &'a Answers,
}

/// What one expression is shown.
pub(super) struct Shown<'a> {
    input: Option<Arc<Value>>,
    outputs: Vec<(&'a str, Arc<Value>)>,
}

impl<'a> Data<'a> {
    pub fn new(plan: &'a Plan, answers: &'a Answers) -> Data<'a> {
        Data { plan, answers }
    }
    pub(super) fn input(&self) -> &'a str {
        &self.answers.input.text
    }
    pub(super) fn answer(&self, step: u32) -> Option<&'a Arc<str>> {
        self.answers.get(step)
    }
    /// What an expression names, as far as it is there.
    pub(super) fn show(&self, references: &References) -> Shown<'a> {
        let input = references.variables.contains("input").then(|| self.answers.input.value());
        let outputs = &self.answers.outputs;
        let key = |n: u32| self.plan.output_key(n);
        let outputs = match references.whole_outputs {
            true => outputs.iter().map(|(n, text)| (key(*n), text.value())).collect(),
            false => {
                let named = references.outputs.iter().filter_map(|key| self.plan.output(key));
                named.filter_map(|n| Some((key(n), outputs.get(&n)?.value()))).collect()
            }
        };
        Shown { input, outputs }
    }
}

impl Shown<'_> {
    pub(super) fn scope(&self) -> Scope<'_> {
        let mut scope = Scope::new();
        self.input.iter().for_each(|input| {
            scope.bind("input", input);
        });
        for (key, value) in &self.outputs {
            scope.bind_output(key, value);
        }
        scope
    }
}
