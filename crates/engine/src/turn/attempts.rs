//! The record of attempts: those that did not simply succeed, and every delivery.

use model::{Delivery, Detail, Event, Outcome, Report, State, Step, StepId, Timestamp};
use rules::board::{Changes, Moved};
use std::collections::HashMap;
use store::Attempt;

/// What runs told of their deliveries.
pub type Deliveries = HashMap<(StepId, u32), Delivery>;

/// Of what moved in this turn.
pub fn attempts(changes: &Changes, mut deliveries: Deliveries, now: Timestamp) -> Vec<Attempt> {
    let told = |e: Event| {
        // A poll that is to be made again has a record of its own.
        let plain = matches!(e, Event::Dispatched | Event::Started | Event::PollStarted);
        !plain && !matches!(e, Event::Completed | Event::ChildrenCompleted)
    };
    let is_wanted = |m: &&Moved| {
        m.from.is_some_and(State::is_in_flight)
            && (m.event.is_some_and(told) || deliveries.contains_key(&(m.step, m.attempt)))
    };
    let moves: Vec<&Moved> = changes.moves.iter().filter(is_wanted).collect();
    if moves.is_empty() {
        return Vec::new();
    }
    let rows: HashMap<StepId, (&Step, &Detail)> =
        changes.steps.iter().filter_map(|(s, c)| c.before.as_ref().map(|b| (s.id, (b, &c.detail)))).collect();
    let attempt = |m: &Moved| {
        let (before, detail) = rows.get(&m.step).filter(|(b, _)| !b.parked && b.is_held())?;
        let delivery = deliveries.remove(&(m.step, m.attempt));
        Some(Attempt {
            step: m.step,
            attempt: m.attempt,
            at: now,
            session: before.session,
            host: before.host.clone(),
            started_at: delivery.as_ref().map(|d| d.started_at).or(before.started_at),
            outcome: m.event.map_or("", |e| e.word()).into(),
            message: detail.error_message.clone().or_else(|| detail.note.clone()),
            delivery,
        })
    };
    moves.into_iter().filter_map(attempt).collect()
}

/// Of a run that had lost its step: it counts for nothing, and what it delivered is delivered.
pub fn late(report: &Report, delivery: Option<Delivery>, now: Timestamp) -> Attempt {
    Attempt {
        step: report.step,
        attempt: report.attempt,
        at: now,
        session: Some(report.session),
        host: None,
        started_at: delivery.as_ref().map(|d| d.started_at),
        outcome: "late".into(),
        message: Some(brief(&report.outcome)),
        delivery,
    }
}

fn brief(outcome: &Outcome) -> String {
    let mut text = format!("{outcome:?}");
    text.truncate(text.char_indices().nth(500).map_or(text.len(), |(i, _)| i));
    text
}
