//! Between what is written and the model: a step is written flat, and the model says what belongs together.

use crate::duration;
use crate::language::{Form, Home, Key, Object, WORKFLOW};
use model::definition::Definition;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The model of what was read.
pub(crate) fn definition(mut read: Map<String, Value>) -> Result<Definition, serde_json::Error> {
    if let Some(strategy @ Value::String(_)) = read.get("on_failure").cloned() {
        read.insert("on_failure".into(), json!({ "strategy": strategy }));
    }
    if let Some(Value::Array(steps)) = read.get_mut("steps") {
        for step in steps {
            if let Value::Object(written) = step.take() {
                *step = assemble(written);
            }
        }
    }
    serde_json::from_value(Value::Object(read))
}

fn step_keys() -> &'static [Key] {
    match WORKFLOW.key("steps").map(|key| key.form) {
        Some(Form::List { of: Form::Object(step), .. }) => step.keys,
        _ => &[],
    }
}

fn take(written: &mut Map<String, Value>, home: Home) -> Map<String, Value> {
    let names = step_keys().iter().filter(|key| key.home == home).map(|key| key.name);
    names.filter_map(|name| Some((name.to_string(), written.remove(name)?))).collect()
}

/// A duration alone is that of one attempt.
fn whole_timeout(action: &mut Map<String, Value>) {
    if let Some(timeout @ Value::Number(_)) = action.get("timeout").cloned() {
        action.insert("timeout".into(), json!({ "attempt": timeout }));
    }
}

fn assemble(mut written: Map<String, Value>) -> Value {
    let mut each = take(&mut written, Home::Each);
    let mut action = take(&mut written, Home::Action);
    let workflow = take(&mut written, Home::Workflow);
    let (wait, branch) = (written.remove("wait"), written.remove("branch"));
    let poll = written.remove("poll");
    if let Some(items) = action.remove("each") {
        each.insert("items".into(), items);
        action.insert("each".into(), Value::Object(each));
    }
    whole_timeout(&mut action);
    if let Some(Value::Object(compensation)) = written.get_mut("compensation") {
        let mut run = std::mem::take(compensation);
        whole_timeout(&mut run);
        compensation.extend(run.remove("when").map(|when| ("when".to_string(), when)));
        compensation.insert("run".into(), Value::Object(run));
    }
    if let Some(Value::Object(pause)) = written.get_mut("pause_after")
        && let Some(Value::Object(poll)) = pause.get_mut("poll")
    {
        *poll = polled(std::mem::take(poll), Map::new());
    }
    let work = match (wait, branch) {
        (Some(length @ Value::Number(_)), _) => json!({ "wait": { "for": length } }),
        (Some(until), _) => json!({ "wait": until }),
        (None, Some(branch)) => json!({ "branch": branch }),
        (None, None) if workflow.contains_key("workflow") => json!({ "workflow": workflow }),
        (None, None) => match poll {
            Some(Value::Object(poll)) => json!({ "poll": polled(poll, action) }),
            _ => json!({ "action": action }),
        },
    };
    written.insert("work".into(), work);
    Value::Object(written)
}

/// Keys of a poll that say what is run for it; how it is run is said beside the poll.
const RUN: [&str; 2] = ["action", "arguments"];

fn polled(mut poll: Map<String, Value>, mut run: Map<String, Value>) -> Map<String, Value> {
    run.extend(RUN.iter().filter_map(|key| Some((key.to_string(), poll.remove(*key)?))));
    poll.insert("run".into(), Value::Object(run));
    poll
}

/// A definition as one would write it, without what holds anyway.
pub(crate) fn written(definition: &Definition) -> Value {
    let mut plain = serde_json::to_value(definition).expect("a definition is plain data");
    if let Some(Value::Array(steps)) = plain.get_mut("steps") {
        for step in steps {
            if let Value::Object(assembled) = step.take() {
                *step = flatten(assembled);
            }
        }
    }
    unread_object(plain, &WORKFLOW)
}

fn flatten(mut step: Map<String, Value>) -> Value {
    if let Some(Value::Object(compensation)) = step.get_mut("compensation")
        && let Some(Value::Object(mut run)) = compensation.remove("run")
    {
        compensation.append(&mut run);
    }
    if let Some(Value::Object(pause)) = step.get_mut("pause_after")
        && let Some(Value::Object(poll)) = pause.get_mut("poll")
        && let Some(Value::Object(mut run)) = poll.remove("run")
    {
        poll.extend(RUN.iter().filter_map(|key| Some((key.to_string(), run.remove(*key)?))));
        // What happens when its time is over is said beside it.
        if poll.get("on_timeout").is_some_and(|word| word == "fail") {
            poll.remove("on_timeout");
        }
    }
    let Some(Value::Object(work)) = step.remove("work") else { return Value::Object(step) };
    for (kind, mut what) in work {
        match (kind.as_str(), &mut what) {
            ("action", Value::Object(action)) => {
                if let Some(Value::Object(mut each)) = action.remove("each") {
                    let items = each.remove("items").unwrap_or_default();
                    step.insert("each".into(), items);
                    step.append(&mut each);
                }
                step.append(action);
            }
            ("poll", Value::Object(poll)) => {
                if let Some(Value::Object(mut run)) = poll.remove("run") {
                    poll.extend(RUN.iter().filter_map(|key| Some((key.to_string(), run.remove(*key)?))));
                    step.append(&mut run);
                }
                step.insert(kind, what);
            }
            ("workflow", Value::Object(workflow)) => step.append(workflow),
            ("wait", Value::Object(wait)) if wait.contains_key("for") => {
                step.insert("wait".into(), wait["for"].take());
            }
            _ => drop(step.insert(kind, what)),
        }
    }
    Value::Object(step)
}

fn unread(value: Value, form: &Form) -> Value {
    match (form, value) {
        (Form::Duration { .. }, Value::Number(millis)) => {
            Value::from(duration::show(Duration::from_millis(millis.as_u64().unwrap_or_default())))
        }
        (Form::Object(object), value) => unread_object(value, object),
        (Form::List { of, .. }, Value::Array(values)) => {
            values.into_iter().map(|value| unread(value, of)).collect()
        }
        (Form::Map { of, .. }, Value::Object(values)) => {
            values.into_iter().map(|(key, value)| (key, unread(value, of))).collect::<Map<_, _>>().into()
        }
        (Form::Either(_, long), value @ Value::Object(_)) => unread(value, long),
        (Form::Either(short, _), value) => unread(value, short),
        (_, value) => value,
    }
}

fn unread_object(value: Value, object: &Object) -> Value {
    let Value::Object(values) = value else { return value };
    let keep = |(name, value): (String, Value)| match object.key(&name) {
        Some(key) if key.default.is_some_and(|word| value == word) => None,
        Some(key) => Some((name, unread(value, &key.form))),
        None => Some((name, value)),
    };
    values.into_iter().filter_map(keep).collect::<Map<_, _>>().into()
}
