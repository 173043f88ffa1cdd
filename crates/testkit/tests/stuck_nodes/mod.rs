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

/// One is heard. The other is heard too, or told to ask again where both decided in the same moment: its turn was not stored.
fn told_apart(one: Result<Detection, EngineError>, two: Result<Detection, EngineError>) {
    let lost = |told: &Result<Detection, EngineError>| matches!(told, Err(EngineError::Unavailable(_)));
    let fits = one.is_ok() && (two.is_ok() || lost(&two)) || two.is_ok() && lost(&one);
    assert!(fits, "{one:?} {two:?}");
}

#[tokio::test]
async fn two_nodes_that_look_at_once_open_one_alert() {
    let nodes = two().await;
    nodes.engine(0).put_stuck_rule(rule("step-waiting", "step-waiting"), "test".into()).await.unwrap();
    for _ in 0..5 {
        nodes.create(0, json!([{"action": "nobody runs this"}])).await;
        let (one, two) = tokio::join!(nodes.engine(0).detect(ORDER), nodes.engine(1).detect(ORDER));
        told_apart(one, two);
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
    told_apart(one, two);
    assert_eq!(nodes.browse().open_alerts().unwrap(), 1);
    let made = Filter { relatable_type: Some("payment".into()), limit: 10, ..Filter::default() };
    assert_eq!(nodes.browse().steps(&made).unwrap().len(), 1, "one remedy");
    assert_eq!(nodes.browse().alerts(&AlertFilter::open()).unwrap()[0].attempts, 1);
}
