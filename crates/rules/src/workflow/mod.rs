//! Workflows: what is to be done when a step's turn has come, and what follows when it has ended.
//!
//! Why    these are the five rules of eligibility in one place: those before it are over, a way that was taken leads to it, its
//!        condition holds, nothing has ended the whole, and what it needs is there. What was decided, and from what, is told.

pub mod compensation;
mod data;
mod fan_out;
pub mod graph;
pub mod hold;
pub mod machine;
pub mod pause;
mod plan;
pub mod poll;
pub mod progress;
pub mod resolution;
mod shape;
pub mod spare;
#[cfg(test)]
mod tests;
pub mod traced;
#[cfg(test)]
mod transitions;
pub mod undoing;

pub use data::{Answers, Data, Text};
pub use fan_out::{Items, gather, item};
pub use plan::{Compiled, Plan};
pub use shape::Shape;

use expr::{Failure, Program};
use model::definition::{
    ActionDef, BranchKind, Ending, FailurePolicy, PollTimeout, RetryScope, SubWorkflow, Wait, Work,
};
use model::{DispatchMode, NewStep, Reason, State, Timestamp, WorkflowState, limits};
use progress::{Next, Passed};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::Arc;

/// An expression that decided something, for the record.
#[derive(Clone, PartialEq, Debug)]
pub struct Decided {
    pub step: u32,
    pub kind: &'static str,
    pub expression: String,
    pub result: String,
    pub inputs: String,
}

/// What is to be done for a step whose turn has come.
#[derive(Debug)]
pub enum Todo {
    /// A worker runs it.
    Run(Box<NewStep>),
    /// A worker runs it when its turn has come in its message group.
    RunInLine(Box<NewStep>),
    /// A worker runs it for each of these.
    RunEach(Items),
    WaitUntil(Timestamp),
    Skip(Reason),
    Choose(Vec<Arc<str>>),
    Start(SubWorkflow, Box<RawValue>),
    /// It cannot be done.
    Fail(String),
}

/// What the end of a step means.
#[derive(Debug, PartialEq)]
pub enum Then {
    /// Those behind it go on.
    GoOn(Passed),
    /// The whole ends here.
    End {
        state: WorkflowState,
        message: String,
    },
    Fail(String),
    Pause(String),
}

/// How a step ended.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    pub state: State,
    pub reason: Option<Reason>,
    pub error: Option<&'a str>,
}

fn evaluate(program: &Program, data: &Data) -> Result<Value, Failure> {
    program.evaluate(&data.show(program.references()).scope())
}

fn holds(program: &Program, data: &Data) -> Result<bool, Failure> {
    program.holds(&data.show(program.references()).scope())
}

/// With more than every expression of a workflow may look at.
fn holds_with(program: &Program, data: &Data, more: &[(&str, &Value)]) -> Result<bool, Failure> {
    let shown = data.show(program.references());
    let outer = shown.scope();
    let mut scope = outer.inner();
    for (name, value) in more {
        scope.bind(name, value);
    }
    program.holds(&scope)
}

fn decided(step: u32, kind: &'static str, program: &Program, result: &Value, data: &Data) -> Decided {
    let expression = program.source().to_string();
    let inputs = program.inputs(&data.show(program.references()).scope());
    Decided { step, kind, expression, result: result.to_string(), inputs }
}

/// What is to be done for a step whose turn has come.
pub fn todo(plan: &Plan, next: Next, data: &Data, now: Timestamp, told: &mut Vec<Decided>) -> Todo {
    if !next.reached {
        return Todo::Skip(Reason::NotOnActiveBranch);
    }
    work(plan, next.step, data, now, told).unwrap_or_else(|failure| Todo::Fail(failure.message))
}

fn work(plan: &Plan, n: u32, data: &Data, now: Timestamp, told: &mut Vec<Decided>) -> Result<Todo, Failure> {
    let (def, compiled) = (plan.def(n), &plan.steps[n as usize]);
    if let Some(when) = &compiled.when {
        let holds = holds(when, data)?;
        told.push(decided(n, "when", when, &Value::Bool(holds), data));
        if !holds {
            return Ok(Todo::Skip(Reason::ConditionFalse));
        }
    }
    match &def.work {
        Work::Action(action) => run(plan, n, action, data),
        Work::Poll(poll) => run(plan, n, &poll.run, data),
        Work::Wait(Wait::For(duration)) => Ok(Todo::WaitUntil(now + *duration)),
        Work::Wait(Wait::Until(_)) => {
            let until = compiled.until.as_ref().map(|until| evaluate(until, data)).transpose()?;
            instant(&until.unwrap_or_default()).map(Todo::WaitUntil)
        }
        Work::Branch(branch) => {
            let Some(choose) = &compiled.choose else { return Ok(Todo::Choose(Vec::new())) };
            let value = evaluate(choose, data)?;
            let chosen = chosen(branch, &value)?;
            told.push(decided(n, "branch", choose, &chosen.iter().map(|key| &**key).collect(), data));
            Ok(Todo::Choose(chosen))
        }
        Work::Workflow(sub) => Ok(Todo::Start(sub.clone(), arguments(compiled, data)?)),
    }
}

