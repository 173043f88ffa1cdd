//! Whether history or a deep backlog costs anything.

use super::figures::Figures;
use super::rig::Rig;
use super::{drain, enqueue};
use anyhow::Result;

/// A backlog this many times `n`, drained whole.
const DEEP: usize = 10;

pub async fn run(rig: &Rig, n: usize, closed: usize) -> Result<Figures> {
    let (empty, empty_insert) = drain::once(rig, "empty", n).await?;
    eprintln!("closing {closed} steps first");
    drain::once(rig, "full", closed).await?;
    let (full, full_insert) = drain::once(rig, "full", n).await?;
    eprintln!("draining a backlog of {}", n * DEEP);
    let (deep, _) = drain::once(rig, "deep", n * DEEP).await?;
    let single = enqueue::run(rig, n.min(20_000)).await?.steps_per_s;
    let three = |x: f64| (x * 1000.0).round() / 1000.0;
    Ok(Figures { ratio: Some(three(full / empty)), ..Figures::new("growth", n, full) }
        .with("empty_per_s", empty.round())
        .with("insert_ratio", full_insert / empty_insert)
        .with("backlog_per_s", deep.round())
        .with("backlog_ratio", deep / empty)
        .with("enqueue_per_s", single))
}
