//! Workflows where several nodes share the dispatch groups.

use engine::{StartWorkflow, WorkflowOperation, WorkflowVerb};
use model::{SessionOffer, State, WorkflowId, WorkflowState as W};
use serde_json::json;
use stepfast_testkit::{Nodes, stored};
use store::WorkflowFilter;

async fn two() -> Nodes {
    let nodes = Nodes::start(vec![Nodes::config("one"), Nodes::config("two")]).await;
    nodes.until("each has its share", |n| n.spread() == [5, 5]).await;
    nodes
}

async fn define(nodes: &Nodes, yaml: &str) {
    nodes.engine(0).apply_definition(stored(yaml), "test".into()).await.expect("it is stored");
}

async fn start(nodes: &Nodes, n: usize, workflow: &str, input: serde_json::Value) -> WorkflowId {
    let start = StartWorkflow::of(workflow).with(&input).expect("plain data");
    nodes.engine(n).start_workflow(start).await.expect("it starts").id
}

fn states(nodes: &Nodes) -> Vec<W> {
    let filter = WorkflowFilter { limit: 1_000, nested: true, ..WorkflowFilter::default() };
    nodes.browse().workflows(&filter).expect("a read").iter().map(|w| w.state).collect()
}

fn all(state: W, n: usize) -> impl Fn(&Nodes) -> bool {
    move |nodes| states(nodes).iter().filter(|s| **s == state).count() == n
}

async fn operate(nodes: &Nodes, n: usize, workflow: WorkflowId, verb: WorkflowVerb) -> Result<(), String> {
    let (by, why) = ("test".into(), "test".into());
    let operation =
        WorkflowOperation { workflow, verb, by, why, dry_run: false, expected: None, force: None };
    nodes.engine(n).operate_workflow(operation).await.map(drop).map_err(|e| e.to_string())
}

