//! Random steps to ask for: alone, side by side and in trees, with every field, and now and then one that must be refused.

use super::dice::Dice;
use super::op::Sketch;
use model::{BlockId, NewStep, Timestamp, limits};
use serde_json::value::RawValue;
use std::time::Duration;

pub const GROUPS: [&str; 4] = ["alpha", "beta", "gamma", "delta"];
pub const POOLS: [&str; 2] = ["card", "sms"];
pub const QUEUES: [&str; 4] = ["default", "priority", "stage", "candels"];
pub const ACTIONS: [&str; 4] = ["work", "haul", "rare", "nobody runs this"];
/// What a text of either database may take in another way.
pub const TEXTS: [&str; 10] = [
    "plain",
    "",
    " spaces ",
    "it's \"quoted\" \\ and %_",
    "caf\u{e9} \u{65e5}\u{672c} \u{1f980}",
    "line\r\nline\ttab",
    "\u{1}\u{7f}\u{feff}",
    "NULL",
    "0",
    "{a,b}",
];
const ARGUMENTS: [&str; 8] = [
    "{}",
    "null",
    "[1, 2,3 ]",
    "{\"b\":1,\"a\":1,\"b\":2}",
    "1e400",
    "12345678901234567890.10",
    "\"\\u0000\\ud83e\\udd80\"",
    "{\"text\": \"it's\\n\\\\ caf\u{e9}\"}",
];
/// Explicit blocks come from a small pool, so that they are met again.
const POOL: usize = 12;
const DEPTH_MAX: usize = 3;

/// What there is to name.
pub struct Known {
    pub steps: usize,
    pub blocks: usize,
    pub workflows: usize,
    pub now: Timestamp,
}

impl Known {
    /// The newest more often than the oldest; now and then one that does not exist.
    pub fn step(&self, dice: &mut Dice) -> usize {
        newest(dice, self.steps)
    }
    pub fn workflow(&self, dice: &mut Dice) -> usize {
        newest(dice, self.workflows)
    }
    pub fn block(&self, dice: &mut Dice) -> usize {
        newest(dice, self.blocks)
    }
}

fn newest(dice: &mut Dice, n: usize) -> usize {
    match dice.below(10) {
        0 if dice.often(300) => n + 7,
        0..=5 => n.saturating_sub(1 + dice.below(n.min(25))),
        _ => dice.below(n),
    }
}

pub fn steps(dice: &mut Dice, known: &Known) -> Vec<Sketch> {
    let mut steps = match dice.below(10) {
        0..=3 => vec![placed(dice, known)],
        4..=5 => (0..dice.between(2, 6)).map(|_| placed(dice, known)).collect(),
        6 => one_block(dice, known),
        _ => vec![tree(dice, known, 0)],
    };
    if dice.often(80) {
        let at = dice.below(steps.len());
        spoil(dice, &mut steps[at]);
    }
    steps
}

/// Steps that travel in a report.
pub fn children(dice: &mut Dice, known: &Known) -> Vec<Sketch> {
    let mut children = level(dice, known, 1);
    if dice.often(60) {
        spoil(dice, &mut children[0]);
    }
    if dice.often(50) { Vec::new() } else { children }
}

/// A step somewhere: alone, in a block of the pool, beside others or below a parent.
fn placed(dice: &mut Dice, known: &Known) -> Sketch {
    let mut sketch = plain(dice, known);
    match dice.below(20) {
        0..=2 => sketch.new.block_id = Some(BlockId::of(1 + dice.below(POOL) as u64)),
        3..=4 => sketch.block = Some(known.block(dice)),
        5..=7 => sketch.parent = Some(known.step(dice)),
        8 => sketch.new.child_block_id = Some(BlockId::of(1 + dice.below(POOL) as u64)),
        _ => return sketch,
    }
    sketch.new.index = dice.maybe(500, |d| d.between(0, 3) as u32);
    sketch.new.dispatch_group = None;
    sketch.new.kind = dice.maybe(150, |_| "resolve-exception".into());
    sketch
}

/// Several steps of one block of the pool, with indexes.
fn one_block(dice: &mut Dice, known: &Known) -> Vec<Sketch> {
    let block = BlockId::of(1 + dice.below(POOL) as u64);
    let mut steps = level(dice, known, DEPTH_MAX);
    steps.iter_mut().for_each(|s| s.new.block_id = Some(block));
    steps
}

fn tree(dice: &mut Dice, known: &Known, depth: usize) -> Sketch {
    let mut sketch = plain(dice, known);
    if depth > 0 {
        sketch.new.dispatch_group = None;
    }
    if depth < DEPTH_MAX && (depth == 0 || dice.often(300)) {
        sketch.children = level(dice, known, depth + 1);
        let words = ["all", "majority", "best_effort", "at_least:1", "at_least:2"];
        sketch.new.success = dice.maybe(250, |d| (*d.one(&words)).into());
    }
    sketch
}

