//! Steps over a queue: published, received, begun, run and recorded, without the calls of a router and a target.

use super::figures::{Figures, rate};
use super::rig::{Rig, counting, fill};
use crate::scheduler::connect;
use anyhow::Result;
use engine::{Publisher, PublisherConfig, Stopwatch};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::sync::Arc;
use std::time::Duration;
use stepfast::Processor;
use store::SystemClock;
use transport::embedded::EmbeddedQueue;
use transport::token::{TokenKey, verify};
use transport::{Received, Transport};

const WAIT: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
/// Messages that one consumer has in hand.
const IN_HAND: usize = 256;
const CONSUMERS: usize = 4;

pub async fn run(rig: &Rig, n: usize, transport: &str) -> Result<Figures> {
    let local = rig.join_as("publish", |config| config.published = vec!["noop".into()])?;
    let watch = Stopwatch::start();
    fill(&local, n).await?;
    let insert = rate(n, watch.elapsed());
    let (registry, count) = counting();
    let clock = Arc::new(SystemClock::default());
    let key = TokenKey::new(&engine::chance::<32>()?)?;
    let processor = Processor::start(local.engine.clone(), registry, "bench".into(), clock.clone()).await?;
    let processor = Arc::new(processor);
    let embedded = EmbeddedQueue::default();
    let watch = Stopwatch::start();
    let mut consumers = tokio::task::JoinSet::new();
    for _ in 0..CONSUMERS {
        let transport = open(transport, &embedded).await?;
        consumers.spawn(consume(transport, processor.clone(), key.clone()));
    }
    let config = PublisherConfig {
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
    };
    let transport = open(transport, &embedded).await?;
    let publisher = Publisher::start(local.engine.clone(), transport, config).await?;
    rig.wait_completed("publish", &count, n).await?;
    let per_s = rate(n, watch.elapsed());
    consumers.abort_all();
    publisher.stop().await;
    processor.stop(WAIT).await;
    local.stop(WAIT).await?;
    Ok(Figures::new("publish", n, per_s).with("insert_per_s", insert.round()))
}

async fn open(transport: &str, embedded: &EmbeddedQueue) -> Result<Arc<dyn Transport>> {
    if transport == "embedded" { Ok(Arc::new(embedded.connect())) } else { connect(transport).await }
}

/// As the processing endpoint does it, without HTTP. It goes on until it is dropped.
async fn consume(transport: Arc<dyn Transport>, processor: Arc<Processor>, key: TokenKey) {
    let mut running = FuturesUnordered::new();
    loop {
        let room = IN_HAND.saturating_sub(running.len());
        tokio::select! {
            Some(()) = running.next(), if !running.is_empty() => {}
            received = transport.receive(room, WAIT), if room > 0 => {
                for one in received.unwrap_or_default() {
                    running.push(process(transport.clone(), processor.clone(), key.clone(), one));
                }
            }
        }
    }
}

/// What cannot be processed now stays in the queue, and the bench says that it made no progress.
async fn process(transport: Arc<dyn Transport>, processor: Arc<Processor>, key: TokenKey, one: Received) {
    let Ok(pointer) = one.pointer else { return };
    let Ok(verified) = verify(&key, &pointer.id, &pointer.auth_token, 0) else { return };
    let Ok(step) = pointer.id.parse() else { return };
    if processor.process(step, verified.attempt).await.is_ok() {
        let _ = transport.ack(&one.receipt).await;
    }
}
