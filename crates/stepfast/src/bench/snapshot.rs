//! Whether a session that keeps the database from being cleaned up slows the engine down.

use super::figures::Figures;
use super::rig::Rig;
use super::{drain, latency};
use anyhow::Result;
use engine::Stopwatch;
use std::time::Duration;

/// Samples of each measurement of latency.
const SAMPLES: usize = 2_000;

pub async fn run(rig: &Rig, n: usize, minutes: u64) -> Result<Figures> {
    let (first, _) = drain::once(rig, "snapshot", n).await?;
    let before = latency::on(rig, "snapshot", SAMPLES).await?;
    let held = rig.hold_snapshot("snapshot")?;
    let span = Duration::from_secs(60 * minutes);
    let watch = Stopwatch::start();
    let (mut last, mut drained) = (0.0, 0);
    while watch.elapsed() < span {
        (last, _) = drain::once(rig, "snapshot", n).await?;
        drained += n;
        eprintln!("{} s: drained {last:.0} a second", watch.elapsed().as_secs());
    }
    let after = latency::on(rig, "snapshot", SAMPLES).await?;
    drop(held);
    let p99 = |figures: &Figures| figures.more["call_to_start_p99_us"];
    Ok(Figures { ratio: Some(last / first), ..Figures::new("snapshot", drained, last) }
        .with("first_per_s", first.round())
        .with("p99_before_us", p99(&before))
        .with("p99_after_us", p99(&after))
        .with("p99_ratio", p99(&after) / p99(&before)))
}
