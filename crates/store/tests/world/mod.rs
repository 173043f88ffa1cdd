//! A small engine for tests: the real rules and the real commit, each move asked for by name, and a healthy set of rows.
#![allow(dead_code, reason = "each test binary uses its part")]

mod flows;
mod parts;

pub use parts::*;

use model::{
    Block, BlockId, Breaker, Detail, DispatchGroup, Effect, Event, ExecutionAsk, ExecutionName, Move,
    NewStep, NodeId, Outcome, OwnerToken, Report, SessionId, SessionOffer, Standing, State, Step, StepId,
    Timestamp, limits,
};
use rules::board::Board;
use rules::creation::{Ground, plan};
use rules::operator::{self, Verb};
use rules::recover;
use rules::settle::{InHand, Mode, settle};
use rules::worker::{self, Answer};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use stepfast_store::Browse;
use stepfast_store::executions::{Beginning, Order, Told, input_hash};
use stepfast_store::sqlite::{Holder, SqliteStore};
use stepfast_store::{
    AlertWrite, AuditEntry, Batch, BlockWrite, Checked, ClaimLog, EventRow, GroupWrite, Lease, NodeRow,
    SessionRow, SimClock, StepWrite, Store, Tick,
};

pub const HOST: &str = "box";

pub struct World {
    pub clock: SimClock,
    pub store: SqliteStore,
    pub session: SessionId,
    pub named: BTreeMap<String, StepId>,
    board: Board,
    lease: Lease,
    /// Which row of the claim log speaks for a step.
    logged: HashMap<StepId, i64>,
    last_claim: i64,
    last_id: u64,
    last_tick: i64,
    next_group: usize,
    full_history: bool,
    path: PathBuf,
    _dir: tempfile::TempDir,
}

impl World {
    pub fn new(full_history: bool) -> World {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stepfast.db");
        let clock = SimClock::default();
        let mut store = SqliteStore::open(&path, Arc::new(clock.clone()), Holder::default()).unwrap();
        let node = NodeRow {
            id: NodeId::of(1),
            host: HOST.into(),
            pid: 1,
            url: None,
            version: "0".into(),
            machine: String::new(),
            limited_to: Vec::new(),
            standby: false,
            started_at: store.now(),
            seen_at: store.now(),
            ended_at: None,
        };
        let groups: Vec<DispatchGroup> = ["alpha", "beta"].iter().map(|g| DispatchGroup::new(g)).collect();
        let lease = store.lease(&node, &groups).unwrap();
        let mut world = World {
            clock,
            session: SessionId::of(1),
            named: BTreeMap::new(),
            board: Board::at(store.now()),
            store,
            lease,
            logged: HashMap::new(),
            last_claim: 0,
            last_id: 0,
            last_tick: 0,
            next_group: 0,
            full_history,
            path,
            _dir: dir,
        };
        world.commit(|batch, now, session| {
            let offer = SessionOffer {
                host: HOST.into(),
                queues: vec!["default".into(), "priority".into()],
                actions: vec!["work".into()],
                capacity: 100,
                remote: false,
            };
            let lease_ends_at = now + limits::SESSION_LEASE;
            let node = batch.lease.node;
            batch.sessions.push(SessionRow {
                id: session,
                node,
                offer,
                started_at: now,
                lease_ends_at,
                ended_at: None,
            });
        });
        world
    }

