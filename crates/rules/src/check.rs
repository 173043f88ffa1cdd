//! Trees as text, and a worker that runs them inline, for the tests beneath each rule.
//!
//! One step a line, children indented below their parent: `name [index] [State] [parked] [resolver] [failed=n] …`. A line
//! `block` holds steps of one block without an owner. A last word says what the job does: `fails`, `stops`, `skips`, …

use crate::board::Board;
use crate::creation::{self, Ground, Plan};
use crate::pick::{Allowance, Gate, pick};
use crate::settle::{InHand, Mode, Settled, settle};
use crate::worker::{self, Answer};
use model::*;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

pub struct Tree {
    pub board: Board,
    pub names: HashMap<StepId, String>,
    pub ids: HashMap<String, StepId>,
    /// Steps as they stand in the text.
    pub order: Vec<StepId>,
    acts: HashMap<StepId, &'static str>,
    /// What was given to the worker, tick by tick.
    pub given: Vec<String>,
}

/// What a job answers, by its word in the text; a step without one completes.
const ACTS: [&str; 7] = ["fails", "stops", "skips", "ends", "resolves", "retries", "throttles"];

fn outcome(act: &str) -> Outcome {
    let why = || act.to_string();
    match act {
        "fails" => Outcome::Fail { failure: Failure { message: why(), trace: None }, notify: true },
        "stops" => Outcome::Stop { why: why() },
        "skips" => Outcome::Skip { why: why() },
        "ends" => Outcome::End { why: why() },
        "resolves" => Outcome::Resolved { note: why() },
        "retries" => Outcome::Retry { after: Some(Duration::ZERO), failure: None },
        "throttles" => Outcome::Throttle { after: Duration::from_secs(60) },
        _ => Outcome::Complete { response: None },
    }
}

/// How ids of blocks follow the text: what a rule does must not hang on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockIds {
    Rising,
    Falling,
}

pub fn parse(text: &str) -> Tree {
    parse_with(text, BlockIds::Rising)
}

pub fn parse_with(text: &str, ids: BlockIds) -> Tree {
    let mut tree = Tree {
        board: Board::default(),
        names: HashMap::new(),
        ids: HashMap::new(),
        order: Vec::new(),
        acts: HashMap::new(),
        given: Vec::new(),
    };
    let block_id = |n: u64| BlockId::of(if ids == BlockIds::Rising { 1_000 + n } else { 1_000 - n });
    let mut above: Vec<(usize, Option<StepId>, Option<BlockId>)> = Vec::new();
    for (n, line) in text.lines().filter(|l| !l.trim().is_empty()).enumerate() {
        let n = n as u64 + 1;
        let indent = line.len() - line.trim_start().len();
        while above.last().is_some_and(|(depth, _, _)| *depth >= indent) {
            above.pop();
        }
        if line.trim() == "block" {
            let id = block_id(n);
            tree.board.insert_block(Block::new(id, DispatchGroup::new("alpha")));
            above.push((indent, None, Some(id)));
            continue;
        }
        let mut step = step(line.trim(), n);
        let index = step.index();
        step.place = above.last_mut().map(|(_, parent, block)| {
            let block = *block.get_or_insert_with(|| tree.own_block(*parent, block_id(n)));
            Place { block, index }
        });
        above.push((indent, Some(step.id), None));
        tree.add(line, step);
    }
    tree.board.take_changes();
    tree
}

impl Tree {
    fn own_block(&mut self, owner: Option<StepId>, id: BlockId) -> BlockId {
        let owner = owner.expect("a line `block` has its block already");
        let home = self.board.step(owner).unwrap().dispatch_group.clone();
        self.board.insert_block(Block { owner: Some(owner), ..Block::new(id, home) });
        self.board.set_child_block(owner, id);
        id
    }

    fn add(&mut self, line: &str, step: Step) {
        let name = line.split_whitespace().next().unwrap().to_string();
        if let Some(act) = ACTS.iter().find(|act| line.split_whitespace().any(|word| word == **act)) {
            self.acts.insert(step.id, act);
        }
        self.names.insert(step.id, name.clone());
        self.ids.insert(name, step.id);
        self.order.push(step.id);
        insert(&mut self.board, step);
    }

    pub fn get(&self, name: &str) -> &Step {
        self.board.step(self.ids[name]).unwrap()
    }

