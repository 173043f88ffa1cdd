//! Rows of workflows that wait, put into the store by the thousand.

use super::Waits;
use crate::bench::bare::{Bare, tallies};
use crate::bench::rig::Rig;
use anyhow::{Context, Result};
use model::{
    InWorkflow, Pause, PauseState, PausedBy, Pinned, Polls, Reason, State, Step, StepId, Timestamp, Workflow,
    WorkflowId, WorkflowState,
};
use std::sync::Arc;
use std::time::Duration;
use stepfast::builder::{Definition, Pause as PauseBehind, Poll, Step as StepOf};
use store::{Batch, PauseWrite, RowKnown, StepWrite, WorkflowWrite};

/// What waits is due long after the bench.
const FAR: Duration = Duration::from_secs(365 * 86_400);
const NEVER: Timestamp = Timestamp(i64::MAX);
/// Workflows of one commit.
const PAGE: usize = 1_000;

pub async fn fill(rig: &Rig, name: &str, waits: Waits) -> Result<()> {
    let pinned = definition(rig, name).await?;
    let database = rig.database(name)?;
    tokio::task::spawn_blocking(move || {
        let mut bare = Bare::open(&database)?;
        let mut left = waits.len();
        while left > 0 {
            let page = left.min(PAGE);
            let mut batch = bare.batch();
            for (i, step) in bare.rows(page)?.into_iter().enumerate() {
                let kind = match waits {
                    Waits::Paused(_) => Kind::Paused,
                    Waits::PollsAndPauses(_) if i % 2 == 0 => Kind::Poll,
                    Waits::PollsAndPauses(_) => Kind::Pause,
                };
                let id = WorkflowId::from_bytes(bare.ids.row(batch.now));
                put(&mut batch, kind, step, (id, &pinned));
            }
            batch.tallies = tallies(batch.steps.iter().map(|write| &write.step), 1);
            bare.commit(batch)?;
            left -= page;
        }
        Ok(())
    })
    .await?
}

/// The definition that all of them run, on record.
async fn definition(rig: &Rig, name: &str) -> Result<Arc<Pinned>> {
    let local = rig.open(name)?;
    let asked = StepOf::action("ask", "noop").pause_after(PauseBehind::until_triggered("answer"));
    let polled = StepOf::poll("poll", Poll::of("noop"));
    crate::bench::workflow::store(&local, Definition::of("waits", "1.0.0").step(polled).step(asked)).await?;
    local.stop(Duration::from_secs(5)).await?;
    let found = rig.database(name)?.browse()?.definition("waits", None)?;
    Ok(Arc::new(found.context("it was just stored")?.pinned))
}

#[derive(Clone, Copy)]
enum Kind {
    Poll,
    Pause,
    Paused,
}

fn put(batch: &mut Batch, kind: Kind, mut step: Step, (id, pinned): (WorkflowId, &Arc<Pinned>)) {
    let (now, far) = (batch.now, batch.now + FAR);
    let mut workflow = workflow(id, pinned, &step, now);
    let def = if matches!(kind, Kind::Poll) { 0 } else { 1 };
    step.in_workflow = Some(InWorkflow { workflow: id, def, run: 1, item: None });
    match kind {
        Kind::Poll => {
            (step.state, step.wake_at, step.polls, step.attempt) = (State::Polling, Some(far), 1, 1);
            step.polled = Some(Arc::new(Polls { started_at: now, data: None }));
            (step.dispatched_at, step.started_at) = (Some(now), Some(now));
            workflow.wake_at = Some(far);
        }
        Kind::Pause => {
            (step.state, step.attempt, step.completed_at) = (State::Completed, 1, Some(now));
            (step.dispatched_at, step.started_at) = (Some(now), Some(now));
            (workflow.state, workflow.paused_by) = (WorkflowState::Paused, Some(PausedBy::Trigger));
            workflow.wake_at = Some(far);
            batch.pauses.push(PauseWrite { pause: pause(id, step.id, now), expected: None });
        }
        Kind::Paused => {
            (step.wake_at, step.reason) = (Some(NEVER), Some(Reason::WorkflowHeld));
            (workflow.state, workflow.paused_by) = (WorkflowState::Paused, Some(PausedBy::Person));
        }
    }
    batch.workflows.push(WorkflowWrite { workflow, expected: None, counted: None });
    batch.steps.push(StepWrite { step, expected: None, detail: Default::default(), row: RowKnown::Nothing });
}

fn workflow(id: WorkflowId, pinned: &Arc<Pinned>, step: &Step, now: Timestamp) -> Workflow {
    Workflow {
        id,
        definition: pinned.clone(),
        dispatch_group: step.dispatch_group.clone(),
        state: WorkflowState::Running,
        paused_by: None,
        message: None,
        parent: None,
        depth: 0,
        input: "{}".into(),
        output: None,
        labels: Arc::new([]),
        trace: None,
        concurrency_key: None,
        expected_at: None,
        created_at: now,
        started_at: Some(now),
        completed_at: None,
        wake_at: None,
        aftermath: None,
        version: 0,
    }
}

fn pause(workflow: WorkflowId, step: StepId, now: Timestamp) -> Pause {
    Pause {
        workflow,
        def: 1,
        run: 1,
        step,
        step_key: "ask".into(),
        trigger: Some("answer".into()),
        token: None,
        registered_at: now,
        timeout_at: Some(now + FAR),
        resume_at: None,
        reminders: 0,
        state: PauseState::Waiting,
        ended_at: None,
        consumed: None,
        version: 0,
    }
}
