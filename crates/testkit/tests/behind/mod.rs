//! A database that goes back in time under a node that runs: the node stops, and says why.

use engine::EngineError;
use model::NewStep;
use stepfast_testkit::Nodes;

/// As after the promotion of a standby that had not received the last commits.
#[tokio::test]
async fn a_node_whose_database_goes_back_in_time_hands_out_nothing_more() {
    let nodes = Nodes::start(vec![Nodes::config("node")]).await;
    let client = nodes.client().await;
    client.batch_execute("set search_path = stepfast").await.expect("a schema");
    nodes.create(0, serde_json::json!([{"action": "ok"}])).await;
    client.batch_execute("create temp table before as select * from commit_stamps").await.expect("stamps");
    nodes.create(0, serde_json::json!([{"action": "ok"}])).await;
    assert!(nodes.engine(0).is_healthy());
    // What the node promised is not there any more, and its connections end.
    let back = "begin; delete from commit_stamps; insert into commit_stamps select * from before;
        select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid();
        commit";
    client.batch_execute(back).await.expect("it goes back");
    nodes.until("the node is not ready", |nodes| !nodes.engine(0).is_healthy()).await;
    let before = nodes.steps().len();
    for _ in 0..3 {
        let refused = nodes.engine(0).create(vec![NewStep::of("ok")]).await.expect_err("it writes nothing");
        assert!(matches!(refused, EngineError::Unavailable(_)), "{refused:?}");
    }
    assert_eq!(nodes.steps().len(), before);
}