    /// One letter a step, in order of the text.
    pub fn states(&self) -> String {
        self.order.iter().map(|id| letter(self.board.step(*id).unwrap().state)).collect()
    }

    pub fn settle(&mut self, mode: Mode) -> Settled {
        let settled = settle(&mut self.board, &mut InHand, mode).unwrap();
        assert!(settled.refused.is_empty(), "{:?}", settled.refused);
        assert!(!settled.unfinished);
        settled
    }

    /// One tick: the phases, and when none ended it, the pick, with every job run on the spot. True when a step moved.
    pub fn tick(&mut self, mode: Mode) -> bool {
        let settled = self.settle(mode);
        let picks = if settled.stopped_at.is_some() { Vec::new() } else { self.claim() };
        self.given.push(picks.iter().map(|id| self.names[id].as_str()).collect::<Vec<_>>().join(" "));
        picks.iter().for_each(|id| self.work(*id));
        recount(&self.board);
        self.board.take_changes();
        settled.total() > 0 || !picks.is_empty()
    }

    fn claim(&mut self) -> Vec<StepId> {
        let everyone = [session(1, 100)];
        let gates = ["alpha", "beta"].map(|g| Gate {
            dispatch_group: DispatchGroup::new(g),
            off: false,
            max_per_tick: 0,
        });
        let picked = pick(&self.board.windows, &gates, &everyone, &Allowance::new(), (0, 100));
        for p in &picked.picks {
            self.board.claim(p.step, p.session, "host".into(), self.given.len() as i64).unwrap();
        }
        picked.picks.into_iter().map(|p| p.step).collect()
    }

    fn work(&mut self, id: StepId) {
        let outcome = outcome(self.acts.get(&id).unwrap_or(&"completes"));
        assert!(report(&mut self.board, id, outcome), "the attempt holds the step");
    }
}

/// The answer of the attempt that holds a step, applied; false when it comes too late.
pub fn report(board: &mut Board, id: StepId, outcome: Outcome) -> bool {
    let step = board.step(id).unwrap();
    let session = step.session.unwrap_or(SessionId::of(0));
    let report =
        Report { session, step: id, attempt: step.attempt, outcome, log: Vec::new(), delivery: None };
    let children = step.child_block.and_then(|b| board.block(b));
    match worker::decide(step, children, &report, board.now) {
        Answer::Late => false,
        Answer::Applied(effects) => {
            effects.into_iter().for_each(|effect| _ = board.apply(effect).unwrap());
            true
        }
    }
}

pub fn session(n: u64, capacity: usize) -> Session {
    let queues = ["default", "priority"].map(Name::from).to_vec();
    let offer =
        SessionOffer { host: "host".into(), queues, actions: vec!["noop".into()], capacity, remote: false };
    Session { id: SessionId::of(n), offer, held: 0, lease_ends_at: Timestamp(i64::MAX) }
}

/// The summaries of all blocks in hand say what their steps say.
pub fn recount(board: &Board) {
    recount_rows(board.steps(), |id| board.block(id));
}

pub fn recount_rows<'a>(steps: impl Iterator<Item = &'a Step>, block: impl Fn(BlockId) -> Option<&'a Block>) {
    let mut counted: HashMap<BlockId, Block> = HashMap::new();
    let blank = |id| Block::new(id, DispatchGroup::new("alpha"));
    for step in steps {
        if let Some(place) = step.place {
            let block = counted.entry(place.block).or_insert_with(|| blank(place.block));
            *block.counts_mut(step.kind).of_mut(step.state) += 1;
            *block.live_mut(step.kind, place.index) += u32::from(step.state.is_hot());
        }
        if let Some(id) = step.child_block {
            counted.entry(id).or_insert_with(|| blank(id));
        }
    }
    for (id, own) in counted {
        let block = block(id).expect("a block with steps exists");
        assert_eq!(
            (block.steps, block.resolvers),
            (own.steps, own.resolvers),
            "{id}: counts of steps, of resolvers"
        );
        assert_eq!(
            (&block.live, &block.live_resolvers),
            (&own.live, &own.live_resolvers),
            "{id}: live per index"
        );
    }
}

