//! How long the dispatch groups of a node that is gone are nobody's.

use crate::crash::database::{Database, NodeRow};
use crate::stopwatch::Stopwatch;
use anyhow::{Result, ensure};
use std::time::Duration;

/// The lease of a group, and two seconds to notice that it is over.
pub const LIMIT: Duration = Duration::from_secs(15 + 2);
const GROUPS: usize = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Wait until every group is owned by one of these nodes, and say when that was seen.
pub async fn measure(database: &Database, living: &[String], watch: Stopwatch) -> Result<Duration> {
    loop {
        // When the question is asked counts, not when its answer is read.
        let asked = watch.elapsed();
        let nodes = database.nodes().await?;
        let owned = owned(&nodes, living);
        if owned == GROUPS {
            return Ok(asked);
        }
        ensure!(
            asked <= LIMIT,
            "{} of {GROUPS} dispatch groups have no living owner after {:.1} s",
            GROUPS - owned,
            asked.as_secs_f64()
        );
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

fn owned(nodes: &[NodeRow], living: &[String]) -> usize {
    let lives = |node: &&NodeRow| node.url.as_ref().is_some_and(|url| living.contains(url));
    nodes.iter().filter(lives).map(|node| node.dispatch_groups.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_the_dead_are_not_counted() {
        let node = |url: &str, groups: usize| NodeRow {
            url: Some(url.into()),
            dispatch_groups: vec!["alpha".into(); groups],
        };
        let nodes = [node("a", 3), node("b", 4), node("c", 3)];
        assert_eq!(owned(&nodes, &["a".into(), "c".into()]), 6);
    }
}
