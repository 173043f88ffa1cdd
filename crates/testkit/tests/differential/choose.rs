//! What happens next, drawn from the dice and from what both engines have told so far.

use super::dice::Dice;
use super::op::{Held, Listing, Op, Told};
use super::side::Answer;
use super::sketch::{self, ACTIONS, GROUPS, Known, MESSAGE_GROUPS, QUEUES, TEXTS, span};
use super::{decisions, flows};
use engine::{Dispatch, GroupVerb};
use model::{Failure, LookAt, Name, Outcome, SessionOffer, State, Success, Timestamp, limits};
use rules::operator::Verb;
use rules::settle::Mode;
use std::time::Duration;
use store::Retention;

/// Reports of the past that may come again.
const PAST_MAX: usize = 40;

#[derive(Clone, Copy)]
enum Sort {
    Create,
    Report,
    Late,
    Heartbeat,
    Join,
    Part,
    Operate,
    StartWorkflow,
    Trigger,
    Breaker,
    Tick,
    Pass,
    Fall,
    Retain,
    List,
    Show,
    Survey,
    Together,
}

const SORTS: [(usize, Sort); 18] = [
    (130, Sort::Create),
    (270, Sort::Report),
    (20, Sort::Late),
    (50, Sort::Heartbeat),
    (25, Sort::Join),
    (20, Sort::Part),
    (130, Sort::Operate),
    (60, Sort::StartWorkflow),
    (30, Sort::Trigger),
    (30, Sort::Breaker),
    (210, Sort::Tick),
    (80, Sort::Pass),
    (8, Sort::Fall),
    (12, Sort::Retain),
    (30, Sort::List),
    (35, Sort::Show),
    (6, Sort::Survey),
    (60, Sort::Together),
];

/// What is known of the two worlds while they are one.
pub struct World {
    pub dice: Dice,
    pub known: Known,
    /// Which sessions are believed to live, by number.
    pub sessions: Vec<bool>,
    pub held: Vec<Held>,
    past: Vec<Held>,
}

impl World {
    pub fn new(seed: u64, now: Timestamp) -> World {
        let known = Known { steps: 0, blocks: 0, workflows: 0, now };
        World { dice: Dice::new(seed), known, sessions: Vec::new(), held: Vec::new(), past: Vec::new() }
    }

    /// What follows from an operation that both engines answered alike.
    pub fn learn(&mut self, op: &Op, answer: &Answer) {
        (self.known.steps, self.known.blocks) = (answer.steps, answer.blocks);
        self.known.workflows = answer.workflows;
        self.follow(op);
        answer.gone.iter().for_each(|n| self.end(*n));
        self.held.extend(&answer.handed);
    }

    fn follow(&mut self, op: &Op) {
        match op {
            Op::Together(ops) => ops.iter().for_each(|op| self.follow(op)),
            Op::Join(_) => self.sessions.push(true),
            Op::Leave(n) | Op::Vanish(n) => self.end(*n),
            Op::Halt | Op::Restart => (0..self.sessions.len()).for_each(|n| self.end(n)),
            Op::Report(told) => told.iter().for_each(|t| self.done(t.held)),
            _ => {}
        }
    }

    fn end(&mut self, session: usize) {
        if let Some(lives) = self.sessions.get_mut(session) {
            *lives = false;
        }
        let of: Vec<Held> = self.held.iter().filter(|h| h.session == session).copied().collect();
        of.into_iter().for_each(|held| self.done(held));
    }

    fn done(&mut self, held: Held) {
        self.held.retain(|h| *h != held);
        self.past.push(held);
        if self.past.len() > PAST_MAX {
            self.past.remove(0);
        }
    }

    fn session(&mut self) -> usize {
        let alive: Vec<usize> = (0..self.sessions.len()).filter(|n| self.sessions[*n]).collect();
        if alive.is_empty() || self.dice.often(40) {
            return self.dice.below(self.sessions.len() + 2);
        }
        *self.dice.one(&alive)
    }

    pub fn next(&mut self) -> Op {
        let alive = self.sessions.iter().filter(|lives| **lives).count();
        if alive == 0 || alive == 1 && self.dice.often(150) {
            return Op::Join(self.offer());
        }
        match *self.dice.weighted(&SORTS) {
            Sort::Create => Op::Create(sketch::steps(&mut self.dice, &self.known)),
            Sort::Report if !self.held.is_empty() => self.report(),
            Sort::Late if !self.past.is_empty() => self.late(),
            Sort::Heartbeat => self.heartbeat(),
            Sort::Join if alive < 5 => Op::Join(self.offer()),
            Sort::Part => self.part(),
            Sort::Operate => self.operate(),
            Sort::StartWorkflow => self.start_workflow(),
            Sort::Trigger => self.trigger(),
            Sort::Breaker => self.breaker(),
            Sort::Pass => self.pass(),
            Sort::Fall => self.dice.one(&[Op::Crash, Op::Crash, Op::Restart]).clone(),
            Sort::Retain => self.retain(),
            Sort::List => Op::List(Box::new(self.listing())),
            Sort::Show => Op::Show(self.known.step(&mut self.dice)),
            Sort::Survey => Op::Survey,
            Sort::Together => self.together(),
            Sort::Tick | Sort::Report | Sort::Late | Sort::Join => self.tick(),
        }
    }

