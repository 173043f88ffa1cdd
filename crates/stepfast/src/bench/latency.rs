//! From an acknowledged create to the start of its job, one step at a time on an idle engine; with two nodes, client and worker
//! are on the one that decides for no group.

use super::figures::{Figures, rate};
use super::rig::Rig;
use anyhow::{Context, Result};
use engine::Stopwatch;
use model::NewStep;
use std::time::Duration;
use tokio::sync::mpsc;
use worker::{Claim, Outcome, Registry};

/// Pause between two samples, so that each meets an idle engine.
const PAUSE: Duration = Duration::from_millis(3);

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    on(rig, "latency", n).await
}

/// On the database of this name.
pub async fn on(rig: &Rig, name: &str, n: usize) -> Result<Figures> {
    let owner = (rig.nodes > 1).then(|| rig.open(name)).transpose()?;
    let mut local = rig.join(name, owner.is_some())?;
    let (started, mut starts) = mpsc::unbounded_channel();
    let mut registry = Registry::default();
    registry.raw("noop", move |_: Claim| {
        let _ = started.send(Stopwatch::start());
        std::future::ready(Outcome::Complete { response: None })
    });
    local.run(registry, rig.concurrency).await?;
    let (mut after_ack, mut from_call) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let total = Stopwatch::start();
    for _ in 0..n {
        tokio::time::sleep(PAUSE).await;
        let call = Stopwatch::start();
        local.engine.create(vec![NewStep::of("noop")]).await?;
        let acknowledged = Stopwatch::start();
        let start = starts.recv().await.context("the job ran")?;
        // The job may start before the caller has its answer: both follow the same commit.
        after_ack.push(acknowledged.until(start));
        from_call.push(call.until(start));
    }
    let per_s = rate(n, total.elapsed());
    for one in [Some(local), owner].into_iter().flatten() {
        one.stop(Duration::from_secs(5)).await?;
    }
    let whole = Figures::default().with_samples(from_call);
    Ok(Figures::new("latency", n, per_s)
        .with_samples(after_ack)
        .with("call_to_start_p50_us", whole.p50_us.unwrap_or(0.0))
        .with("call_to_start_p99_us", whole.p99_us.unwrap_or(0.0)))
}
