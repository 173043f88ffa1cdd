//! Nodes that wake each other count how often they were woken.

use engine::Config;
use rules::operator::Verb;
use serde_json::json;
use stepfast_testkit::Nodes;

fn woken(nodes: &Nodes, n: usize) -> f64 {
    let collectors = nodes.engine(n).meters().collectors();
    let mut families = collectors.iter().flat_map(|one| one.collect());
    let found = families.find(|family| family.name() == "stepfast_wakeups_total").expect("it is counted");
    found.get_metric()[0].get_counter().get_value()
}

#[tokio::test]
async fn who_is_asked_by_another_node_is_woken_and_counts_it() {
    let nodes = Nodes::start(vec![Nodes::config("one"), Nodes::config("two")]).await;
    nodes.until("each has half of the groups", |nodes| nodes.spread() == [5, 5]).await;
    nodes.until("both listen", |nodes| woken(nodes, 0) >= 1.0 && woken(nodes, 1) >= 1.0).await;
    let before = woken(&nodes, 1);
    for group in Config::default().groups {
        let step = nodes.create(0, json!([{"action": "nobody", "dispatch_group": group}])).await[0];
        nodes.operate(0, step, Some(Verb::Cancel)).await.expect("its owner cancels it");
    }
    nodes.until("its owner was woken", |nodes| woken(nodes, 1) > before).await;
}

#[tokio::test]
async fn who_does_not_listen_is_never_woken() {
    let deaf = Config { listen: store::Listen::Off, ..Nodes::config("deaf") };
    let nodes = Nodes::start(vec![Nodes::config("one"), deaf]).await;
    nodes.until("each has half of the groups", |nodes| nodes.spread() == [5, 5]).await;
    nodes.until("the other listens", |nodes| woken(nodes, 0) >= 1.0).await;
    assert_eq!(woken(&nodes, 1), 0.0);
}