    fn together(&mut self) -> Op {
        let mut ops: Vec<Op> = (0..self.dice.between(2, 5)).map(|_| self.asked()).collect();
        if self.dice.often(500) {
            ops.push(self.tick());
        }
        Op::Together(ops)
    }

    /// Something that can stand in one turn with others.
    fn asked(&mut self) -> Op {
        match self.dice.below(12) {
            0..=3 if !self.held.is_empty() => self.report(),
            4 if !self.past.is_empty() => self.late(),
            5 => self.heartbeat(),
            6 => Op::Leave(self.session()),
            7..=9 => self.operate(),
            10 => self.breaker(),
            11 if self.dice.often(500) => self.start_workflow(),
            _ => Op::Create(sketch::steps(&mut self.dice, &self.known)),
        }
    }

    fn tick(&mut self) -> Op {
        let mode = if self.dice.often(300) { Mode::EarlyReturn } else { Mode::FixedPoint };
        let dispatch = if self.dice.often(50) { Dispatch::RecordOnly } else { Dispatch::Yes };
        let only = self.dice.maybe(80, |d| (*d.one(&GROUPS)).into());
        Op::Tick { mode, dispatch, only }
    }

    fn offer(&mut self) -> SessionOffer {
        let dice = &mut self.dice;
        let some = |dice: &mut Dice, of: &[&str]| -> Vec<Name> {
            of.iter().filter(|_| dice.often(700)).map(|name| (*name).into()).collect()
        };
        // The last action is one that nobody runs, as a rule.
        let offered = if dice.often(50) { &ACTIONS[..] } else { &ACTIONS[..3] };
        SessionOffer {
            host: (*dice.one(&["stage", "north", "caf\u{e9}"])).into(),
            queues: some(dice, &QUEUES[..3]),
            actions: some(dice, offered),
            capacity: dice.between(1, 8),
            remote: false,
        }
    }

    fn report(&mut self) -> Op {
        let mut told = Vec::new();
        for _ in 0..self.dice.between(1, 3) {
            let mut held = *self.dice.one(&self.held);
            match self.dice.below(60) {
                0 => held.session += 1,
                1 => held.attempt += 1,
                _ => {}
            }
            let outcome = self.outcome();
            let children = match &outcome {
                Outcome::Children { .. } => sketch::children(&mut self.dice, &self.known),
                _ => Vec::new(),
            };
            told.push(Told { held, outcome, children });
            if self.dice.often(40) {
                told.extend(told.last().cloned());
            }
        }
        Op::Report(told)
    }

    fn late(&mut self) -> Op {
        let held = *self.dice.one(&self.past);
        Op::Report(vec![Told { held, outcome: self.outcome(), children: Vec::new() }])
    }

    fn outcome(&mut self) -> Outcome {
        let dice = &mut self.dice;
        let why = text(dice);
        let failure = Failure { message: text(dice), trace: dice.maybe(300, text) };
        let response = dice.maybe(500, |d| (*d.one(&["{\"ok\":true}", "null", "\"\u{e9}\\u0000\""])).into());
        match dice.below(100) {
            0..=36 => Outcome::Complete { response },
            37 | 38 => {
                let after = dice.maybe(300, |d| span(d, Duration::ZERO, Duration::from_secs(5)));
                Outcome::Continue { data: response, after }
            }
            39 => Outcome::Abort { why },
            40..=44 => {
                let at =
                    *dice.one(&[LookAt::Verify(0), LookAt::Verify(1), LookAt::Verify(2), LookAt::Confirm]);
                let after = dice.maybe(600, |d| span(d, Duration::ZERO, Duration::from_secs(20)));
                Outcome::LookAgain { at, response, after, failure: dice.maybe(300, |_| failure) }
            }
            45..=52 => {
                let success = *dice.one(&[Success::All, Success::Majority, Success::BestEffort]);
                Outcome::Children { response, children: Vec::new(), success }
            }
            53..=64 => {
                let after = dice.maybe(600, |d| span(d, Duration::ZERO, Duration::from_secs(20)));
                Outcome::Retry { after, failure: dice.maybe(700, |_| failure) }
            }
            65..=70 => Outcome::Throttle { after: span(dice, Duration::ZERO, Duration::from_secs(90)) },
            71..=75 => Outcome::Skip { why },
            76..=78 => Outcome::End { why },
            79..=82 => Outcome::Stop { why },
            83..=93 => Outcome::Fail { failure, notify: dice.often(500) },
            _ => Outcome::Resolved { note: why },
        }
    }

