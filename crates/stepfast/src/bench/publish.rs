//! Steps over a queue: published, received, begun, run and recorded, without the calls of a router and a target.

use super::brokers::Broker;
use super::figures::{Figures, rate};
use super::rig::{Rig, counting, fill};
use anyhow::{Result, anyhow, bail};
use engine::{Publisher, PublisherConfig, Stopwatch};
use std::sync::Arc;
use std::time::Duration;
use stepfast::Processor;
use store::SystemClock;
use tokio::task::JoinSet;
use transport::token::{TokenKey, verify};
use transport::{Received, Transport, TransportError};

const WAIT: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
/// Messages that one consumer has in hand.
const IN_HAND: usize = 256;
const CONSUMERS: usize = 4;

pub async fn run(rig: &Rig, n: Option<usize>, transport: &str) -> Result<Figures> {
    let broker = Broker::of(transport).await?;
    let n = n.unwrap_or(broker.usual_n());
    let local = rig.join_as("publish", |config| config.published = vec!["noop".into()])?;
    let watch = Stopwatch::start();
    fill(&local, n).await?;
    let insert = rate(n, watch.elapsed());
    let (registry, count) = counting();
    let clock = Arc::new(SystemClock::default());
    let key = TokenKey::new(&engine::chance::<32>()?)?;
    let processor = Processor::start(local.engine.clone(), registry, "bench".into(), clock.clone()).await?;
    let processor = Arc::new(processor);
    let watch = Stopwatch::start();
    let mut consumers = JoinSet::new();
    for _ in 0..CONSUMERS {
        consumers.spawn(consume(broker.connect().await?, processor.clone(), key.clone()));
    }
    let config = publishing(key, clock);
    let publisher = Publisher::start(local.engine.clone(), broker.connect().await?, config).await?;
    tokio::select! {
        done = rig.wait_completed("publish", &count, n) => done?,
        Some(ended) = consumers.join_next() => bail!("a consumer ended: {}", ended?),
    }
    let per_s = rate(n, watch.elapsed());
    consumers.shutdown().await;
    publisher.stop().await;
    processor.stop(WAIT).await;
    local.stop(WAIT).await?;
    let figures = Figures::new("publish", n, per_s).with("insert_per_s", insert.round());
    Ok(Figures { transport: Some(kind(transport)), ..figures })
}

/// What is told of an address: no more than what kind of queue it is.
fn kind(transport: &str) -> String {
    match transport.split_once("://").map(|(scheme, _)| scheme) {
        Some("stomp" | "stomp+ssl") => "activemq".into(),
        Some(scheme) if scheme.starts_with("sqs") => "sqs".into(),
        _ => transport.into(),
    }
}

fn publishing(key: TokenKey, clock: Arc<SystemClock>) -> PublisherConfig {
    PublisherConfig {
        queue: "bench".into(),
        endpoint: "http://127.0.0.1/api/dispatch/process".into(),
        default_pool: router::DEFAULT_POOL_CODE.into(),
        key,
        clock,
        token_life: HOUR,
        concurrency: 10,
        batch: 100,
        capacity: 10_000,
        stale_after: HOUR,
        look_every: HOUR,
    }
}

/// As the processing endpoint does it, without HTTP. It goes on until it is dropped, or the queue fails it.
async fn consume(transport: Arc<dyn Transport>, processor: Arc<Processor>, key: TokenKey) -> anyhow::Error {
    let mut running: JoinSet<Result<()>> = JoinSet::new();
    loop {
        if let Err(problem) = make_room(&mut running).await {
            return problem;
        }
        // Never dropped half-way: what a broker has handed over by then would be hidden for a while.
        match transport.receive(IN_HAND - running.len(), WAIT).await {
            Ok(received) => {
                for one in received {
                    running.spawn(process(transport.clone(), processor.clone(), key.clone(), one));
                }
            }
            Err(problem) => return anyhow!(problem).context("nothing can be received"),
        }
    }
}

async fn make_room(running: &mut JoinSet<Result<()>>) -> Result<()> {
    while running.len() >= IN_HAND
        && let Some(ended) = running.join_next().await
    {
        ended??;
    }
    while let Some(ended) = running.try_join_next() {
        ended??;
    }
    Ok(())
}

async fn process(
    transport: Arc<dyn Transport>,
    processor: Arc<Processor>,
    key: TokenKey,
    one: Received,
) -> Result<()> {
    let pointer = one.pointer.map_err(|fault| anyhow!("a message is no pointer: {fault}"))?;
    let verified = verify(&key, &pointer.id, &pointer.auth_token, 0)
        .map_err(|fault| anyhow!("a token of the bench's own is refused: {fault}"))?;
    let step = pointer.id.parse().map_err(|_| anyhow!("`{}` is no step", pointer.id))?;
    // One that was delivered twice is told as begun or ended; whatever was said, its message is done with.
    let _ = processor.process(step, verified.attempt).await?;
    match transport.ack(&one.receipt).await {
        // Gone: it was delivered again, and whoever has it now acknowledges it.
        Ok(()) | Err(TransportError::Gone) => Ok(()),
        Err(problem) => Err(anyhow!(problem).context("a message cannot be acknowledged")),
    }
}
