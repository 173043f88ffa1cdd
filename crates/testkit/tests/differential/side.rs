//! One engine on one database, in a thread of its own: it plays what it is told and answers in words both sides can agree on.

use super::asks::{self, After, Asked};
use super::names::Names;
use super::op::{Held, Op};
use super::watched::{Commits, Watched};
use super::{look, rows};
use engine::{Config, Engine, EngineError, EngineThread, SessionHandle};
use model::{BlockId, SessionId, StepId, WorkflowId};
use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Arc;
use store::postgres::Scratch;
use store::sqlite::Holder;
use store::{Browse, Database, SimClock};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A database that goes away with it.
pub enum Ground {
    File(TempDir),
    Server(Scratch),
}

impl Ground {
    fn database(&self) -> Database {
        match self {
            Ground::File(dir) => Database::Sqlite(dir.path().join("differential.db")),
            Ground::Server(scratch) => Database::Postgres(scratch.url.clone()),
        }
    }
}

/// What a side says to one operation.
#[derive(Default)]
pub struct Answer {
    pub text: String,
    pub handed: Vec<Held>,
    /// Sessions that were told they have ended.
    pub gone: Vec<usize>,
    pub steps: usize,
    pub blocks: usize,
    pub workflows: usize,
}

struct Session {
    id: SessionId,
    /// None when the worker is gone.
    worker: Option<SessionHandle>,
}

pub struct Side {
    ground: Ground,
    pub clock: SimClock,
    config: Config,
    runtime: Runtime,
    engine: Option<(Engine, EngineThread)>,
    commits: Arc<Commits>,
    pub browse: Browse,
    pub names: Names,
    pub steps: Vec<StepId>,
    pub blocks: Vec<BlockId>,
    pub workflows: Vec<WorkflowId>,
    seen: HashSet<[u8; 16]>,
    sessions: Vec<Session>,
    pub answer: Answer,
    /// A refusal and a preview are told before their turn is decided.
    pub answered_early: bool,
}

impl Side {
    pub fn new(ground: Ground, clock: SimClock, config: Config) -> Side {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let commits = Arc::new(Commits::default());
        let engine = start(&ground, &clock, &config, &commits);
        let browse = ground.database().browse().expect("the database can be read");
        Side {
            ground,
            clock,
            config,
            runtime,
            engine: Some(engine),
            commits,
            browse,
            names: Names::default(),
            steps: Vec::new(),
            blocks: Vec::new(),
            workflows: Vec::new(),
            seen: HashSet::new(),
            sessions: Vec::new(),
            answer: Answer::default(),
            answered_early: false,
        }
    }

    pub fn play(&mut self, op: &Op) -> Answer {
        self.answer = Answer::default();
        self.act(op);
        if self.answered_early {
            // The turn goes on behind such an answer; what runs between turns runs after it.
            self.answered_early = false;
            self.ask(|e| async move { e.with_store(|_| ()).await }).expect("the engine answers");
        }
        self.commits.wait();
        self.take_handed();
        let (steps, blocks, workflows) = (self.steps.len(), self.blocks.len(), self.workflows.len());
        Answer { steps, blocks, workflows, ..std::mem::take(&mut self.answer) }
    }

    fn act(&mut self, op: &Op) {
        match op {
            Op::Together(ops) => self.together(ops),
            Op::Vanish(n) => {
                if let Some(session) = self.sessions.get_mut(*n) {
                    session.worker = None;
                }
            }
            Op::List(listing) => look::list(self, listing),
            Op::Show(step) => look::show(self, *step),
            Op::Survey => look::survey(self),
            Op::Check => look::check(self),
            Op::Rows => self.rows(),
            Op::Halt => self.halt(),
            Op::Start => self.engine = Some(start(&self.ground, &self.clock, &self.config, &self.commits)),
            Op::Restart => {
                let stopped = self.ask(|e| async move { e.stop().await });
                self.tell(&stopped);
                self.halt();
            }
            Op::Pass { .. } | Op::Crash => unreachable!("the clock is moved for both at once"),
            asked => {
                let asked = asks::ask(self, asked);
                let after = self.runtime.block_on(asked);
                after(self);
            }
        }
    }

    /// All of them in one turn: the engine is kept busy until the last has arrived.
    fn together(&mut self, ops: &[Op]) {
        let (release, held) = std::sync::mpsc::sync_channel::<()>(1);
        let engine = self.engine();
        let asked: Vec<Asked> = ops.iter().map(|op| asks::ask(self, op)).collect();
        let answers: Vec<After> = self.runtime.block_on(async move {
            // This runtime polls what it was given in the order of giving.
            let busy = tokio::spawn(async move { engine.with_store(move |_| held.recv().is_ok()).await });
            let asked: Vec<_> = asked.into_iter().map(tokio::spawn).collect();
            let last = tokio::spawn(async move { release.send(()).is_ok() });
            let mut answers = Vec::new();
            for one in asked {
                answers.push(one.await.expect("an answer"));
            }
            assert!(busy.await.is_ok() && last.await.is_ok(), "the engine was kept busy");
            answers
        });
        answers.into_iter().for_each(|after| after(self));
    }

