//! Creates over loopback HTTP from 8 clients: one step a call, and 100 steps a call beside bulk creates in process.

use super::figures::{Figures, rate};
use super::rig::{Rig, fill, noops};
use super::served::Served;
use anyhow::{Result, ensure};
use engine::Stopwatch;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;

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
    let body = Bytes::from(serde_json::to_vec(&json!({ "steps": noops(batch) }))?);
    let calls = (n / CLIENTS / batch).max(1);
    let watch = Stopwatch::start();
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(client(served.address, body.clone(), calls));
    }
    let mut samples = Vec::with_capacity(CLIENTS * calls);
    while let Some(client) = clients.join_next().await {
        samples.extend(client??);
    }
    let per_s = rate(samples.len() * batch, watch.elapsed());
    served.stop(Duration::ZERO).await?;
    Ok((per_s, samples))
}

/// A connection and nothing around it: it runs on the processors that are measured.
async fn client(server: SocketAddr, body: Bytes, calls: usize) -> Result<Vec<Duration>> {
    let stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    let (mut calling, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let mut samples = Vec::with_capacity(calls);
    for _ in 0..calls {
        let watch = Stopwatch::start();
        let call = Request::post("/v1/steps").header(HOST, server.to_string());
        let call = call.header(CONTENT_TYPE, "application/json").body(Full::new(body.clone()))?;
        let answer = calling.send_request(call).await?;
        let status = answer.status();
        let told = answer.into_body().collect().await?.to_bytes();
        ensure!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&told));
        samples.push(watch.elapsed());
    }
    Ok(samples)
}
