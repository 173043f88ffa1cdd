//! What one version of a definition says differently from another, option by option.

use crate::assemble::written;
use model::definition::Definition;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// An option of the whole, or of a step.
    Option {
        step: Option<String>,
        option: String,
        from: Option<Value>,
        to: Option<Value>,
    },
    Added {
        step: String,
        kind: String,
    },
    Removed {
        step: String,
        kind: String,
    },
    /// It stands behind another step than before; none if it is the first.
    Moved {
        step: String,
        behind: Option<String>,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Added { step, kind } => write!(f, "+ step `{step}`: {kind}"),
            Change::Removed { step, kind } => write!(f, "- step `{step}`: {kind}"),
            Change::Moved { step, behind: Some(behind) } => {
                write!(f, "> step `{step}` stands behind `{behind}`")
            }
            Change::Moved { step, behind: None } => write!(f, "> step `{step}` stands first"),
            Change::Option { step, option, from, to } => {
                if let Some(step) = step {
                    write!(f, "~ step `{step}` {option}: ")?;
                } else {
                    write!(f, "~ {option}: ")?;
                }
                match (from, to) {
                    (Some(from), Some(to)) => write!(f, "{} → {}", short(from), short(to)),
                    (Some(from), None) => write!(f, "{} → none", short(from)),
                    (None, Some(to)) => write!(f, "none → {}", short(to)),
                    (None, None) => Ok(()),
                }
            }
        }
    }
}

fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut shown: String = text.chars().take(80).map(plain).collect();
    if text.chars().nth(80).is_some() {
        shown.push('…');
    }
    shown
}

/// The changes from one version to another: options of the whole first, then step by step.
pub fn diff(from: &Definition, to: &Definition) -> Vec<Change> {
    let (mut old, mut new) = (written(from), written(to));
    let (old_steps, new_steps) = (steps(&mut old), steps(&mut new));
    let mut changes = options(None, &old, &new);
    let after: HashMap<&str, &Value> = new_steps.iter().map(|(key, step)| (key.as_str(), step)).collect();
    let before: HashMap<&str, &Value> = old_steps.iter().map(|(key, step)| (key.as_str(), step)).collect();
    for (key, step) in old_steps.iter().filter(|(key, _)| !after.contains_key(key.as_str())) {
        changes.push(Change::Removed { step: key.clone(), kind: kind(step) });
    }
    let moved = moved(&old_steps, &new_steps);
    let mut behind: Option<&String> = None;
    for (key, step) in &new_steps {
        match before.get(key.as_str()) {
            None => changes.push(Change::Added { step: key.clone(), kind: kind(step) }),
            Some(old) => changes.extend(options(Some(key), old, step)),
        }
        if moved.contains(key.as_str()) {
            changes.push(Change::Moved { step: key.clone(), behind: behind.cloned() });
        }
        behind = Some(key);
    }
    changes
}

/// The steps of a definition by their keys, taken out of it.
fn steps(definition: &mut Value) -> Vec<(String, Value)> {
    let steps = definition.as_object_mut().and_then(|whole| whole.remove("steps"));
    let Some(Value::Array(steps)) = steps else { return Vec::new() };
    let keyed = |mut step: Value| {
        let key = step.as_object_mut().and_then(|step| step.remove("key"));
        (key.and_then(|key| key.as_str().map(String::from)).unwrap_or_default(), step)
    };
    steps.into_iter().map(keyed).collect()
}

pub(crate) fn kind(step: &Value) -> String {
    let words =
        ["action", "workflow"].iter().find_map(|kind| Some(format!("{kind} {}", step.get(kind)?.as_str()?)));
    let poll = || Some(format!("poll {}", step.get("poll")?.get("action")?.as_str()?));
    let branch = || step.get("branch").map(|_| "branch".into());
    words.or_else(poll).or_else(branch).unwrap_or_else(|| "wait".into())
}

