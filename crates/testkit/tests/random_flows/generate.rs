//! A random workflow: what an author would write, and the same as a list of edges that no code of ours has looked at.

use serde_json::{Map, Value, json};
use std::fmt::Write;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Policy {
    Fail,
    Pause,
    Skip,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Action {
        fails: bool,
    },
    /// Which items fail, and how many must not.
    FanOut {
        fails: Vec<bool>,
        success: Success,
    },
    Branch {
        chosen: Vec<char>,
    },
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Success {
    All,
    BestEffort,
    Majority,
}

/// What of a step is undone: what completed, or also what was only begun.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Undo {
    Completed,
    Started,
}

/// What leads to a step: over a branch, past all branches, or simply.
#[derive(Clone, Debug)]
pub struct Edge {
    pub from: usize,
    pub over: Option<char>,
    /// The step at which branches meet follows the choice itself when what was chosen has no steps.
    pub past: bool,
}

#[derive(Clone, Debug)]
pub struct Step {
    pub key: String,
    pub kind: Kind,
    pub when: Option<bool>,
    pub policy: Policy,
    pub undo: Option<Undo>,
    pub before: Vec<Edge>,
    /// The branch it stands on: of which step, and which one.
    pub on: Option<(usize, char)>,
}

pub struct Sketch {
    pub steps: Vec<Step>,
    pub yaml: String,
    pub input: Value,
}

struct Maker {
    state: u64,
    steps: Vec<Step>,
    text: Vec<String>,
    input: Map<String, Value>,
}

pub fn sketch(seed: u64) -> Sketch {
    let mut maker = Maker {
        state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        steps: Vec::new(),
        text: Vec::new(),
        input: Map::new(),
    };
    let mut ends: Vec<usize> = Vec::new();
    for _ in 0..maker.between(1, 6) {
        ends = match maker.below(4) {
            0 => maker.split(&ends),
            1 => vec![maker.branch(&ends)],
            _ => vec![maker.action(&ends, Written::After)],
        };
    }
    let yaml = format!("workflow: flow-{seed}\nversion: 1.0.0\nsteps:\n{}", maker.text.concat());
    Sketch { steps: maker.steps, yaml, input: Value::Object(maker.input) }
}

/// Whether a step names what it follows, or its place says so.
#[derive(Clone, Copy, PartialEq)]
enum Written {
    After,
    ByPlace,
}

