//! How late what is due begins: n steps, and then n workflows that wait, due within one second.

use super::figures::{Figures, rate};
use super::rig::{BULK, Rig};
use super::workflow::{start_each, store};
use ::store::{Clock, SystemClock};
use anyhow::{Result, bail};
use engine::{StartWorkflow, Stopwatch};
use model::{NewStep, Timestamp};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use stepfast::builder::{Definition, Step};
use worker::{Claim, Outcome, Registry};

/// They are due within this.
const SPREAD: Duration = Duration::from_secs(1);
/// Each has so long to be made before the first is due.
const EACH: Duration = Duration::from_micros(400);
const AT_LEAST: Duration = Duration::from_secs(3);
/// Nothing more has begun for so long: it never will.
const STALLED: Duration = Duration::from_secs(60);

type Lateness = Arc<Mutex<Vec<Duration>>>;

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let steps = steps(rig, n).await?;
    let span = Stopwatch::start();
    let workflows = Figures::default().with_samples(workflows(rig, n).await?);
    let figures = Figures::new("timers", n, rate(n, span.elapsed())).with_samples(steps);
    Ok(figures
        .with("workflow_p50_us", workflows.p50_us.unwrap_or(0.0))
        .with("workflow_p99_us", workflows.p99_us.unwrap_or(0.0)))
}

/// Whoever is given the time at which it is due notes how late it is.
fn timed() -> (Registry, Lateness) {
    let late: Lateness = Arc::default();
    let mine = late.clone();
    let clock = SystemClock::default();
    let mut registry = Registry::default();
    registry.raw("timed", move |claim: Claim| {
        let due = claim.arguments.parse::<i64>().unwrap_or_default();
        let lateness = clock.now().since(Timestamp(due));
        mine.lock().unwrap_or_else(PoisonError::into_inner).push(lateness);
        std::future::ready(Outcome::Complete { response: None })
    });
    (registry, late)
}

/// When number `i` of `n` is due, and the first of them not before all are made.
fn due(first: Timestamp, i: usize, n: usize) -> Timestamp {
    first + SPREAD.mul_f64(i as f64 / n as f64)
}

fn first(n: usize) -> Timestamp {
    SystemClock::default().now() + AT_LEAST.max(EACH * n as u32)
}

async fn steps(rig: &Rig, n: usize) -> Result<Vec<Duration>> {
    let mut local = rig.open("timers")?;
    let (registry, late) = timed();
    local.run(registry, rig.concurrency).await?;
    let first = first(n);
    let new = |i: usize| {
        let at = due(first, i, n);
        Ok(NewStep { dispatch_after: Some(at.0), ..NewStep::of("timed").with(&at.0)? })
    };
    let all: Vec<NewStep> = (0..n).map(new).collect::<Result<_>>()?;
    for page in all.chunks(BULK) {
        local.engine.create(page.to_vec()).await?;
    }
    in_time(first)?;
    let samples = wait(&late, n).await?;
    local.stop(Duration::from_secs(5)).await?;
    Ok(samples)
}

async fn workflows(rig: &Rig, n: usize) -> Result<Vec<Duration>> {
    let mut local = rig.open("waits")?;
    let (registry, late) = timed();
    let go = Step::action("go", "timed").arguments("${input.at}".into());
    store(&local, Definition::of("waits", "1.0.0").step(Step::wait_until("wait", "input.s")).step(go))
        .await?;
    local.run(registry, rig.concurrency).await?;
    let first = first(n);
    let starts = (0..n).map(|i| {
        let at = due(first, i, n).0;
        Ok(StartWorkflow::of("waits").with(&serde_json::json!({"s": at as f64 / 1e6, "at": at}))?)
    });
    start_each(&local, starts).await?;
    in_time(first)?;
    let samples = wait(&late, n).await?;
    local.stop(Duration::from_secs(5)).await?;
    Ok(samples)
}

fn in_time(first: Timestamp) -> Result<()> {
    if SystemClock::default().now() >= first {
        bail!(crate::Refused("they were due before all of them were made; write a smaller --n".into()));
    }
    Ok(())
}

async fn wait(late: &Lateness, n: usize) -> Result<Vec<Duration>> {
    let seen = || late.lock().unwrap_or_else(PoisonError::into_inner).len();
    let mut last = (0, Stopwatch::start());
    while seen() < n {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let now = seen();
        if now > last.0 {
            last = (now, Stopwatch::start());
        } else if last.1.elapsed() > STALLED {
            bail!("nothing began for {} s; {now} of {n} have", STALLED.as_secs());
        }
    }
    Ok(std::mem::take(&mut *late.lock().unwrap_or_else(PoisonError::into_inner)))
}
