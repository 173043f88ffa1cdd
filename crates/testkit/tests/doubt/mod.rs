//! A node that asked another for work and does not know whether it asked: what is given all the same is run.
//!
//! Why    the answer was thrown away, and its steps ran for ever in a session that had never heard of them.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use engine::{Attending, EngineError, Errand, Sent};
use model::{Outcome, Report, SessionOffer, State};
use serde_json::{Value, json};
use std::time::Duration;
use stepfast_testkit::Nodes;

fn work(n: usize) -> Value {
    (0..n).map(|_| json!({"action": "ok"})).collect()
}

#[tokio::test]
async fn work_that_came_of_a_pull_in_doubt_is_run() {
    let mut nodes = Nodes::start(vec![Nodes::config("one")]).await;
    let doubt = nodes.add_doubtful(Nodes::config("two"));
    nodes.until("each has half of the groups", |n| n.spread() == [5, 5]).await;
    doubt.about(r#"{"pull":"#);
    nodes.work(1).await;
    nodes.create(0, work(20)).await;
    nodes.until("a pull is in doubt", |_| doubt.came()).await;
    nodes.until("all ended", |n| n.steps().iter().all(|(_, state)| *state == State::Completed)).await;
}

#[tokio::test]
async fn a_step_that_began_in_doubt_is_run() {
    let config = |host| engine::Config { published: vec!["ok".into()], ..Nodes::config(host) };
    let mut nodes = Nodes::start(vec![config("one")]).await;
    let (hand, mut published) = tokio::sync::mpsc::unbounded_channel();
    let minute = Duration::from_secs(60);
    let (queue, stale_after) = ("played".into(), 15 * minute);
    let attending = Attending { hand, queue, capacity: 100, durable: true, stale_after, look_every: minute };
    nodes.engine(0).attend(attending).await.unwrap();
    let doubt = nodes.add_doubtful(engine::Config { standby: true, ..config("two") });
    nodes.create(0, work(1)).await;
    let errand = tokio::time::timeout(minute, published.recv()).await.unwrap().unwrap();
    let Errand::Publish(outgoing) = errand else { panic!("{errand:?}") };
    let engine = nodes.engine(1);
    let offer =
        SessionOffer { host: "asks".into(), queues: vec![], actions: vec![], capacity: 0, remote: false };
    let mut session = engine.join(offer).await.unwrap();
    doubt.about(r#"{"begin":"#);
    let sent = Sent { session: session.id, step: outgoing.step, attempt: outgoing.attempt };
    let answer = engine.begin(sent).await;
    assert!(matches!(answer, Err(EngineError::Unavailable(_))), "{answer:?}");
    let given = tokio::time::timeout(minute, session.work.recv()).await.unwrap().unwrap().claims;
    assert_eq!((given.len(), given[0].step), (1, outgoing.step));
    let (outcome, step, attempt) = (Outcome::Complete { response: None }, outgoing.step, outgoing.attempt);
    let report = Report { session: session.id, step, attempt, outcome, log: Vec::new(), delivery: None };
    engine.report(vec![report]).await.unwrap();
    nodes.until("it ended", |n| n.state(outgoing.step) == State::Completed).await;
}
