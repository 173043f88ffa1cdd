//! The end of a round: every step is awaited, and what the harness knows is held against what the database says.

use super::database::Database;
use super::verdict::Evidence;
use super::{acks, crowd, effects};
use crate::stopwatch::Stopwatch;
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SETTLE_LIMIT: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// Wait until every step is at an end.
pub async fn settle(database: &Database) -> Result<()> {
    let watch = Stopwatch::start();
    loop {
        let live = database.live().await?;
        if live.is_empty() {
            return Ok(());
        }
        if watch.elapsed() > SETTLE_LIMIT {
            let some: Vec<_> = live.iter().take(5).map(|row| format!("{} ({})", row.id, row.state)).collect();
            let seconds = SETTLE_LIMIT.as_secs();
            bail!("{} steps are not at an end after {seconds} s: {}", live.len(), some.join(", "));
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
    database.check().await?;
    Ok(evidence)
}
