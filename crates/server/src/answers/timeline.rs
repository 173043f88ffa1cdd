//! When the steps of a workflow waited, ran, were tried, polled, paused and undone: spans of time in lanes, one lane a step.

use crate::convert;
use crate::secrets::Known;
use model::{CompensationRun, Pause, State, Timestamp, Workflow, WorkflowId};
use std::collections::BTreeMap;
use store::{Browse, Result, StepRow};

/// Lanes that are shown; a page of more is not read.
const LANES_MAX: usize = 200;
/// Steps whose attempts and polls are looked up.
const ASKED_MAX: usize = 100;

/// What a span of time was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// It existed, and nobody had it.
    Waits,
    Run(State),
    /// A try that did not end it.
    Attempt,
    Poll,
    /// Behind the step, for a trigger or a date.
    Pause,
    Undoing,
    /// What undoes it failed.
    NotUndone,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    pub span: Span,
    pub from: Timestamp,
    /// None goes on.
    pub to: Option<Timestamp>,
    pub words: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    pub name: String,
    /// The last step of it.
    pub step: Option<String>,
    pub bars: Vec<Bar>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    pub from: Timestamp,
    pub to: Timestamp,
    pub lanes: Vec<Lane>,
    pub left_out: usize,
}

/// None if there is no such workflow.
pub fn timeline(browse: &Browse, id: WorkflowId, now: Timestamp) -> Result<Option<Timeline>> {
    let Some(workflow) = browse.workflow(id)? else { return Ok(None) };
    let (whole, _) = (*Known::default().definition(browse, &workflow.definition)?).clone().expanded();
    let name =
        |def: u32| whole.steps.get(def as usize).map_or_else(|| def.to_string(), |step| step.key.clone());
    let mut lanes: BTreeMap<u32, Lane> = BTreeMap::new();
    for (n, row) in browse.workflow_steps(id)?.iter().enumerate() {
        // What undoes a step has a lane of its own, below.
        let of_step = row.step.in_workflow.filter(|part| (part.def as usize) < whole.steps.len());
        let Some(part) = of_step else { continue };
        let lane =
            lanes.entry(part.def).or_insert_with(|| Lane { name: name(part.def), step: None, bars: vec![] });
        lane.step = Some(row.step.id.to_string());
        lane.bars.extend(run(row, part.run));
        if n < ASKED_MAX {
            lane.bars.extend(tried(browse, row)?);
        }
    }
    for pause in browse.workflow_pauses(id)? {
        if let Some(lane) = lanes.get_mut(&pause.def) {
            lane.bars.push(paused(&pause));
        }
    }
    // In the order in which they began, as the workflow went.
    let mut lanes: Vec<Lane> = lanes.into_values().filter(|lane| !lane.bars.is_empty()).collect();
    lanes.sort_by_key(|lane| lane.bars.iter().map(|bar| bar.from).min());
    lanes.extend(browse.compensation_runs(id)?.iter().filter_map(undone));
    let left_out = lanes.len().saturating_sub(LANES_MAX);
    lanes.truncate(LANES_MAX);
    Ok(Some(Timeline { from: workflow.created_at, to: end(&workflow, &lanes, now), lanes, left_out }))
}

fn end(workflow: &Workflow, lanes: &[Lane], now: Timestamp) -> Timestamp {
    let bars = || lanes.iter().flat_map(|lane| &lane.bars);
    let goes_on = workflow.completed_at.is_none() || bars().any(|bar| bar.to.is_none());
    let last = bars().filter_map(|bar| bar.to).max();
    match goes_on {
        true => now,
        false => workflow.completed_at.max(last).unwrap_or(now),
    }
}

fn run(row: &StepRow, run: u32) -> Vec<Bar> {
    let step = &row.step;
    let began = step.polled.as_ref().map(|polled| polled.started_at).or(step.started_at);
    let state = step.state.word().replace('_', " ");
    let waited = Bar {
        span: Span::Waits,
        from: step.created_at,
        to: began.or(step.completed_at),
        words: "waited".into(),
    };
    let waited = Some(waited).filter(|bar| bar.to.is_none_or(|to| to > bar.from));
    let ran = began.map(|from| Bar {
        span: Span::Run(step.state),
        from,
        to: step.completed_at,
        words: if run > 1 { format!("run {run} {state}") } else { state },
    });
    waited.into_iter().chain(ran).collect()
}

/// Tries that did not simply end it, and polls.
fn tried(browse: &Browse, row: &StepRow) -> Result<Vec<Bar>> {
    let (step, mut bars) = (&row.step, Vec::new());
    if step.failed_attempts > 0 || step.lost_attempts > 0 {
        bars.extend(browse.attempts(step.id)?.iter().map(|attempt| Bar {
            span: Span::Attempt,
            from: attempt.started_at.unwrap_or(attempt.at),
            to: Some(attempt.at),
            words: format!("attempt {} {}", attempt.attempt, attempt.outcome.replace('_', " ")),
        }));
    }
    if step.polls > 0 {
        bars.extend(browse.polls(step.id)?.iter().map(|poll| Bar {
            span: Span::Poll,
            from: poll.at,
            to: Some(poll.at),
            words: format!("poll {} {}", poll.number, poll.verdict),
        }));
    }
    Ok(bars)
}

fn paused(pause: &Pause) -> Bar {
    let what = pause.trigger.as_deref().unwrap_or("a date");
    Bar {
        span: Span::Pause,
        from: pause.registered_at,
        to: pause.ended_at,
        words: format!("waited for {what}, {}", pause.state.word().replace('_', " ")),
    }
}

fn undone(run: &CompensationRun) -> Option<Lane> {
    let from = run.started_at?;
    let failed = run.failure_message.is_some() && run.finished_at.is_none();
    let bar = Bar {
        span: if failed { Span::NotUndone } else { Span::Undoing },
        from,
        to: run.finished_at,
        words: format!("undo by {} {}", run.action, convert::compensation_view(run).state),
    };
    Some(Lane {
        name: format!("undo {}", run.step_key),
        step: run.step.map(|id| id.to_string()),
        bars: vec![bar],
    })
}
