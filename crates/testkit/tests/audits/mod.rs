//! Nodes that tell at once: one chain, and nobody waits for ever.

use engine::EngineError;
use model::{Breaker, DispatchGroup, Pool};
use stepfast_testkit::Nodes;
use store::AuditFilter;

const NODES: usize = 3;
const EACH: u32 = 30;

/// By turns and around them, all nodes at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_write_one_chain() {
    let configs = (0..NODES).map(|n| Nodes::config(&format!("node-{n}"))).collect();
    let nodes = Nodes::start(configs).await;
    let mut telling = tokio::task::JoinSet::new();
    for n in 0..NODES {
        let (engine, by) = (nodes.engine(n).clone(), format!("operator {n}"));
        let switching = engine.clone();
        let group = DispatchGroup::new(["alpha", "beta", "gamma"][n]);
        telling.spawn(async move {
            for i in 0..EACH {
                let breaker = Breaker { off: i % 2 == 0, ..Breaker::default() };
                // A node that lost against another's commit looks again, and is asked again.
                while let Err(EngineError::Unavailable(_)) =
                    switching.set_breaker(Some(group.clone()), breaker.clone(), &by).await
                {
                    tokio::task::yield_now().await;
                }
            }
        });
        telling.spawn(async move {
            for i in 0..EACH {
                let pool = Pool { concurrency: Some(i), ..Pool::new(&format!("pool-{n}")) };
                engine.put_pool(pool, "somebody".into()).await.expect("it is stored");
            }
        });
    }
    telling.join_all().await;
    let all = AuditFilter { limit: 1_000, ..AuditFilter::default() };
    let (rows, _) = nodes.browse().audit_page(&all).expect("a read");
    let wanted = NODES as i64 * 2 * i64::from(EACH);
    assert!(rows.len() as i64 >= wanted, "{} of {wanted}", rows.len());
    // Which of two nodes is linked first says nothing about which decided first.
    let last = rows.iter().map(|(id, _, _)| *id).max();
    assert_eq!(last, Some(rows.len() as i64), "numbers without a gap");
}
