//! One workflow with a fan-out: of a thousand items, and of n.

use super::figures::{Figures, rate};
use super::rig::{Rig, counting};
use super::workflow::store;
use anyhow::{Context, Result, bail};
use engine::{StartWorkflow, Stopwatch};
use model::WorkflowState;
use serde_json::json;
use std::time::Duration;
use stepfast::Gather;
use stepfast::builder::{Definition, Each, Step};

const SMALL: usize = 1_000;

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let small = once(rig, "small", SMALL).await?;
    let large = once(rig, "large", n).await?;
    Ok(Figures::new("fan-out", n, large)
        .with("items_1000_per_s", small.round())
        .with("large_to_small", large / small)
        .with("peak_rss_mb", peak_rss_mb()?))
}

/// Items per second, from the start of the workflow to its end.
async fn once(rig: &Rig, name: &str, n: usize) -> Result<f64> {
    let mut local = rig.open(name)?;
    let each = Each::of("input.n").gather(Gather::Counts);
    let all = Step::action("all", "noop").each(each).arguments(json!({ "item": "${index}" }));
    store(&local, Definition::of("each", "1.0.0").step(all)).await?;
    let (registry, count) = counting();
    local.run(registry, rig.concurrency).await?;
    let watch = Stopwatch::start();
    let started = local.start(StartWorkflow::of("each").with(&json!({ "n": n }))?).await?;
    rig.wait_completed(name, &count, n).await?;
    let (state, _) = local.finished(started.id).await?;
    let per_s = rate(n, watch.elapsed());
    local.stop(Duration::from_secs(5)).await?;
    if state != WorkflowState::Succeeded {
        bail!("workflow {} is {state}", started.id);
    }
    Ok(per_s)
}

/// The most memory this process has had so far.
fn peak_rss_mb() -> Result<f64> {
    let status =
        std::fs::read_to_string("/proc/self/status").context("cannot read how much memory was used")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no line about memory")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib / 1_024.0)
}
