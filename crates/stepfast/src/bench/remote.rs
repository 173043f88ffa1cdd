//! The same drain by a worker over loopback HTTP, and by one in process.

use super::drain;
use super::figures::{Figures, rate};
use super::rig::{Rig, counting, fill};
use super::served::Served;
use anyhow::Result;
use engine::Stopwatch;
use std::time::Duration;
use worker::{Remote, Runner, RunnerConfig};

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let (in_process, _) = drain::once(rig, "in_process", n).await?;
    let remote = far(rig, "remote", n).await?;
    Ok(Figures::new("remote", n, remote)
        .with("in_process_per_s", in_process.round())
        .with("ratio", (remote / in_process * 1e3).round() / 1e3))
}

async fn far(rig: &Rig, name: &str, n: usize) -> Result<f64> {
    let served = Served::open(rig, name).await?;
    fill(&served.local, n).await?;
    let (registry, count) = counting();
    let config = RunnerConfig { concurrency: rig.concurrency, ..RunnerConfig::default() };
    let watch = Stopwatch::start();
    let runner = Runner::start(Remote::new(&served.url, None)?, registry, config).await?;
    rig.wait_completed(name, &count, n).await?;
    let per_s = rate(n, watch.elapsed());
    runner.stop(Duration::from_secs(5)).await;
    served.stop(Duration::from_secs(5)).await?;
    Ok(per_s)
}
