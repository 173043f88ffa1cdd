//! One runner for many queues, with limits and with steps held ahead: every story in process and against a server.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use engine::{Operation, Verb};
use server::Site;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepfast::{
    Config, Context, Link, Local, LocalConfig, NewStep, Registry, Remote, Runner, RunnerConfig, State, StepId,
};
use store::postgres::Scratch;
use store::{Clock, Database, SystemClock};
use tokio::sync::{oneshot, watch};

/// Nothing that a test waits for takes this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where jobs run until they are let go, by their name or by that of their queue, whatever else they are told, and write down when they
/// begin and end.
#[derive(Default)]
struct Floor {
    said: Mutex<Vec<String>>,
    /// Of each queue: how many run, and how many ran at most.
    running: Mutex<BTreeMap<String, (usize, usize)>>,
    let_go: watch::Sender<BTreeSet<String>>,
    /// How far jobs are to say they are.
    far: watch::Sender<u64>,
}

/// A job while it runs; it ends also when it is dropped.
struct OnTheFloor(Arc<Floor>, String, String);

impl OnTheFloor {
    fn begin(floor: &Arc<Floor>, queue: &str, name: &str) -> OnTheFloor {
        let mut running = floor.running.lock().unwrap();
        let (now, most) = running.entry(queue.into()).or_default();
        *now += 1;
        *most = (*most).max(*now);
        floor.said.lock().unwrap().push(format!("began {name}"));
        OnTheFloor(floor.clone(), queue.into(), name.into())
    }
}

impl Drop for OnTheFloor {
    fn drop(&mut self) {
        let OnTheFloor(floor, queue, name) = self;
        floor.said.lock().unwrap().push(format!("ended {name}"));
        floor.running.lock().unwrap().get_mut(queue).unwrap().0 -= 1;
    }
}

impl Floor {
    fn jobs(self: &Arc<Floor>) -> Registry {
        let (mut jobs, floor) = (Registry::new(), self.clone());
        jobs.job("work", move |context: Context, name: String| {
            let queue = context.claim().queue.to_string();
            let on_it = OnTheFloor::begin(&floor, &queue, &name);
            let (mut let_go, mut far) = (floor.let_go.subscribe(), floor.far.subscribe());
            let floor = floor.clone();
            async move {
                let mut is_told = false;
                loop {
                    tokio::select! {
                        () = context.cancelled(), if !is_told => {
                            is_told = true;
                            floor.said.lock().unwrap().push(format!("told {name}"));
                        }
                        _ = let_go.wait_for(|all| all.contains(&name) || all.contains(&queue)) => break,
                        Ok(()) = far.changed() => context.progress(*far.borrow_and_update(), 10),
                    }
                }
                drop(on_it);
                Ok(())
            }
        });
        jobs
    }
    fn let_go(&self, whom: &str) {
        self.let_go.send_modify(|all| {
            all.insert(whom.into());
        });
    }
    fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }
    /// How many run of this queue, and how many ran at most.
    fn at(&self, queue: &str) -> (usize, usize) {
        self.running.lock().unwrap().get(queue).copied().unwrap_or_default()
    }
}

/// An engine in this process, which also listens.
struct World {
    local: Local,
    database: Database,
    floor: Arc<Floor>,
    close: oneshot::Sender<()>,
    served: tokio::task::JoinHandle<std::io::Result<()>>,
    _ground: (tempfile::TempDir, Option<Scratch>),
}

/// The way to the engine.
#[derive(Clone, Copy, Debug)]
enum Way {
    Near,
    Far,
}

