//! Workflows of five no-op steps in a row: how many are done in a second, and how long one takes alone on an idle engine.

use super::figures::{Figures, rate};
use super::limit;
use super::rig::{Rig, counting};
use crate::Local;
use anyhow::{Context, Result, bail};
use engine::{StartWorkflow, Stopwatch};
use model::WorkflowState;
use std::time::Duration;
use stepfast::builder::{Definition, Step};

const STEPS: usize = 5;
/// Starts on their way at once.
const CALLS: usize = 64;
/// Runs that are measured alone.
const ALONE: usize = 500;
/// Pause between two of them, so that each meets an idle engine.
const PAUSE: Duration = Duration::from_millis(3);

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let (per_s, start) = many(rig, n).await?;
    let figures = Figures::new("workflow", n, per_s * STEPS as f64)
        .with("workflows_per_s", per_s.round())
        .with("start_per_s", start.round())
        .with_samples(alone(rig, n.min(ALONE)).await?);
    if rig.store() != "sqlite" {
        return Ok(figures);
    }
    let (commit, _) = limit::commits(&rig.path("commits"))?;
    let (p50, p99) = (figures.p50_us.unwrap_or(0.0), figures.p99_us.unwrap_or(0.0));
    Ok(figures
        .with("commit_p50_us", commit)
        .with("p50_in_commits", p50 / commit)
        .with("p99_in_commits", p99 / commit))
}

/// Start all, then let them run; workflows per second of both.
async fn many(rig: &Rig, n: usize) -> Result<(f64, f64)> {
    let mut local = rig.open("workflows")?;
    apply(&local).await?;
    let watch = Stopwatch::start();
    start(&local, n).await?;
    let started = rate(n, watch.elapsed());
    let (registry, count) = counting();
    let watch = Stopwatch::start();
    local.run(registry, rig.concurrency).await?;
    rig.wait_completed("workflows", &count, n * STEPS).await?;
    let per_s = rate(n, watch.elapsed());
    local.stop(Duration::from_secs(5)).await?;
    Ok((per_s, started))
}

/// From the call that starts one to its end, one at a time.
async fn alone(rig: &Rig, n: usize) -> Result<Vec<Duration>> {
    let mut local = rig.open("alone")?;
    apply(&local).await?;
    local.run(counting().0, rig.concurrency).await?;
    let mut samples = Vec::with_capacity(n);
    for _ in 0..n {
        tokio::time::sleep(PAUSE).await;
        let call = Stopwatch::start();
        let started = local.start(StartWorkflow::of("row")).await?;
        let (state, _) = local.finished(started.id).await?;
        samples.push(call.elapsed());
        if state != WorkflowState::Succeeded {
            bail!("workflow {} is {state}", started.id);
        }
    }
    local.stop(Duration::from_secs(5)).await?;
    Ok(samples)
}

async fn apply(local: &Local) -> Result<()> {
    let steps = (0..STEPS).map(|n| Step::action(&format!("s{n}"), "noop"));
    store(local, Definition::of("row", "1.0.0").steps(steps)).await
}

/// Store what the bench runs.
pub async fn store(local: &Local, definition: Definition) -> Result<()> {
    let built = definition.build().map_err(engine::EngineError::Invalid)?;
    local.apply(&built).await?;
    Ok(())
}

async fn start(local: &Local, n: usize) -> Result<()> {
    start_each(local, (0..n).map(|_| Ok(StartWorkflow::of("row")))).await
}

/// Start all of these, many calls on their way at once.
pub async fn start_each(local: &Local, starts: impl Iterator<Item = Result<StartWorkflow>>) -> Result<()> {
    let mut calls = tokio::task::JoinSet::new();
    for start in starts {
        let start = start?;
        if calls.len() >= CALLS {
            calls.join_next().await.context("a call is on its way")???;
        }
        let engine = local.engine.clone();
        calls.spawn(async move { engine.start_workflow(start).await });
    }
    while let Some(done) = calls.join_next().await {
        done??;
    }
    Ok(())
}
