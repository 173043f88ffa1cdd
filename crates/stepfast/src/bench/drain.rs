//! How fast ready steps are claimed, run and recorded.

use super::figures::{Figures, rate};
use super::rig::{Rig, counting, fill};
use anyhow::Result;
use engine::Stopwatch;
use std::time::Duration;

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let (per_s, insert) = once(rig, "drain", n).await?;
    Ok(Figures::new("drain", n, per_s).with("insert_per_s", insert.round()))
}

/// Fill, then drain; steps per second of both.
pub async fn once(rig: &Rig, name: &str, n: usize) -> Result<(f64, f64)> {
    let mut local = rig.open(name)?;
    let mut others = rig.others(name).await?;
    let watch = Stopwatch::start();
    fill(&local, n).await?;
    let insert = rate(n, watch.elapsed());
    let before = completed_before(rig, name)?;
    let (registry, count) = counting();
    count.fetch_add(before, std::sync::atomic::Ordering::Relaxed);
    let watch = Stopwatch::start();
    for one in others.iter_mut().chain([&mut local]) {
        one.run(registry.clone(), rig.concurrency / rig.nodes).await?;
    }
    rig.wait_completed(name, &count, before + n).await?;
    let per_s = rate(n, watch.elapsed());
    for one in others.into_iter().chain([local]) {
        one.stop(Duration::from_secs(5)).await?;
    }
    Ok((per_s, insert))
}

fn completed_before(rig: &Rig, name: &str) -> Result<usize> {
    let totals = rig.database(name)?.browse()?.totals()?;
    let done = totals.tallies.iter().filter(|(k, _)| k.state == model::State::Completed);
    Ok(done.map(|(_, n)| *n as usize).sum())
}