    pub fn now(&self) -> Timestamp {
        self.store.now()
    }
    pub fn browse(&self) -> Browse {
        Browse::open(&self.path).unwrap()
    }
    pub fn check(&self, offline: bool) -> Checked {
        self.browse().check(self.now(), offline, |_, _| {}).unwrap()
    }
    /// Nothing is wrong, with a server and without.
    pub fn assert_clean(&self) {
        for offline in [false, true] {
            let findings = self.check(offline).findings;
            assert!(findings.is_empty(), "{findings:#?}");
        }
    }
    pub fn row(&self, key: &str) -> &Step {
        self.board.step(self.named[key]).unwrap()
    }
    /// SQL against the file, with names of steps in braces, and their blocks as `{block of …}`.
    pub fn sql(&self, text: &str) {
        let mut text = text.to_string();
        for (key, id) in &self.named {
            text = text.replace(&format!("{{{key}}}"), &format!("x'{}'", id.0.as_simple()));
            if let Some(block) = self.board.step(*id).and_then(|s| s.child_block) {
                text = text.replace(&format!("{{block of {key}}}"), &format!("x'{}'", block.0.as_simple()));
            }
        }
        let connection = rusqlite::Connection::open(&self.path).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        connection.execute_batch("pragma ignore_check_constraints = on").unwrap();
        connection.execute_batch(&text).unwrap_or_else(|e| panic!("{e} in {text}"));
    }
    /// Begin an execution; the owner is a number.
    pub fn begin(&self, namespace: &str, key: &str, owner: u64) {
        let ask = ExecutionAsk {
            name: ExecutionName::new(namespace, key),
            input: input_hash(b""),
            owner: OwnerToken::of(owner),
            lease: limits::EXECUTION_LEASE_DEFAULT,
            max_attempts: 3,
            keep: limits::EXECUTION_KEEP_DEFAULT,
        };
        let told = self.order(Order::Begin(ask));
        assert!(matches!(told, Told::Beginning(Beginning::Begun { .. })), "{told:?}");
    }
    pub fn end(&self, namespace: &str, key: &str, owner: u64, how: Standing) {
        let (name, owner) = (ExecutionName::new(namespace, key), OwnerToken::of(owner));
        assert_eq!(self.order(Order::End { name, owner, how }), Told::Ended);
    }
    pub fn order(&self, order: Order) -> Told {
        let (told, answer) = mpsc::channel();
        self.store.ledger().order(order, Box::new(move |outcome| told.send(outcome).unwrap()));
        answer.recv().unwrap().unwrap()
    }
    /// Overwrite the first page of a table or index.
    pub fn damage(&self, name: &str) {
        use std::io::{Seek, SeekFrom, Write};
        self.sql("pragma wal_checkpoint(truncate)");
        let connection = rusqlite::Connection::open(&self.path).unwrap();
        let one = |sql: &str| -> u32 { connection.query_row(sql, [], |r| r.get(0)).unwrap() };
        let page = one(&format!("select rootpage from sqlite_schema where name = '{name}'"));
        let size = one("pragma page_size");
        let mut file = std::fs::OpenOptions::new().write(true).open(&self.path).unwrap();
        file.seek(SeekFrom::Start(u64::from((page - 1) * size))).unwrap();
        file.write_all(&vec![0xee; size as usize]).unwrap();
    }
    pub fn count(&self, what: &str) -> i64 {
        let connection = rusqlite::Connection::open(&self.path).unwrap();
        connection.query_row(&format!("select count(*) from {what}"), [], |r| r.get(0)).unwrap()
    }

    /// From now on no move is kept.
    pub fn forget_history(&mut self) {
        self.full_history = false;
    }
    pub fn wait(&mut self, span: Duration) {
        self.clock.advance(span);
    }

    /// One turn: settle, write what changed, and what else the caller adds.
    pub fn node(&self) -> NodeId {
        self.lease.node
    }
    /// Commit what may be refused.
    pub fn try_commit(&mut self, add: impl FnOnce(&mut Batch, Timestamp)) -> stepfast_store::Result<()> {
        self.clock.advance(Duration::from_millis(1));
        let now = self.now();
        let mut batch = Batch::new(self.lease.clone(), now);
        add(&mut batch, now);
        let (done, got) = mpsc::channel();
        self.store.commit(batch, Box::new(move |outcome| done.send(outcome).unwrap()));
        let outcome = got.recv().unwrap();
        self.store.reset();
        outcome
    }
    pub fn commit(&mut self, add: impl FnOnce(&mut Batch, Timestamp, SessionId)) {
        self.clock.advance(Duration::from_millis(1));
        let now = self.now();
        self.board.now = now;
        settle(&mut self.board, &mut InHand, Mode::FixedPoint).unwrap();
        let mut batch = self.compose(now);
        batch.renew = Some((now + limits::GROUP_LEASE, now + limits::SESSION_LEASE));
        add(&mut batch, now, self.session);
        let (done, got) = mpsc::channel();
        self.store.commit(batch, Box::new(move |outcome| done.send(outcome).unwrap()));
        got.recv().unwrap().unwrap();
    }
    pub fn turn(&mut self) {
        self.commit(|_, _, _| {});
    }