impl World {
    async fn open(way: Way) -> (World, Link) {
        let dir = tempfile::tempdir().unwrap();
        let scratch = std::env::var("STEPFAST_TEST_POSTGRES").ok().map(|server| common::scratch(&server));
        let file = format!("sqlite:{}", dir.path().join("steps.db").display());
        let database: Database = scratch.as_ref().map_or(&file, |scratch| &scratch.url).parse().unwrap();
        let queues = vec!["email".into(), "reports".into()];
        let engine = Config { host: "here".into(), queues, ..Config::default() };
        let local = Local::open(&database, LocalConfig { engine, ..LocalConfig::default() }).unwrap();
        let site = Site {
            engine: local.engine.clone(),
            database: database.clone(),
            clock: Arc::new(SystemClock::default()),
            version: "1.2.3",
            host: "here".into(),
            require_key: false,
            processing: None,
            routing: None,
            triggers: Vec::new(),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (close, closed) = oneshot::channel::<()>();
        let served = tokio::spawn(server::serve(listener, site, async {
            let _ = closed.await;
        }));
        let link = match way {
            Way::Near => local.engine.clone().into(),
            Way::Far => Remote::new(&url, None).unwrap().into(),
        };
        let (floor, _ground) = (Arc::default(), (dir, scratch));
        (World { local, database, floor, close, served, _ground }, link)
    }

    async fn run(&self, link: &Link, config: RunnerConfig) -> Runner {
        Runner::start(link.clone(), self.floor.jobs(), config).await.unwrap()
    }

    /// Steps with these names, oldest first.
    async fn create(&self, queue: &str, names: &[&str]) -> Vec<StepId> {
        let step = |name: &&str| NewStep {
            queue: Some(queue.into()),
            dispatch_group: Some("alpha".into()),
            ..NewStep::of("work").with(name).unwrap()
        };
        let made = self.local.engine.create(names.iter().map(step).collect()).await.unwrap();
        made.iter().map(|created| created.id).collect()
    }

    /// A letter for the state of each.
    async fn states(&self, steps: &[StepId]) -> String {
        let steps = steps.to_vec();
        let read = move |store: &mut dyn store::Store| {
            steps.iter().map(|id| letter(store.step(*id).unwrap().unwrap().state)).collect::<String>()
        };
        self.local.engine.with_store(read).await.unwrap()
    }

    async fn until_states(&self, steps: &[StepId], expected: &str) {
        until(expected, async || self.states(steps).await == expected).await;
    }

    /// Not one of its runs counts as failed or lost.
    async fn cost_nothing(&self, steps: &[StepId]) {
        for id in steps.iter().copied() {
            let step =
                self.local.engine.with_store(move |store| store.step(id)).await.unwrap().unwrap().unwrap();
            assert_eq!((step.failed_attempts, step.lost_attempts), (0, 0));
        }
    }

    async fn cancel(&self, step: StepId) {
        let (by, why) = ("test".into(), "test".into());
        let operation = Operation { step, by, why, verb: Some(Verb::Cancel), dry_run: false, expected: None };
        self.local.engine.operate(operation).await.unwrap();
    }

    /// Whoever has this step has sent a heartbeat since this call, and has seen the answer: its job says twice how far it is, and a
    /// session says it in one heartbeat at a time.
    async fn beaten(&self, id: StepId) {
        let engine = &self.local.engine;
        let step = engine.with_store(move |store| store.step(id)).await.unwrap().unwrap().unwrap();
        for far in [1, 2] {
            self.floor.far.send_replace(far);
            let told =
                || engine.progress(step.session.unwrap(), id, step.attempt).is_some_and(|p| p.done == far);
            until("it is told how far the job is", async || told()).await;
        }
    }

    async fn close(self) {
        self.local.stop(Duration::ZERO).await.unwrap();
        let _ = self.close.send(());
        self.served.await.unwrap().unwrap();
        let (browse, now) = (self.database.browse().unwrap(), SystemClock::default().now());
        let found = browse.check(now, false, |_, _| {}).unwrap().findings;
        assert!(found.is_empty(), "check found {found:#?}");
    }
}

fn letter(state: State) -> char {
    match state {
        State::Pending => 'P',
        State::Running => 'R',
        State::Completed => 'C',
        State::Cancelled => 'X',
        other => panic!("nothing here is {other}"),
    }
}

/// Look until it is so.
async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let looked = tokio::time::timeout(PATIENCE, async {
        let mut look = tokio::time::interval(Duration::from_millis(5));
        while !is_so().await {
            look.tick().await;
        }
    });
    assert!(looked.await.is_ok(), "it never came to be: {what}");
}

