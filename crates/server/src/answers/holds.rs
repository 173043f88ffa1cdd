//! When a workflow stood still as a whole, for a person or for a step that failed: from what its history says of its states.
//!
//! Why    such a hold has no row of its own. What waits for triggers and dates has one, and a lane that shows it.

use super::timeline::{Bar, Lane, Span};
use crate::secrets::Known;
use model::{Pause, Timestamp, Workflow, limits};
use serde_json::Value;
use store::{Browse, EventLine, Result};

/// Bars of one workflow, the last ones.
const BARS_MAX: usize = 200;
/// Characters of why it was held.
const WORDS_MAX: usize = 200;

const PAUSED: &str = "workflow.paused";
/// The moves of a workflow that is paused, and of one that is not any more.
const MOVES: [&str; 6] = [
    PAUSED,
    "workflow.resumed",
    "workflow.succeeded",
    "workflow.failed",
    "workflow.cancelled",
    "compensation.started",
];

/// None if it never was.
pub(super) fn held(browse: &Browse, workflow: &Workflow) -> Result<Option<Lane>> {
    let lines = browse.workflow_events_of(workflow.id, &MOVES, limits::PAGE_ROWS_MAX)?;
    if !lines.iter().any(|line| line.kind == PAUSED) {
        return Ok(None);
    }
    let mut bars = bars(&lines, &browse.workflow_pauses(workflow.id)?);
    bars.drain(..bars.len().saturating_sub(BARS_MAX));
    let secrets = Known::default().secrets(browse, workflow)?;
    for bar in &mut bars {
        let words = secrets.hide_text(std::mem::take(&mut bar.words));
        bar.words = words.chars().take(WORDS_MAX).collect();
    }
    let lane = Lane { name: "held as a whole".into(), step: None, bars };
    Ok(Some(lane).filter(|lane| !lane.bars.is_empty()))
}

/// From each time it was held to what came next.
fn bars(lines: &[EventLine], pauses: &[Pause]) -> Vec<Bar> {
    let next = lines.iter().skip(1).map(|line| Some(line.at)).chain([None]);
    let held = |(line, to): (&EventLine, Option<Timestamp>)| {
        let why = why(line);
        if line.kind != PAUSED || why.is_some() && why == awaited(pauses, line.at) {
            return None;
        }
        let words = why.map_or_else(|| "held".into(), |why| format!("held: {why}"));
        Some(Bar { span: Span::Held, from: line.at, to, words })
    };
    lines.iter().zip(next).filter_map(held).collect()
}

fn why(line: &EventLine) -> Option<String> {
    let data: Value = serde_json::from_str(line.data.as_deref()?).ok()?;
    data["message"].as_str().map(Into::into)
}

/// What is said of a workflow in which all that is left waits, as it was then.
fn awaited(pauses: &[Pause], at: Timestamp) -> Option<String> {
    let waits = |pause: &&Pause| pause.registered_at <= at && pause.ended_at.is_none_or(|end| end > at);
    let all: Vec<String> = pauses.iter().filter(waits).map(Pause::awaits).collect();
    (!all.is_empty()).then(|| format!("it waits for {}", all.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{DispatchGroup, PauseState, StepId, WorkflowId};

    /// One event a line: when, its kind, and why if it says so.
    fn lines(text: &str) -> Vec<EventLine> {
        let line = |text: &str| {
            let mut words = text.trim().splitn(3, ' ');
            let (at, kind) = (words.next().unwrap().parse().unwrap(), words.next().unwrap());
            EventLine {
                dispatch_group: DispatchGroup::new("alpha"),
                number: 1,
                workflow: WorkflowId::of(1),
                at: Timestamp(at),
                kind: kind.into(),
                step_key: None,
                data: words.next().map(|why| serde_json::json!({"message": why}).to_string()),
            }
        };
        text.trim().lines().map(line).collect()
    }

    fn waits(from: i64, to: Option<i64>) -> Pause {
        Pause {
            workflow: WorkflowId::of(1),
            def: 0,
            run: 1,
            step: StepId::of(1),
            step_key: "ask".into(),
            trigger: Some("approve".into()),
            token: None,
            registered_at: Timestamp(from),
            timeout_at: None,
            resume_at: None,
            reminders: 0,
            state: PauseState::Waiting,
            ended_at: to.map(Timestamp),
            consumed: None,
            version: 0,
        }
    }

    fn told(text: &str, pauses: &[Pause]) -> String {
        let told = |bar: &Bar| format!("{}-{} {}", bar.from.0, bar.to.map_or(0, |to| to.0), bar.words);
        bars(&lines(text), pauses).iter().map(told).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_hold_lasts_until_it_goes_on_or_ends() {
        let twice = "1 workflow.paused look
            3 workflow.resumed
            5 workflow.paused
            8 workflow.cancelled";
        assert_eq!(told(twice, &[]), "1-3 held: look; 5-8 held");
        assert_eq!(told("7 workflow.paused step `pay` failed", &[]), "7-0 held: step `pay` failed");
        assert_eq!(told("2 workflow.resumed", &[]), "", "when it began is too long ago");
    }

    #[test]
    fn what_waits_for_a_trigger_is_held_only_by_a_person() {
        let both = "4 workflow.paused it waits for the trigger `approve`
            6 workflow.paused look
            9 workflow.resumed";
        assert_eq!(told(both, &[waits(3, Some(9))]), "6-9 held: look");
        assert_eq!(told(both, &[waits(3, None)]), "6-9 held: look");
    }
}
