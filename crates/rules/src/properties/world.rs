//! A small world for one case: a board, the rows it has committed, sessions, breakers and a clock.

use super::script::{Does, Op, Script, success};
use super::truth;
use crate::board::{Board, Changes};
use crate::check::{Land, carry_out, session};
use crate::pick::{Allowance, Gate, pick};
use crate::settle::{Mode, Snapshot, settle};
use crate::worker::{self, Answer};
use crate::{operator, recover};
use model::*;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt::Write;
use std::time::Duration;

/// Beyond this many steps nothing more is created.
const STEPS_MAX: usize = 60;

/// What has been committed.
#[derive(Default)]
pub struct Disk {
    pub steps: BTreeMap<StepId, Step>,
    pub blocks: BTreeMap<BlockId, Block>,
    pub kin: BTreeMap<BlockId, BTreeSet<(u32, StepId)>>,
}

impl Snapshot for Disk {
    type Error = Infallible;
    fn step(&mut self, id: StepId) -> Result<Option<Step>, Infallible> {
        Ok(self.steps.get(&id).cloned())
    }
    fn block(&mut self, id: BlockId) -> Result<Option<Block>, Infallible> {
        Ok(self.blocks.get(&id).cloned())
    }
    fn unsettled(
        &mut self,
        block: BlockId,
        after: Option<(u32, StepId)>,
        n: usize,
    ) -> Result<Vec<Step>, Infallible> {
        let behind =
            self.kin.get(&block).into_iter().flatten().filter(|at| after.is_none_or(|after| **at > after));
        let rows = behind.map(|(_, id)| &self.steps[id]).filter(|s| !s.state.is_terminal());
        Ok(rows.take(n).cloned().collect())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum History {
    Forgotten,
    Told,
}

pub struct World {
    pub board: Board,
    pub disk: Disk,
    pub sessions: Vec<Session>,
    pub breakers: BTreeMap<DispatchGroup, Breaker>,
    pub everywhere: Breaker,
    /// Every change of the case as text, when it is asked for.
    pub told: String,
    /// Events that moved some step.
    pub seen: BTreeSet<Event>,
    history: History,
    lean: bool,
    land: Land,
    turn: u64,
    sessions_made: u64,
}

impl World {
    pub fn new(script: &Script, history: History) -> World {
        let groups = ["alpha", "beta"].map(DispatchGroup::new);
        let mut world = World {
            board: Board::default(),
            disk: Disk::default(),
            sessions: Vec::new(),
            breakers: groups.iter().map(|g| (g.clone(), Breaker::default())).collect(),
            everywhere: Breaker::default(),
            told: String::new(),
            seen: BTreeSet::new(),
            history,
            lean: script.lean,
            land: Land { groups: groups.to_vec(), ..Land::default() },
            turn: 0,
            sessions_made: 0,
        };
        script.sessions.iter().for_each(|(capacity, rare)| world.open_session(*capacity, *rare));
        let plan = world.land.plan(&script.steps()).expect("a tree without gaps is sound");
        carry_out(&mut world.board, plan);
        world.turn(Mode::FixedPoint);
        world
    }

    fn open_session(&mut self, capacity: usize, rare: bool) {
        self.sessions_made += 1;
        let mut session = session(self.sessions_made, capacity);
        if rare {
            session.offer.actions.push("rare".into());
        }
        self.sessions.push(session);
    }

    /// A row as it is now, in hand or committed.
    pub fn row(&self, id: StepId) -> Option<&Step> {
        self.board.step(id).or_else(|| self.disk.steps.get(&id))
    }

    /// Rows that something can happen to, oldest first; one of them by a number.
    fn nth(&self, nth: u8, of: impl Fn(&Step) -> bool) -> Option<StepId> {
        let in_hand = self.board.steps().map(|s| s.id);
        let ids: BTreeSet<StepId> = self.disk.steps.keys().copied().chain(in_hand).collect();
        let able: Vec<StepId> = ids.into_iter().filter(|id| self.row(*id).is_some_and(&of)).collect();
        able.get(usize::from(nth) % able.len().max(1)).copied()
    }

    /// A step with the blocks around it, as the engine reads them before it lets a rule decide.
    fn bring(&mut self, id: StepId) {
        let Some(step) = self.row(id).cloned() else { return };
        for block in [step.block(), step.child_block].into_iter().flatten() {
            if let Some(block) = self.disk.blocks.get(&block) {
                self.board.load_block(block.clone());
            }
        }
        self.board.load_step(step);
    }

    pub fn play(&mut self, op: &Op) {
        match op {
            Op::Turn(mode) => self.turn(*mode),
            Op::Report { nth, does } => {
                if let Some(id) = self.nth(*nth, Step::is_held) {
                    self.report(id, does);
                }
            }
            Op::Late { nth } => self.late(*nth),
            Op::Lose { session } => self.lose(usize::from(*session) % self.sessions.len()),
            Op::Operate { nth, verb } => self.operate(*nth, *verb),
            Op::Supersede { nth } => self.supersede(*nth),
            Op::Add { nth, next_index } => self.add(*nth, *next_index),
            Op::Pass { seconds } => {
                self.board.now = self.board.now + Duration::from_secs(u64::from(*seconds))
            }
            Op::Breaker { which, off, for_a_while } => {
                let until = for_a_while.then(|| self.board.now + Duration::from_secs(40));
                let breaker = Breaker { off: *off, until, ..Breaker::default() };
                match self.breakers.values_mut().nth(usize::from(*which)) {
                    Some(of_group) => *of_group = breaker,
                    None => self.everywhere = breaker,
                }
            }
            Op::Crash => self.crash(),
        }
    }

    fn apply(&mut self, effect: Effect) {
        self.board.apply(effect.clone()).unwrap_or_else(|refused| panic!("{effect:?}: {refused}"));
    }

    fn child_block(&self, id: StepId) -> Option<&Block> {
        self.board.step(id)?.child_block.and_then(|b| self.board.block(b))
    }

    fn report(&mut self, id: StepId, does: &Does) {
        self.bring(id);
        let mut outcome = outcome(does);
        if let Outcome::Children { children, success, .. } = &outcome
            && !self.create(id, children, *success)
        {
            outcome = Outcome::Fail { failure: Failure::default(), notify: true };
        }
        let step = self.board.step(id).unwrap();
        let report = Report {
            session: step.session.unwrap(),
            step: id,
            attempt: step.attempt,
            outcome,
            log: Vec::new(),
            delivery: None,
        };
        match worker::decide(step, self.child_block(id), &report, self.board.now) {
            Answer::Late => panic!("the attempt that holds a step is not late: {step:?}"),
            Answer::Applied(effects) => effects.into_iter().for_each(|effect| self.apply(effect)),
        }
    }

    fn late(&mut self, nth: u8) {
        let Some(id) = self.nth(nth, |s| s.attempt > 0) else { return };
        let step = self.row(id).unwrap();
        let outcome = || outcome(&Does::Complete);
        let session = step.session.unwrap_or(SessionId::of(1));
        let stale = Report {
            session,
            step: id,
            attempt: step.attempt - 1,
            outcome: outcome(),
            log: Vec::new(),
            delivery: None,
        };
        let strange = Report {
            session: SessionId::of(0),
            step: id,
            attempt: step.attempt,
            outcome: outcome(),
            log: Vec::new(),
            delivery: None,
        };
        for report in [stale, strange] {
            assert_eq!(worker::decide(step, None, &report, self.board.now), Answer::Late);
        }
        self.bring(id);
        self.apply(Effect::RecordLate { step: id });
    }

    fn lose(&mut self, n: usize) {
        let gone = self.sessions.remove(n);
        self.open_session(gone.offer.capacity, gone.offer.actions.len() > 1);
    }

    /// What a session that is gone has held is taken back.
    fn recover(&mut self) {
        let alive: BTreeSet<SessionId> = self.sessions.iter().map(|s| s.id).collect();
        let lost = |s: &Step| s.is_held() && s.session.is_some_and(|id| !alive.contains(&id));
        while let Some(id) = self.nth(0, lost) {
            self.bring(id);
            let effect = recover::decide(self.board.step(id).unwrap(), self.child_block(id));
            self.apply(effect.expect("a held step is taken back"));
        }
    }

    fn operate(&mut self, nth: u8, verb: operator::Verb) {
        let Some(id) = self.nth(nth, |_| true) else { return };
        self.bring(id);
        match operator::decide(self.board.step(id).unwrap(), self.child_block(id), verb, "by hand") {
            Ok(effect) => self.apply(effect),
            Err(operator::Refusal::ChildrenLive { live }) => {
                assert!(live > 0 && verb == operator::Verb::Complete);
            }
            Err(refusal) => assert!(self.row(id).unwrap().state.is_terminal(), "{refusal}"),
        }
    }

    fn supersede(&mut self, nth: u8) {
        let Some(id) = self.nth(nth, |s| s.state.is_terminal()) else { return };
        self.bring(id);
        let step = self.board.step(id).unwrap();
        let owner = step.block().and_then(|b| self.board.block(b)?.owner).and_then(|o| self.row(o));
        if operator::may_retry(step, owner, None).is_ok() {
            self.apply(Effect::MoveStep(Box::new(Move::new(id, Event::Superseded))));
        }
    }

    fn add(&mut self, nth: u8, next_index: bool) {
        if let Some(id) = self.nth(nth, |s| !s.state.is_terminal()) {
            self.bring(id);
            let last = self.child_block(id).map_or(0, |b| b.last_index());
            let index = Some(last + u32::from(next_index));
            self.create(id, &[NewStep { index, ..NewStep::of("noop") }], Success::All);
        }
    }

    /// Children below a step in hand; false when creation refuses.
    fn create(&mut self, parent: StepId, children: &[NewStep], success: Success) -> bool {
        if self.disk.steps.len() > STEPS_MAX {
            return false;
        }
        self.land.survey(&self.board, &[parent]);
        let below = |child: &NewStep| NewStep { parent_step_id: Some(parent), ..child.clone() };
        let Ok(mut plan) = self.land.plan(&children.iter().map(below).collect::<Vec<_>>()) else {
            return false;
        };
        plan.blocks.iter_mut().for_each(|block| block.success = success);
        carry_out(&mut self.board, plan);
        true
    }

    pub fn turn(&mut self, mode: Mode) {
        self.turn += 1;
        self.wake();
        self.recover();
        let settled = settle(&mut self.board, &mut self.disk, mode).unwrap();
        assert!(settled.refused.is_empty(), "{:?}", settled.refused);
        assert!(!settled.unfinished, "a small tree comes to rest within the bound");
        self.bring_opened();
        self.commit();
        if mode == Mode::FixedPoint {
            truth::check(self);
            self.settle_again();
        }
        if settled.stopped_at.is_none() {
            self.dispatch();
        }
        self.commit();
    }

    /// Steps whose time has come are put where the pick finds them.
    fn wake(&mut self) {
        let now = self.board.now;
        let due = |s: &&Step| s.state == State::Pending && s.wake_at.is_some_and(|at| at <= now);
        let mut ids: Vec<StepId> = self.disk.steps.values().filter(due).map(|s| s.id).collect();
        ids.extend(self.board.steps().filter(due).map(|s| s.id));
        for id in ids {
            self.bring(id);
            self.board.refresh_window(id);
        }
    }

    fn bring_opened(&mut self) {
        for opened in self.board.take_opened() {
            let kin = self.disk.kin.get(&opened.block).into_iter().flatten();
            let at: Vec<StepId> =
                kin.filter(|(index, _)| *index == opened.index).map(|(_, id)| *id).collect();
            at.into_iter().for_each(|id| self.bring(id));
        }
    }

    /// A look at every block finds nothing more to do.
    fn settle_again(&mut self) {
        self.disk.blocks.keys().for_each(|id| self.board.touch(*id));
        let again = settle(&mut self.board, &mut self.disk, Mode::FixedPoint).unwrap();
        let changes = self.board.take_changes();
        assert!(again.total() == 0 && changes.is_empty(), "settled twice: {changes:#?}");
    }

    fn dispatch(&mut self) {
        let now = self.board.now;
        let off = self.everywhere.is_off(now);
        let gate = |(group, breaker): (&DispatchGroup, &Breaker)| Gate {
            dispatch_group: group.clone(),
            off: off || breaker.is_off(now),
            max_per_tick: 3,
        };
        let gates: Vec<Gate> = self.breakers.iter().map(gate).collect();
        self.count_held();
        let picked = pick(&self.board.windows, &gates, &self.sessions, &Allowance::new(), (self.turn, 10));
        for p in picked.picks {
            truth::check_claim(self, p.step, p.session);
            self.board.claim(p.step, p.session, "host".into(), self.turn as i64).unwrap();
            self.sessions.iter_mut().filter(|s| s.id == p.session).for_each(|s| s.held += 1);
        }
        assert!(self.sessions.iter().all(|s| s.held <= s.offer.capacity), "{:?}", self.sessions);
    }

    pub fn count_held(&mut self) {
        let mut held: BTreeMap<SessionId, usize> = BTreeMap::new();
        let ids: Vec<StepId> = self.disk.steps.keys().copied().collect();
        for id in ids {
            let step = self.row(id).unwrap();
            if let Some(session) = step.session.filter(|_| step.is_held()) {
                *held.entry(session).or_default() += 1;
            }
        }
        self.sessions.iter_mut().for_each(|s| s.held = held.get(&s.id).copied().unwrap_or(0));
    }

    fn commit(&mut self) {
        let changes = self.board.take_changes();
        truth::check_changes(&self.disk, &changes);
        self.seen.extend(changes.moves.iter().filter_map(|moved| moved.event));
        if self.history == History::Told {
            writeln!(self.told, "{changes:?}").unwrap();
        }
        let ids = (ids(&changes.steps, |s| s.id), ids(&changes.blocks, |b| b.id));
        self.write(changes);
        if self.lean {
            self.board.committed(&ids.0, &ids.1);
            self.board.trim(0, 0);
        }
    }

    fn write(&mut self, changes: Changes) {
        for (step, _) in changes.steps {
            if let Some(place) = step.place {
                self.disk.kin.entry(place.block).or_default().insert((place.index, step.id));
            }
            self.disk.steps.insert(step.id, step);
        }
        self.disk.blocks.extend(changes.blocks.into_iter().map(|(block, _)| (block.id, block)));
    }

    /// A new process: what it must look at, what is held, and what is ready.
    fn crash(&mut self) {
        self.board = Board::at(self.board.now);
        self.disk.blocks.values().filter(|b| b.touched).for_each(|b| self.board.load_block(b.clone()));
        let hot: Vec<StepId> = self.disk.steps.values().filter(|s| s.state.is_hot()).map(|s| s.id).collect();
        hot.into_iter().for_each(|id| self.bring(id));
    }

    /// Faults stop, time goes on, and every worker does its work: then everything ends.
    pub fn finish(&mut self) {
        self.everywhere = Breaker::default();
        self.breakers.values_mut().for_each(|b| *b = Breaker::default());
        self.open_session(4, true);
        for _ in 0..4 * STEPS_MAX {
            self.board.now = self.board.now + Duration::from_secs(3_600);
            self.turn(Mode::FixedPoint);
            while let Some(id) = self.nth(0, Step::is_held) {
                self.report(id, &Does::Complete);
            }
            if self.disk.steps.values().all(|s| !s.state.is_hot() || self.sleeps(s)) {
                return;
            }
        }
        let left: Vec<&Step> =
            self.disk.steps.values().filter(|s| s.state.is_hot() && !self.sleeps(s)).collect();
        panic!("these never end: {left:#?}");
    }

    /// Dormant, or below something dormant.
    fn sleeps(&self, step: &Step) -> bool {
        let owner = step.block().and_then(|b| self.disk.blocks[&b].owner);
        step.state == State::NotRunnable || owner.is_some_and(|o| self.sleeps(&self.disk.steps[&o]))
    }
}

fn ids<T, C, I>(rows: &[(T, C)], id: fn(&T) -> I) -> Vec<I> {
    rows.iter().map(|(row, _)| id(row)).collect()
}

fn outcome(does: &Does) -> Outcome {
    let why = || "so".to_string();
    match does {
        Does::Complete => Outcome::Complete { response: None },
        Does::Children { n, success: criterion } => Outcome::Children {
            response: None,
            children: vec![NewStep::of("noop"); usize::from(*n)],
            success: success(*criterion).map_or(Success::All, |word| word.parse().unwrap()),
        },
        Does::Retry { at_once } => Outcome::Retry { after: at_once.then_some(Duration::ZERO), failure: None },
        Does::Throttle => Outcome::Throttle { after: Duration::from_secs(20) },
        Does::Skip => Outcome::Skip { why: why() },
        Does::End => Outcome::End { why: why() },
        Does::Stop => Outcome::Stop { why: why() },
        Does::Fail => Outcome::Fail { failure: Failure::default(), notify: true },
        Does::Resolve => Outcome::Resolved { note: why() },
    }
}