fn options(step: Option<&String>, from: &Value, to: &Value) -> Vec<Change> {
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    leaves(from, String::new(), &mut old);
    leaves(to, String::new(), &mut new);
    let all: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let change = |option: &&String| (old.get(*option) != new.get(*option)).then(|| (*option).clone());
    let changed: Vec<String> = all.iter().filter_map(change).collect();
    let option = |option: String| {
        let (from, to) = (old.remove(&option), new.remove(&option));
        Change::Option { step: step.cloned(), option, from, to }
    };
    changed.into_iter().map(option).collect()
}

/// The values of a value that hold no others, by their paths. A list of words is one value.
fn leaves(value: &Value, path: String, into: &mut BTreeMap<String, Value>) {
    let is_plain = |value: &Value| !value.is_object() && !value.is_array();
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            entries.iter().for_each(|(key, inner)| leaves(inner, crate::reader::join(&path, key), into));
        }
        Value::Array(values) if !values.iter().all(is_plain) => {
            values.iter().enumerate().for_each(|(n, inner)| leaves(inner, format!("{path}[{n}]"), into));
        }
        leaf if path.is_empty() && leaf.is_object() => {}
        leaf => drop(into.insert(path, leaf.clone())),
    }
}

/// Steps of both that do not stand in the same order: all but a longest row of those that do.
fn moved<'n>(old: &[(String, Value)], new: &'n [(String, Value)]) -> HashSet<&'n str> {
    let places: HashMap<&str, usize> =
        old.iter().enumerate().map(|(n, (key, _))| (key.as_str(), n)).collect();
    let common: Vec<(&str, usize)> =
        new.iter().filter_map(|(key, _)| Some((key.as_str(), *places.get(key.as_str())?))).collect();
    // For each length, the end of the row whose last place is lowest; and for each step, the one before it in its row.
    let (mut ends, mut previous): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (n, (_, place)) in common.iter().enumerate() {
        let at = ends.partition_point(|end| common[*end].1 < *place);
        previous.push(at.checked_sub(1).map(|before| ends[before]));
        if at == ends.len() { ends.push(n) } else { ends[at] = n }
    }
    let mut moved: HashSet<&str> = common.iter().map(|(key, _)| *key).collect();
    let mut at = ends.last().copied();
    while let Some(n) = at {
        moved.remove(common[n].0);
        at = previous[n];
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(from: &str, to: &str) -> String {
        let read = |text: &str| {
            let text = format!("workflow: a\nversion: 1.0.0\n{text}");
            crate::read(text.as_bytes(), "x.yaml").unwrap().definition
        };
        diff(&read(from), &read(to)).iter().map(|change| format!("{change}\n")).collect()
    }

    #[test]
    fn nothing_changes_by_itself() {
        assert_eq!(
            show("steps: [{key: a, action: x}]", "steps: [{action: x, key: a, on_failure: fail_workflow}]"),
            ""
        );
    }

    #[test]
    fn options_steps_and_their_order_are_told() {
        let from = "timeout: 1h\nsteps:\n- {key: a, action: x, retry: {attempts: 3}, arguments: {n: 1}}\n- {key: b, wait: 5s}\n- {key: c, action: y}\n- {key: d, action: z, after: [a]}";
        let to = "timeout: 90m\nlabels: {team: x}\nsteps:\n- {key: a, action: x, retry: {attempts: 5, delay: 1s}, arguments: {n: [1]}}\n- {key: c, action: y, timeout: 10s}\n- {key: b, wait: {until: input.at}}\n- {key: e, workflow: other}";
        assert_eq!(
            show(from, to),
            "~ labels.team: none → x\n~ timeout: 1h → 1h30m\n- step `d`: action z\n\
             ~ step `a` arguments.n: 1 → [1]\n~ step `a` retry.attempts: 3 → 5\n~ step `a` retry.delay: none → 1s\n\
             ~ step `c` timeout.attempt: none → 10s\n> step `c` stands behind `a`\n\
             ~ step `b` wait: 5s → none\n~ step `b` wait.until: none → input.at\n\
             + step `e`: workflow other\n"
        );
    }
}
