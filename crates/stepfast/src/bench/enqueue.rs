//! Single creates from 8 clients that each wait for their answer, and bulk creates.

use super::figures::{Figures, rate};
use super::rig::{Rig, fill};
use anyhow::Result;
use engine::Stopwatch;
use model::NewStep;
use std::time::Duration;

const CLIENTS: usize = 8;

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let local = rig.open("enqueue")?;
    let watch = Stopwatch::start();
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        let engine = local.engine.clone();
        clients.spawn(async move {
            let mut samples = Vec::with_capacity(n / CLIENTS);
            for _ in 0..n / CLIENTS {
                let watch = Stopwatch::start();
                engine.create(vec![NewStep::of("noop")]).await?;
                samples.push(watch.elapsed());
            }
            anyhow::Ok(samples)
        });
    }
    let mut samples = Vec::with_capacity(n);
    while let Some(client) = clients.join_next().await {
        samples.extend(client??);
    }
    let single = rate(samples.len(), watch.elapsed());
    local.stop(Duration::ZERO).await?;

    let local = rig.open("bulk")?;
    let watch = Stopwatch::start();
    fill(&local, n).await?;
    let bulk = rate(n, watch.elapsed());
    local.stop(Duration::ZERO).await?;
    Ok(Figures::new("enqueue", n, single).with_samples(samples).with("bulk_per_s", bulk.round()))
}