/// The branches that an expression names.
fn chosen(branch: &model::definition::Branch, value: &Value) -> Result<Vec<Arc<str>>, Failure> {
    let words: Vec<String> = match value {
        Value::Null => Vec::new(),
        Value::Array(list) => list.iter().map(word).collect::<Result<_, _>>()?,
        one => vec![word(one)?],
    };
    let mut keys: Vec<Arc<str>> = Vec::new();
    for word in &words {
        if !branch.branches.contains_key(word) && branch.otherwise.is_none() {
            let known: Vec<&str> = branch.branches.keys().map(String::as_str).collect();
            return Err(failure(format!("there is no branch `{word}`; there are {}", known.join(", "))));
        }
        if branch.branches.contains_key(word) && !keys.iter().any(|key| **key == **word) {
            keys.push(word.as_str().into());
        }
    }
    if keys.is_empty() {
        match &branch.otherwise {
            Some(otherwise) => keys.push(otherwise.as_str().into()),
            None => return Err(failure("no branch was chosen, and there is no `otherwise`".into())),
        }
    }
    if branch.kind == BranchKind::Exclusive && keys.len() > 1 {
        let message = format!("{} branches were chosen where exactly one is to be", keys.len());
        return Err(failure(message));
    }
    Ok(keys)
}

fn word(value: &Value) -> Result<String, Failure> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        other => Err(failure(format!("{other} is not a key"))),
    }
}

fn failure(message: String) -> Failure {
    Failure { message }
}

/// A time as text, or in seconds.
fn instant(value: &Value) -> Result<Timestamp, Failure> {
    let seconds = value.as_f64().filter(|s| s.is_finite() && *s >= 0.0 && *s < 1e11);
    let parsed = value.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    seconds
        .map(|s| Timestamp((s * 1e6) as i64))
        .or(parsed.map(|at| Timestamp(at.as_microsecond())))
        .ok_or_else(|| {
            failure(format!("{value} is not a time; write it as 2026-11-16T20:00:00Z or in seconds"))
        })
}

fn raw(value: &Value) -> Result<Box<RawValue>, Failure> {
    to_raw_value(value).map_err(|problem| failure(problem.to_string()))
}

/// What a step is given: as it is written, or else the input of the whole.
fn arguments(compiled: &Compiled, data: &Data) -> Result<Box<RawValue>, Failure> {
    match &compiled.arguments {
        None => RawValue::from_string(data.input().into()).map_err(|problem| failure(problem.to_string())),
        Some(template) => raw(&template.render(&data.show(template.references()).scope())?),
    }
}

fn run(plan: &Plan, n: u32, action: &ActionDef, data: &Data) -> Result<Todo, Failure> {
    let compiled = &plan.steps[n as usize];
    let step = base(plan, n, action);
    if let Some(items) = &compiled.items {
        return Items::of(evaluate(items, data)?, items.source()).map(Todo::RunEach);
    }
    let message_group = match &compiled.message_group {
        Some(program) => Some(word(&evaluate(program, data)?)?),
        None => None,
    };
    let arguments = Some(arguments(compiled, data)?);
    let new = Box::new(NewStep { arguments, message_group, ..step });
    let in_line = action.mode.is_some_and(|mode| mode != DispatchMode::Immediate);
    Ok(if in_line { Todo::RunInLine(new) } else { Todo::Run(new) })
}

/// What an action says of itself, but its arguments.
fn base(plan: &Plan, n: u32, action: &ActionDef) -> NewStep {
    let retry = action.retry.as_ref();
    let millis = |duration: Option<std::time::Duration>| duration.map(|d| d.as_millis() as u64);
    NewStep {
        action: action.action.clone(),
        step_key: Some(plan.def(n).key.clone()),
        queue: action.queue.clone(),
        priority: action.priority.map(|priority| priority.word().into()),
        pool: action.pool.clone(),
        mode: action.mode.map(|mode| mode.word().into()),
        max_attempts: match retry {
            // The whole is done again, not each by itself.
            Some(retry) if retry.scope == RetryScope::All && action.each.is_some() => Some(1),
            retry => retry.and_then(|retry| retry.attempts),
        },
        retry_delay_ms: millis(retry.and_then(|retry| retry.delay)),
        retry_factor: retry.and_then(|retry| retry.backoff),
        retry_max_delay_ms: millis(retry.and_then(|retry| retry.max_delay)),
        timeout_ms: millis(action.timeout.attempt),
        ..NewStep::default()
    }
}

