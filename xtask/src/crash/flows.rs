//! The workflows of a round: their definitions, what they are started with, and what must come of each.

use super::dice::Dice;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fmt;

/// In the order in which they are stored: the second starts the first.
pub const DEFINITIONS: [&str; 2] = [include_str!("flows/chain.yaml"), include_str!("flows/spread.yaml")];

const ITEMS: usize = 5;
/// Message groups that all workflows share, so that they meet in them.
const LINES: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Chain,
    Spread,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Left,
    Right,
}

/// What a workflow is started with, as far as it decides what must come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    pub shape: Shape,
    pub way: Way,
    /// Comes back as the answer of the whole.
    pub said: u64,
}

impl Flow {
    pub fn thrown(dice: &mut Dice) -> Flow {
        let shape = *dice.choose(&[Shape::Chain, Shape::Chain, Shape::Spread]);
        Flow { shape, way: *dice.choose(&[Way::Left, Way::Right]), said: dice.between(0, 999_999) }
    }

    pub fn body(&self, dice: &mut Dice) -> Value {
        let input = match self.shape {
            Shape::Chain => {
                json!({ "way": self.way.word(), "said": self.said, "ms": dice.between(1, 100) })
            }
            Shape::Spread => {
                let items: Vec<u64> = (0..ITEMS).map(|_| dice.between(1, 100)).collect();
                let line = dice.between(1, LINES);
                json!({ "way": self.way.word(), "said": self.said, "items": items, "line": line })
            }
        };
        json!({ "workflow": self.shape.workflow(), "input": input })
    }

    /// The steps that are completed once it has succeeded, by their keys in order. What is done in items or in a line is a
    /// step of its own below the one that waits for it, with the same key.
    pub fn completed(&self) -> Vec<&'static str> {
        match (self.shape, self.way) {
            (Shape::Chain, Way::Left) => vec!["left", "rest", "route", "take", "tell", "work"],
            (Shape::Chain, Way::Right) => vec!["rest", "right", "route", "take", "tell", "work"],
            (Shape::Spread, _) => [vec!["inner"], vec!["items"; ITEMS + 1], vec!["queue"; 2]].concat(),
        }
    }

    /// The step whose answer is that of the whole.
    pub fn last(&self) -> &'static str {
        match self.shape {
            Shape::Chain => "tell",
            Shape::Spread => "inner",
        }
    }

    pub fn answer(&self) -> Value {
        json!({ "said": self.said })
    }

    /// What its step `inner` starts.
    pub fn inner(&self) -> Option<Flow> {
        (self.shape == Shape::Spread).then_some(Flow { shape: Shape::Chain, ..*self })
    }
}

impl Shape {
    pub fn workflow(self) -> &'static str {
        match self {
            Shape::Chain => "crash-chain",
            Shape::Spread => "crash-spread",
        }
    }
}

impl Way {
    fn word(self) -> &'static str {
        match self {
            Way::Left => "left",
            Way::Right => "right",
        }
    }
}

/// A start that was acknowledged, as one line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    pub id: String,
    pub flow: Flow,
}

impl fmt::Display for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Started { id, flow } = self;
        write!(f, "{id} {} {} {}", flow.shape.workflow(), flow.way.word(), flow.said)
    }
}

impl Started {
    pub fn read(line: &str) -> Result<Started> {
        let read = || {
            let words: Vec<&str> = line.split(' ').collect();
            let [id, workflow, way, said] = words[..] else { return None };
            let shape = [Shape::Chain, Shape::Spread].into_iter().find(|s| s.workflow() == workflow)?;
            let way = [Way::Left, Way::Right].into_iter().find(|w| w.word() == way)?;
            Some(Started { id: id.into(), flow: Flow { shape, way, said: said.parse().ok()? } })
        };
        read().with_context(|| format!("a start came as the line {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_read_back_from_its_line() {
        let mut dice = Dice::new(5);
        for _ in 0..50 {
            let started = Started { id: "a-1".into(), flow: Flow::thrown(&mut dice) };
            assert_eq!(Started::read(&started.to_string()).unwrap(), started);
        }
        assert!(Started::read("a-1 crash-chain up 7").unwrap_err().to_string().ends_with("up 7"));
    }

    #[test]
    fn every_shape_and_way_is_thrown() {
        let mut dice = Dice::new(5);
        let thrown: Vec<Flow> = (0..100).map(|_| Flow::thrown(&mut dice)).collect();
        for shape in [Shape::Chain, Shape::Spread] {
            for way in [Way::Left, Way::Right] {
                assert!(thrown.iter().any(|flow| flow.shape == shape && flow.way == way));
            }
        }
    }

    #[test]
    fn what_is_started_is_what_is_stored() {
        for shape in [Shape::Chain, Shape::Spread] {
            let named = format!("workflow: {}\n", shape.workflow());
            assert!(DEFINITIONS.iter().any(|text| text.contains(&named)), "{named}");
        }
    }
}
