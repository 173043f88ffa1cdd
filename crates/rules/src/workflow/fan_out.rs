//! Fan-out: one step for each item of a list, made as they are needed, and their answers gathered into one.
//!
//! Why    a million items are not a million rows at once: the list is stored with the step, and every item is made from it when there
//!        is room. So the items a step has are those it had when it began, whatever happens since.

use super::{Data, Plan, base, failure, raw, word};
use expr::Failure;
use model::definition::{Gather, Work};
use model::{NewStep, limits};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a step is done for.
#[derive(Clone, Debug, PartialEq)]
pub enum Items {
    List(Arc<[Value]>),
    /// So many, and each is its own number.
    Count(u32),
}

impl Items {
    pub fn of(value: Value, expression: &str) -> Result<Items, Failure> {
        let items = match value {
            Value::Array(list) => Items::List(list.into()),
            Value::Number(n) => match n.as_u64().map(u32::try_from) {
                Some(Ok(n)) => Items::Count(n),
                _ => return Err(failure(format!("`{expression}` is {n}; write a list, or how many"))),
            },
            other => return Err(failure(format!("`{expression}` is {other}; write a list, or how many"))),
        };
        match items.len() {
            n if n > limits::ITEMS_MAX => {
                let max = limits::ITEMS_MAX;
                Err(failure(format!("`{expression}` has {n} items; a fan-out has at most {max} (items)")))
            }
            _ => Ok(items),
        }
    }
    pub fn len(&self) -> usize {
        match self {
            Items::List(list) => list.len(),
            Items::Count(n) => *n as usize,
        }
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// As they are stored with the step.
    pub fn text(&self) -> String {
        match self {
            Items::List(list) => Value::from(list.to_vec()).to_string(),
            Items::Count(n) => n.to_string(),
        }
    }
    pub fn read(text: &str) -> Option<Items> {
        match serde_json::from_str(text).ok()? {
            Value::Array(list) => Some(Items::List(list.into())),
            Value::Number(n) => n.as_u64().and_then(|n| n.try_into().ok()).map(Items::Count),
            _ => None,
        }
    }
    fn at(&self, index: u32) -> Value {
        match self {
            Items::List(list) => list.get(index as usize).cloned().unwrap_or_default(),
            Items::Count(_) => index.into(),
        }
    }
}

/// The step for one item. One whose arguments cannot be made still is a step: it fails for that reason.
pub fn item(plan: &Plan, n: u32, items: &Items, index: u32, data: &Data) -> (NewStep, Option<Failure>) {
    let Work::Action(action) = &plan.def(n).work else { return (NewStep::default(), None) };
    let label = Some(format!("{} {}", plan.def(n).key, index + 1));
    let step = NewStep { label, ..base(plan, n, action) };
    match given(plan, n, &items.at(index), index, data) {
        Ok((arguments, message_group)) => {
            (NewStep { arguments: Some(arguments), message_group, ..step }, None)
        }
        // It stands in no line, for which one is not known.
        Err(failure) => (NewStep { mode: None, ..step }, Some(failure)),
    }
}

type Given = (Box<RawValue>, Option<String>);

fn given(plan: &Plan, n: u32, item: &Value, index: u32, data: &Data) -> Result<Given, Failure> {
    let compiled = &plan.steps[n as usize];
    let number = Value::from(index);
    let arguments = match &compiled.arguments {
        None => raw(item)?,
        Some(template) => {
            let shown = data.show(template.references());
            let mut scope = shown.scope();
            scope.bind("item", item).bind("index", &number);
            raw(&template.render(&scope)?)?
        }
    };
    let Some(program) = &compiled.message_group else { return Ok((arguments, None)) };
    let shown = data.show(program.references());
    let mut scope = shown.scope();
    scope.bind("item", item).bind("index", &number);
    Ok((arguments, Some(word(&program.evaluate(&scope)?)?)))
}

/// What the items answered, as one answer; none stands for an item that has no answer.
pub fn gather(how: Gather, n: u32, answers: &BTreeMap<u32, Arc<str>>, failed: u32) -> Result<String, String> {
    let text = match how {
        Gather::Counts => {
            format!(r#"{{"items":{n},"completed":{},"failed":{failed}}}"#, n.saturating_sub(failed))
        }
        Gather::List => {
            let mut text = String::from("[");
            for index in 0..n {
                text += if index > 0 { "," } else { "" };
                text += answers.get(&index).map_or("null", |answer| answer);
            }
            text + "]"
        }
        Gather::Merge => {
            let mut whole = serde_json::Map::new();
            for (index, answer) in answers {
                match serde_json::from_str(answer) {
                    Ok(Value::Object(part)) => whole.extend(part),
                    _ => return Err(format!("item {index} answered {}, which is no object", shown(answer))),
                }
            }
            Value::Object(whole).to_string()
        }
    };
    if text.len() > limits::PAYLOAD_BYTES_MAX {
        let max = limits::PAYLOAD_BYTES_MAX;
        return Err(format!(
            "the items answered {} bytes together; {max} are kept: write `gather: counts`, or let them keep it elsewhere",
            text.len()
        ));
    }
    Ok(text)
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(of: &[(u32, &str)]) -> BTreeMap<u32, Arc<str>> {
        of.iter().map(|(n, text)| (*n, (*text).into())).collect()
    }

    #[test]
    fn answers_are_gathered_in_the_order_of_the_items() {
        let given = answers(&[(2, "3"), (0, r#"{"a":1}"#)]);
        assert_eq!(gather(Gather::List, 3, &given, 1).as_deref(), Ok(r#"[{"a":1},null,3]"#));
        assert_eq!(
            gather(Gather::Counts, 3, &given, 1).as_deref(),
            Ok(r#"{"items":3,"completed":2,"failed":1}"#)
        );
        let given = answers(&[(0, r#"{"a":1,"b":1}"#), (1, r#"{"b":2}"#)]);
        assert_eq!(gather(Gather::Merge, 2, &given, 0).as_deref(), Ok(r#"{"a":1,"b":2}"#));
    }

    #[test]
    fn what_cannot_be_gathered_is_told() {
        let wrong = gather(Gather::Merge, 1, &answers(&[(0, "7")]), 0);
        assert_eq!(wrong, Err("item 0 answered 7, which is no object".into()));
        let long = format!("\"{}\"", "x".repeat(limits::PAYLOAD_BYTES_MAX));
        let wrong = gather(Gather::List, 1, &answers(&[(0, &long)]), 0).unwrap_err();
        assert!(wrong.contains("gather: counts"), "{wrong}");
    }

    #[test]
    fn items_are_a_list_or_a_number() {
        assert_eq!(Items::of(3.into(), "n").map(|items| items.len()).ok(), Some(3));
        let told = |value: Value| Items::of(value, "input.x").map_err(|failure| failure.message).unwrap_err();
        assert_eq!(told(Value::from(-1)), "`input.x` is -1; write a list, or how many");
        assert_eq!(told(Value::from("a")), "`input.x` is \"a\"; write a list, or how many");
        assert!(told(Value::from(1_000_001)).contains("at most 1000000 (items)"));
        let list = Items::of(serde_json::json!([1, {"a": 2}]), "x").ok();
        assert_eq!(list.as_ref().map(Items::text).and_then(|text| Items::read(&text)), list);
    }
}
