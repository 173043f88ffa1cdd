//! The stage: one session that takes everything, and whose jobs do what their action says.

use crate::doubtful::{Doubt, DoubtfulStore};
use crate::dump::keys;
use engine::{
    Config, Dispatch, Engine, EngineError, EngineThread, Operation, ReportAnswer, SessionHandle, TickReport,
};
use model::{
    Claim, DispatchGroup, Failure, NewStep, Outcome, Report, SessionId, SessionOffer, State, StepId,
    Timestamp, limits,
};
use rules::settle::Mode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use store::postgres::Scratch;
use store::sqlite;
use store::sqlite::Holder;
use store::{Browse, Clock, Database, Filter, SimClock, StepRow, Store};
use tempfile::TempDir;

const ACTIONS: [&str; 11] =
    ["ok", "quiet", "fail", "stop", "skip", "retry", "throttle", "resolved", "hold", "echo", "poll"];

/// What a job of this action answers; `hold` never does.
pub fn outcome_of(action: &str) -> Option<Outcome> {
    let failure = || Failure { message: format!("{action} it did"), trace: None };
    Some(match action {
        "ok" => Outcome::Complete { response: Some("{\"ok\":true}".into()) },
        "quiet" => Outcome::Complete { response: None },
        "fail" => Outcome::Fail { failure: failure(), notify: true },
        "stop" => Outcome::Stop { why: "enough".into() },
        "skip" => Outcome::Skip { why: "not needed".into() },
        "retry" => Outcome::Retry { after: None, failure: Some(failure()) },
        "throttle" => Outcome::Throttle { after: Duration::from_secs(60) },
        "resolved" => Outcome::Resolved { note: "set right".into() },
        _ => return None,
    })
}

/// What the job of a claim answers; `echo` answers what it was given.
pub fn answer(claim: &Claim) -> Option<Outcome> {
    match &*claim.action {
        "echo" => Some(Outcome::Complete { response: Some(claim.arguments.to_string()) }),
        "poll" => poll(claim),
        action => outcome_of(action),
    }
}