    fn compose(&mut self, now: Timestamp) -> Batch {
        let changes = self.board.take_changes();
        let mut batch = Batch::new(self.lease.clone(), now);
        batch.tallies = tallies(&changes);
        batch.attempts = attempts(&changes, now);
        if self.full_history {
            let rows = changes.moves.iter().map(|m| EventRow {
                at: m.at,
                step: m.step,
                from: m.from,
                event: m.event,
                to: m.to,
                attempt: m.attempt,
            });
            batch.events = rows.collect();
        }
        for (step, change) in changes.steps {
            let by_log = |b: &Step| {
                b.state == State::Pending
                    && b.attempt + 1 == step.attempt
                    && b.failed_attempts == step.failed_attempts
            };
            if step.is_held() && change.before.as_ref().is_some_and(by_log) {
                self.last_claim += 1;
                self.logged.insert(step.id, self.last_claim);
                let (id, pairs) = (self.last_claim, vec![(step.id, step.attempt)]);
                batch.claims.push(ClaimLog {
                    id,
                    session: self.session,
                    dispatch_group: step.dispatch_group.clone(),
                    tick: 1,
                    at: now,
                    parked: false,
                    host: None,
                    pairs,
                });
                continue;
            }
            let expected = change.before.map(|_| step.version);
            if let Some(version) = expected {
                batch.claims_done.extend(self.logged.remove(&step.id));
                self.board.set_version(step.id, version + 1);
            }
            batch.steps.push(StepWrite {
                step,
                expected,
                detail: change.detail,
                row: stepfast_store::RowKnown::Nothing,
            });
        }
        for (block, change) in changes.blocks {
            let write = BlockWrite::of(block, change.before.as_ref());
            if let Some(version) = write.expected {
                self.board.set_block_version(write.block.id, version + 1);
            }
            batch.blocks.push(write);
        }
        batch
    }

    pub fn create(&mut self, steps: Vec<NewStep>) {
        self.clock.advance(Duration::from_millis(1));
        self.board.now = self.now();
        let groups = [DispatchGroup::new("alpha"), DispatchGroup::new("beta")];
        let (last, next) = (&mut self.last_id, &mut self.next_group);
        let mut new_id = || {
            *last += 1;
            *StepId::of(*last).bytes()
        };
        let mut next_group = || {
            *next += 1;
            groups[*next % 2].clone()
        };
        let blocks: HashMap<BlockId, Block> = self.board.blocks().map(|b| (b.id, b.clone())).collect();
        let mut ground = Ground {
            now: self.board.now,
            dispatch_groups: &groups,
            queues: &["default".into(), "priority".into()],
            pools: &Default::default(),
            blocks,
            parents: self.board.steps().map(|s| (s.id, s.clone())).collect(),
            new_id: &mut new_id,
            next_group: &mut next_group,
        };
        let plan = plan(&steps, &mut ground).unwrap();
        for block in plan.blocks {
            self.board.insert_block(block);
        }
        for (step, block) in plan.adopt {
            self.board.set_child_block(step, block);
        }
        for (step, detail) in plan.steps {
            self.named.insert(detail.step_key.clone().unwrap(), step.id);
            self.board.insert_step(step, detail);
        }
        self.turn();
    }

