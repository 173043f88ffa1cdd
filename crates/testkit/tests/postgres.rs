//! What only a database that nodes share can show.

mod audits;
mod behind;
mod differential;
mod doubt;
mod enqueue;
mod executions_in;
mod flow_nodes;
mod flows;
mod lines;
mod queues;
mod stuck_nodes;
mod told;
mod woken;

use engine::{Config, Engine, EngineError, EngineThread};
use model::{NewStep, Outcome, State, limits};
use rules::settle::Mode;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use stepfast_testkit::{Nodes, SERVER, Stage};
use store::sqlite::Holder;

async fn stage() -> Stage {
    assert!(
        std::env::var(SERVER).is_ok(),
        "set {SERVER} to the address of a server; `cargo xtask test` starts one"
    );
    Stage::new().await
}

/// Another node on the same database, with the same clock.
fn second(stage: &Stage) -> Result<(Engine, EngineThread), EngineError> {
    let store = stage.database().open(Some(Arc::new(stage.clock.clone())), Holder::default())?;
    Engine::start(store, Config { host: "second".into(), ..stage.config.clone() })
}

/// Ask until it answers as wanted; the engine waits a little before it looks at its store again.
async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    for _ in 0..200 {
        if let Some(answer) = ask().await {
            return answer;
        }
        std::thread::park_timeout(Duration::from_millis(50));
    }
    panic!("{what}: not within 10 s");
}

#[tokio::test]
async fn a_node_that_stalls_is_taken_over_and_fenced() {
    let mut stage = stage().await;
    let held = stage.create(json!([{"action": "hold"}])).await[0];
    stage.decide(Mode::FixedPoint).await;
    let claim = stage.handed().remove(0);
    stage.clock.advance(limits::GROUP_LEASE);
    let (other, thread) = second(&stage).expect("it starts");
    // The first does not know yet. Nothing it decides now is stored.
    let refused = stage.engine.create(vec![NewStep::of("ok")]).await.expect_err("it was fenced");
    assert!(matches!(refused, EngineError::Unavailable(_)), "{refused:?}");
    let late = stage.engine.report(vec![model::Report {
        session: stage.session.id,
        step: held,
        attempt: claim.attempt,
        outcome: Outcome::Complete { response: None },
        log: Vec::new(),
        delivery: None,
    }]);
    assert!(late.await.is_err(), "its report is not taken");
    other.tick(Mode::FixedPoint, engine::Dispatch::Yes, None).await.expect("the second decides");
    let row = stage.step(held);
    assert_eq!((row.step.state, row.step.lost_attempts), (State::Pending, 1));
    other.stop().await.expect("it gives the groups back");
    thread.join();
    // The first comes back by itself.
    until("the first decides again", || async { stage.engine.create(vec![NewStep::of("ok")]).await.ok() })
        .await;
    stage.join_again().await;
    stage.settle().await;
    assert_eq!(stage.states(), "RC", "`hold` runs again under the first, and what was refused is not there");
}

async fn two() -> Nodes {
    let nodes = Nodes::start(vec![Nodes::config("one"), Nodes::config("two")]).await;
    nodes.until("each has half of the groups", |n| n.spread() == [5, 5]).await;
    nodes
}

fn all_completed(nodes: &Nodes) -> bool {
    nodes.steps().iter().all(|(_, state)| *state == State::Completed)
}

#[tokio::test]
async fn groups_are_spread_over_the_nodes_and_come_back() {
    let mut nodes = Nodes::start(vec![Nodes::config("one")]).await;
    assert_eq!(nodes.spread(), [10]);
    nodes.add(Nodes::config("two"));
    nodes.add(Nodes::config("three"));
    nodes.until("the groups are spread", |n| n.spread() == [3, 3, 4]).await;
    nodes.stop(0).await;
    nodes.until("the others have them all", |n| n.spread() == [5, 5]).await;
}

