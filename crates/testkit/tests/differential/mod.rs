//! One stream of random operations on two engines, on SQLite and on PostgreSQL: both must say and store the same.
//!
//! `STEPFAST_SEED` sets the first seed and is told with every difference; `STEPFAST_SEEDS` says how many are tried in a lane,
//! `STEPFAST_OPERATIONS` how many operations each has.

mod asks;
mod choose;
mod decisions;
mod dice;
mod flows;
mod look;
mod names;
mod op;
mod rows;
mod side;
mod sketch;
mod watched;

use choose::World;
use engine::Config;
use model::{DispatchGroup, Event, Pool, Rate, SessionOffer, limits};
use op::{Held, Op};
use rules::settle::Mode;
use side::{Answer, Ground, Side};
use sketch::{ACTIONS, GROUPS, QUEUES};
use std::collections::{BTreeSet, VecDeque};
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use stepfast_testkit::SERVER;
use store::postgres::Scratch;
use store::{Clock, SimClock};

/// Each lane is a test of its own, so that they run side by side.
const SEEDS_PER_LANE: u64 = 10;
const OPERATIONS: u64 = 500;
/// How often every row is compared.
const ROWS_EVERY: u64 = 100;
/// What no run brings about: nothing here sets deadlines.
const OUT_OF_REACH: [Event; 1] = [Event::Expired];
/// Operations told with a difference.
const TOLD: usize = 12;

#[test]
fn both_databases_say_and_store_the_same_in_the_first_lane() {
    lane(0);
}

#[test]
fn both_databases_say_and_store_the_same_in_the_second_lane() {
    lane(1);
}

#[test]
fn both_databases_say_and_store_the_same_in_the_third_lane() {
    lane(2);
}

#[test]
fn both_databases_say_and_store_the_same_in_the_fourth_lane() {
    lane(3);
}

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn lane(lane: u64) {
    let first = from_env("STEPFAST_SEED").unwrap_or(1) + lane * SEEDS_PER_LANE;
    let operations = from_env("STEPFAST_OPERATIONS").unwrap_or(OPERATIONS);
    let seeds = from_env("STEPFAST_SEEDS").unwrap_or(SEEDS_PER_LANE);
    let told = format!("{seeds} seeds of {operations} operations, STEPFAST_SEED={first}");
    // Told also when the test passes, as the property tests do.
    let _ = writeln!(std::io::stderr(), "{told}");
    let mut seen = BTreeSet::new();
    for seed in first..first + seeds {
        let mut pair = Pair::new(seed);
        pair.both(Op::Define);
        for n in 1..=operations {
            let op = pair.world.next();
            pair.happen(op);
            if n % ROWS_EVERY == 0 {
                pair.compare_rows();
            }
        }
        pair.finish();
        seen.append(&mut pair.seen);
    }
    if operations * seeds >= OPERATIONS * SEEDS_PER_LANE {
        let unseen: Vec<&Event> =
            Event::ALL.iter().filter(|e| !seen.contains(e) && !OUT_OF_REACH.contains(e)).collect();
        assert!(unseen.is_empty(), "these operations say nothing about {unseen:?}");
    }
}

/// A side at the other end of a thread.
struct Player {
    orders: SyncSender<Arc<Op>>,
    answers: Receiver<Answer>,
}

impl Player {
    fn new(ground: Ground, clock: SimClock, config: Config) -> Player {
        let (orders, inbox) = sync_channel::<Arc<Op>>(1);
        let (outbox, answers) = sync_channel(1);
        std::thread::spawn(move || {
            let mut side = Side::new(ground, clock, config);
            while let Ok(op) = inbox.recv() {
                if outbox.send(side.play(&op)).is_err() {
                    return;
                }
            }
        });
        Player { orders, answers }
    }
}

struct Pair {
    seed: u64,
    number: u64,
    clock: SimClock,
    world: World,
    sqlite: Player,
    postgres: Player,
    last: VecDeque<String>,
    /// Events that stand in the history.
    seen: BTreeSet<Event>,
}

impl Pair {
    fn new(seed: u64) -> Pair {
        let server = std::env::var(SERVER).unwrap_or_else(|_| {
            panic!("set {SERVER} to the address of a server; `cargo xtask test` starts one")
        });
        // What is compared is what a commit says, not whether it outlives the machine.
        let joint = if server.contains('?') { '&' } else { '?' };
        let server = format!("{server}{joint}options=-c%20synchronous_commit%3Doff");
        let name = format!("differential_{}_{seed}", std::process::id());
        let scratch = Scratch::new(&server, &name).expect("the server makes a database");
        let dir = tempfile::tempdir().expect("a directory can be made");
        let clock = SimClock::default();
        let groups: Vec<DispatchGroup> = GROUPS.iter().map(|g| DispatchGroup::new(g)).collect();
        let config = Config {
            by_hand: true,
            pools: pools(),
            full_history: true,
            host: "stage".into(),
            owned: groups.clone(),
            groups,
            max_per_tick: if seed.is_multiple_of(3) { 2 } else { 0 },
            ..Config::default()
        };
        Pair {
            seed,
            number: 0,
            world: World::new(seed, clock.now()),
            sqlite: Player::new(Ground::File(dir), clock.clone(), config.clone()),
            postgres: Player::new(Ground::Server(scratch), clock.clone(), config),
            clock,
            last: VecDeque::new(),
            seen: BTreeSet::new(),
        }
    }

