//! Whether a session that keeps the database from being cleaned up slows the engine down.

use super::figures::{Figures, rate};
use super::latency;
use super::rig::{Rig, counting, fill};
use crate::Local;
use anyhow::Result;
use engine::Stopwatch;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Samples of each measurement of latency.
const SAMPLES: usize = 2_000;
const NAME: &str = "snapshot";

pub async fn run(rig: &Rig, n: usize, minutes: u64) -> Result<Figures> {
    let before = latency::on(rig, NAME, SAMPLES).await?;
    let mut local = rig.open(NAME)?;
    let (registry, count) = counting();
    local.run(registry, rig.concurrency).await?;
    let first = middle([
        round(&local, &count, n).await?,
        round(&local, &count, n).await?,
        round(&local, &count, n).await?,
    ]);
    let held = rig.hold_snapshot(NAME)?;
    let (span, watch) = (Duration::from_secs(60 * minutes), Stopwatch::start());
    let (mut last, mut ran) = ([first; 3], 0);
    while watch.elapsed() < span {
        last = [last[1], last[2], round(&local, &count, n).await?];
        ran += n;
        eprintln!("{} s: ran {:.0} a second", watch.elapsed().as_secs(), last[2]);
    }
    local.stop(Duration::from_secs(5)).await?;
    let after = latency::on(rig, NAME, SAMPLES).await?;
    drop(held);
    let last = middle(last);
    let p99 = |figures: &Figures| figures.more["call_to_start_p99_us"];
    Ok(Figures {
        ratio: Some((last / first * 1000.0).round() / 1000.0),
        ..Figures::new("snapshot", ran, last)
    }
    .with("first_per_s", first.round())
    .with("p99_before_us", p99(&before))
    .with("p99_after_us", p99(&after))
    .with("p99_ratio", p99(&after) / p99(&before)))
}

/// Create this many while they are run, and wait until all have; steps per second.
async fn round(local: &Local, count: &Arc<AtomicUsize>, n: usize) -> Result<f64> {
    let (before, watch) = (count.load(Ordering::Relaxed), Stopwatch::start());
    fill(local, n).await?;
    while count.load(Ordering::Relaxed) < before + n {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(rate(n, watch.elapsed()))
}

fn middle(mut rates: [f64; 3]) -> f64 {
    rates.sort_unstable_by(f64::total_cmp);
    rates[1]
}
