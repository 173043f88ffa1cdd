//! Failed workflows that are all decided about, beside live work: how much slower that is meanwhile.

use super::figures::{Figures, rate};
use super::rig::{Rig, fill};
use super::workflow::{start_each, store};
use crate::Local;
use crate::bulk::{self, Pace};
use ::store::{Browse, WorkflowFilter};
use anyhow::{Context, Result, bail};
use engine::{StartWorkflow, Stopwatch, WorkflowOperation, WorkflowVerb};
use model::{Decision, WorkflowId, WorkflowState, limits};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use stepfast::builder::{Definition, Step};
use worker::{Claim, Outcome, Registry};

/// Live steps that are made at once, each time the last of them have run.
const ROUND: usize = 2_000;
/// How long live work is measured alone, before and after; for each workflow, and at most.
const ALONE_EACH: Duration = Duration::from_millis(5);
const ALONE_MAX: Duration = Duration::from_secs(10);
const STALLED: Duration = Duration::from_secs(120);
const NAME: &str = "resolve";

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let mut local = rig.open(NAME)?;
    store(&local, Definition::of("breaks", "1.0.0").step(Step::action("a", "break"))).await?;
    let jobs = Jobs::default();
    local.run(jobs.registry(), rig.concurrency).await?;
    start_each(&local, (0..n).map(|_| Ok(StartWorkflow::of("breaks")))).await?;
    let browse = rig.database(NAME)?.browse()?;
    let ids = failed(&browse, n).await?;
    jobs.mended.store(true, Ordering::Relaxed);
    let alone = (ALONE_EACH * n as u32).min(ALONE_MAX);
    let before = live(&local, &jobs, alone).await?;
    let (beside, took) = beside(&local, &jobs, &ids).await?;
    let after = live(&local, &jobs, alone).await?;
    all_over(&browse).await?;
    local.stop(Duration::from_secs(5)).await?;
    let alone = (before + after) / 2.0;
    let ratio = Some((beside / alone * 1_000.0).round() / 1_000.0);
    Ok(Figures { ratio, ..Figures::new("resolve", n, beside) }
        .with("alone_per_s", alone.round())
        .with("resolved_per_s", rate(n, took).round())
        .with("resolved_s", took.as_secs_f64()))
}

/// Live jobs that count, and one that fails until it is mended.
#[derive(Default)]
struct Jobs {
    ran: Arc<AtomicUsize>,
    mended: Arc<AtomicBool>,
}

impl Jobs {
    fn registry(&self) -> Registry {
        let (ran, mended) = (self.ran.clone(), self.mended.clone());
        let mut registry = Registry::default();
        registry.raw("noop", move |_: Claim| {
            ran.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Outcome::Complete { response: None })
        });
        registry.raw("break", move |_: Claim| {
            std::future::ready(match mended.load(Ordering::Relaxed) {
                true => Outcome::Complete { response: None },
                false => Outcome::Fail { failure: Default::default(), notify: true },
            })
        });
        registry
    }
}

async fn round(local: &Local, jobs: &Jobs) -> Result<()> {
    let before = jobs.ran.load(Ordering::Relaxed);
    fill(local, ROUND).await?;
    while jobs.ran.load(Ordering::Relaxed) < before + ROUND {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// Steps per second of live work that nothing else stands beside.
async fn live(local: &Local, jobs: &Jobs, span: Duration) -> Result<f64> {
    let (before, watch) = (jobs.ran.load(Ordering::Relaxed), Stopwatch::start());
    while watch.elapsed() < span {
        round(local, jobs).await?;
    }
    Ok(rate(jobs.ran.load(Ordering::Relaxed) - before, watch.elapsed()))
}

/// The same while all of these are decided about, and how long that takes.
async fn beside(local: &Local, jobs: &Jobs, ids: &[WorkflowId]) -> Result<(f64, Duration)> {
    let engine = local.engine.clone();
    let decide = async |workflow: WorkflowId| {
        let (by, why) = ("bench".into(), "measured".into());
        let verb = WorkflowVerb::Resolve(Decision::RETRY);
        let operation =
            WorkflowOperation { workflow, verb, by, why, dry_run: false, expected: None, force: None };
        engine.operate_workflow(operation).await
    };
    let (before, watch) = (jobs.ran.load(Ordering::Relaxed), Stopwatch::start());
    let all = bulk::each(ids, Pace::GENTLE, decide, |_, answer| answer.map(drop));
    tokio::pin!(all);
    let took = loop {
        tokio::select! {
            done = &mut all => {
                done?;
                break watch.elapsed();
            }
            live = round(local, jobs) => live?,
        }
    };
    let ran = jobs.ran.load(Ordering::Relaxed) - before;
    Ok((rate(ran, watch.elapsed()), took))
}

fn page(state: WorkflowState, after: Option<WorkflowId>) -> WorkflowFilter {
    let limit = limits::PAGE_ROWS_MAX;
    WorkflowFilter { states: vec![state], after, limit, ascending: true, ..WorkflowFilter::default() }
}

/// All of them, once they have failed.
async fn failed(browse: &Browse, n: usize) -> Result<Vec<WorkflowId>> {
    let watch = Stopwatch::start();
    loop {
        let mut ids: Vec<WorkflowId> = Vec::new();
        loop {
            let found = browse.workflows(&page(WorkflowState::Failed, ids.last().copied()))?;
            if found.is_empty() {
                break;
            }
            ids.extend(found.iter().map(|workflow| workflow.id));
        }
        if ids.len() == n {
            return Ok(ids);
        }
        if watch.elapsed() > STALLED {
            bail!("{} of {n} workflows have failed", ids.len());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// None of them is left behind.
async fn all_over(browse: &Browse) -> Result<()> {
    let watch = Stopwatch::start();
    for state in [WorkflowState::Failed, WorkflowState::Running] {
        while !browse.workflows(&page(state, None)).context("a read")?.is_empty() {
            if watch.elapsed() > STALLED {
                bail!("some of the workflows are still {state}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}