/// What follows when a step has ended.
pub fn after(plan: &Plan, n: u32, end: End, data: &Data, told: &mut Vec<Decided>) -> Then {
    let def = plan.def(n);
    match end.state {
        State::Completed => {
            let (Some(terminate), Some(program)) = (&def.terminate_when, &plan.steps[n as usize].terminate)
            else {
                return Then::GoOn(passed(plan, n, data));
            };
            match holds(program, data) {
                Err(failure) => Then::Fail(format!("step `{}`: {}", def.key, failure.message)),
                Ok(holds) => {
                    told.push(decided(n, "terminate_when", program, &Value::Bool(holds), data));
                    if !holds {
                        return Then::GoOn(passed(plan, n, data));
                    }
                    let state = match terminate.state {
                        Ending::Succeeded => WorkflowState::Succeeded,
                        Ending::Failed => WorkflowState::Failed,
                    };
                    Then::End { state, message: terminate.reason.clone() }
                }
            }
        }
        State::Skipped => Then::GoOn(match (end.reason, &def.work) {
            (Some(Reason::NotOnActiveBranch), _) => Passed::Aside,
            (_, Work::Branch(_)) => Passed::Past,
            _ => Passed::On,
        }),
        _ => failed(def, end),
    }
}

/// How those behind a step that has ended go on, if they do: what `after` said at the time.
pub fn passed_on(plan: &Plan, n: u32, end: End, data: &Data) -> Option<Passed> {
    match end.state {
        State::Completed => Some(passed(plan, n, data)),
        State::Superseded => None,
        _ => match after(plan, n, end, data, &mut Vec::new()) {
            Then::GoOn(passed) => Some(passed),
            Then::End { .. } | Then::Fail(_) | Then::Pause(_) => None,
        },
    }
}

/// The key of which only so many are done at once; another definition's is another.
pub fn concurrency_key(plan: &Plan, data: &Data) -> Result<Option<String>, Failure> {
    let Some(program) = &plan.concurrency else { return Ok(None) };
    let key = word(&evaluate(program, data)?)?;
    Ok(Some(format!("{}:{key}", plan.pinned.key)))
}

fn passed(plan: &Plan, n: u32, data: &Data) -> Passed {
    match (&plan.def(n).work, data.answer(n)) {
        (Work::Branch(_), Some(chosen)) => {
            Passed::Chose(serde_json::from_str::<Vec<Arc<str>>>(chosen).unwrap_or_default())
        }
        _ => Passed::On,
    }
}

fn failed(def: &model::definition::StepDef, end: End) -> Then {
    let why = end.error.map(|error| format!(": {error}")).unwrap_or_default();
    let message = format!("step `{}` {}{why}", def.key, end.state.said());
    if end.state == State::Cancelled
        && matches!(end.reason, Some(Reason::WorkflowCompensating | Reason::TerminatedEarly))
    {
        // It was taken back with the whole and has not failed: should that go on after all, it is done again.
        return Then::Fail(message);
    }
    let pauses = def.work.poll().is_some_and(|poll| poll.on_timeout == PollTimeout::Pause);
    if pauses && end.reason == Some(Reason::PollTimedOut) {
        return Then::Pause(message);
    }
    match def.on_failure {
        FailurePolicy::FailWorkflow => Then::Fail(message),
        FailurePolicy::PauseWorkflow => Then::Pause(message),
        FailurePolicy::SkipStep | FailurePolicy::ContinueWithPartial => Then::GoOn(match def.work {
            Work::Branch(_) => Passed::Past,
            _ => Passed::On,
        }),
    }
}

/// What the whole comes to: what those answered that nobody follows.
pub fn output(plan: &Plan, answers: &Answers) -> Option<String> {
    let last: Vec<(u32, &Arc<str>)> =
        plan.graph.last().filter_map(|n| answers.get(n).map(|answer| (n, answer))).collect();
    match last.as_slice() {
        [] => None,
        [(_, only)] if plan.graph.last().count() == 1 => Some(only.to_string()),
        many => {
            let part = |(n, answer): &(u32, &Arc<str>)| {
                format!("{}:{answer}", Value::from(plan.def(*n).key.as_str()))
            };
            // More than can be kept is found with the steps.
            let bytes: usize = many.iter().map(|(n, answer)| plan.def(*n).key.len() + answer.len() + 8).sum();
            let whole = || format!("{{{}}}", many.iter().map(part).collect::<Vec<_>>().join(","));
            (bytes <= limits::PAYLOAD_BYTES_MAX).then(whole)
        }
    }
}
