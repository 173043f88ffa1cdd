//! The words of the tests for steps and outcomes, and the figures that go with a commit.

use super::HOST;
use model::{Event, Failure, NewStep, Outcome, Step, StepId, Timestamp};
use rules::board::Changes;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use stepfast_store::{Attempt, TallyKey};

pub fn step(key: &str) -> NewStep {
    NewStep { step_key: Some(key.into()), retry_delay_ms: Some(0), ..NewStep::of("work") }
}

pub fn at(index: u32, step: NewStep) -> NewStep {
    NewStep { index: Some(index), ..step }
}

pub fn parent(key: &str, children: Vec<NewStep>) -> NewStep {
    NewStep { children, ..step(key) }
}

pub fn resolver(key: &str) -> NewStep {
    NewStep { kind: Some("resolve-exception".into()), ..step(key) }
}

pub fn complete() -> Outcome {
    Outcome::Complete { response: Some("{}".into()) }
}

pub fn fail() -> Outcome {
    Outcome::Fail { failure: Failure { message: "no".into(), trace: None }, notify: true }
}

pub fn again() -> Outcome {
    Outcome::Retry { after: Some(Duration::ZERO), failure: None }
}

pub fn tallies(changes: &Changes) -> Vec<(TallyKey, i64)> {
    let mut deltas: BTreeMap<TallyKey, i64> = BTreeMap::new();
    for (step, change) in &changes.steps {
        *deltas.entry(TallyKey::of(step)).or_default() += 1;
        if let Some(before) = &change.before {
            *deltas.entry(TallyKey::of(before)).or_default() -= 1;
        }
    }
    deltas.into_iter().collect()
}

pub fn attempts(changes: &Changes, now: Timestamp) -> Vec<Attempt> {
    let plain = [Event::Dispatched, Event::Started, Event::Completed, Event::ChildrenCompleted];
    let before: HashMap<StepId, &Step> =
        changes.steps.iter().filter_map(|(s, c)| c.before.as_ref().map(|b| (s.id, b))).collect();
    let ended = changes.moves.iter().filter(|m| m.event.is_some_and(|e| !plain.contains(&e)));
    let held = ended.filter(|m| before.get(&m.step).is_some_and(|b| b.is_held()));
    held.map(|m| Attempt {
        step: m.step,
        attempt: m.attempt,
        at: now,
        session: before[&m.step].session,
        host: Some(HOST.into()),
        started_at: before[&m.step].started_at,
        outcome: m.event.unwrap().word().into(),
        message: None,
        delivery: None,
    })
    .collect()
}
