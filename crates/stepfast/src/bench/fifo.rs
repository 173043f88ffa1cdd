//! Message groups: how fast 1,000 lines drain beside steps in no order, and how soon the next of a short line starts beside a long one.

use super::drain;
use super::figures::{Figures, rate};
use super::rig::{BULK, Rig};
use crate::Local;
use anyhow::{Context, Result, bail};
use engine::Stopwatch;
use model::NewStep;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use worker::{Claim, Outcome, Registry};

const LINES: usize = 1_000;
/// Beside the short lines, one of this many, and places for this many jobs of a millisecond.
const LONG: usize = 200_000;
const SHORT: usize = 100;
const SLOTS: usize = 64;
/// Steps that are held ahead, as one does for many short jobs.
const AHEAD: usize = 192;
const JOB: Duration = Duration::from_millis(1);

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let (plain, _) = drain::once(rig, "plain", n).await?;
    let (per_s, insert) = drain_lines(rig, n).await?;
    let waits = beside_a_long_line(rig).await?;
    let figures = Figures::new("fifo", n, per_s).with_samples(waits);
    Ok(Figures { ratio: Some((per_s / plain * 1000.0).round() / 1000.0), ..figures }
        .with("plain_per_s", plain.round())
        .with("insert_per_s", insert.round()))
}

/// What the jobs of each line see: who comes next, and whether one of it runs.
struct Seen {
    next: Vec<AtomicUsize>,
    runs: Vec<AtomicBool>,
    ended: Vec<Mutex<Option<Stopwatch>>>,
    count: AtomicUsize,
    wrong: AtomicBool,
}

impl Seen {
    fn new(lines: usize) -> Arc<Seen> {
        Arc::new(Seen {
            next: (0..lines).map(|_| AtomicUsize::new(0)).collect(),
            runs: (0..lines).map(|_| AtomicBool::new(false)).collect(),
            ended: (0..lines).map(|_| Mutex::new(None)).collect(),
            count: AtomicUsize::new(0),
            wrong: AtomicBool::new(false),
        })
    }
    /// A job of a line starts; how long after the one before it ended.
    fn start(&self, (line, number): (usize, usize)) -> Option<Duration> {
        let alone = !self.runs[line].swap(true, Ordering::SeqCst);
        if !alone || self.next[line].fetch_add(1, Ordering::SeqCst) != number {
            self.wrong.store(true, Ordering::SeqCst);
        }
        let ended = self.ended[line].lock().unwrap_or_else(PoisonError::into_inner).take();
        ended.map(|ended| ended.elapsed())
    }
    fn end(&self, line: usize) {
        *self.ended[line].lock().unwrap_or_else(PoisonError::into_inner) = Some(Stopwatch::start());
        self.runs[line].store(false, Ordering::SeqCst);
        self.count.fetch_add(1, Ordering::Relaxed);
    }
    fn verify(&self) -> Result<()> {
        if self.wrong.load(Ordering::SeqCst) {
            bail!("steps of a message group ran at once, or out of order");
        }
        Ok(())
    }
}

/// The line and the number in it, as the arguments say.
fn place(claim: &Claim) -> (usize, usize) {
    serde_json::from_str(&claim.arguments).unwrap_or((0, usize::MAX))
}

async fn drain_lines(rig: &Rig, n: usize) -> Result<(f64, f64)> {
    let mut local = rig.open("lines")?;
    let mut others = rig.others("lines").await?;
    let watch = Stopwatch::start();
    fill(&local, (0..n).map(|i| (i % LINES, i / LINES))).await?;
    let insert = rate(n, watch.elapsed());
    let seen = Seen::new(LINES);
    let mine = seen.clone();
    let mut registry = Registry::default();
    registry.raw("noop", move |claim: Claim| {
        let at = place(&claim);
        mine.start(at);
        mine.end(at.0);
        std::future::ready(Outcome::Complete { response: None })
    });
    let watch = Stopwatch::start();
    for one in others.iter_mut().chain([&mut local]) {
        one.run(registry.clone(), rig.concurrency / rig.nodes).await?;
    }
    rig.wait_completed("lines", &seen.count, n).await?;
    let per_s = rate(n, watch.elapsed());
    for one in others.into_iter().chain([local]) {
        one.stop(Duration::from_secs(5)).await?;
    }
    seen.verify()?;
    Ok((per_s, insert))
}

/// From the end of a predecessor to the start of the next, in the short lines.
async fn beside_a_long_line(rig: &Rig) -> Result<Vec<Duration>> {
    let mut local = rig.open("long")?;
    fill(&local, (0..LONG).map(|i| (LINES, i))).await?;
    fill(&local, (0..LINES * SHORT).map(|i| (i % LINES, i / LINES))).await?;
    let seen = Seen::new(LINES + 1);
    let waits = Arc::new(Mutex::new(Vec::with_capacity(LINES * SHORT)));
    let (mine, noted) = (seen.clone(), waits.clone());
    let mut registry = Registry::default();
    registry.raw("noop", move |claim: Claim| {
        let at = place(&claim);
        let waited = mine.start(at);
        if at.0 < LINES {
            noted.lock().unwrap_or_else(PoisonError::into_inner).extend(waited);
        }
        let seen = mine.clone();
        async move {
            tokio::time::sleep(JOB).await;
            seen.end(at.0);
            Outcome::Complete { response: None }
        }
    });
    let config = local.runner(SLOTS).prefetch(AHEAD);
    local.run_as(registry, config).await?;
    let short = |seen: &Seen| seen.next[..LINES].iter().map(|n| n.load(Ordering::Relaxed)).sum::<usize>();
    let mut last = (0, Stopwatch::start());
    while short(&seen) < LINES * SHORT {
        tokio::time::sleep(Duration::from_millis(5)).await;
        if short(&seen) > last.0 {
            last = (short(&seen), Stopwatch::start());
        } else if last.1.elapsed() > Duration::from_secs(60) {
            bail!("the short lines stand still at {} of {}", last.0, LINES * SHORT);
        }
    }
    local.stop(Duration::from_secs(5)).await?;
    seen.verify()?;
    let waits = std::mem::take(&mut *waits.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(waits)
}

async fn fill(local: &Local, places: impl Iterator<Item = (usize, usize)>) -> Result<()> {
    let mut calls = tokio::task::JoinSet::new();
    let mut places = places.peekable();
    while places.peek().is_some() {
        let steps: Vec<NewStep> = places.by_ref().take(BULK).map(step).collect::<Result<_>>()?;
        let engine = local.engine.clone();
        if calls.len() >= 4 {
            calls.join_next().await.context("a call is on its way")???;
        }
        calls.spawn(async move { engine.create(steps).await });
        tokio::task::yield_now().await;
    }
    while let Some(done) = calls.join_next().await {
        done??;
    }
    Ok(())
}

fn step((line, number): (usize, usize)) -> Result<NewStep> {
    let step = NewStep::of("noop").with(&(line, number))?;
    let sequence = i32::try_from(number).context("a line is shorter than that")?;
    Ok(NewStep {
        message_group: Some(format!("line-{line}")),
        mode: Some("block_on_error".into()),
        sequence: Some(sequence),
        ..step
    })
}
