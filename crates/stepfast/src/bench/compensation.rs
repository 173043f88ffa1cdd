//! One workflow of n steps in a row, done and then undone: how much longer the way back takes.

use super::figures::{Figures, rate};
use super::rig::Rig;
use super::workflow::store;
use crate::Local;
use anyhow::{Result, bail};
use engine::{StartWorkflow, Stopwatch, WorkflowOperation, WorkflowVerb};
use model::{CompensationScope, Decision, WorkflowId, WorkflowState};
use std::time::Duration;
use stepfast::builder::{Definition, Step};
use worker::{Claim, Outcome, Registry};

/// Beyond this nothing comes any more.
const STALLED: Duration = Duration::from_secs(600);
const LOOK_EVERY: Duration = Duration::from_millis(1);

pub async fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let mut local = rig.open("compensation")?;
    let back = || Step::action("undo", "noop");
    let steps = (0..n).map(|n| Step::action(&format!("s{n}"), "noop").compensation(back()));
    let row = Definition::of("row", "1.0.0").steps(steps).step(Step::action("last", "fail"));
    store(&local, row).await?;
    local.run(registry(), rig.concurrency).await?;
    let watch = Stopwatch::start();
    let id = local.start(StartWorkflow::of("row")).await?.id;
    until(rig, id, WorkflowState::Failed).await?;
    let forward = watch.elapsed();
    let watch = Stopwatch::start();
    undo(&local, id).await?;
    until(rig, id, WorkflowState::Compensated).await?;
    let back = watch.elapsed();
    local.stop(Duration::from_secs(5)).await?;
    let ratio = (forward.as_secs_f64() / back.as_secs_f64() * 1_000.0).round() / 1_000.0;
    Ok(Figures { ratio: Some(ratio), ..Figures::new("compensation", n, rate(n, back)) }
        .with("forward_s", forward.as_secs_f64())
        .with("undo_s", back.as_secs_f64())
        .with("forward_per_s", rate(n, forward).round()))
}

fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.raw("noop", |_: Claim| std::future::ready(Outcome::Complete { response: None }));
    registry.raw("fail", |_: Claim| {
        std::future::ready(Outcome::Fail { failure: Default::default(), notify: true })
    });
    registry
}

async fn undo(local: &Local, workflow: WorkflowId) -> Result<()> {
    let verb = WorkflowVerb::Resolve(Decision::Compensate { scope: CompensationScope::Full });
    let (by, why) = ("bench".into(), "measured".into());
    let operation =
        WorkflowOperation { workflow, verb, by, why, dry_run: false, expected: None, force: None };
    local.engine.operate_workflow(operation).await?;
    Ok(())
}

async fn until(rig: &Rig, id: WorkflowId, state: WorkflowState) -> Result<()> {
    let browse = rig.database("compensation")?.browse()?;
    let watch = Stopwatch::start();
    loop {
        match browse.workflow(id)?.map(|workflow| workflow.state) {
            Some(now) if now == state => return Ok(()),
            now if watch.elapsed() > STALLED => bail!("workflow {id} is {now:?}, not {state}"),
            _ => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}
