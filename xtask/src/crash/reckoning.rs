//! The end of a round: every step and every workflow is awaited, and what the harness knows is held against what the database says.

use super::database::Database;
use super::verdict::Evidence;
use super::workflows::Course;
use super::{acks, crowd, diary, effects};
use crate::stopwatch::Stopwatch;
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SETTLE_LIMIT: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
/// Names shown of what is not at an end.
const SHOWN: usize = 5;

/// Wait until every step and every workflow is at an end.
pub async fn settle(database: &Database) -> Result<()> {
    let watch = Stopwatch::start();
    loop {
        let (steps, workflows) = (database.live().await?, database.live_workflows().await?);
        if steps.is_empty() && workflows.is_empty() {
            return Ok(());
        }
        if watch.elapsed() > SETTLE_LIMIT {
            let steps = steps.iter().map(|row| format!("step {} ({})", row.id, row.state));
            let workflows = workflows.iter().map(|row| format!("workflow {} ({})", row.id, row.state));
            let live: Vec<String> = workflows.chain(steps).collect();
            let some = live[..live.len().min(SHOWN)].join(", ");
            bail!("{} are not at an end after {} s: {some}", live.len(), SETTLE_LIMIT.as_secs());
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

/// Everything that must hold once all servers have stopped.
pub async fn require(directory: &Path, logs: &[PathBuf], database: &Database) -> Result<Evidence> {
    let evidence = Evidence {
        acknowledged: acks::read(&crowd::logs(directory))?,
        effects: effects::read(logs)?,
        rows: database.steps().await?,
    };
    evidence.require()?;
    let workflows = database.workflows().await?;
    Course::new(&evidence, &workflows).require(&diary::read(directory)?)?;
    database.check().await?;
    Ok(evidence)
}