    /// One operation of the stream.
    fn happen(&mut self, op: Op) {
        self.number += 1;
        match op {
            Op::Pass { span, beating } => self.pass(span, beating),
            Op::Crash => {
                self.both(Op::Halt);
                // Nobody can prove a node of PostgreSQL dead before its lease is over.
                self.clock.advance(limits::GROUP_LEASE);
                self.both(Op::Start);
            }
            Op::Restart => {
                self.both(Op::Restart);
                self.clock.advance(Duration::from_millis(100));
                self.both(Op::Start);
            }
            other => {
                self.both(other);
            }
        }
        self.world.known.now = self.clock.now();
    }

    fn pass(&mut self, span: Duration, beating: bool) {
        self.note(&Op::Pass { span, beating });
        let mut left = span;
        while beating && left >= limits::SESSION_LEASE {
            let part = limits::SESSION_LEASE - Duration::from_secs(1);
            left -= part;
            self.clock.advance(part);
            for session in 0..self.world.sessions.len() {
                if self.world.sessions[session] {
                    let mine = |h: &&Held| h.session == session;
                    let held = self.world.held.iter().filter(mine).copied().collect();
                    self.both(Op::Heartbeat { session, received: u64::MAX, held });
                }
            }
        }
        self.clock.advance(left);
    }

    fn note(&mut self, op: &Op) {
        let told = format!("{op:?}").chars().take(2_000).collect::<String>();
        self.last.push_back(format!("{} {} {told}", self.number, self.clock.now().0));
        if self.last.len() > TOLD {
            self.last.pop_front();
        }
    }

    /// Both play it, and must answer alike.
    fn both(&mut self, op: Op) -> Answer {
        self.note(&op);
        let op = Arc::new(op);
        for player in [&self.sqlite, &self.postgres] {
            let _ = player.orders.send(op.clone());
        }
        let answers = (self.sqlite.answers.recv(), self.postgres.answers.recv());
        let (Ok(sqlite), Ok(postgres)) = answers else {
            panic!("{}an engine is gone", self.told());
        };
        if sqlite.text != postgres.text || sqlite.handed != postgres.handed {
            let (left, right) = difference(&sqlite.text, &postgres.text);
            panic!("{}on SQLite:\n{left}\non PostgreSQL:\n{right}", self.told());
        }
        // Both stores are there, so no turn may be given up.
        assert!(!sqlite.text.contains("Unavailable("), "{}both say:\n{}", self.told(), sqlite.text);
        self.world.learn(&op, &sqlite);
        sqlite
    }

    fn told(&self) -> String {
        let last: Vec<&str> = self.last.iter().map(String::as_str).collect();
        format!("STEPFAST_SEED={}, operation {}:\n{}\n", self.seed, self.number, last.join("\n"))
    }

    fn compare_rows(&mut self) {
        let rows = self.both(Op::Rows).text;
        let events = rows.lines().filter(|line| line.starts_with("events "));
        let words = events.filter_map(|line| line.split(" event=\"").nth(1)?.split('"').next());
        self.seen.extend(words.filter_map(|word| word.parse::<Event>().ok()));
    }

    /// Somebody takes all that is left, and then nothing may be wrong in either.
    fn finish(&mut self) {
        for scope in GROUPS.iter().map(|g| Some(String::from(*g))).chain([None]) {
            self.both(Op::Breaker { scope, off: false, until: None, why: "the end".into() });
        }
        let all = |of: &[&str]| of.iter().map(|name| (*name).into()).collect();
        let offer = SessionOffer {
            host: "stage".into(),
            queues: all(&QUEUES),
            actions: all(&ACTIONS),
            capacity: 1_000,
            remote: false,
        };
        self.both(Op::Join(offer));
        let session = self.world.sessions.len() - 1;
        for _ in 0..=limits::LOST_ATTEMPTS_MAX {
            let dispatch = engine::Dispatch::Yes;
            self.both(Op::Tick { mode: Mode::FixedPoint, dispatch, only: None });
            // Whoever takes it loses it, until that is too often.
            self.both(Op::Heartbeat { session, received: u64::MAX, held: Vec::new() });
        }
        let dispatch = engine::Dispatch::Yes;
        self.both(Op::Tick { mode: Mode::FixedPoint, dispatch, only: None });
        self.both(Op::Survey);
        self.compare_rows();
        let found = self.both(Op::Check).text;
        assert!(found.trim() == "Ok(\n    [],\n)", "{}check found {found}", self.told());
    }
}

/// The first line in which two texts differ, with some lines around it.
fn difference(left: &str, right: &str) -> (String, String) {
    let at = left.lines().zip(right.lines()).take_while(|(l, r)| l == r).count();
    let around = |text: &str| {
        let shorter = |line: &str| line.chars().take(2_000).collect::<String>();
        let lines: Vec<String> = text.lines().skip(at.saturating_sub(4)).take(12).map(shorter).collect();
        lines.join("\n")
    };
    (around(left), around(right))
}

/// One by how many run, one by how many start.
fn pools() -> Vec<Pool> {
    let [card, sms] = sketch::POOLS;
    let rate = "2/s".parse().expect("it is a rate");
    vec![
        Pool { concurrency: Some(2), ..Pool::new(card) },
        Pool { rate: Some(Rate { burst: 2, ..rate }), ..Pool::new(sms) },
    ]
}