    fn heartbeat(&mut self) -> Op {
        let session = self.session();
        let mut held: Vec<Held> = self.held.iter().filter(|h| h.session == session).copied().collect();
        if self.dice.often(250) && !held.is_empty() {
            // It forgot one.
            held.remove(self.dice.below(held.len()));
        }
        if self.dice.often(100) && !self.past.is_empty() {
            held.push(*self.dice.one(&self.past));
        }
        let received = *self.dice.one(&[u64::MAX, u64::MAX, 0, 1]);
        Op::Heartbeat { session, received, held }
    }

    fn part(&mut self) -> Op {
        let session = self.session();
        match self.dice.below(5) {
            0 => Op::Pause(session),
            1 | 2 => Op::Vanish(session),
            _ => Op::Leave(session),
        }
    }

    fn start_workflow(&mut self) -> Op {
        let workflow: &&'static str = self.dice.one(&flows::NAMES);
        Op::StartWorkflow { workflow, input: flows::input(&mut self.dice) }
    }

    fn trigger(&mut self) -> Op {
        let workflow = self.known.workflow(&mut self.dice);
        let (trigger, payload, message) = decisions::trigger(&mut self.dice);
        Op::Trigger { workflow, trigger, payload, message }
    }

    fn operate(&mut self) -> Op {
        if self.dice.often(350) {
            let workflow = self.known.workflow(&mut self.dice);
            let (verb, dry_run) = (decisions::verb(&mut self.dice), self.dice.often(150));
            return Op::OperateWorkflow { workflow, verb, dry_run, why: words(&mut self.dice) };
        }
        if self.dice.often(250) {
            let (group, verb) = (*self.dice.one(&MESSAGE_GROUPS), *self.dice.one(&GroupVerb::ALL));
            let dry_run = self.dice.often(250);
            return Op::OperateGroup { group, verb, dry_run, why: words(&mut self.dice) };
        }
        let step = self.known.step(&mut self.dice);
        let verb = self.dice.maybe(700, |d| *d.one(&Verb::ALL));
        Op::Operate { step, verb, dry_run: self.dice.often(250), why: words(&mut self.dice) }
    }

    fn breaker(&mut self) -> Op {
        let now = self.known.now;
        let dice = &mut self.dice;
        let group = |d: &mut Dice| if d.often(50) { "omega".into() } else { (*d.one(&GROUPS)).into() };
        let scope = dice.maybe(600, group);
        let off = dice.often(350);
        let ttl = |d: &mut Dice| now + span(d, Duration::ZERO, Duration::from_secs(120));
        let until = if off { dice.maybe(800, ttl) } else { None };
        Op::Breaker { scope, off, until, why: words(dice) }
    }

    fn pass(&mut self) -> Op {
        let seconds = Duration::from_secs;
        let (low, high) = *self.dice.weighted(&[
            (40, (Duration::from_millis(100), seconds(2))),
            (30, (seconds(2), seconds(7))),
            (15, (seconds(7), seconds(70))),
            (3, (seconds(600), seconds(900))),
            (1, (seconds(86_400), seconds(8 * 86_400))),
        ]);
        let span = span(&mut self.dice, low, high);
        // Nobody beats through a whole day.
        Op::Pass { span, beating: span < seconds(1_000) && self.dice.often(850) }
    }

    fn retain(&mut self) -> Op {
        let ago = *self.dice.one(&[0, 10, 60, 3_600, 86_400]);
        let before = self.known.now - Duration::from_secs(ago);
        let what = match self.dice.below(3) {
            0 => Retention::Purge { before, only_archive: self.dice.often(700), ticks: self.dice.often(300) },
            _ => Retention::Archive { before },
        };
        Op::Retain { what, dry_run: self.dice.often(300) }
    }

    fn listing(&mut self) -> Listing {
        let dice = &mut self.dice;
        let states = State::ALL.iter().filter(|_| dice.often(200)).copied().collect();
        let word = |d: &mut Dice, of: &[&str]| d.maybe(150, |d| String::from(*d.one(of)));
        Listing {
            states,
            action: word(dice, &ACTIONS),
            queue: word(dice, &QUEUES),
            dispatch_group: word(dice, &GROUPS),
            step_key: word(dice, &TEXTS),
            block: dice.maybe(100, |d| self.known.block(d)),
            after: dice.maybe(200, |d| self.known.step(d)),
            ascending: dice.often(400),
            limit: dice.between(0, 30),
        }
    }
}

fn words(dice: &mut Dice) -> String {
    if dice.often(30) { "a\0b".into() } else { (*dice.one(&TEXTS)).into() }
}

/// What a job says, now and then too much of it.
fn text(dice: &mut Dice) -> String {
    if dice.often(3) { "\u{e9}".repeat(limits::PAYLOAD_BYTES_MAX / 2 + 1) } else { words(dice) }
}
