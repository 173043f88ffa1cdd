//! What is undone, in which order, and what whoever undoes it is told.
//!
//! Why    the set is exactly what was done on the ways that were taken and says how it is undone; the order is that of the ends,
//!        backwards, one at a time. A step that was begun and may have done something is undone too if it asks for that.

use super::plan::Plan;
use super::{Data, raw};
use expr::Failure;
use model::definition::UndoneWhen;
use model::{CompensationScope, NewStep, State, StepId, Timestamp};
use serde_json::{Value, json};
use std::cmp::Reverse;

/// A step as far as it matters to what is undone: the last run of each that had one.
#[derive(Clone, PartialEq, Debug)]
pub struct Done {
    pub def: u32,
    pub step: StepId,
    pub state: State,
    pub was_started: bool,
    pub ended_at: Option<Timestamp>,
    /// Items that succeeded, if it has items.
    pub items: Option<u32>,
}

/// What is undone, first to last.
pub fn order<'a>(plan: &Plan, scope: &CompensationScope, done: &'a [Done]) -> Vec<&'a Done> {
    let mut order: Vec<&Done> =
        done.iter().filter(|one| is_within(plan, scope, one.def) && is_undone(plan, one)).collect();
    order.sort_by_key(|one| Reverse((one.ended_at, one.step)));
    order
}

fn is_within(plan: &Plan, scope: &CompensationScope, def: u32) -> bool {
    let is_behind = |key: &str| plan.find(key).is_some_and(|from| plan.graph.behind(from).contains(&def));
    match scope {
        CompensationScope::Full => true,
        CompensationScope::Partial(keys) => keys.contains(&plan.def(def).key),
        CompensationScope::FromStep(key) => plan.def(def).key == *key || is_behind(key),
        CompensationScope::AfterStep(key) => is_behind(key),
    }
}

fn is_undone(plan: &Plan, one: &Done) -> bool {
    let Some(compensation) = &plan.def(one.def).compensation else { return false };
    match one.items {
        // Each item by itself, whatever became of the whole.
        Some(items) => items > 0,
        None => match one.state {
            State::Completed => true,
            State::Failed | State::Stopped | State::TimedOut | State::Cancelled => {
                one.was_started && compensation.when == UndoneWhen::Started
            }
            _ => false,
        },
    }
}

/// What whoever undoes a step is told of it.
#[derive(Clone, Debug)]
pub struct Undone<'a> {
    pub step_key: &'a str,
    pub run: u32,
    pub item: Option<u32>,
    pub state: State,
    /// What it was given, and what it answered.
    pub input: &'a str,
    pub output: Option<&'a str>,
    pub reason: &'a str,
}

impl Undone<'_> {
    fn value(&self) -> Value {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        json!({
            "step": self.step_key, "run": self.run, "item": self.item, "state": self.state,
            "input": read(self.input), "output": self.output.map(read), "reason": self.reason,
        })
    }
}

/// The step that undoes another, and whether it stands in a line.
pub fn undo(plan: &Plan, def: u32, undone: &Undone, data: &Data) -> Result<(NewStep, InLine), Failure> {
    let n = plan.undo_of(def);
    let (value, compiled) = (undone.value(), &plan.steps[n as usize]);
    let model::definition::Work::Action(action) = &plan.def(n).work else {
        return Err(Failure {
            message: format!("step `{}` says nothing of how it is undone", undone.step_key),
        });
    };
    let arguments = match &compiled.arguments {
        None => raw(&value)?,
        Some(template) => {
            let shown = data.show(template.references());
            let mut scope = shown.scope();
            scope.bind("undo", &value);
            raw(&template.render(&scope)?)?
        }
    };
    let message_group = match &compiled.message_group {
        None => None,
        Some(program) => {
            let shown = data.show(program.references());
            let mut scope = shown.scope();
            scope.bind("undo", &value);
            Some(super::word(&program.evaluate(&scope)?)?)
        }
    };
    let new = NewStep { arguments: Some(arguments), message_group, ..super::base(plan, n, action) };
    Ok((new, if plan.is_in_line(n) { InLine::Yes } else { InLine::No }))
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InLine {
    Yes,
    No,
}
