//! When the steps of a workflow waited, ran, were tried, polled, paused and undone, and the whole was held: spans of time in lanes, one lane a step.

use crate::convert;
use crate::secrets::Known;
use model::{CompensationRun, Pause, State, Timestamp, Workflow, WorkflowId};
use std::collections::{BTreeMap, BTreeSet};
use store::{Browse, Result, StepRow};

/// Lanes that are shown; a page of more is not read.
pub const LANES_MAX: usize = 200;
/// Steps whose attempts and polls are looked up, of those that have any.
pub const ASKED_MAX: usize = 100;
/// Lanes of a kind that are shown however many there are of the kinds before it.
const SHARE: usize = LANES_MAX / 4;

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
    /// The whole, by a person or because a step failed.
    Held,
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
    pub left_out: LeftOut,
}

/// Why somebody looks at a lane: the first first, when not all can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LaneKind {
    Failed,
    Live,
    Undone,
    Other,
}

/// What is not in the lanes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeftOut {
    /// Lanes of each kind.
    pub lanes: BTreeMap<LaneKind, usize>,
    /// Steps in a lane whose attempts and polls were not looked up.
    pub tries: usize,
}

/// A lane, and the steps of it that may have attempts and polls.
struct Drawn {
    lane: Lane,
    tried: Vec<StepRow>,
}

/// None if there is no such workflow.
pub fn timeline(browse: &Browse, id: WorkflowId, now: Timestamp) -> Result<Option<Timeline>> {
    let Some(workflow) = browse.workflow(id)? else { return Ok(None) };
    let mut all = of_steps(browse, &workflow)?;
    let undone = browse.compensation_runs(id)?;
    all.extend(undone.iter().filter_map(undone_by).map(|lane| Drawn { lane, tried: Vec::new() }));
    let to = end(&workflow, &all, now);
    let (mut kept, mut left_out) = cut(all);
    left_out.tries = add_tries(browse, &mut kept)?;
    // Above all others, for it holds of all of them.
    let held = super::holds::held(browse, &workflow)?;
    let lanes = held.into_iter().chain(kept.into_iter().map(|drawn| drawn.lane)).collect();
    Ok(Some(Timeline { from: workflow.created_at, to, lanes, left_out }))
}

/// A lane for each step that has begun, in the order in which they began, as the workflow went.
fn of_steps(browse: &Browse, workflow: &Workflow) -> Result<Vec<Drawn>> {
    let (whole, _) = (*Known::default().definition(browse, &workflow.definition)?).clone().expanded();
    let mut lanes: BTreeMap<u32, Drawn> = BTreeMap::new();
    for row in browse.workflow_steps(workflow.id)? {
        // What undoes a step has a lane of its own, below.
        let Some(part) = row.step.in_workflow else { continue };
        let Some(written) = whole.steps.get(part.def as usize) else { continue };
        let drawn = lanes.entry(part.def).or_insert_with(|| Drawn {
            lane: Lane { name: written.key.clone(), step: None, bars: Vec::new() },
            tried: Vec::new(),
        });
        drawn.lane.step = Some(row.step.id.to_string());
        drawn.lane.bars.extend(run(&row, part.run));
        if was_tried(&row) {
            drawn.tried.push(row);
        }
    }
    for pause in browse.workflow_pauses(workflow.id)? {
        if let Some(drawn) = lanes.get_mut(&pause.def) {
            drawn.lane.bars.push(paused(&pause));
        }
    }
    let mut lanes: Vec<Drawn> = lanes.into_values().filter(|drawn| !drawn.lane.bars.is_empty()).collect();
    lanes.sort_by_key(|drawn| drawn.lane.bars.iter().map(|bar| bar.from).min());
    Ok(lanes)
}

fn kind(lane: &Lane) -> LaneKind {
    let last = lane.bars.iter().rev().find_map(|bar| match bar.span {
        Span::Run(state) => Some(state),
        _ => None,
    });
    let failed = matches!(last, Some(State::Failed | State::Stopped | State::TimedOut));
    let has = |span| lane.bars.iter().any(|bar| bar.span == span);
    if failed || has(Span::NotUndone) {
        LaneKind::Failed
    } else if lane.bars.iter().any(|bar| bar.to.is_none()) {
        LaneKind::Live
    } else if has(Span::Undoing) {
        LaneKind::Undone
    } else {
        LaneKind::Other
    }
}