const ORDER: &str = "
workflow: order
version: 1.0.0
steps:
  - { key: check, action: echo, arguments: { n: \"${input.n}\" } }
  - { key: reserve, action: echo, each: \"input.items\", message_group: \"'sku-' + string(item)\", mode: block_on_error }
  - { key: charge, action: echo, arguments: \"${outputs.check.n}\", message_group: \"'customer-' + string(input.n)\", mode: next_on_error }
  - { key: end, action: echo, arguments: { charged: \"${outputs.charge}\", items: \"${outputs.reserve}\" } }
";

#[tokio::test]
async fn any_node_starts_any_workflow_and_its_lines_may_be_anywhere() {
    let nodes = two().await;
    define(&nodes, ORDER).await;
    for n in 0..2 {
        nodes.work(n).await;
    }
    let mut ids = Vec::new();
    for n in 0..20 {
        ids.push((n, start(&nodes, n % 2, "order", json!({"n": n, "items": [1, 2, 3, n]})).await));
    }
    nodes.until("all succeeded", all(W::Succeeded, 20)).await;
    for (n, id) in ids {
        let output = nodes.browse().workflow(id).expect("a read").and_then(|w| w.output).expect("an answer");
        let output: serde_json::Value = serde_json::from_str(&output).expect("JSON");
        assert_eq!(output, json!({"charged": n, "items": [1, 2, 3, n]}));
    }
}

#[tokio::test]
async fn any_node_is_told_to_pause_resume_and_cancel() {
    let nodes = two().await;
    define(&nodes, "workflow: hold\nversion: 1.0.0\nsteps:\n  - { key: a, action: hold }\n").await;
    nodes.work(0).await;
    let mut ids = Vec::new();
    for n in 0..10 {
        ids.push(start(&nodes, n % 2, "hold", json!({})).await);
    }
    nodes.until("all run", |n| n.steps().iter().filter(|(_, s)| *s == State::Running).count() == 10).await;
    for (n, id) in ids.iter().enumerate() {
        operate(&nodes, n % 2, *id, WorkflowVerb::Pause).await.expect("it is paused");
    }
    assert!(all(W::Paused, 10)(&nodes));
    for (n, id) in ids.iter().enumerate() {
        operate(&nodes, (n + 1) % 2, *id, WorkflowVerb::Resume).await.expect("it goes on");
    }
    let refused = operate(&nodes, 1, ids[0], WorkflowVerb::Resume).await.expect_err("it goes on already");
    assert!(refused.contains("it is running"), "{refused}");
    for id in &ids {
        operate(&nodes, 1, *id, WorkflowVerb::Cancel).await.expect("it is cancelled");
    }
    assert!(all(W::Cancelled, 10)(&nodes));
    nodes.until("their steps fell", |n| n.steps().iter().all(|(_, s)| *s == State::Cancelled)).await;
}

#[tokio::test]
async fn what_a_node_leaves_behind_another_goes_on_with() {
    let mut nodes = two().await;
    define(&nodes, ORDER).await;
    define(
        &nodes,
        "workflow: rest\nversion: 1.0.0\nsteps:\n  - { key: a, wait: 3s }\n  - { key: b, action: ok }\n",
    )
    .await;
    for n in 0..20 {
        start(&nodes, n % 2, "order", json!({"n": n, "items": [1, 2]})).await;
        start(&nodes, n % 2, "rest", json!({})).await;
    }
    nodes.stop(1).await;
    nodes.until("one has all", |n| n.spread() == [10]).await;
    nodes.work(0).await;
    nodes.until("all succeeded", all(W::Succeeded, 40)).await;
}

#[tokio::test]
async fn of_one_key_only_so_many_are_done_at_once_wherever_they_are_started() {
    let nodes = two().await;
    let yaml = "
workflow: keyed
version: 1.0.0
concurrency: { key: \"input.customer\", limit: 1 }
steps:
  - { key: a, action: hold }
";
    define(&nodes, yaml).await;
    for n in 0..9 {
        start(&nodes, n % 2, "keyed", json!({"customer": format!("c{}", n % 3)})).await;
    }
    nodes.until("one of each runs", all(W::Running, 3)).await;
    nodes.work(0).await;
    for left in (0..3).rev() {
        let filter = WorkflowFilter { states: vec![W::Running], limit: 10, ..WorkflowFilter::default() };
        for workflow in nodes.browse().workflows(&filter).expect("a read") {
            operate(&nodes, left % 2, workflow.id, WorkflowVerb::Cancel).await.expect("it is cancelled");
        }
        nodes.until("the next ones run", all(W::Running, left.min(1) * 3)).await;
        assert!(states(&nodes).iter().filter(|s| **s == W::Running).count() <= 3);
    }
}

#[tokio::test]
async fn any_node_takes_a_trigger_and_the_owner_applies_it() {
    let nodes = two().await;
    let yaml = "
workflow: ask
version: 1.0.0
steps:
  - { key: ask, action: ok, pause_after: { trigger: boss, auth: token } }
  - { key: end, action: echo, arguments: \"${outputs.boss}\" }
";
    define(&nodes, yaml).await;
    for n in 0..2 {
        nodes.work(n).await;
    }
    let mut ids = Vec::new();
    for n in 0..10 {
        ids.push(start(&nodes, n % 2, "ask", json!({})).await);
    }
    // Some are sent before their pauses begin.
    for (n, id) in ids.iter().enumerate() {
        let order = engine::TriggerOrder::of(*id, "boss", n.to_string(), "test");
        let answer = nodes.engine((n + 1) % 2).trigger(order.clone()).await.expect("it is looked at").answer;
        assert!(matches!(answer, model::TriggerAnswer::Early | model::TriggerAnswer::Accepted), "{answer:?}");
        let again = nodes.engine(n % 2).trigger(order).await.expect("it is looked at").answer;
        assert!(!matches!(again, model::TriggerAnswer::Late(_)), "{again:?}");
    }
    nodes.until("all succeeded", all(W::Succeeded, 10)).await;
    for (n, id) in ids.iter().enumerate() {
        let output = nodes.browse().workflow(*id).expect("a read").and_then(|w| w.output);
        assert_eq!(output.as_deref(), Some(n.to_string().as_str()));
    }
    let order = engine::TokenOrder { workflow: ids[0], trigger: "boss".into(), by: "test".into() };
    for n in 0..2 {
        let refused =
            nodes.engine(n).pause_token(order.clone()).await.expect_err("it waits no more").to_string();
        assert!(refused.contains("it does not wait now"), "{refused}");
    }
}

#[tokio::test]
async fn a_pause_outlives_the_node_that_began_it() {
    let mut nodes = two().await;
    let yaml = "
workflow: ask
version: 1.0.0
steps:
  - { key: ask, action: ok, pause_after: { trigger: boss } }
  - { key: nap, action: ok, pause_after: { resume_after: 2s } }
  - { key: end, action: echo, arguments: \"${outputs.boss}\" }
";
    define(&nodes, yaml).await;
    nodes.work(1).await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(start(&nodes, 0, "ask", json!({})).await);
    }
    nodes.until("all wait", all(W::Paused, 6)).await;
    nodes.stop(0).await;
    for id in &ids {
        let order = engine::TriggerOrder::of(*id, "boss", "7".into(), "test");
        let answer = nodes.engine(1).trigger(order).await.expect("it is looked at").answer;
        assert_eq!(answer, model::TriggerAnswer::Accepted);
    }
    nodes.until("all succeeded", all(W::Succeeded, 6)).await;
}

const PAYS: &str = "
workflow: pays
version: 1.0.0
secrets: [input.card]
steps:
  - { key: charge, action: echo, arguments: { card: \"${input.card}\" } }
  - { key: line, action: echo, arguments: \"${outputs.charge.card}\", message_group: \"'customer-' + string(input.n)\", mode: next_on_error }
  - { key: end, action: fail, arguments: { card: \"${outputs.line}\" } }
";

/// Work is pulled from another node, and reported back, by rows of the database.
#[tokio::test]
async fn what_is_secret_travels_sealed_between_nodes() {
    let nodes = two().await;
    define(&nodes, PAYS).await;
    nodes.work(1).await;
    for n in 0..12 {
        start(&nodes, n % 2, "pays", json!({"card": "CANARY-4111", "n": n})).await;
        let all = stepfast_testkit::everything(&nodes.database()).await;
        assert!(!stepfast_testkit::holds(&all, "CANARY-4111"));
    }
    nodes.until("all failed", all(W::Failed, 12)).await;
    let everything = stepfast_testkit::everything(&nodes.database()).await;
    assert!(stepfast_testkit::holds(&everything, model::SEALED));
    assert!(!stepfast_testkit::holds(&everything, "CANARY-4111"));
}

/// Ids of the events that are to be delivered, by workflow.
fn deliveries(nodes: &Nodes, workflow: WorkflowId) -> Vec<String> {
    let filter = store::Filter { action: Some("deliver".into()), limit: 1_000, ..store::Filter::default() };
    let rows = nodes.browse().steps(&filter).expect("a read");
    let arguments = rows.iter().map(|row| serde_json::from_str(&row.step.arguments).expect("JSON"));
    let source = format!("/v1/workflows/{workflow}");
    let of = arguments.filter(|a: &serde_json::Value| a["body"]["source"] == source.as_str());
    of.map(|a| a["id"].as_str().expect("an id").to_string()).collect()
}

#[tokio::test]
async fn each_event_is_delivered_by_one_step_whoever_decides_about_its_workflow() {
    let nodes = two().await;
    define(&nodes, ORDER).await;
    nodes.work(0).await;
    nodes.work(1).await;
    let asked = model::NewSubscription {
        name: "all".into(),
        url: "https://example.com/hooks".into(),
        types: vec!["workflow.*".into()],
        active: true,
        ..model::NewSubscription::default()
    };
    nodes.engine(0).add_subscription(asked, None, "test".into()).await.expect("it is made");
    let (mut told, mut started) = (0, 0);
    // The other node learns of it within a second.
    while told < 10 {
        started += 1;
        assert!(started < 500, "the other node never learns of it");
        let id = start(&nodes, started % 2, "order", json!({"n": started, "items": [1]})).await;
        nodes
            .until("it succeeded", |n| {
                n.browse().workflow(id).expect("a read").expect("it is there").state == W::Succeeded
            })
            .await;
        told = if deliveries(&nodes, id).len() == 2 { told + 1 } else { 0 };
    }
    let mut ids = Vec::new();
    for n in 0..20 {
        ids.push(start(&nodes, n % 2, "order", json!({"n": n, "items": [1]})).await);
    }
    nodes.until("all succeeded", all(W::Succeeded, started + 20)).await;
    let mut all: Vec<String> = ids.iter().flat_map(|id| deliveries(&nodes, *id)).collect();
    assert_eq!(all.len(), 40);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 40, "each event once");
}

/// Each of a backlog's workflows was read for itself, three times, which made a backlog three times as slow.
#[tokio::test]
async fn workflows_that_a_node_takes_over_are_read_together() {
    const N: usize = 120;
    let mut nodes = Nodes::start(vec![Nodes::config("one")]).await;
    let steps =
        "[{ key: a, action: echo, arguments: 1 }, { key: b, action: echo, arguments: \"${outputs.a}\" }]";
    define(&nodes, &format!("workflow: two\nversion: 1.0.0\nsteps: {steps}\n")).await;
    for _ in 0..N {
        start(&nodes, 0, "two", json!({})).await;
    }
    nodes.stop(0).await;
    let counted = nodes.add_doubtful(Nodes::config("two"));
    nodes.until("it has all groups", |n| n.spread() == [10]).await;
    let offer = SessionOffer {
        host: "hands".into(),
        queues: vec!["default".into()],
        actions: vec!["echo".into()],
        capacity: N,
        remote: false,
    };
    counted.reads();
    let mut session = nodes.engine(1).join(offer).await.expect("a session");
    let mut given = 0;
    while given < N {
        given += session.work.recv().await.expect("work").claims.len();
    }
    let reads = counted.reads();
    assert!(reads < N / 2, "{reads} reads for {N} workflows");
}
