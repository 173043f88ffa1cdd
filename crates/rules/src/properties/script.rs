//! What a case is made of: a tree of steps and a history of what happens to it.

use crate::operator::Verb;
use crate::settle::Mode;
use model::{BlockId, NewStep};
use proptest::collection::vec;
use proptest::prelude::*;

/// One step of the tree, as a line of an indented text.
#[derive(Clone, Debug)]
pub struct Line {
    /// How far it is indented; at most one deeper than the line before counts.
    pub depth: u8,
    /// It opens the next index instead of standing beside the step before it.
    pub next_index: bool,
    pub resolver: bool,
    pub success: u8,
    pub high: bool,
    pub max_attempts: u32,
    pub later: bool,
    /// Its action is one that only some sessions offer.
    pub rare: bool,
}

#[derive(Clone, Debug)]
pub enum Does {
    Complete,
    Children { n: u8, success: u8 },
    Retry { at_once: bool },
    Throttle,
    Skip,
    End,
    Stop,
    Fail,
    Resolve,
}

/// One thing that happens; `nth` counts, around the clock, among those it can happen to.
#[derive(Clone, Debug)]
pub enum Op {
    Turn(Mode),
    Report {
        nth: u8,
        does: Does,
    },
    /// An answer of an attempt that does not hold the step any more.
    Late {
        nth: u8,
    },
    Lose {
        session: u8,
    },
    Operate {
        nth: u8,
        verb: Verb,
    },
    Supersede {
        nth: u8,
    },
    Add {
        nth: u8,
        next_index: bool,
    },
    Pass {
        seconds: u32,
    },
    Breaker {
        which: u8,
        off: bool,
        for_a_while: bool,
    },
    /// The process dies: what was not committed never happened.
    Crash,
}

#[derive(Clone, Debug)]
pub struct Script {
    /// Keep nothing in hand that can be read again.
    pub lean: bool,
    /// The top-level steps stand in one block.
    pub in_block: bool,
    pub lines: Vec<Line>,
    /// Capacity of each session, and whether it offers the rare action.
    pub sessions: Vec<(usize, bool)>,
    pub ops: Vec<Op>,
}

pub fn scripts(lean: bool) -> impl Strategy<Value = Script> {
    let sessions = vec((1..3usize, prop::bool::weighted(0.3)), 1..=3);
    let sizes = prop_oneof![4 => 1..10usize, 2 => 10..20usize, 1 => 20..=40usize];
    let lines = sizes.prop_flat_map(|n| vec(line(), n));
    let tail = vec(op(lean), 0..40);
    (any::<bool>(), lines, sessions, tail).prop_map(move |(in_block, lines, sessions, ops)| Script {
        lean,
        in_block,
        lines,
        sessions,
        ops,
    })
}

fn line() -> impl Strategy<Value = Line> {
    let rarely = || prop::bool::weighted(0.1);
    let shape = (0..5u8, prop::bool::weighted(0.4), prop::bool::weighted(0.15), 0..8u8);
    (shape, rarely(), 1..4u32, rarely(), rarely()).prop_map(|(shape, high, max_attempts, later, rare)| {
        let (depth, next_index, resolver, success) = shape;
        Line { depth, next_index, resolver, success, high, max_attempts, later, rare }
    })
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        10 => Just(Does::Complete),
        2 => (0..4u8, 0..8u8).prop_map(|(n, success)| Does::Children { n, success }),
        2 => any::<bool>().prop_map(|at_once| Does::Retry { at_once }),
        1 => Just(Does::Throttle),
        1 => Just(Does::Skip),
        1 => Just(Does::End),
        1 => Just(Does::Stop),
        2 => Just(Does::Fail),
        1 => Just(Does::Resolve),
    ]
}

fn op(lean: bool) -> impl Strategy<Value = Op> {
    let nth = || any::<u8>();
    let verb = (0..Verb::ALL.len()).prop_map(|n| Verb::ALL[n]);
    let breaker = (0..3u8, any::<bool>(), any::<bool>());
    prop_oneof![
        12 => Just(Op::Turn(Mode::FixedPoint)),
        2 => Just(Op::Turn(Mode::EarlyReturn)),
        14 => (nth(), does()).prop_map(|(nth, does)| Op::Report { nth, does }),
        1 => nth().prop_map(|nth| Op::Late { nth }),
        1 => nth().prop_map(|session| Op::Lose { session }),
        3 => (nth(), verb).prop_map(|(nth, verb)| Op::Operate { nth, verb }),
        1 => nth().prop_map(|nth| Op::Supersede { nth }),
        1 => (nth(), any::<bool>()).prop_map(|(nth, next_index)| Op::Add { nth, next_index }),
        2 => (1..100u32).prop_map(|seconds| Op::Pass { seconds }),
        1 => breaker.prop_map(|(which, off, for_a_while)| Op::Breaker { which, off, for_a_while }),
        1 => Just(if lean { Op::Crash } else { Op::Turn(Mode::FixedPoint) }),
    ]
}

pub fn success(n: u8) -> Option<String> {
    let word = match n {
        4 => "majority",
        5 => "best_effort",
        6 => "at_least:1",
        7 => "at_least:3",
        _ => return None,
    };
    Some(word.into())
}

impl Script {
    pub fn steps(&self) -> Vec<NewStep> {
        let mut at = 0;
        let mut steps = level(&self.lines, &mut at, 0);
        if self.in_block {
            steps.iter_mut().for_each(|s| s.block_id = Some(BlockId::of(1 << 40)));
        }
        steps
    }
}

/// The lines from `at` that stand this deep or deeper, as one block.
fn level(lines: &[Line], at: &mut usize, depth: u8) -> Vec<NewStep> {
    let mut steps: Vec<NewStep> = Vec::new();
    let mut last = [0, 0];
    while let Some(line) = lines.get(*at).filter(|line| line.depth >= depth) {
        *at += 1;
        let last = &mut last[usize::from(line.resolver)];
        *last = (*last + u32::from(line.next_index)).max(1);
        steps.push(NewStep {
            index: Some(*last),
            kind: line.resolver.then(|| "resolve-exception".into()),
            priority: line.high.then(|| "high".into()),
            success: success(line.success),
            delay_ms: line.later.then_some(30_000),
            max_attempts: Some(line.max_attempts),
            children: if depth < 4 && !line.resolver { level(lines, at, depth + 1) } else { Vec::new() },
            ..NewStep::of(if line.rare { "rare" } else { "noop" })
        });
    }
    steps
}