#[tokio::test]
async fn any_node_takes_any_request_and_any_worker() {
    let nodes = two().await;
    nodes.work(1).await;
    for n in [0, 1] {
        let tree = json!({"action": "ok", "children": [{"action": "ok"}, {"action": "ok", "index": 2}]});
        nodes.create(n, json!([tree, tree, tree, tree, tree, tree, tree, tree, tree, tree])).await;
        nodes
            .create(
                n,
                json!([{"action": "children"}, {"action": "children"}, {"action": "ok", "delay_ms": 50}]),
            )
            .await;
    }
    nodes.until("all ended", all_completed).await;
    assert_eq!(nodes.steps().len(), 2 * (30 + 3 + 4));
    let groups: std::collections::BTreeMap<_, usize> =
        nodes.steps().into_iter().fold(Default::default(), |mut n, (group, _)| {
            *n.entry(group).or_default() += 1;
            n
        });
    assert_eq!(groups.len(), 10, "every group had its share: {groups:?}");
}

#[tokio::test]
async fn what_only_the_owner_may_do_is_asked_of_it() {
    let nodes = two().await;
    let steps = nodes.create(0, json!([
        {"action": "nobody"}, {"action": "nobody"}, {"action": "nobody"}, {"action": "nobody"}, {"action": "nobody"},
        {"action": "nobody"}, {"action": "nobody"}, {"action": "nobody"}, {"action": "nobody"}, {"action": "nobody"}
    ])).await;
    for step in &steps {
        // Every second of them is decided by the other node.
        nodes.create(1, json!([{"action": "nobody", "parent_step_id": step}])).await;
        assert_eq!(nodes.operate(1, *step, Some(engine::Verb::Cancel)).await, Ok(State::Cancelled));
        assert_eq!(nodes.state(*step), State::Cancelled);
        let again = nodes.operate(1, *step, Some(engine::Verb::Cancel)).await.unwrap_err();
        assert!(again.contains("the step was cancelled, and that is an end"), "{again}");
    }
    nodes.until("children follow", |n| n.steps().iter().all(|(_, s)| *s == State::Cancelled)).await;
    assert_eq!(nodes.steps().len(), 20);
}

#[tokio::test]
async fn a_running_step_of_another_node_is_taken_from_its_worker() {
    let nodes = two().await;
    nodes.work(1).await;
    let steps = nodes.create(0, json!([
        {"action": "hold"}, {"action": "hold"}, {"action": "hold"}, {"action": "hold"}, {"action": "hold"},
        {"action": "hold"}, {"action": "hold"}, {"action": "hold"}, {"action": "hold"}, {"action": "hold"}
    ])).await;
    nodes.until("all run", |n| n.steps().iter().all(|(_, s)| *s == State::Running)).await;
    for step in &steps {
        assert_eq!(nodes.operate(0, *step, Some(engine::Verb::Stop)).await, Ok(State::Stopped));
    }
    // The worker has room again: it was told.
    let more = json!((0..20).map(|_| json!({"action": "hold"})).collect::<Vec<_>>());
    nodes.create(0, more).await;
    let running = |n: &Nodes| n.steps().iter().filter(|(_, s)| *s == State::Running).count();
    nodes.until("all twenty places are used", |n| running(n) == 20).await;
}

#[tokio::test]
async fn a_worker_outlives_the_owner_of_what_it_runs() {
    let mut nodes = two().await;
    nodes.work(1).await;
    nodes
        .create(0, json!([{"action": "hold"}, {"action": "hold"}, {"action": "hold"}, {"action": "hold"}]))
        .await;
    nodes.until("all run", |n| n.steps().iter().all(|(_, s)| *s == State::Running)).await;
    nodes.stop(0).await;
    nodes.until("the other has all groups", |n| n.spread() == [10]).await;
    assert!(nodes.steps().iter().all(|(_, s)| *s == State::Running), "{:?}", nodes.steps());
    let lost: u32 =
        nodes.browse().steps(&Default::default()).unwrap().iter().map(|r| r.step.lost_attempts).sum();
    assert_eq!(lost, 0, "nothing was lost with the owner");
}

#[tokio::test]
async fn nodes_that_cannot_wake_each_other_look() {
    let deaf = |host| Config { listen: store::Listen::Off, ..Nodes::config(host) };
    let nodes = Nodes::start(vec![deaf("one"), deaf("two")]).await;
    nodes.until("each has half of the groups", |n| n.spread() == [5, 5]).await;
    nodes.work(0).await;
    nodes.create(1, json!((0..10).map(|_| json!({"action": "ok"})).collect::<Vec<_>>())).await;
    nodes.until("all ended", all_completed).await;
}

