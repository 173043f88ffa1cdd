//! Creates over loopback HTTP from 8 clients: one step a call, and 100 steps a call beside bulk creates in process.

use super::figures::{Figures, rate};
use super::rig::{Rig, fill, noops};
use super::served::Served;
use anyhow::Result;
use engine::Stopwatch;
use serde_json::json;
use std::time::Duration;

const CLIENTS: usize = 8;
const BATCH: usize = 100;

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let (single, samples) = created(rig, "single", n, 1).await?;
    let (batched, _) = created(rig, "batched", n * 10, BATCH).await?;
    let local = rig.open("bulk")?;
    let watch = Stopwatch::start();
    fill(&local, n * 10).await?;
    let bulk = rate(n * 10, watch.elapsed());
    local.stop(Duration::ZERO).await?;
    Ok(Figures::new("http", n, single)
        .with_samples(samples)
        .with("batched_per_s", batched.round())
        .with("bulk_per_s", bulk.round())
        .with("ratio", batched / bulk))
}

/// Steps a second, and how long each call took.
async fn created(rig: &Rig, name: &str, n: usize, batch: usize) -> Result<(f64, Vec<Duration>)> {
    let served = Served::open(rig, name).await?;
    let body = serde_json::to_string(&json!({ "steps": noops(batch) }))?;
    let url = format!("{}/v1/steps", served.url);
    let calls = (n / CLIENTS / batch).max(1);
    let watch = Stopwatch::start();
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        let http = reqwest::Client::builder().tls_certs_only([]).build()?;
        clients.spawn(client(http, url.clone(), body.clone(), calls));
    }
    let mut samples = Vec::with_capacity(CLIENTS * calls);
    while let Some(client) = clients.join_next().await {
        samples.extend(client??);
    }
    let per_s = rate(samples.len() * batch, watch.elapsed());
    served.stop(Duration::ZERO).await?;
    Ok((per_s, samples))
}

async fn client(http: reqwest::Client, url: String, body: String, calls: usize) -> Result<Vec<Duration>> {
    let mut samples = Vec::with_capacity(calls);
    for _ in 0..calls {
        let watch = Stopwatch::start();
        let call = http.post(&url).header("content-type", "application/json").body(body.clone());
        call.send().await?.error_for_status()?.bytes().await?;
        samples.push(watch.elapsed());
    }
    Ok(samples)
}
