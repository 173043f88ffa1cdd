//! Several nodes look for what is stuck at once: one alert, and one remedy.

use engine::{DetectOrder, Detection, EngineError, Remedies, Scope};
use model::{Remedy, StuckCall, StuckRule};
use serde_json::{Value, json};
use std::time::Duration;
use stepfast_testkit::Nodes;
use store::{AlertFilter, Filter};

fn rule(like: &str, name: &str) -> StuckRule {
    let all = engine::stuck_rules_over(Vec::new());
    let rule = all.into_iter().find(|rule| rule.name == like).expect("a rule from the start");
    StuckRule { name: name.into(), older_than: Duration::ZERO, ..rule }
}

async fn two() -> Nodes {
    Nodes::start(vec![Nodes::config("one"), Nodes::config("two")]).await
}

const ORDER: DetectOrder = DetectOrder { remedies: Remedies::Apply, scope: Scope::All };

/// Both are heard: one of them waited for the other.
fn both(one: Result<Detection, EngineError>, two: Result<Detection, EngineError>) -> usize {
    let (one, two) = (one.expect("the first look"), two.expect("the second look"));
    one.remedies + two.remedies
}

#[tokio::test]
async fn two_nodes_that_look_at_once_open_one_alert() {
    let nodes = two().await;
    nodes.engine(0).put_stuck_rule(rule("step-waiting", "step-waiting"), "test".into()).await.unwrap();
    for _ in 0..5 {
        nodes.create(0, json!([{"action": "nobody runs this"}])).await;
        let beside = async |n: usize| {
            for _ in 0..20 {
                // A turn that a look would lose is refused to whoever shares it.
                nodes.create(n, json!([{"action": "ok", "delay_ms": 3_600_000}])).await;
            }
        };
        let looks = (nodes.engine(0).detect(ORDER), nodes.engine(1).detect(ORDER));
        let (one, two, (), ()) = tokio::join!(looks.0, looks.1, beside(0), beside(1));
        both(one, two);
    }
    let all = nodes.browse().alerts(&AlertFilter { limit: 100, ..AlertFilter::default() }).unwrap();
    let mut things: Vec<&str> = all.iter().map(|alert| alert.entity_id.as_str()).collect();
    assert_eq!((all.len(), all.iter().filter(|alert| alert.is_open()).count()), (5, 5));
    things.sort_unstable();
    things.dedup();
    assert_eq!(things.len(), 5, "one alert for each step");
}

#[tokio::test]
async fn two_nodes_that_hear_the_same_answer_apply_one_remedy() {
    let nodes = two().await;
    nodes.work(0).await;
    let echo = |arguments: Value| StuckCall { action: "echo".into(), queue: None, arguments };
    let reported = json!([{"entity_type": "payment", "entity_id": 7, "since": "2020-01-01T00:00:00Z"}]);
    let rule = StuckRule {
        entity: None,
        states: Vec::new(),
        detect: Some(echo(reported)),
        detect_every: Some(Duration::from_secs(600)),
        remedy: Remedy::Retry,
        remedy_by: Some(echo(json!({}))),
        ..rule("step-waiting", "payment")
    };
    nodes.engine(0).put_stuck_rule(rule, "test".into()).await.unwrap();
    nodes.engine(0).detect(ORDER).await.unwrap();
    let asked = Filter { relatable_type: Some("stuck_rule".into()), limit: 10, ..Filter::default() };
    nodes
        .until("the action has answered", |nodes| {
            nodes.browse().steps(&asked).unwrap().iter().any(|row| row.step.state == model::State::Completed)
        })
        .await;
    let (one, two) = tokio::join!(nodes.engine(0).detect(ORDER), nodes.engine(1).detect(ORDER));
    assert_eq!(both(one, two), 1);
    assert_eq!(nodes.browse().open_alerts().unwrap(), 1);
    let made = Filter { relatable_type: Some("payment".into()), limit: 10, ..Filter::default() };
    assert_eq!(nodes.browse().steps(&made).unwrap().len(), 1, "one remedy");
    assert_eq!(nodes.browse().alerts(&AlertFilter::open()).unwrap()[0].attempts, 1);
}

#[tokio::test]
async fn two_nodes_together_apply_no_more_remedies_than_an_hour_allows() {
    let config = |host: &str| {
        let mut config = Nodes::config(host);
        config.stuck.policy.per_hour = 3;
        config
    };
    let nodes = Nodes::start(vec![config("one"), config("two")]).await;
    nodes.work(0).await;
    let again =
        StuckRule { states: vec!["failed".into()], remedy: Remedy::Retry, ..rule("step-waiting", "again") };
    nodes.engine(0).put_stuck_rule(again, "test".into()).await.unwrap();
    let mut remedies = 0;
    for n in 1..=6 {
        nodes.create(n % 2, json!([{"action": "fail"}])).await;
        let failed = Filter { states: vec![model::State::Failed], limit: 100, ..Filter::default() };
        nodes.until("it has failed", |nodes| !nodes.browse().steps(&failed).unwrap().is_empty()).await;
        let (one, two) = tokio::join!(nodes.engine(0).detect(ORDER), nodes.engine(1).detect(ORDER));
        remedies += both(one, two);
    }
    assert_eq!(remedies, 3);
}

#[tokio::test]
async fn a_node_waits_while_another_looks_and_not_for_one_that_is_gone() {
    let nodes = two().await;
    let client = nodes.client().await;
    // Nobody knows this node.
    let gone = "update stepfast.stuck_looks set node_id = '\\x00000000000000000000000000000001', ends_at = 9000000000000000";
    client.batch_execute(gone).await.unwrap();
    nodes.engine(0).detect(ORDER).await.unwrap();
    let look = nodes.browse().stuck_look().unwrap();
    assert_eq!(look.node, None, "it is given back");
    let taken = "update stepfast.stuck_looks set ends_at = 9000000000000000, node_id =
                   (select id from stepfast.nodes where host = 'one' and ended_at is null)";
    client.batch_execute(taken).await.unwrap();
    let other = nodes.engine(1).clone();
    let waits = tokio::spawn(async move { other.detect(ORDER).await });
    for _ in 0..50 {
        nodes.create(1, json!([{"action": "ok", "delay_ms": 3_600_000}])).await;
    }
    assert!(!waits.is_finished(), "the other node takes turns, and does not look");
    nodes.engine(0).detect(ORDER).await.unwrap();
    waits.await.unwrap().unwrap();
    let after = nodes.browse().stuck_look().unwrap();
    assert_eq!(after.version - look.version, 4, "each took it and gave it back");
}