/// Rows by the hundred are copied, fewer go as arrays; nobody can tell which it was.
#[tokio::test]
async fn many_steps_at_once_are_the_same_as_a_few_at_a_time() {
    let stage = stage().await;
    let steps: Vec<serde_json::Value> = (0..600)
        .map(|n| match n % 4 {
            0 => json!({"action": "hold"}),
            1 => json!({"action": "ok", "label": format!("naïve, \\N\t\"{n}\"\n"), "arguments": {"n": [n, null, "\\."]}}),
            2 => json!({"action": "ok", "priority": "high", "delay_ms": 1000 * n, "max_attempts": 9, "retry_delay_ms": 7,
                        "retry_factor": 1.5, "retry_max_delay_ms": 70, "dispatch_group": "gamma"}),
            _ => json!({"action": "ok", "step_key": format!("key {n}"), "relatable_type": "", "relatable_id": "7",
                        "queue": "nowhere"}),
        })
        .collect();
    let at_once = stage.create(json!(steps)).await;
    let mut by_few = Vec::new();
    for few in steps.chunks(50) {
        by_few.extend(stage.create(json!(few)).await);
    }
    assert_eq!(at_once.len(), by_few.len());
    let browse = stage.browse();
    let read = |id| browse.step(id).expect("a read").expect("the step exists");
    for (one, other) in at_once.into_iter().zip(by_few) {
        let (one, other) = (read(one), read(other));
        // Groups go round.
        let dispatch_group = one.step.dispatch_group.clone();
        assert_eq!(
            (model::Step { id: one.step.id, dispatch_group, ..other.step }, other.detail),
            (one.step, one.detail)
        );
    }
}

/// Sessions of two nodes, without a worker behind them: what they were handed and have not ended.
struct Hands {
    sessions: Vec<(Engine, engine::SessionHandle)>,
    held: Vec<(usize, model::Claim)>,
}

