//! Lines and blocks whose deciders are different nodes.

mod told;

use engine::{GroupOperation, GroupVerb};
use model::{State, StepId};
use serde_json::{Value, json};
use stepfast_testkit::Nodes;

async fn two() -> Nodes {
    let nodes = Nodes::start(vec![Nodes::config("one"), Nodes::config("two")]).await;
    nodes.until("each has its share", |n| n.spread() == [5, 5]).await;
    nodes
}
fn child(group: usize, action: &str, index: u32) -> Value {
    json!({"action": action, "index": index, "message_group": format!("g{group}"), "mode": "block_on_error"})
}
/// Children of many groups, so that of each tree some are decided by either node.
fn tree(action: &str, at_the_end: &str) -> Value {
    let mut children: Vec<Value> = (0..12).map(|n| child(n, action, 1)).collect();
    children.push(child(3, at_the_end, 2));
    json!({"action": "ok", "children": children})
}
fn count(nodes: &Nodes, state: State) -> usize {
    nodes.steps().iter().filter(|(_, s)| *s == state).count()
}

#[tokio::test]
async fn children_run_in_lines_of_other_nodes_and_their_parent_completes() {
    let nodes = two().await;
    for n in 0..2 {
        nodes.work(n).await;
    }
    let mut parents: Vec<StepId> = Vec::new();
    for n in 0..6 {
        parents.extend(nodes.create(n % 2, json!([tree("ok", "ok"), tree("ok", "ok")])).await);
    }
    nodes.until("all ended", |n| count(n, State::Completed) == 12 * 14).await;
    for parent in parents {
        assert_eq!(nodes.state(parent), State::Completed);
    }
}

/// Found with fan-outs: the turn of such children came before their rows could be read, and nobody looked for them again.
#[tokio::test]
async fn children_that_a_report_brings_stand_in_lines_of_other_nodes() {
    let nodes = two().await;
    for n in 0..2 {
        nodes.work(n).await;
    }
    for n in 0..10 {
        nodes.create(n % 2, json!([{"action": "lined"}])).await;
    }
    nodes.until("all ended", |n| count(n, State::Completed) == 10 * 9).await;
}

#[tokio::test]
async fn children_in_lines_elsewhere_fall_with_their_parent() {
    let nodes = two().await;
    let parents = nodes.create(0, json!([tree("hold", "hold"), tree("hold", "hold")])).await;
    nodes.work(0).await;
    nodes.until("children run", |n| count(n, State::Running) >= 2 + 12).await;
    nodes.operate(1, parents[0], Some(rules::operator::Verb::Cancel)).await.expect("it is cancelled");
    nodes.operate(0, parents[1], Some(rules::operator::Verb::Fail)).await.expect("it is failed");
    nodes
        .until("all fell", |n| {
            n.steps().iter().all(|(_, state)| state.is_terminal()) && pending_signals(n) == 0
        })
        .await;
    assert_eq!((count(&nodes, State::Cancelled), count(&nodes, State::Failed)), (14, 14));
}

fn pending_signals(nodes: &Nodes) -> usize {
    // What nodes tell each other is dealt with when `check` finds every block to be as its steps are.
    let now = store::Clock::now(&store::SystemClock::default());
    nodes.browse().check(now, false, |_, _| {}).expect("check runs").findings.len()
}

#[tokio::test]
async fn a_failure_in_a_line_elsewhere_fails_the_parent_and_is_made_anew() {
    let nodes = two().await;
    for n in 0..2 {
        nodes.work(n).await;
    }
    let mut failed = 0;
    for group in 0..6 {
        let parent = nodes
            .create(group % 2, json!([{"action": "ok", "children": [child(group, "ok", 1), child(group, "fail", 2), child(group, "ok", 3)]}]))
            .await[0];
        nodes.until("it failed", |n| n.state(parent) == State::Failed).await;
        failed += 1;
        assert_eq!(count(&nodes, State::Failed), failed * 2);
        let message_group = format!("g{group}").as_str().into();
        let (by, why) = ("test".to_string(), "test".to_string());
        let ignore =
            GroupOperation { message_group, verb: GroupVerb::Ignore, head: None, by, why, dry_run: false };
        let done = nodes.engine((group + 1) % 2).operate_group(ignore).await.expect("it blocks");
        assert_eq!(done.forgiven.len(), 1);
    }
    nodes.until("all is told", |n| pending_signals(n) == 0).await;
}

#[tokio::test]
async fn a_child_in_a_line_elsewhere_is_retried_with_what_was_cut_off_behind_it() {
    let nodes = two().await;
    for n in 0..2 {
        nodes.work(n).await;
    }
    for group in 0..4 {
        let block = format!("0199c0de-0000-7000-8000-00000000000{group}");
        let step = |action: &str, index: u32| {
            json!({"action": action, "index": index, "block_id": block, "message_group": format!("g{group}"),
                   "mode": "block_on_error", "step_key": format!("{action}{group}")})
        };
        let made = nodes.create(0, json!([step("fail", 1), step("ok", 2)])).await;
        nodes.until("it was cut off", |n| n.state(made[1]) == State::Cancelled).await;
        nodes.operate(1, made[0], None).await.expect("it is retried");
        nodes.until("it was replaced", |n| n.state(made[0]) == State::Superseded).await;
        nodes.until("what it cut off too", |n| n.state(made[1]) == State::Superseded).await;
        nodes.until("all is told", |n| pending_signals(n) == 0).await;
    }
}