/// As many as are shown, in the order they had: some of each kind that people look for, then by kind.
fn cut(all: Vec<Drawn>) -> (Vec<Drawn>, LeftOut) {
    let mut counts: BTreeMap<LaneKind, usize> = BTreeMap::new();
    let mut places: Vec<(bool, LaneKind, usize)> = Vec::new();
    for (n, drawn) in all.iter().enumerate() {
        let kind = kind(&drawn.lane);
        let before = counts.entry(kind).or_default();
        places.push((kind == LaneKind::Other || *before >= SHARE, kind, n));
        *before += 1;
    }
    places.sort_unstable();
    let mut left_out = LeftOut::default();
    for (_, kind, _) in places.iter().skip(LANES_MAX) {
        *left_out.lanes.entry(*kind).or_default() += 1;
    }
    let shown: BTreeSet<usize> = places.iter().take(LANES_MAX).map(|(_, _, n)| *n).collect();
    let kept = all.into_iter().enumerate().filter(|(n, _)| shown.contains(n));
    (kept.map(|(_, drawn)| drawn).collect(), left_out)
}

/// Puts attempts and polls on the lanes, and gives how many steps of them were not looked up.
fn add_tries(browse: &Browse, lanes: &mut [Drawn]) -> Result<usize> {
    let mut order: Vec<usize> = (0..lanes.len()).collect();
    order.sort_by_key(|n| kind(&lanes[*n].lane));
    let (mut asked, mut left) = (0, 0);
    for n in order {
        for row in std::mem::take(&mut lanes[n].tried) {
            if asked == ASKED_MAX {
                left += 1;
                continue;
            }
            asked += 1;
            lanes[n].lane.bars.extend(tried(browse, &row)?);
        }
    }
    Ok(left)
}

fn end(workflow: &Workflow, lanes: &[Drawn], now: Timestamp) -> Timestamp {
    let bars = || lanes.iter().flat_map(|drawn| &drawn.lane.bars);
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

fn was_tried(row: &StepRow) -> bool {
    row.step.failed_attempts > 0 || row.step.lost_attempts > 0 || row.step.polls > 0
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

fn undone_by(run: &CompensationRun) -> Option<Lane> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// So many lanes of each kind, in this order.
    fn lanes(of: &[(LaneKind, usize)]) -> Vec<Drawn> {
        let span = |kind| match kind {
            LaneKind::Failed => Span::NotUndone,
            LaneKind::Undone => Span::Undoing,
            LaneKind::Live => Span::Run(State::Running),
            LaneKind::Other => Span::Run(State::Completed),
        };
        let lane = |kind| {
            let to = (kind != LaneKind::Live).then_some(Timestamp(1));
            let bars = vec![Bar { span: span(kind), from: Timestamp(0), to, words: String::new() }];
            Lane { name: format!("{kind:?}"), step: None, bars }
        };
        let all = of.iter().flat_map(|(kind, n)| std::iter::repeat_n(*kind, *n));
        all.map(|kind| Drawn { lane: lane(kind), tried: Vec::new() }).collect()
    }

    /// How many of each are kept, in the order in which they stand.
    fn kept(of: &[(LaneKind, usize)]) -> String {
        let (kept, left_out) = cut(lanes(of));
        let runs = kept.chunk_by(|one, next| one.lane.name == next.lane.name);
        let told: Vec<String> = runs.map(|run| format!("{} {}", run.len(), run[0].lane.name)).collect();
        format!("{}; left out {:?}", told.join(", "), left_out.lanes)
    }

    #[test]
    fn what_people_look_for_is_kept_and_stands_where_it_stood() {
        use LaneKind::{Failed, Live, Other, Undone};
        assert_eq!(kept(&[(Other, 150), (Failed, 50)]), "150 Other, 50 Failed; left out {}");
        assert_eq!(
            kept(&[(Other, 300), (Failed, 2), (Live, 3), (Undone, 4)]),
            "191 Other, 2 Failed, 3 Live, 4 Undone; left out {Other: 109}"
        );
        assert_eq!(
            kept(&[(Failed, 300), (Live, 60), (Undone, 40)]),
            "110 Failed, 50 Live, 40 Undone; left out {Failed: 190, Live: 10}"
        );
    }
}