/// The steps of one block, without a gap in their indexes.
fn level(dice: &mut Dice, known: &Known, depth: usize) -> Vec<Sketch> {
    let mut index = 1;
    (0..dice.between(1, 4))
        .map(|n| {
            index += u32::from(n > 0 && dice.often(400));
            if n > 0 && dice.often(200) {
                let mut resolver = plain(dice, known);
                resolver.new.dispatch_group = None;
                resolver.new.mode = None;
                resolver.new.kind = Some("resolve-exception".into());
                resolver.new.index = Some(index);
                return resolver;
            }
            let mut child = tree(dice, known, depth);
            child.new.index = Some(index);
            child
        })
        .collect()
}

/// Few, so that they are met again; one is named by leaving it out.
pub const MESSAGE_GROUPS: [&str; 4] = ["order-1", "order-2", "käufer 3", "default"];

fn plain(dice: &mut Dice, known: &Known) -> Sketch {
    let action = *dice.weighted(&[(60, ACTIONS[0]), (25, ACTIONS[1]), (10, ACTIONS[2]), (5, ACTIONS[3])]);
    let max_attempts = dice.maybe(600, |d| d.between(1, 4) as u32);
    let mut new = NewStep {
        queue: dice.maybe(200, |d| (*d.one(&QUEUES)).into()),
        pool: dice.maybe(150, |d| (*d.one(&POOLS)).into()),
        priority: dice.maybe(200, |d| (*d.one(&["high", "high", "normal"])).into()),
        dispatch_group: dice.maybe(250, |d| (*d.one(&GROUPS)).into()),
        arguments: dice
            .maybe(400, |d| RawValue::from_string((*d.one(&ARGUMENTS)).into()).expect("they are JSON")),
        step_key: text(dice),
        label: text(dice),
        relatable_type: text(dice),
        relatable_id: text(dice),
        max_attempts,
        ..NewStep::of(action)
    };
    if dice.often(150) {
        new.message_group = dice.maybe(900, |d| (*d.one(&MESSAGE_GROUPS)).into());
        new.mode = dice.maybe(900, |d| (*d.one(&["next_on_error", "block_on_error", "immediate"])).into());
        new.sequence = dice.maybe(300, |d| d.between(0, 3) as i32 - 1);
        // A line lives where its name says.
        new.dispatch_group = None;
    }
    match dice.below(20) {
        0 => new.delay_ms = Some(dice.between(0, 300) as u64 * 100),
        1 => new.dispatch_after = Some(known.now.0 - 1_000_000 + dice.below(90_000_001) as i64),
        _ => {}
    }
    // A wait with jitter depends on the id: it may be told apart only where both engines round it to the same instant.
    if max_attempts != Some(1) || dice.often(300) {
        new.retry_delay_ms = Some(*dice.one(&[0, 500, 1_000]));
        new.retry_factor = dice.maybe(300, |d| *d.one(&[1.0, 2.0]));
        new.retry_max_delay_ms = Some(1_000);
    }
    Sketch { new, ..Sketch::default() }
}

fn text(dice: &mut Dice) -> Option<String> {
    dice.maybe(150, |d| (*d.one(&TEXTS)).into())
}

/// Make a request that must be refused, in one of many ways.
fn spoil(dice: &mut Dice, sketch: &mut Sketch) {
    let new = &mut sketch.new;
    match dice.below(16) {
        0 => new.action = (*dice.one(&["", "  "])).into(),
        1 => new.priority = Some("urgent".into()),
        2 => new.dispatch_group = Some("omega".into()),
        3 => new.kind = Some("resolver".into()),
        4 => new.success = Some("at_least:x".into()),
        5 => new.max_attempts = Some(*dice.one(&[0, limits::ATTEMPTS_MAX + 1])),
        6 => new.index = Some(*dice.one(&[9, limits::INDEX_MAX + 1])),
        7 => (new.delay_ms, new.dispatch_after) = (Some(1), Some(1)),
        8 => new.delay_ms = Some(limits::WAIT_MAX.as_millis() as u64 + 1),
        9 => new.retry_factor = Some(*dice.one(&[0.5, 101.0, f64::NAN])),
        10 => new.step_key = Some("a\0b".into()),
        11 => new.label = Some("\u{e9}".repeat(limits::NAME_BYTES_MAX / 2 + 1)),
        12 => (new.block_id, sketch.parent) = (Some(BlockId::of(1)), Some(0)),
        13 => (new.block_id, new.child_block_id) = (Some(BlockId::of(90)), Some(BlockId::of(90))),
        14 => {
            new.kind = Some("resolve-exception".into());
            sketch.children = vec![Sketch { new: NewStep::of("work"), ..Sketch::default() }];
        }
        _ => {
            let two = NewStep { child_block_id: Some(BlockId::of(91)), ..NewStep::of("work") };
            sketch.children = vec![Sketch { new: two, ..Sketch::default() }; 2];
        }
    }
}

/// A span on the grid to which all clocks of a run keep.
pub fn span(dice: &mut Dice, low: Duration, high: Duration) -> Duration {
    let tenths = |span: Duration| (span.as_millis() / 100) as usize;
    Duration::from_millis(100 * dice.between(tenths(low), tenths(high)) as u64)
}
