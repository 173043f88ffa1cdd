//! The mixture of steps a client pushes.

use super::dice::Dice;
use serde_json::{Value, json};

/// A running step this long can be caught by a cancel.
const CATCHABLE_MS: u64 = 150;

pub struct Order {
    pub body: Value,
    /// Places in the batch of the steps that sleep long enough to be cancelled while they run.
    pub catchable: Vec<usize>,
}

pub fn batch(dice: &mut Dice, key: &str, size: usize) -> Order {
    let mut steps = Vec::with_capacity(size);
    let mut catchable = Vec::new();
    for place in 0..size {
        let step = step(dice, format!("{key}-{place}"));
        if step["arguments"]["ms"].as_u64().is_some_and(|ms| ms >= CATCHABLE_MS) {
            catchable.push(place);
        }
        steps.push(step);
    }
    Order { body: json!({ "steps": steps }), catchable }
}

/// 90 % end at once, 5 % take a while, 2 % fail and are tried again, 3 % have children.
fn step(dice: &mut Dice, key: String) -> Value {
    match dice.between(1, 100) {
        1..=45 => json!({ "action": "noop", "step_key": key }),
        46..=90 => {
            json!({ "action": "echo", "step_key": key, "arguments": { "said": dice.between(0, 999) } })
        }
        91..=95 => {
            json!({ "action": "sleep", "step_key": key, "arguments": { "ms": dice.between(20, 300) } })
        }
        96..=97 => json!({
            "action": "fail", "step_key": key, "arguments": { "message": "as asked" },
            "max_attempts": 2, "retry_delay_ms": 100,
        }),
        _ => tree(dice, key),
    }
}

/// Two children side by side, then one that waits for both.
fn tree(dice: &mut Dice, key: String) -> Value {
    json!({
        "action": "noop", "step_key": key,
        "children": [
            { "action": "noop", "index": 1 },
            { "action": "sleep", "index": 1, "arguments": { "ms": dice.between(1, 30) } },
            { "action": "echo", "index": 2, "arguments": { "said": "last" } },
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::batch;
    use crate::crash::dice::Dice;
    use std::collections::BTreeMap;

    #[test]
    fn the_mixture_is_as_told() {
        let order = batch(&mut Dice::new(7), "a", 10_000);
        let steps = order.body["steps"].as_array().unwrap();
        let mut counts = BTreeMap::new();
        for step in steps {
            let kind = if step["children"].is_array() { "tree" } else { step["action"].as_str().unwrap() };
            *counts.entry(kind).or_insert(0) += 1;
        }
        let near = |kind: &str, share: i32| (counts[kind] - share * 100).abs() < share * 25;
        assert!(near("noop", 45) && near("echo", 45) && near("sleep", 5), "{counts:?}");
        assert!(near("fail", 2) && near("tree", 3), "{counts:?}");
        let sleeps = |&place: &usize| steps[place]["arguments"]["ms"].as_u64().unwrap() >= 150;
        assert!(!order.catchable.is_empty() && order.catchable.iter().all(sleeps));
    }
}