    /// Given to the session, by the claim log alone.
    pub fn claim(&mut self, key: &str) {
        self.clock.advance(Duration::from_millis(1));
        self.board.now = self.now();
        let id = self.named[key];
        self.board.refresh_window(id);
        assert!(self.board.windows.holds(self.row(key)), "{key} is not ready: {:?}", self.row(key));
        self.board.claim(id, self.session, HOST.into(), 1).unwrap();
        self.turn();
    }
    /// The claim gets old, and the row is written.
    pub fn write_row(&mut self, key: &str) {
        self.board.edit(self.named[key], |_, _| {});
        self.turn();
    }
    pub fn report(&mut self, key: &str, outcome: Outcome) {
        self.clock.advance(Duration::from_millis(1));
        self.board.now = self.now();
        let step = self.row(key);
        let report = Report {
            session: self.session,
            step: step.id,
            attempt: step.attempt,
            outcome,
            log: Vec::new(),
            delivery: None,
        };
        let children = step.child_block.and_then(|b| self.board.block(b));
        let Answer::Applied(effects) = worker::decide(step, children, &report, self.board.now) else {
            panic!("{key} is late")
        };
        self.apply(effects);
    }
    /// Run and answer.
    pub fn run(&mut self, key: &str, outcome: Outcome) {
        self.claim(key);
        self.report(key, outcome);
    }
    pub fn lose(&mut self, key: &str) {
        let step = self.row(key);
        let effect = recover::decide(step, None).unwrap();
        self.apply(vec![effect]);
    }
    pub fn operate(&mut self, key: &str, verb: Verb) {
        let step = self.row(key);
        let children = step.child_block.and_then(|b| self.board.block(b));
        let effect = operator::decide(step, children, verb, "by hand").unwrap();
        self.apply(vec![effect]);
    }
    fn apply(&mut self, effects: Vec<Effect>) {
        self.clock.advance(Duration::from_millis(1));
        self.board.now = self.now();
        for effect in effects {
            self.board.apply(effect).unwrap();
        }
        self.turn();
    }
    /// A new step takes the place of one that failed.
    pub fn retry(&mut self, key: &str, new_key: &str) {
        let old = self.row(key).clone();
        self.last_id += 1;
        let new = StepId::of(self.last_id);
        let detail = Detail { superseded_by: Some(new), ..Detail::default() };
        let moved = Move { detail, ..Move::new(old.id, Event::Superseded) };
        self.board.now = self.now();
        self.board.apply(Effect::MoveStep(Box::new(moved))).unwrap();
        let fresh = Step {
            id: new,
            state: State::Pending,
            reason: None,
            attempt: 0,
            failed_attempts: 0,
            host: None,
            tick: None,
            created_at: self.board.now,
            dispatched_at: None,
            started_at: None,
            completed_at: None,
            version: 0,
            ..old
        };
        self.named.insert(new_key.into(), new);
        self.board.insert_step(fresh, Detail { step_key: Some(key.into()), ..Detail::default() });
        self.turn();
    }
    pub fn breaker(&mut self, off: bool) {
        let breaker = Breaker { off, ..Breaker::default() };
        self.commit(|batch, _, _| {
            batch.audit.push(AuditEntry {
                who: "op".into(),
                verb: if off { "breaker off" } else { "breaker on" }.into(),
                target: "breaker".into(),
                why: None,
                before: None,
                after: Some(serde_json::to_string(&breaker).unwrap()),
            });
            batch.breaker = Some(breaker);
        });
    }
    pub fn tick(&mut self) {
        self.last_tick += 1;
        let id = self.last_tick;
        self.commit(|batch, now, _| {
            batch.ticks.push(Tick {
                id,
                dispatch_group: DispatchGroup::new("alpha"),
                started_at: now - Duration::from_micros(500),
                completed_at: now,
                duration_us: 500,
                turns: 1,
                progress: 9,
                steps_dispatched: 1,
                capped: 0,
                left_over: 0,
                phases: vec![],
            });
            let moved = Some(now);
            for group in ["alpha", "beta"] {
                batch.groups.push(GroupWrite {
                    last_selected_at: moved,
                    ..GroupWrite::of(DispatchGroup::new(group))
                });
            }
        });
    }
    pub fn alert(&mut self, entity: &'static str, entity_id: String, open: bool) {
        let (reason, message) = ("odd", "look".to_string());
        let known =
            stepfast_store::alerts::open_one(self.store.reader(), entity, &entity_id, reason).unwrap();
        self.commit(|batch, _, _| {
            let severity = model::Severity::Medium;
            batch.alerts.push(match open {
                true => AlertWrite::Open { entity, entity_id, reason, severity, message },
                false => {
                    let known = known.expect("an open alert");
                    let (id, version, by) = (known.id, known.version, model::OBSERVED.into());
                    AlertWrite::Close { id, version, by, auto_resolved: false }
                }
            });
        });
    }
}
