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
        done.iter().filter(|one| is_undone(plan, one) && is_within(plan, scope, one.def)).collect();
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
    let Some(compensation) = &plan.def(def).compensation else {
        let message = format!("step `{}` says nothing of how it is undone", undone.step_key);
        return Err(Failure { message });
    };
    let (value, compiled) = (undone.value(), &plan.steps[n as usize]);
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
    let new =
        NewStep { arguments: Some(arguments), message_group, ..super::base(plan, n, &compensation.run) };
    Ok((new, if plan.is_in_line(n) { InLine::Yes } else { InLine::No }))
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InLine {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::Answers;
    use model::Pinned;
    use serde_json::json;
    use std::sync::Arc;

    fn plan() -> Plan {
        let undo = |key: &str, when: &str| json!({"key": key, "compensation": {"run": {"action": format!("undo.{key}")}, "when": when}});
        let shaped = json!({"key": "d", "compensation": {"when": "completed", "run": {
            "action": "undo.d", "mode": "next_on_error", "message_group": "'g-' + undo.step",
            "arguments": {"was": "${undo.output.n}", "why": "${undo.reason}", "for": "${input.id}"},
        }}});
        let steps = json!([undo("a", "completed"), {"key": "b"}, undo("c", "started"), shaped]);
        let text = json!({"workflow": "w", "version": "1.0.0", "steps": steps});
        let pinned = Pinned { key: "w".into(), version: "1.0.0".into(), hash: "h".into() };
        Plan::compile(serde_json::from_value(text).expect("a definition"), Arc::new(pinned))
            .expect("it is sound")
    }

    /// `0 Completed 10` is the first step, completed at 10; `items=2` of its items succeeded; `-` was not begun.
    fn done(line: &str) -> Done {
        let words: Vec<&str> = line.split_whitespace().collect();
        let states = [State::Completed, State::Failed, State::Cancelled, State::Skipped, State::TimedOut];
        let state = states.into_iter().find(|state| format!("{state:?}") == words[1]).expect("a state");
        let def: u32 = words[0].parse().expect("a number");
        Done {
            def,
            step: StepId::from_bytes([def as u8; 16]),
            state,
            was_started: !words.contains(&"-"),
            ended_at: Some(Timestamp(words[2].parse().expect("a time"))),
            items: words
                .iter()
                .find_map(|word| word.strip_prefix("items="))
                .map(|n| n.parse().expect("a number")),
        }
    }

    fn undone(scope: &CompensationScope, lines: &str) -> String {
        let plan = plan();
        let done: Vec<Done> = lines.split(',').map(done).collect();
        order(&plan, scope, &done)
            .iter()
            .map(|one| plan.def(one.def).key.clone())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn the_last_that_ended_is_the_first_that_is_undone() {
        let all = CompensationScope::Full;
        assert_eq!(
            undone(&all, "0 Completed 10, 1 Completed 20, 2 Completed 30"),
            "c a",
            "b says nothing of how"
        );
        assert_eq!(undone(&all, "0 Completed 30, 2 Completed 10"), "a c");
        assert_eq!(undone(&all, "0 Completed 10, 2 Completed 10"), "c a", "at one moment, the younger first");
    }

    #[test]
    fn what_was_only_begun_is_undone_if_it_asks_for_that() {
        let all = CompensationScope::Full;
        assert_eq!(undone(&all, "0 Failed 10, 2 Failed 20"), "c");
        assert_eq!(undone(&all, "2 TimedOut 20"), "c");
        assert_eq!(undone(&all, "2 Cancelled 20 -"), "", "it was never begun");
        assert_eq!(undone(&all, "0 Skipped 10, 2 Skipped 20"), "");
        assert_eq!(
            undone(&all, "0 Failed 10 items=2"),
            "a",
            "items that succeeded, whatever became of the whole"
        );
        assert_eq!(undone(&all, "0 Completed 10 items=0"), "");
    }

    #[test]
    fn only_what_is_asked_for_is_undone() {
        let lines = "0 Completed 10, 2 Completed 20, 3 Completed 30";
        assert_eq!(undone(&CompensationScope::Partial(vec!["a".into(), "d".into()]), lines), "d a");
        assert_eq!(undone(&CompensationScope::FromStep("c".into()), lines), "d c");
        assert_eq!(undone(&CompensationScope::AfterStep("c".into()), lines), "d");
        assert_eq!(undone(&CompensationScope::AfterStep("x".into()), lines), "");
    }

    #[test]
    fn whoever_undoes_is_told_what_was_done() {
        let (plan, answers) = (plan(), Answers::of(r#"{"id":7}"#.into()));
        let data = Data::new(&plan, &answers);
        let told = Undone {
            step_key: "d",
            run: 2,
            item: Some(1),
            state: State::Completed,
            input: "{}",
            output: Some(r#"{"n":3}"#),
            reason: "late",
        };
        let (new, line) = undo(&plan, 3, &told, &data).expect("it can be undone");
        assert_eq!((new.action.as_str(), new.step_key.as_deref()), ("undo.d", Some("d:compensation")));
        assert_eq!(new.arguments.expect("some").get(), r#"{"for":7,"was":3,"why":"late"}"#);
        assert_eq!((new.message_group.as_deref(), line), (Some("g-d"), InLine::Yes));
        let (plain, line) =
            undo(&plan, 0, &Undone { step_key: "a", output: None, ..told.clone() }, &data).expect("too");
        assert_eq!(line, InLine::No);
        assert_eq!(
            plain.arguments.expect("some").get(),
            r#"{"input":{},"item":1,"output":null,"reason":"late","run":2,"state":"completed","step":"a"}"#
        );
        let unsaid = undo(&plan, 1, &Undone { step_key: "b", ..told.clone() }, &data).map(drop);
        let why = unsaid.map_err(|failure| failure.message);
        assert_eq!(why, Err("step `b` says nothing of how it is undone".into()));
        let nothing = Undone { output: None, ..told };
        assert!(undo(&plan, 3, &nothing, &data).is_err(), "it has no `n` to give");
    }
}
