//! Several engines on one PostgreSQL database, each deciding by itself, under the server's clock.

use crate::doubtful::{Doubt, DoubtfulStore};
use crate::dump::keys;
use crate::stage::{SERVER, answer};
use engine::{Config, Engine, EngineError, EngineThread, Operation};
use model::{Claim, DispatchGroup, NewStep, Outcome, Report, SessionOffer, State, StepId};
use rules::operator::Verb;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use store::postgres::Scratch;
use store::postgres::tokio_postgres::{self, Client};
use store::sqlite::Holder;
use store::{Browse, Clock, Database, Filter, Store, SystemClock};

pub struct Nodes {
    nodes: Vec<(Engine, Option<EngineThread>)>,
    scratch: Scratch,
}

impl Nodes {
    /// As many nodes, with the groups spread over them.
    pub async fn start(configs: Vec<Config>) -> Nodes {
        let server = std::env::var(SERVER).unwrap_or_else(|_| {
            panic!("set {SERVER} to the address of a server; `cargo xtask test` starts one")
        });
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("nodes_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let scratch = Scratch::new(&server, &name).expect("the server makes a database");
        let mut nodes = Nodes { nodes: Vec::new(), scratch };
        for config in configs {
            nodes.add(config);
        }
        nodes
    }

    pub fn config(host: &str) -> Config {
        Config { host: host.into(), full_history: true, secrets: keys("k1"), ..Config::default() }
    }

    pub fn add(&mut self, config: Config) {
        self.start_on(self.open(), config);
    }

    /// A node that can lose the news of what it stored.
    pub fn add_doubtful(&mut self, config: Config) -> Doubt {
        self.add_deaf(config, None)
    }

    /// One that does not find signals that say this.
    pub fn add_deaf(&mut self, config: Config, saying: Option<&str>) -> Doubt {
        let doubt = Doubt::default();
        doubt.deaf_to(saying);
        self.start_on(Box::new(DoubtfulStore { store: self.open(), doubt: doubt.clone() }), config);
        doubt
    }

    fn open(&self) -> Box<dyn Store> {
        self.database().open(None, Holder::default()).expect("the database opens")
    }

    fn start_on(&mut self, store: Box<dyn Store>, config: Config) {
        let (engine, thread) = Engine::start(store, config).expect("the engine starts");
        self.nodes.push((engine, Some(thread)));
    }

    pub fn engine(&self, n: usize) -> &Engine {
        &self.nodes[n].0
    }

    pub fn database(&self) -> Database {
        Database::Postgres(self.scratch.url.clone())
    }

    pub fn browse(&self) -> Browse {
        self.database().browse().expect("the database can be read")
    }

    /// A connection of somebody who is no node.
    pub async fn client(&self) -> Client {
        let connecting = tokio_postgres::connect(&self.scratch.url, tokio_postgres::NoTls).await;
        let (client, connection) = connecting.expect("the server lets us in");
        tokio::spawn(connection);
        client
    }

    /// Stop a node in good order.
    pub async fn stop(&mut self, n: usize) {
        let (engine, thread) = &mut self.nodes[n];
        engine.stop().await.expect("it stops");
        thread.take().into_iter().for_each(EngineThread::join);
    }

    /// A worker on a node, whose jobs do what their action says. It ends with the engine.
    pub async fn work(&self, n: usize) {
        let engine = self.engine(n).clone();
        let offer = SessionOffer {
            host: format!("worker-{n}").into(),
            queues: vec!["default".into(), "priority".into()],
            actions: ["ok", "fail", "retry", "hold", "children", "lined", "echo"].map(Into::into).to_vec(),
            capacity: 20,
            remote: false,
        };
        let mut session = engine.join(offer).await.expect("a session");
        tokio::spawn(async move {
            let mut held: Vec<(StepId, u32)> = Vec::new();
            let mut received = 0;
            let mut beat = tokio::time::interval(Duration::from_millis(200));
            loop {
                tokio::select! {
                    handed = session.work.recv() => {
                        let Some(handed) = handed else { return };
                        received = handed.number;
                        for claim in handed.claims {
                            held.push((claim.step, claim.attempt));
                            let Some(outcome) = answer_of(&claim) else { continue };
                            let (step, attempt) = (claim.step, claim.attempt);
                            let report = Report { session: session.id, step, attempt, outcome, log: Vec::new(), delivery: None };
                            // A node that reads everything anew takes nothing meanwhile.
                            while let Err(EngineError::Unavailable(_)) = engine.report(vec![report.clone()]).await {
                                tokio::task::yield_now().await;
                            }
                            held.retain(|(id, _)| *id != step);
                        }
                    }
                    _ = beat.tick() => {
                        match engine.heartbeat(session.id, received, held.clone()).await {
                            Ok(revoked) => held.retain(|one| !revoked.contains(one)),
                            Err(EngineError::Unavailable(_)) => {}
                            Err(_) => return,
                        }
                    }
                }
            }
        });
    }

    pub async fn create(&self, n: usize, json: serde_json::Value) -> Vec<StepId> {
        let steps: Vec<NewStep> = serde_json::from_value(json).expect("steps as JSON");
        self.engine(n).create(steps).await.expect("sound steps").iter().map(|c| c.id).collect()
    }

    pub async fn operate(&self, n: usize, step: StepId, verb: Option<Verb>) -> Result<State, String> {
        let operation =
            Operation { step, by: "test".into(), why: "test".into(), verb, dry_run: false, expected: None };
        self.engine(n).operate(operation).await.map(|done| done.to).map_err(|e| e.to_string())
    }

    /// How many groups each living node has, fewest first.
    pub fn spread(&self) -> Vec<usize> {
        let (groups, nodes) =
            (self.browse().groups().expect("a read"), self.browse().nodes().expect("a read"));
        let mut counts: Vec<usize> = nodes
            .iter()
            .filter(|n| n.ended_at.is_none())
            .map(|n| groups.iter().filter(|g| g.owner == Some(n.id)).count())
            .collect();
        counts.sort_unstable();
        counts
    }

    /// Every step's group and state, in the order of creation.
    pub fn steps(&self) -> Vec<(DispatchGroup, State)> {
        let filter = Filter { ascending: true, limit: 1_000, ..Filter::default() };
        let rows = self.browse().steps(&filter).expect("a read");
        rows.into_iter().map(|r| (r.step.dispatch_group, r.step.state)).collect()
    }

    pub fn state(&self, id: StepId) -> State {
        self.browse().step(id).expect("a read").expect("the step exists").step.state
    }

    /// Look until it is so; the thing that is waited for ends the wait, not the clock.
    pub async fn until(&self, what: &str, is_so: impl Fn(&Nodes) -> bool) {
        for _ in 0..1_000 {
            if is_so(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it never came to be that {what}: {:?} {:?}", self.spread(), self.steps());
    }
}

fn answer_of(claim: &Claim) -> Option<Outcome> {
    match &*claim.action {
        "children" => Some(Outcome::Children {
            response: None,
            children: vec![NewStep::of("ok"), NewStep::of("ok")],
            success: model::Success::All,
        }),
        "lined" => {
            let child = |n| NewStep {
                message_group: Some(format!("g{n}")),
                mode: Some("next_on_error".into()),
                ..NewStep::of("ok")
            };
            let children = (0..8).map(child).collect();
            Some(Outcome::Children { response: None, children, success: model::Success::All })
        }
        _ => answer(claim),
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for (engine, thread) in &mut self.nodes {
            engine.halt();
            thread.take().into_iter().for_each(EngineThread::join);
        }
        if !std::thread::panicking() {
            let now = SystemClock::default().now();
            let found = self.browse().check(now, false, |_, _| {}).expect("check runs").findings;
            assert!(found.is_empty(), "check found {found:#?}");
        }
    }
}