impl Maker {
    fn below(&mut self, n: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 33) as usize % n
    }
    fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }
    fn often(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn plain(before: &[usize]) -> Vec<Edge> {
        before.iter().map(|from| Edge { from: *from, over: None, past: false }).collect()
    }

    fn after(&self, before: &[usize]) -> String {
        let keys: Vec<&str> = before.iter().map(|n| self.steps[*n].key.as_str()).collect();
        format!(", after: [{}]", keys.join(", "))
    }

    /// A step that runs, alone or for each of some items.
    fn action(&mut self, before: &[usize], written: Written) -> usize {
        let n = self.steps.len();
        let key = format!("s{n}");
        let policy = match self.below(20) {
            0..=13 => Policy::Fail,
            14 => Policy::Pause,
            _ => Policy::Skip,
        };
        let mut line = format!("  - {{ key: {key}, action: echo");
        let kind = if self.often(25) { self.fan_out(n, &mut line) } else { self.one(n, &mut line) };
        let when = self.often(20).then(|| self.often(60));
        if let Some(holds) = when {
            let _ = write!(line, ", when: \"input.w{n}\"");
            self.input.insert(format!("w{n}"), holds.into());
        }
        match policy {
            Policy::Fail => {}
            Policy::Pause => line += ", on_failure: pause_workflow",
            Policy::Skip => line += ", on_failure: skip_step",
        }
        let undo = match self.below(10) {
            0..=2 => Some(Undo::Completed),
            3 => Some(Undo::Started),
            _ => None,
        };
        match undo {
            Some(Undo::Completed) => line += ", compensation: { action: echo }",
            Some(Undo::Started) => line += ", compensation: { action: echo, when: started }",
            None => {}
        }
        if written == Written::After {
            line += &self.after(before);
        }
        self.text.push(line + " }\n");
        self.steps.push(Step { key, kind, when, policy, undo, before: Maker::plain(before), on: None });
        n
    }

    fn one(&mut self, n: usize, line: &mut String) -> Kind {
        let fails = self.often(12);
        self.input.insert(format!("f{n}"), fails.into());
        let _ = write!(line, ", arguments: {{ fail: \"${{input.f{n}}}\" }}");
        Kind::Action { fails }
    }

    fn fan_out(&mut self, n: usize, line: &mut String) -> Kind {
        let fails: Vec<bool> = (0..self.below(5)).map(|_| self.often(20)).collect();
        self.input.insert(format!("e{n}"), json!(fails));
        let (success, word) = match self.below(3) {
            0 => (Success::All, "all"),
            1 => (Success::BestEffort, "best_effort"),
            _ => (Success::Majority, "majority"),
        };
        let _ = write!(line, ", each: \"input.e{n}\", success: {word}, arguments: {{ fail: \"${{item}}\" }}");
        Kind::FanOut { fails, success }
    }

    /// Several steps side by side.
    fn split(&mut self, before: &[usize]) -> Vec<usize> {
        (0..self.between(2, 3)).map(|_| self.action(before, Written::After)).collect()
    }

    /// A choice, its branches, and the step at which they meet.
    fn branch(&mut self, before: &[usize]) -> usize {
        let at = self.steps.len();
        let inclusive = self.often(40);
        let keys: Vec<char> = ('a'..).take(self.between(2, 3)).collect();
        let chosen: Vec<char> = match inclusive {
            true => {
                let first = self.below(keys.len());
                let rest: Vec<char> = keys.iter().copied().filter(|_| self.often(40)).collect();
                keys.iter()
                    .copied()
                    .enumerate()
                    .filter(|(i, key)| *i == first || rest.contains(key))
                    .map(|(_, key)| key)
                    .collect()
            }
            false => vec![keys[self.below(keys.len())]],
        };
        let words: Vec<String> = chosen.iter().map(char::to_string).collect();
        self.input.insert(format!("r{at}"), json!(words));
        let after = self.after(before);
        self.text.push(String::new());
        let kind = Kind::Branch { chosen };
        let before = Maker::plain(before);
        self.steps.push(Step {
            key: format!("s{at}"),
            kind,
            when: None,
            policy: Policy::Fail,
            undo: None,
            before,
            on: None,
        });
        let mut branches = Vec::new();
        let mut meets = vec![Edge { from: at, over: None, past: true }];
        for key in &keys {
            let chain: Vec<usize> = (0..self.below(3)).map(|_| self.action(&[], Written::ByPlace)).collect();
            for (i, n) in chain.iter().enumerate() {
                let edge = match i.checked_sub(1) {
                    None => Edge { from: at, over: Some(*key), past: false },
                    Some(i) => Edge { from: chain[i], over: None, past: false },
                };
                self.steps[*n].before = vec![edge];
                self.steps[*n].on = Some((at, *key));
            }
            meets.extend(chain.last().map(|last| Edge { from: *last, over: None, past: false }));
            let names: Vec<String> = chain.iter().map(|n| self.steps[*n].key.clone()).collect();
            branches.push(format!("{key}: [{}]", names.join(", ")));
        }
        let end = self.action(&[], Written::ByPlace);
        self.steps[end].before = meets;
        let kind = if inclusive { "inclusive" } else { "exclusive" };
        self.text[at] = format!(
            "  - {{ key: s{at}, branch: {{ kind: {kind}, choose: \"input.r{at}\", branches: {{ {} }}, converge: s{end} }}{after} }}\n",
            branches.join(", ")
        );
        end
    }
}
