//! The same drain by a worker over loopback HTTP, and by one in process.

use super::drain;
use super::figures::{Figures, rate};
use super::rig::{Rig, counting, fill};
use anyhow::Result;
use engine::Stopwatch;
use server::Site;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use store::SystemClock;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use worker::{Remote, Runner, RunnerConfig};

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let (in_process, _) = drain::once(rig, "in_process", n).await?;
    let remote = far(rig, "remote", n).await?;
    Ok(Figures::new("remote", n, remote)
        .with("in_process_per_s", in_process.round())
        .with("ratio", (remote / in_process * 1e3).round() / 1e3))
}

async fn far(rig: &Rig, name: &str, n: usize) -> Result<f64> {
    let local = rig.open(name)?;
    fill(&local, n).await?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let site = Site {
        engine: local.engine.clone(),
        database: rig.database(name)?,
        clock: Arc::new(SystemClock::default()),
        version: env!("CARGO_PKG_VERSION"),
        host: "bench".into(),
        require_key: false,
        processing: None,
        routing: None,
        triggers: Vec::new(),
        network: server::Network::default(),
    };
    let (close, closed) = oneshot::channel::<()>();
    let served = tokio::spawn(server::serve(listener, site, async {
        let _ = closed.await;
    }));
    let (registry, count) = counting();
    let config = RunnerConfig { concurrency: rig.concurrency, ..RunnerConfig::default() };
    let watch = Stopwatch::start();
    let runner = Runner::start(Remote::new(&url, None)?, registry, config).await?;
    rig.wait_completed(name, &count, n).await?;
    let per_s = rate(n, watch.elapsed());
    runner.stop(Duration::from_secs(5)).await;
    local.stop(Duration::from_secs(5)).await?;
    let _ = close.send(());
    served.await??;
    Ok(per_s)
}
