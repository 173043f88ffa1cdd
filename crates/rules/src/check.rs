//! Trees as text, for the tests beneath each rule.
//!
//! One step a line, children indented below their parent: `name [index] State [parked] [resolver] [failed=n] …`.

use crate::board::Board;
use crate::settle::{InHand, Mode, settle};
use crate::worker::Answer;
use model::*;
use std::collections::HashMap;

pub struct Tree {
    pub board: Board,
    pub names: HashMap<StepId, String>,
    pub ids: HashMap<String, StepId>,
}

pub fn parse(text: &str) -> Tree {
    let mut tree = Tree { board: Board::default(), names: HashMap::new(), ids: HashMap::new() };
    let group = DispatchGroup::new("alpha");
    let mut parents: Vec<(usize, StepId, Option<BlockId>)> = Vec::new();
    for (n, line) in text.lines().filter(|l| !l.trim().is_empty()).enumerate() {
        let indent = line.len() - line.trim_start().len();
        while parents.last().is_some_and(|(depth, _, _)| *depth >= indent) {
            parents.pop();
        }
        let mut step = step(line.trim(), n as u64 + 1);
        if let Some((_, parent, block)) = parents.last_mut() {
            let block = *block.get_or_insert_with(|| {
                let id = BlockId::of(parent.0.as_u64_pair().1 + 1_000);
                let mut block = Block::new(id, group.clone());
                block.owner = Some(*parent);
                tree.board.insert_block(block);
                tree.board.set_child_block(*parent, id);
                id
            });
            let index = step.place.map_or(1, |p| p.index);
            step.place = Some(Place { block, index });
        } else {
            step.place = None;
        }
        let name = line.split_whitespace().next().unwrap().to_string();
        tree.names.insert(step.id, name.clone());
        tree.ids.insert(name, step.id);
        parents.push((indent, step.id, None));
        insert(&mut tree.board, step);
    }
    tree.board.take_changes();
    tree
}

/// A row that is already in its state; a failed one has cut its block as it would have.
fn insert(board: &mut Board, step: Step) {
    let (place, state, resolver, id) = (step.place, step.state, step.is_resolver(), step.id);
    board.insert_step(step, Detail::default());
    if let Some(place) = place {
        board.edit_block(place.block, |b| {
            if state.is_failed() || state == State::Cancelled {
                let cut = if resolver { &mut b.resolver_cut_at } else { &mut b.cut_at };
                *cut = Some(cut.map_or(place.index, |at| at.min(place.index)));
            }
            if state.is_failed() {
                b.blame.push(id);
                b.wants_resolvers |= !resolver;
            }
        });
    }
}

pub fn step(line: &str, n: u64) -> Step {
    let mut words = line.split_whitespace();
    words.next();
    let mut step = blank(StepId::of(n));
    for word in words {
        match word.split_once('=') {
            Some(("attempt", n)) => step.attempt = n.parse().unwrap(),
            Some(("failed", n)) => step.failed_attempts = n.parse().unwrap(),
            Some(("lost", n)) => step.lost_attempts = n.parse().unwrap(),
            Some(("max", n)) => step.max_attempts = n.parse().unwrap(),
            _ if word == "parked" => step.parked = true,
            _ if word == "resolver" => step.kind = StepKind::Resolver,
            _ => match word.parse::<u32>() {
                Ok(index) => step.place = Some(Place { block: BlockId::of(0), index }),
                Err(_) => step.state = state(word),
            },
        }
    }
    step
}

pub fn blank(id: StepId) -> Step {
    Step {
        id,
        dispatch_group: DispatchGroup::new("alpha"),
        action: "noop".into(),
        queue: "default".into(),
        priority: Priority::Normal,
        kind: StepKind::Default,
        place: None,
        child_block: None,
        state: State::Pending,
        reason: None,
        parked: false,
        throttled: false,
        wake_at: None,
        attempt: 0,
        failed_attempts: 0,
        lost_attempts: 0,
        polls: 0,
        max_attempts: 3,
        backoff: Backoff::default(),
        session: None,
        host: None,
        tick: None,
        arguments: "{}".into(),
        created_at: Timestamp(0),
        dispatched_at: None,
        started_at: None,
        completed_at: None,
        version: 0,
    }
}

fn state(word: &str) -> State {
    *State::ALL.iter().find(|s| format!("{s:?}") == word).unwrap_or_else(|| panic!("no state {word}"))
}

/// A running step held by a session.
pub fn running(line: &str) -> Step {
    Step { state: State::Running, session: Some(SessionId::of(1)), ..step(line, 1) }
}

/// Settle the tree and compare the moves, in order of the tree.
pub fn settles(tree: &str, expected: &str) {
    let mut tree = parse(tree);
    let settled = settle(&mut tree.board, &mut InHand, Mode::FixedPoint).unwrap();
    assert!(settled.refused.is_empty(), "{:?}", settled.refused);
    assert!(!settled.unfinished);
    let mut moves: Vec<String> = tree
        .board
        .take_changes()
        .steps
        .iter()
        .filter(|(s, c)| c.before.as_ref().is_some_and(|b| b.state != s.state))
        .map(|(s, _)| {
            let reason = s.reason.map(|r| format!(" {r}")).unwrap_or_default();
            format!("{} {:?}{reason}", tree.names[&s.id], s.state)
        })
        .collect();
    let mut wanted: Vec<String> = expected.lines().map(|l| l.trim().to_string()).filter(|l| !l.is_empty()).collect();
    moves.sort();
    wanted.sort();
    assert_eq!(moves, wanted);
}

pub fn told_effect(effect: &Effect) -> String {
    match effect {
        Effect::MoveStep(m) => {
            let reason = m.reason.map(|r| format!(" {r}")).unwrap_or_default();
            let wake = m.wake_at.map(|t| format!(" {t:?}")).unwrap_or_default();
            format!("{}{reason}{wake}", m.event)
        }
        Effect::RaisePriority { .. } => "raise".into(),
        Effect::Park { .. } => "park".into(),
        other => format!("{other:?}"),
    }
}

pub fn told(answer: &Answer) -> String {
    match answer {
        Answer::Late => "late".into(),
        Answer::Applied(effects) => effects.iter().map(told_effect).collect::<Vec<_>>().join(", "),
    }
}