    pub fn engine(&self) -> Engine {
        self.engine.as_ref().expect("an engine runs").0.clone()
    }
    pub fn joined(&mut self, handle: SessionHandle) {
        self.sessions.push(Session { id: handle.id, worker: Some(handle) });
    }

    fn ask<T, F: Future<Output = T>>(&self, what: impl FnOnce(Engine) -> F) -> T {
        self.runtime.block_on(what(self.engine()))
    }

    /// What the engine answered, errors also as people read them.
    pub fn tell<T: Debug>(&mut self, answer: &Result<T, EngineError>) {
        self.say(answer);
        if let Err(refused) = answer {
            self.answered_early = true;
            self.say(&refused.to_string());
        }
    }

    /// Part of the answer, with names for ids.
    pub fn say(&mut self, part: &impl Debug) {
        let text = self.names.text(&untraced(&format!("{part:#?}")));
        self.answer.text.push_str(&text);
        self.answer.text.push('\n');
    }

    pub fn see_step(&mut self, id: StepId) {
        if self.seen.insert(*id.bytes()) {
            self.steps.push(id);
        }
    }
    pub fn see_block(&mut self, id: BlockId) {
        if self.seen.insert(*id.bytes()) {
            self.blocks.push(id);
        }
    }
    /// The step of this number, or one that does not exist.
    pub fn step(&self, number: usize) -> StepId {
        self.steps.get(number).copied().unwrap_or(StepId::of(1_000_000 + number as u64))
    }
    pub fn block(&self, number: usize) -> BlockId {
        self.blocks.get(number).copied().unwrap_or(BlockId::of(2_000_000 + number as u64))
    }
    pub fn workflow(&self, number: usize) -> WorkflowId {
        self.workflows.get(number).copied().unwrap_or(WorkflowId::of(4_000_000 + number as u64))
    }
    pub fn session(&self, number: usize) -> SessionId {
        self.sessions.get(number).map_or(SessionId::of(3_000_000 + number as u64), |s| s.id)
    }

    /// What was handed out is part of the answer.
    fn take_handed(&mut self) {
        for session in 0..self.sessions.len() {
            let Some(worker) = &mut self.sessions[session].worker else { continue };
            let mut got = Vec::new();
            while let Ok(handed) = worker.work.try_recv() {
                got.push(handed);
            }
            for handed in got {
                for claim in &handed.claims {
                    self.see_step(claim.step);
                    let step = self.steps.iter().position(|id| *id == claim.step).expect("it was just seen");
                    self.answer.handed.push(Held { session, step, attempt: claim.attempt });
                }
                self.say(&(session, handed));
            }
        }
    }

    fn rows(&mut self) {
        let mut names = std::mem::take(&mut self.names);
        let all = self.ask(|e| async move {
            let read = |s: &mut dyn store::Store, names: &mut Names| {
                Ok::<_, store::StoreError>((
                    rows::all(s.reader(), names)?,
                    rows::ids(s.reader(), "steps")?,
                    rows::ids(s.reader(), "blocks")?,
                ))
            };
            e.with_store(move |s| (read(s, &mut names), names)).await
        });
        let (all, names) = all.expect("the engine answers");
        self.names = names;
        let (text, steps, blocks) = all.expect("the rows can be read");
        steps.into_iter().for_each(|id| self.see_step(StepId::from_bytes(id)));
        blocks.into_iter().for_each(|id| self.see_block(BlockId::from_bytes(id)));
        self.answer.text = text;
    }

    fn halt(&mut self) {
        if let Some((engine, thread)) = self.engine.take() {
            engine.halt();
            thread.join();
        }
        self.sessions.iter_mut().for_each(|s| s.worker = None);
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        self.halt();
    }
}

fn start(
    ground: &Ground,
    clock: &SimClock,
    config: &Config,
    commits: &Arc<Commits>,
) -> (Engine, EngineThread) {
    let holder = Holder { doing: "test".into(), ..Holder::default() };
    let inner = ground.database().open(Some(Arc::new(clock.clone())), holder).expect("the database opens");
    let store = Watched { inner, commits: commits.clone() };
    Engine::start(Box::new(store), config.clone()).expect("the engine starts")
}

/// A place in a trace is made of ids, and those are not alike on two machines.
fn untraced(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut until = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if until.is_none() && line.trim_start().starts_with("trace: Some(") {
            until = Some(indent);
        }
        match until {
            None => kept.extend([line, "\n"]),
            Some(of) if indent == of && line.trim_start().starts_with(')') => until = None,
            Some(_) => {}
        }
    }
    kept
}