/// One job at a time of the queue `email`, and so many steps ahead.
fn one_and_ahead(prefetch: usize) -> RunnerConfig {
    let config = RunnerConfig::for_queues([("email", 1)]).prefetch(prefetch);
    RunnerConfig { queues: vec![], ..config }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_queue_keeps_its_limit_and_none_waits_for_another() {
    for way in [Way::Near, Way::Far] {
        let (world, link) = World::open(way).await;
        let names: Vec<String> = (0..12).map(|n| n.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut steps = BTreeMap::new();
        for queue in ["email", "reports", "default", "priority"] {
            steps.insert(queue, world.create(queue, &names).await);
        }
        let config = RunnerConfig { concurrency: 3, ..RunnerConfig::default() };
        let runner = world.run(&link, config.queue("email", 2).queue("reports", 1)).await;
        let floor = &world.floor;
        let full = || {
            let shared = floor.at("default").0 + floor.at("priority").0;
            (floor.at("email").0, floor.at("reports").0, shared) == (2, 1, 3)
        };
        until("each has all its places", async || full()).await;
        for (queue, others) in [("reports", "email"), ("default", "email"), ("priority", "email")] {
            floor.let_go(queue);
            world.until_states(&steps[queue], "CCCCCCCCCCCC").await;
            assert_eq!(floor.at(others), (2, 2), "{queue} is done while {others} is full");
        }
        floor.let_go("email");
        world.until_states(&steps["email"], "CCCCCCCCCCCC").await;
        assert_eq!((floor.at("email"), floor.at("reports")), ((0, 2), (0, 1)));
        assert!(floor.at("default").1 <= 3 && floor.at("priority").1 <= 3);
        runner.stop(PATIENCE).await;
        world.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_with_limits_alone_come_with_priority_and_nothing_else() {
    for way in [Way::Near, Way::Far] {
        let (world, link) = World::open(way).await;
        let runner = world.run(&link, RunnerConfig::for_queues([("email", 1), ("reports", 2)])).await;
        let sessions = world.database.browse().unwrap().sessions().unwrap();
        let mut served: Vec<String> = sessions
            .iter()
            .map(|row| format!("{} {}", row.offer.queues.join("+"), row.offer.capacity))
            .collect();
        served.sort();
        assert_eq!(served, ["email 1", "priority 2", "reports 2"]);
        runner.stop(PATIENCE).await;
        assert!(world.database.browse().unwrap().sessions().unwrap().is_empty(), "all have left");
        world.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_without_queues_serves_all_that_are_known() {
    for way in [Way::Near, Way::Far] {
        let (world, link) = World::open(way).await;
        let runner = world.run(&link, RunnerConfig { queues: vec![], ..RunnerConfig::default() }).await;
        world.floor.let_go("reports");
        let steps = world.create("reports", &["a"]).await;
        world.until_states(&steps, "C").await;
        runner.stop(PATIENCE).await;
        world.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_is_refused_one_queue_keeps_none() {
    for way in [Way::Near, Way::Far] {
        let (world, link) = World::open(way).await;
        let config = RunnerConfig::default().queue("email", 1).queue("z\0", 1);
        assert!(Runner::start(link, world.floor.jobs(), config).await.is_err());
        assert!(world.database.browse().unwrap().sessions().unwrap().is_empty());
        world.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_ahead_starts_in_order_while_the_engine_is_busy_with_something_else() {
    for way in [Way::Near, Way::Far] {
        let (world, link) = World::open(way).await;
        let steps = world.create("email", &["a", "b", "c", "d", "e"]).await;
        let runner = world.run(&link, one_and_ahead(2)).await;
        world.until_states(&steps, "RRRPP").await;
        until("the first has begun", async || world.floor.said() == ["began a"]).await;
        let (is_busy, busy) = oneshot::channel();
        let (go_on, gone_on) = std::sync::mpsc::channel::<()>();
        let engine = world.local.engine.clone();
        let held_up = tokio::spawn(async move {
            let hold_up = move |_: &mut dyn store::Store| {
                is_busy.send(()).unwrap();
                gone_on.recv()
            };
            engine.with_store(hold_up).await
        });
        busy.await.unwrap();
        world.floor.let_go("a");
        until("the second begins", async || world.floor.said().len() == 3).await;
        world.floor.let_go("b");
        until("the third begins", async || world.floor.said().len() == 5).await;
        assert_eq!(world.floor.said(), ["began a", "ended a", "began b", "ended b", "began c"]);
        go_on.send(()).unwrap();
        held_up.await.unwrap().unwrap().unwrap();
        world.floor.let_go("email");
        world.until_states(&steps, "CCCCC").await;
        assert_eq!(world.floor.at("email"), (0, 1));
        world.cost_nothing(&steps).await;
        runner.stop(PATIENCE).await;
        world.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_ahead_goes_back_at_no_cost_when_its_runner_stops() {
    for way in [Way::Near, Way::Far] {
        let (world, link) = World::open(way).await;
        let steps = world.create("email", &["a", "b", "c", "d"]).await;
        let runner = world.run(&link, one_and_ahead(2)).await;
        world.until_states(&steps, "RRRP").await;
        until("the first has begun", async || world.floor.said() == ["began a"]).await;
        // It is told to stop before the place comes free.
        tokio::join!(runner.stop(PATIENCE), async { world.floor.let_go("a") });
        assert_eq!(world.states(&steps).await, "CPPP");
        assert_eq!(
            world.floor.said(),
            ["began a", "ended a"],
            "what runs is finished, what waits is not begun"
        );
        world.cost_nothing(&steps).await;
        let next = world.run(&link, one_and_ahead(2)).await;
        world.until_states(&steps, "CRRR").await;
        until("the next has begun", async || world.floor.said().contains(&"began b".into())).await;
        next.stop(Duration::ZERO).await;
        assert_eq!(world.states(&steps).await, "CPPP", "without a grace all of it goes back");
        world.cost_nothing(&steps).await;
        world.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_is_cancelled_while_it_is_held_ahead_never_runs() {
    for way in [Way::Near, Way::Far] {
        let (world, link) = World::open(way).await;
        let steps = world.create("email", &["a", "b", "c"]).await;
        let runner = world.run(&link, one_and_ahead(1)).await;
        world.until_states(&steps, "RRP").await;
        world.cancel(steps[1]).await;
        world.until_states(&steps, "RXR").await;
        world.beaten(steps[0]).await;
        world.floor.let_go("email");
        world.until_states(&steps, "CXC").await;
        assert_eq!(world.floor.said(), ["began a", "ended a", "began c", "ended c"]);
        runner.stop(PATIENCE).await;
        world.close().await;
    }
}

/// A job that was told to go had its place given away while it still ran, and its queue ran more at once than it may.
#[tokio::test(flavor = "multi_thread")]
async fn a_place_is_free_when_its_job_is_gone_not_when_it_is_cancelled() {
    for way in [Way::Near, Way::Far] {
        let (world, link) = World::open(way).await;
        let steps = world.create("email", &["a", "b"]).await;
        let runner = world.run(&link, one_and_ahead(0)).await;
        until("the first has begun", async || world.floor.said() == ["began a"]).await;
        world.cancel(steps[0]).await;
        world.until_states(&steps, "XR").await;
        world.floor.far.send_replace(1);
        until("the first is told", async || world.floor.said().contains(&"told a".into())).await;
        world.floor.let_go("email");
        world.until_states(&steps, "XC").await;
        assert_eq!(world.floor.said(), ["began a", "told a", "ended a", "began b", "ended b"]);
        assert_eq!(world.floor.at("email"), (0, 1));
        runner.stop(PATIENCE).await;
        world.close().await;
    }
}