/// What a poll answers: its arguments have a word for each of them, and the last one stands for all that follow.
fn poll(claim: &Claim) -> Option<Outcome> {
    let words: Vec<String> = serde_json::from_str(&claim.arguments).unwrap_or_default();
    let number = claim.poll.as_ref().map_or(1, |poll| poll.number);
    let word = words.get(number as usize - 1).or(words.last()).map_or("complete", String::as_str);
    let previous = claim.poll.as_ref().and_then(|poll| poll.previous.as_deref()).unwrap_or("null");
    let (word, after) = word.split_once(' ').map_or((word, None), |(word, after)| (word, after.parse().ok()));
    match word {
        "continue" => {
            let after = after.map(Duration::from_secs);
            Some(Outcome::Continue { data: Some(number.to_string()), after })
        }
        "complete" => Some(Outcome::Complete {
            response: Some(format!(r#"{{"polls":{number},"previous":{previous}}}"#)),
        }),
        "abort" => Some(Outcome::Abort { why: "it is gone".into() }),
        // The first run of each poll fails.
        "shaky" if claim.failed_attempts == 0 => Some(Outcome::Retry { after: None, failure: None }),
        "shaky" => Some(Outcome::Continue { data: None, after: None }),
        other => outcome_of(other),
    }
}

/// Where stages are set up when it is not in a file: the address of a PostgreSQL server.
pub const SERVER: &str = "STEPFAST_TEST_POSTGRES";

/// A database of this stage's own.
pub(crate) enum Ground {
    File(TempDir),
    Server(Scratch),
}

/// A name that no other database of this process has.
fn unused() -> String {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    format!("stage_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed))
}

impl Ground {
    fn new() -> Ground {
        let Ok(server) = std::env::var(SERVER) else {
            return Ground::File(tempfile::tempdir().expect("a directory can be made"));
        };
        Ground::Server(Scratch::new(&server, &unused()).expect("the server makes a database"))
    }
    /// Another one with the same rows, as a backup would make it. Nobody has a connection any more, or will soon have none.
    pub(crate) fn copy(&self, now: Timestamp) -> Ground {
        match self {
            Ground::File(dir) => {
                let to = tempfile::tempdir().expect("a directory can be made");
                let file = |dir: &TempDir| dir.path().join("stage.db");
                sqlite::backup(&file(dir), &file(&to), now, |_, _| {}).expect("a copy can be made");
                Ground::File(to)
            }
            Ground::Server(scratch) => {
                let name = unused();
                for _ in 0..1_000 {
                    match scratch.copy(&name) {
                        Ok(copy) => return Ground::Server(copy),
                        Err(_) => std::thread::park_timeout(Duration::from_millis(10)),
                    }
                }
                panic!("somebody stays connected");
            }
        }
    }
    fn database(&self) -> Database {
        match self {
            Ground::File(dir) => Database::Sqlite(dir.path().join("stage.db")),
            Ground::Server(scratch) => Database::Postgres(scratch.url.clone()),
        }
    }
}

/// A copy of a stage's database, of when it was made.
pub struct Kept(Ground);

pub struct Stage {
    ground: Ground,
    pub clock: SimClock,
    pub engine: Engine,
    thread: Option<EngineThread>,
    pub session: SessionHandle,
    pub config: Config,
    /// Claims whose job has not answered.
    held: Vec<(StepId, u32)>,
}

impl Stage {
    pub async fn new() -> Stage {
        Stage::with(usual()).await
    }

    pub async fn with(config: Config) -> Stage {
        Stage::set(config, None).await
    }

    /// A stage whose process can die at a commit; the one that takes its place lives.
    pub async fn mortal() -> (Stage, Doubt) {
        let doubt = Doubt::default();
        (Stage::set(usual(), Some(doubt.clone())).await, doubt)
    }

    async fn set(config: Config, doubt: Option<Doubt>) -> Stage {
        Stage::on(Ground::new(), SimClock::default(), config, doubt).await
    }

    async fn on(ground: Ground, clock: SimClock, config: Config, doubt: Option<Doubt>) -> Stage {
        let (engine, thread) = start(&ground, &clock, &config, doubt);
        let session = join(&engine).await;
        Stage { ground, clock, engine, thread: Some(thread), session, config, held: Vec::new() }
    }

    pub fn database(&self) -> Database {
        self.ground.database()
    }

    pub fn clock_now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The process dies and another takes its place.
    pub async fn crash(&mut self) {
        self.die();
        self.rise().await;
    }

    /// The process dies, a copy of the database is made, and another process takes its place.
    pub async fn crash_and_copy(&mut self) -> Kept {
        self.die();
        let copy = self.ground.copy(self.clock.now());
        self.rise().await;
        Kept(copy)
    }

    /// A copy takes the place of the database, at the time that it is now.
    pub async fn restore(self, copy: Kept) -> Stage {
        let (clock, config) = (self.clock.clone(), self.config.clone());
        drop(self);
        Stage::on(copy.0, clock, config, None).await
    }

    fn die(&mut self) {
        self.engine.halt();
        self.thread.take().expect("it runs").join();
    }

    async fn rise(&mut self) {
        if let Ground::Server(_) = self.ground {
            // Nobody there can prove it dead before its lease is over.
            self.clock.advance(limits::GROUP_LEASE);
        }
        // What the next one makes is younger than what this one made.
        self.clock.advance(Duration::from_millis(1));
        let (engine, thread) = start(&self.ground, &self.clock, &self.config, None);
        self.engine = engine;
        self.thread = Some(thread);
        self.join_again().await;
    }

    /// The worker finds that its session was given up, and joins anew.
    pub async fn join_again(&mut self) {
        self.session = join(&self.engine).await;
        self.held.clear();
    }

    /// Let time pass with a session that goes on beating.
    pub async fn advance(&self, span: Duration) {
        self.try_advance(span).await.expect("the session lives");
    }

    /// As `advance`, on a stage whose process may die meanwhile.
    pub async fn try_advance(&self, span: Duration) -> Result<(), EngineError> {
        let mut left = span;
        while !left.is_zero() {
            let part = left.min(limits::SESSION_LEASE / 2);
            left -= part;
            self.clock.advance(part);
            self.engine.heartbeat(self.session.id, 0, self.held.clone()).await?;
        }
        Ok(())
    }

    /// Create steps from JSON, as a client would write them.
    pub async fn create(&self, json: serde_json::Value) -> Vec<StepId> {
        let steps: Vec<NewStep> = serde_json::from_value(json).expect("steps as JSON");
        self.engine.create(steps).await.expect("sound steps").iter().map(|c| c.id).collect()
    }

    /// One tick of the dispatcher; what it hands out runs to its end.
    pub async fn tick(&mut self, mode: Mode) -> TickReport {
        self.try_tick(mode).await.expect("a tick")
    }

    async fn try_tick(&mut self, mode: Mode) -> Result<TickReport, EngineError> {
        let report = self.engine.tick(mode, Dispatch::Yes, None).await?;
        self.run_handed().await?;
        Ok(report)
    }

    pub async fn decide(&mut self, mode: Mode) -> TickReport {
        self.engine.tick(mode, Dispatch::Yes, None).await.expect("a tick")
    }

    /// Tick until nothing is handed out and nothing moves.
    pub async fn settle(&mut self) {
        self.try_settle().await.expect("a tick");
    }

    /// As `settle`, on a stage whose process may die meanwhile.
    pub async fn try_settle(&mut self) -> Result<(), EngineError> {
        for _ in 0..1_000 {
            let before = self.states();
            let tick = self.try_tick(Mode::FixedPoint).await?;
            if tick.dispatched == 0 && tick.stopped_at.is_none() && self.states() == before {
                return Ok(());
            }
        }
        panic!("it does not come to rest: {}", self.states());
    }

    pub fn handed(&mut self) -> Vec<Claim> {
        let mut claims = Vec::new();
        while let Ok(handed) = self.session.work.try_recv() {
            claims.extend(handed.claims);
        }
        let silent = claims.iter().filter(|c| answer(c).is_none());
        self.held.extend(silent.map(|c| (c.step, c.attempt)));
        claims
    }

    async fn run_handed(&mut self) -> Result<(), EngineError> {
        let session = self.session.id;
        let reports: Vec<Report> = self
            .handed()
            .into_iter()
            .filter_map(|c| {
                answer(&c).map(|outcome| Report {
                    session,
                    step: c.step,
                    attempt: c.attempt,
                    outcome,
                    log: Vec::new(),
                    delivery: None,
                })
            })
            .collect();
        if !reports.is_empty() {
            self.engine.report(reports).await?;
        }
        Ok(())
    }

    pub async fn report(
        &self,
        session: SessionId,
        step: StepId,
        attempt: u32,
        outcome: Outcome,
    ) -> ReportAnswer {
        self.engine
            .report(vec![Report { session, step, attempt, outcome, log: Vec::new(), delivery: None }])
            .await
            .expect("a report")[0]
    }

    pub async fn operate(&self, step: StepId, verb: Option<rules::operator::Verb>) -> Result<State, String> {
        let operation =
            Operation { step, by: "test".into(), why: "test".into(), verb, dry_run: false, expected: None };
        self.engine.operate(operation).await.map(|done| done.to).map_err(|e| e.to_string())
    }

    pub fn browse(&self) -> Browse {
        self.database().browse().expect("the database can be read")
    }

    pub fn step(&self, id: StepId) -> StepRow {
        self.browse().step(id).expect("a read").expect("the step exists")
    }

    pub fn by_key(&self, key: &str) -> StepRow {
        let filter = Filter { step_key: Some(key.into()), limit: 10, ..Filter::default() };
        self.browse().steps(&filter).expect("a read").into_iter().next().expect("a step with this key")
    }

    /// Every step in the order of creation, as one letter: P pending, R running, C completed, and so on.
    pub fn states(&self) -> String {
        let filter = Filter { ascending: true, limit: 1_000, ..Filter::default() };
        self.browse().steps(&filter).expect("a read").iter().map(|r| letter(r.step.state)).collect()
    }

    pub fn groups(&self) -> Vec<DispatchGroup> {
        let filter = Filter { ascending: true, limit: 1_000, ..Filter::default() };
        self.browse().steps(&filter).expect("a read").iter().map(|r| r.step.dispatch_group.clone()).collect()
    }

    /// Nothing in the database is as it must not be.
    pub fn check(&self) {
        let found = self.browse().check(self.clock.now(), false, |_, _| {}).expect("check runs").findings;
        assert!(found.is_empty(), "check found {found:#?}");
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.engine.halt();
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
        if !std::thread::panicking() {
            self.check();
        }
    }
}

pub(crate) fn letter(state: State) -> char {
    match state {
        State::NotRunnable => 'N',
        State::Pending => 'P',
        State::Dispatched => 'D',
        State::Running => 'R',
        State::Polling => 'O',
        State::Completed => 'C',
        State::Skipped => 'K',
        State::Cancelled => 'X',
        State::Failed => 'F',
        State::Stopped => 'S',
        State::TimedOut => 'T',
        State::Superseded => 'U',
    }
}

fn usual() -> Config {
    let (host, secrets) = ("stage".into(), keys("k1"));
    Config { by_hand: true, full_history: true, host, secrets, ..Config::default() }
}

fn start(ground: &Ground, clock: &SimClock, config: &Config, doubt: Option<Doubt>) -> (Engine, EngineThread) {
    let holder = Holder { doing: "test".into(), ..Holder::default() };
    let store = ground.database().open(Some(Arc::new(clock.clone())), holder).expect("the database opens");
    let store: Box<dyn Store> = match doubt {
        Some(doubt) => Box::new(DoubtfulStore { store, doubt }),
        None => store,
    };
    Engine::start(store, config.clone()).expect("the engine starts")
}

async fn join(engine: &Engine) -> SessionHandle {
    let offer = SessionOffer {
        host: "stage".into(),
        queues: vec!["default".into(), "priority".into(), "stage".into()],
        actions: ACTIONS.iter().map(|a| (*a).into()).collect(),
        capacity: 1_000,
        remote: false,
    };
    engine.join(offer).await.expect("a session")
}
