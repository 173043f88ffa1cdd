//! What happened to a workflow, in order: the events on record, and when its steps began and ended.

use super::length::{length, micros, took};
use super::paint::{Paint, plain};
use model::Timestamp;
use serde::Serialize;
use wire::{WorkflowEventView, WorkflowShow};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    pub at: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Moment {
    pub fn line(&self, paint: Paint) -> String {
        let step = self.step_key.as_ref().map(|key| format!(" {}", plain(key))).unwrap_or_default();
        let note = self.note.as_ref().map(|note| format!("  {}", plain(note))).unwrap_or_default();
        format!("{}  {}{step}{}", paint.dim(&self.at), self.kind, paint.dim(&note))
    }
}

/// Events and steps, oldest first. At the same instant the steps stand before the end of the workflow, and behind that what followed from it.
pub fn timeline(show: &WorkflowShow, events: &[WorkflowEventView]) -> Vec<Moment> {
    let event = |event: &WorkflowEventView| Moment {
        at: event.at.clone(),
        kind: event.kind.clone(),
        step_key: event.step_key.clone(),
        note: server::convert::event_note(event),
    };
    let mut end = None;
    let behind_end = |told: &WorkflowEventView| {
        end = end.take().or_else(|| is_end(&told.kind).then(|| told.at.clone())).filter(|at| *at == told.at);
        end.is_some()
    };
    let ranks: Vec<bool> = events.iter().map(behind_end).collect();
    let mut moments: Vec<(bool, Moment)> = ranks.into_iter().zip(events.iter().map(event)).collect();
    for step in &show.steps {
        let moment = |at: &String, kind: String, note| Moment {
            at: at.clone(),
            kind,
            step_key: Some(step.key.clone()),
            note,
        };
        let is_told =
            |kind: &str| events.iter().any(|e| e.kind == kind && e.step_key.as_ref() == Some(&step.key));
        moments.extend(step.started_at.iter().map(|at| (false, moment(at, "step.started".into(), None))));
        let ended = format!("step.{}", step.state);
        if let Some(at) = step.completed_at.as_ref().filter(|_| !is_told(&ended)) {
            let span = took(step.started_at.as_ref(), Some(at), Timestamp(0)).map(length);
            let note = step.error.clone().or_else(|| span.map(|span| format!("after {span}")));
            moments.push((false, moment(at, ended, note)));
        }
    }
    moments.sort_by_key(|(behind_end, moment)| (micros(&moment.at), *behind_end));
    moments.into_iter().map(|(_, moment)| moment).collect()
}

fn is_end(kind: &str) -> bool {
    matches!(
        kind,
        "workflow.succeeded"
            | "workflow.failed"
            | "workflow.cancelled"
            | "compensation.completed"
            | "compensation.failed"
    )
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::shown;
    use super::*;

    #[test]
    fn steps_and_events_stand_in_one_order() {
        let mut show = shown("running", &["pay action completed", "gift action skipped"]).workflow;
        show.steps[0].started_at = Some("1970-01-01T00:00:02Z".into());
        show.steps[0].completed_at = Some("1970-01-01T00:00:03Z".into());
        show.steps[1].completed_at = Some("1970-01-01T00:00:04Z".into());
        let event = |number, at: &str, kind: &str, key: Option<&str>| WorkflowEventView {
            number,
            at: at.into(),
            kind: kind.into(),
            step_key: key.map(Into::into),
            data: None,
        };
        let events = [
            event(1, "1970-01-01T00:00:01Z", "workflow.started", None),
            event(2, "1970-01-01T00:00:03Z", "workflow.failed", None),
            event(3, "1970-01-01T00:00:03Z", "workflow.awaiting_resolution", None),
            event(4, "1970-01-01T00:00:04Z", "step.skipped", Some("gift")),
        ];
        let told: Vec<String> = timeline(&show, &events).iter().map(|m| m.line(Paint::Plain)).collect();
        assert_eq!(
            told,
            [
                "1970-01-01T00:00:01Z  workflow.started",
                "1970-01-01T00:00:02Z  step.started pay",
                "1970-01-01T00:00:03Z  step.completed pay  after 1.0 s",
                "1970-01-01T00:00:03Z  workflow.failed",
                "1970-01-01T00:00:03Z  workflow.awaiting_resolution",
                "1970-01-01T00:00:04Z  step.skipped gift",
            ]
        );
    }
}