fn letter(state: State) -> char {
    match state {
        State::NotRunnable => 'N',
        State::Pending => 'P',
        State::Dispatched => 'D',
        State::Running => 'R',
        State::Polling => 'L',
        State::Completed => 'C',
        State::Skipped => 'K',
        State::Cancelled => 'X',
        State::Failed => 'F',
        State::Stopped => 'S',
        State::TimedOut => 'T',
        State::Superseded => 'U',
    }
}

/// What creation stands on: ten groups taken in turn, ids by number, and whatever rows a test puts there.
pub struct Land {
    pub now: Timestamp,
    pub groups: Vec<DispatchGroup>,
    pub blocks: HashMap<BlockId, Block>,
    pub parents: HashMap<StepId, Step>,
    pub ids_made: u64,
    pub groups_taken: usize,
}

impl Default for Land {
    fn default() -> Self {
        Land {
            now: Timestamp(0),
            groups: DEFAULT_GROUPS.map(DispatchGroup::new).to_vec(),
            blocks: HashMap::new(),
            parents: HashMap::new(),
            ids_made: 0,
            groups_taken: 0,
        }
    }
}

impl Land {
    pub fn plan(&mut self, steps: &[NewStep]) -> Result<Plan, Vec<Fault>> {
        let (ids, taken, groups) = (&mut self.ids_made, &mut self.groups_taken, &self.groups);
        let mut new_id = || {
            *ids += 1;
            *StepId::of(*ids).bytes()
        };
        let mut next_group = || {
            *taken += 1;
            groups[(*taken - 1) % groups.len()].clone()
        };
        let queues: [Arc<str>; 2] = ["default".into(), "priority".into()];
        let mut ground = Ground {
            now: self.now,
            dispatch_groups: groups,
            queues: &queues,
            pools: &BTreeSet::from(["card".into()]),
            blocks: self.blocks.clone(),
            parents: self.parents.clone(),
            new_id: &mut new_id,
            next_group: &mut next_group,
        };
        creation::plan(steps, &mut ground)
    }

    /// What creation may ask for about a board: the named parents, their blocks and the blocks these stand in.
    pub fn survey(&mut self, board: &Board, parents: &[StepId]) {
        self.now = board.now;
        let steps: Vec<&Step> = parents.iter().filter_map(|id| board.step(*id)).collect();
        let blocks: BTreeSet<BlockId> =
            steps.iter().flat_map(|s| [s.child_block, s.block()]).flatten().collect();
        self.parents = steps.into_iter().map(|s| (s.id, s.clone())).collect();
        self.blocks = blocks.into_iter().filter_map(|id| Some((id, board.block(id)?.clone()))).collect();
    }
}

/// The rows of a plan, put on a board.
pub fn carry_out(board: &mut Board, plan: Plan) {
    plan.blocks.into_iter().for_each(|block| board.insert_block(block));
    plan.adopt.into_iter().for_each(|(step, block)| board.set_child_block(step, block));
    plan.steps.into_iter().for_each(|(step, detail)| board.insert_step(step, detail));
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
    if line.split_whitespace().any(|word| word == "resolver") {
        (step.kind, step.state) = (StepKind::Resolver, State::NotRunnable);
    }
    for word in words.filter(|word| *word != "resolver" && !ACTS.contains(word)) {
        match word.split_once('=') {
            Some(("attempt", n)) => step.attempt = n.parse().unwrap(),
            Some(("failed", n)) => step.failed_attempts = n.parse().unwrap(),
            Some(("lost", n)) => step.lost_attempts = n.parse().unwrap(),
            Some(("pool", name)) => step.pool = Some(name.into()),
            Some(("max", n)) => step.max_attempts = n.parse().unwrap(),
            _ if word == "parked" => step.parked = true,
            _ if word == "high" => step.priority = Priority::High,
            _ if word == "beta" => step.dispatch_group = DispatchGroup::new("beta"),
            Some(("after", secs)) => step.wake_at = Some(Timestamp(secs.parse::<i64>().unwrap() * 1_000_000)),
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
        pool: None,
        member: None,
        expires_at: None,
        in_workflow: None,
        trace: None,
        timeout: None,
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
        polled: None,
        look: None,
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
    tree.settle(Mode::FixedPoint);
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
    let mut wanted: Vec<String> =
        expected.lines().map(|l| l.trim().to_string()).filter(|l| !l.is_empty()).collect();
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