impl Hands {
    async fn join(nodes: &Nodes) -> Hands {
        let mut sessions = Vec::new();
        for n in 0..2 {
            let offer = model::SessionOffer {
                host: format!("hands-{n}").into(),
                queues: vec!["default".into()],
                actions: vec!["hold".into()],
                capacity: 100,
                remote: false,
            };
            sessions.push((nodes.engine(n).clone(), nodes.engine(n).join(offer).await.expect("a session")));
        }
        Hands { sessions, held: Vec::new() }
    }
    fn look(&mut self) -> usize {
        for (n, (_, session)) in self.sessions.iter_mut().enumerate() {
            while let Ok(handed) = session.work.try_recv() {
                self.held.extend(handed.claims.into_iter().map(|claim| (n, claim)));
            }
        }
        self.held.len()
    }
    async fn end_one(&mut self) {
        let (n, claim) = self.held.remove(0);
        let (engine, session) = &self.sessions[n];
        let outcome = Outcome::Complete { response: None };
        let (step, attempt, session) = (claim.step, claim.attempt, session.id);
        engine
            .report(vec![model::Report { session, step, attempt, outcome, log: Vec::new(), delivery: None }])
            .await
            .expect("it is taken");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_share_a_pool_and_none_starves() {
    let nodes = Nodes::start(vec![Nodes::config("one"), Nodes::config("two")]).await;
    nodes.until("the groups are spread", |n| n.spread() == [5, 5]).await;
    let pool = model::Pool { concurrency: Some(3), ..model::Pool::new("card") };
    nodes.engine(0).put_pool(pool, "test".into()).await.unwrap();
    let mut hands = Hands::join(&nodes).await;
    // Made on the node that did not make the pool.
    nodes.create(1, (0..60).map(|_| json!({"action": "hold", "pool": "card"})).collect()).await;
    let mut owners = std::collections::BTreeMap::new();
    for left in (1..=60_usize).rev() {
        until("as many run as may", || {
            let n = hands.look();
            async move { (n == left.min(3)).then_some(()) }
        })
        .await;
        assert_eq!(hands.look(), left.min(3), "with {left} left");
        let used = nodes.browse().pools().unwrap()[0].used;
        assert!(used <= 3, "{used} slots are taken");
        let group = hands.held[0].1.step;
        let group = nodes.browse().step(group).unwrap().unwrap().step.dispatch_group;
        let owner =
            nodes.browse().groups().unwrap().into_iter().find(|g| g.dispatch_group == group).unwrap().owner;
        *owners.entry(owner).or_insert(0) += 1;
        hands.end_one().await;
        if left == 31 {
            assert!(owners.len() == 2 && owners.values().all(|n| *n >= 8), "half is done: {owners:?}");
        }
    }
    nodes.until("the pool is empty", |n| n.browse().pools().unwrap()[0].used == 0).await;
}

#[tokio::test]
async fn slots_of_a_node_that_is_gone_come_back() {
    let mut stage = stage().await;
    let pool = model::Pool { concurrency: Some(2), ..model::Pool::new("card") };
    stage.engine.put_pool(pool, "test".into()).await.unwrap();
    stage.create((0..4).map(|_| json!({"action": "hold", "pool": "card"})).collect()).await;
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(stage.handed().len(), 2);
    // A slot that no step has: of a claim that was never stored.
    let client = beside(&stage).await;
    let stray =
        "insert into stepfast.pool_slots (step_id, pool, dispatch_group, at) values ($1, 'card', 'alpha', 0)";
    client.execute(stray, &[&[7_u8; 16].as_slice()]).await.unwrap();
    assert_eq!(stage.browse().pools().unwrap()[0].used, 3);
    stage.crash().await;
    for _ in 0..3 {
        stage.decide(Mode::FixedPoint).await;
    }
    assert_eq!((stage.handed().len(), stage.browse().pools().unwrap()[0].used), (2, 2));
}

/// A connection of somebody who is no node.
async fn beside(stage: &Stage) -> store::postgres::tokio_postgres::Client {
    let store::Database::Postgres(url) = stage.database() else { panic!("it is on a server") };
    let connecting = store::postgres::tokio_postgres::connect(&url, store::postgres::tokio_postgres::NoTls);
    let (client, connection) = connecting.await.expect("the server lets us in");
    tokio::spawn(connection);
    client
}

/// Found by review: a node that read everything anew started lost steps of a pool again and removed their slots with the same commit.
#[tokio::test]
async fn whoever_reads_everything_anew_keeps_to_the_limit() {
    let mut stage = stage().await;
    let pool = model::Pool { concurrency: Some(2), ..model::Pool::new("card") };
    stage.engine.put_pool(pool, "test".into()).await.unwrap();
    stage.create((0..6).map(|_| json!({"action": "hold", "pool": "card"})).collect()).await;
    stage.decide(Mode::FixedPoint).await;
    let claims = stage.handed();
    assert_eq!(claims.len(), 2);
    let client = beside(&stage).await;
    let lost = [
        "delete from stepfast.pool_slots",
        "insert into stepfast.pool_slots select id, pool, dispatch_group, 0 from stepfast.steps
          where state = 'pending' and id not in (select step_id from stepfast.claimed) limit 2",
    ];
    for (round, text) in lost.into_iter().enumerate() {
        client.execute(text, &[]).await.unwrap();
        // The turn is lost, and everything is read anew.
        client.execute("update stepfast.dispatch_groups set epoch = epoch + 1", &[]).await.unwrap();
        until("it decides again", || {
            let engine = stage.engine.clone();
            async move { engine.create(vec![NewStep::of("ok")]).await.ok() }
        })
        .await;
        stage.decide(Mode::FixedPoint).await;
        assert!(stage.handed().iter().all(|claim| &*claim.action == "ok"), "round {round}");
        stage.decide(Mode::FixedPoint).await;
        assert_eq!(stage.browse().pools().unwrap()[0].used, 2, "round {round}");
    }
    for claim in claims {
        let done = Outcome::Complete { response: None };
        stage.report(stage.session.id, claim.step, claim.attempt, done).await;
    }
    stage.decide(Mode::FixedPoint).await;
    assert_eq!(stage.handed().iter().filter(|claim| &*claim.action == "hold").count(), 2);
}
