//! Fan-outs that are done again: which of them keep the items that succeeded.
//!
//! Why    of a thousand items three failed: nobody wants the others twice. The items are those there were, so only a fan-out whose list
//!        cannot have changed keeps any: not one behind a step that is done again.

use super::plan::Plan;
use super::resolution::Refused;
use model::definition::{RetryScope, Work};
use model::{Block, RetryItems};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// A fan-out that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FanOut {
    pub items: u32,
    /// Those that did not succeed, or were not even begun.
    pub left: u32,
    pub standing: Standing,
}

impl FanOut {
    /// What is left of so many items.
    pub fn of(items: u32, block: &Block) -> FanOut {
        let moves = block.unsettled() > 0 || !block.is_at_rest();
        let standing = if moves { Standing::Moving } else { Standing::Settled };
        FanOut { items, left: items.saturating_sub(block.steps.concluded()), standing }
    }
}

/// Whether something of a fan-out that has ended still moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    Settled,
    Moving,
}

/// Why it cannot be said which items are done again.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Unspared {
    #[error("items of step `{0}` are still being ended; try again in a moment")]
    Moving(String),
    #[error("{0}")]
    Not(&'static str),
}

impl From<Unspared> for Refused {
    fn from(why: Unspared) -> Refused {
        Refused(why.to_string())
    }
}

/// What is done again, and what was said about it.
#[derive(Clone, Copy)]
pub struct Again<'a> {
    pub steps: &'a BTreeSet<u32>,
    /// The step that was named.
    pub from: Option<u32>,
    pub items: Option<RetryItems>,
}

/// The steps whose items that succeeded stay as they are. `fans` are those that have ended and are not undone.
pub fn spared(plan: &Plan, again: Again, fans: &BTreeMap<u32, FanOut>) -> Result<BTreeSet<u32>, Unspared> {
    let behind = again.from.map(|from| plan.graph.behind(from)).unwrap_or_default();
    let mut spared = BTreeSet::new();
    for (def, fan) in fans.iter().filter(|(def, _)| again.steps.contains(def) && !behind.contains(def)) {
        let wanted = again.items.unwrap_or(usual(plan, *def));
        if wanted == RetryItems::All || fan.left == 0 {
            continue;
        }
        if fan.standing == Standing::Moving {
            return Err(Unspared::Moving(plan.def(*def).key.clone()));
        }
        spared.insert(*def);
    }
    if again.items == Some(RetryItems::Failed) && spared.is_empty() {
        let why =
            "none of the steps that are done again has items that failed; leave out `items`, or ask for all";
        return Err(Unspared::Not(why));
    }
    Ok(spared)
}

/// What the definition says.
fn usual(plan: &Plan, def: u32) -> RetryItems {
    let scope = match &plan.def(def).work {
        Work::Action(action) => action.retry.as_ref().map(|retry| retry.scope).unwrap_or_default(),
        _ => RetryScope::default(),
    };
    match scope {
        RetryScope::FailedItems => RetryItems::Failed,
        RetryScope::All => RetryItems::All,
    }
}

/// What that means, in words.
pub fn tell(plan: &Plan, spared: &BTreeSet<u32>, fans: &BTreeMap<u32, FanOut>) -> Vec<String> {
    let of = |def: &u32| {
        let (key, fan) = (&plan.def(*def).key, fans.get(def)?);
        let (left, items) = (fan.left, fan.items);
        Some(match left == items {
            true => format!("of step `{key}` all items are done again, for none of them succeeded"),
            false => format!(
                "of step `{key}` {left} of {items} items are done again; the others keep what they answered"
            ),
        })
    };
    spared.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Pinned;
    use std::sync::Arc;

    /// Four steps in a row: `a` of which only failed items are done again, `b` and `c` alike, `d` as a whole.
    fn plan() -> Plan {
        let step = |key: &str, scope: &str| {
            format!(
                r#"{{"key":"{key}","work":{{"action":{{"action":"x","each":{{"items":"input.list"}},"retry":{{"scope":"{scope}"}}}}}}}}"#
            )
        };
        let steps = [
            step("a", "failed_items"),
            step("b", "failed_items"),
            step("c", "failed_items"),
            step("d", "all"),
        ];
        let text = format!(r#"{{"workflow":"w","version":"1.0.0","steps":[{}]}}"#, steps.join(","));
        let pinned = Pinned { key: "w".into(), version: "1.0.0".into(), hash: "h".into() };
        Plan::compile(serde_json::from_str(&text).expect("a definition"), Arc::new(pinned))
            .expect("it is sound")
    }

    /// What is spared when `steps` are done again; of each `left` items of ten did not succeed.
    fn of(steps: &[u32], from: Option<u32>, items: Option<RetryItems>, left: &[(u32, u32)]) -> String {
        let fan =
            |(def, left): &(u32, u32)| (*def, FanOut { items: 10, left: *left, standing: Standing::Settled });
        let (plan, fans) = (plan(), left.iter().map(fan).collect());
        match spared(&plan, Again { steps: &steps.iter().copied().collect(), from, items }, &fans) {
            Ok(spared) => tell(&plan, &spared, &fans).join("; "),
            Err(why) => format!("no: {why}"),
        }
    }

    #[test]
    fn by_itself_the_definition_says_which_items_are_done_again() {
        let three = "of step `a` 3 of 10 items are done again; the others keep what they answered";
        assert_eq!(of(&[0], None, None, &[(0, 3)]), three);
        assert_eq!(of(&[3], None, None, &[(3, 3)]), "", "`retry.scope: all`");
        assert_eq!(of(&[0], None, None, &[(0, 0)]), "", "nothing failed, so all of it is meant");
        assert_eq!(of(&[1], None, None, &[(0, 3)]), "", "it is not among those that are done again");
    }

    #[test]
    fn whoever_decides_may_say_otherwise() {
        let all = Some(RetryItems::All);
        assert_eq!(of(&[0], None, all, &[(0, 3)]), "");
        let failed = Some(RetryItems::Failed);
        let two = "of step `d` 2 of 10 items are done again; the others keep what they answered";
        assert_eq!(of(&[3], None, failed, &[(3, 2)]), two);
        let none = "no: none of the steps that are done again has items that failed; leave out `items`, or ask for all";
        assert_eq!(of(&[0], None, failed, &[(0, 0)]), none);
        assert_eq!(of(&[0], None, failed, &[]), none);
    }

    #[test]
    fn behind_a_step_that_is_done_again_the_list_may_be_another() {
        let one = "of step `b` 1 of 10 items are done again; the others keep what they answered";
        assert_eq!(of(&[1, 2, 3], Some(1), None, &[(1, 1), (2, 4)]), one);
    }

    #[test]
    fn what_still_moves_is_waited_for() {
        let fans = BTreeMap::from([(0, FanOut { items: 10, left: 10, standing: Standing::Moving })]);
        let again = Again { steps: &BTreeSet::from([0]), from: None, items: None };
        let refused = spared(&plan(), again, &fans).expect_err("it moves");
        assert_eq!(refused, Unspared::Moving("a".into()));
        assert_eq!(refused.to_string(), "items of step `a` are still being ended; try again in a moment");
    }
}
