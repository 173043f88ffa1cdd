//! Judges whether a thing is stuck: it is of the sort that a rule names, older than the rule allows, and does not wait by design.
//!
//! Finds   what the store proposes, one candidate at a time, with a rule.
//! Emits   that it is stuck and since when, or why it is not.
//! Why     an alert for what waits by design teaches people to overlook alerts; one that is missed traps somebody's money.

mod course;
mod defaults;
mod design;
mod faults;
mod own;
mod review;
mod told;

pub use course::{Course, Next, next};
pub use defaults::{defaults, overlaid};
pub use design::{ByDesign, of_breaker, of_dispatch_group, of_pause, of_step, of_workflow};
pub use faults::{faults, remedies_of};
pub use own::{ILLEGAL_MOVE, NO_PROGRESS, is_own_to_remind, observe_own};
pub use review::{Review, review};
pub use told::{parse_reported, span};

use model::{Finding, State, StuckClock, StuckRule, Timestamp, Watched, said};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// A thing that may be stuck, as far as rules ask.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub entity: Watched,
    pub id: String,
    pub state: String,
    pub action: Option<String>,
    pub definition: Option<String>,
    pub flow_type: Option<String>,
    pub relatable_type: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub user: Option<String>,
    pub created_at: Timestamp,
    /// Since when it is in its state, and could go on.
    pub state_at: Timestamp,
    /// When something last happened to it.
    pub progress_at: Timestamp,
    pub by_design: Option<ByDesign>,
    /// What it is, in words.
    pub what: String,
    /// What a remedy is applied to, if that is another row.
    pub acts_on: Option<String>,
    /// More about it.
    pub data: Value,
}

impl Candidate {
    /// One of which only this is known.
    pub fn new(entity: Watched, id: impl Into<String>, state: impl Into<String>, at: Timestamp) -> Candidate {
        Candidate {
            entity,
            id: id.into(),
            state: state.into(),
            action: None,
            definition: None,
            flow_type: None,
            relatable_type: None,
            labels: BTreeMap::new(),
            user: None,
            created_at: at,
            state_at: at,
            progress_at: at,
            by_design: None,
            what: String::new(),
            acts_on: None,
            data: Value::Null,
        }
    }
    pub fn since(&self, clock: StuckClock) -> Timestamp {
        match clock {
            StuckClock::Created => self.created_at,
            StuckClock::State => self.state_at,
            StuckClock::Progress => self.progress_at,
        }
    }
}

/// Why a thing is not stuck.
#[derive(Clone, Debug, PartialEq)]
pub enum NotStuck {
    /// The rule does not speak of it, or not any more.
    Other,
    /// It is not old enough.
    NotYet {
        since: Timestamp,
    },
    ByDesign(ByDesign),
}

impl fmt::Display for NotStuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotStuck::Other => write!(f, "the rule does not speak of it"),
            NotStuck::NotYet { .. } => write!(f, "it is not old enough"),
            NotStuck::ByDesign(why) => write!(f, "{why}"),
        }
    }
}

/// Since when it is stuck, or why it is not.
pub fn judge(rule: &StuckRule, candidate: &Candidate, now: Timestamp) -> Result<Timestamp, NotStuck> {
    if !rule.enabled || !speaks_of(rule, candidate) {
        return Err(NotStuck::Other);
    }
    let since = candidate.since(rule.clock);
    if now.since(since) < rule.older_than || since > now {
        return Err(NotStuck::NotYet { since });
    }
    match &candidate.by_design {
        Some(why) => Err(NotStuck::ByDesign(why.clone())),
        None => Ok(since),
    }
}

/// What is seen of a thing that has an open alert.
#[derive(Clone, Debug, PartialEq)]
pub enum Observed {
    /// Still stuck, since then.
    Still(Timestamp),
    /// It has not left its state, but waits by design now; nothing is done and nothing is closed.
    Waits(ByDesign),
    /// It has left its state.
    Left(String),
}

/// Whether the thing of an alert has left the state that the rule speaks of, after so many remedies.
pub fn observe(rule: &StuckRule, attempts: u32, candidate: Option<&Candidate>, now: Timestamp) -> Observed {
    let Some(candidate) = candidate else { return Observed::Left("it is gone".into()) };
    let is_live = candidate.state.parse::<State>().is_ok_and(|state| !state.is_terminal());
    let is_replaced = candidate.entity == Watched::Step && candidate.acts_on.is_some();
    // What was tried came to nothing if it is in the same state again.
    let came_back = attempts > 0 && rule.clock == StuckClock::State;
    match judge(rule, candidate, now) {
        Err(NotStuck::NotYet { .. }) if came_back => Observed::Waits(ByDesign::TriedAgain),
        Err(NotStuck::NotYet { .. }) if is_replaced => Observed::Waits(ByDesign::Replaced),
        Err(NotStuck::Other) if is_replaced && is_live => Observed::Waits(ByDesign::Replaced),
        Ok(since) => Observed::Still(since),
        Err(NotStuck::ByDesign(why)) => Observed::Waits(why),
        Err(NotStuck::NotYet { .. }) => Observed::Left(format!("it moved, and {}", said(&candidate.state))),
        Err(NotStuck::Other) => Observed::Left(format!("it {}", said(&candidate.state))),
    }
}

/// What is told of a thing that is stuck.
pub fn finding(rule: &StuckRule, candidate: &Candidate, since: Timestamp, now: Timestamp) -> Finding {
    let (state, long) = (&candidate.state, span(now.since(since)));
    let how = match (rule.clock, said(state)) {
        (StuckClock::Created, said) => format!("{said} and was made {long} ago"),
        (StuckClock::Progress, said) => format!("{said} and last moved {long} ago"),
        (StuckClock::State, said) => match said.strip_prefix("is ") {
            Some(lasting) => format!("has been {lasting} for {long}"),
            None => format!("{said} {long} ago"),
        },
    };
    Finding {
        rule: rule.name.clone(),
        entity: candidate.entity.to_string(),
        entity_id: candidate.id.clone(),
        reason: rule.reason().into(),
        state: Some(state.clone()),
        user: candidate.user.clone(),
        since,
        message: format!("{} {how}", candidate.what),
        labels: candidate.labels.clone(),
        data: candidate.data.clone(),
        acts_on: candidate.acts_on.clone(),
    }
}

fn speaks_of(rule: &StuckRule, candidate: &Candidate) -> bool {
    let is = |wanted: &Option<String>, has: &Option<String>| wanted.is_none() || wanted == has;
    let has = |(name, value): (&String, &String)| candidate.labels.get(name) == Some(value);
    rule.entity == Some(candidate.entity)
        && (rule.states.is_empty() || rule.states.contains(&candidate.state))
        && is(&rule.action, &candidate.action)
        && is(&rule.definition, &candidate.definition)
        && is(&rule.flow_type, &candidate.flow_type)
        && is(&rule.relatable_type, &candidate.relatable_type)
        && rule.labels.iter().all(has)
}

#[cfg(test)]
mod tests;
