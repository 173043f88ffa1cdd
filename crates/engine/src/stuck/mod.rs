//! What is stuck: a look for it beside the turns, what follows from it in a turn, and what people do about it.

mod look;
mod notice;
mod review;
mod rules;

pub(crate) use look::{Look, Seen, look_as};
pub(crate) use notice::{closed, escalated, opened, own, reminded, user};
pub(crate) use rules::put_all;

use crate::{Engine, EngineError};
use model::{Severity, StuckPolicy, StuckRule, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use store::stuck::Rounds;
use store::{AuditEntry, Browse, StoreError};

/// What the configuration says.
#[derive(Clone, Debug, Default)]
pub struct StuckConfig {
    /// How often it is looked for what is stuck; never by itself if nothing is said.
    pub every: Option<Duration>,
    pub policy: StuckPolicy,
    /// Rules that are put on record when the engine starts.
    pub rules: Vec<StuckRule>,
    pub left_out: LeftOut,
}

/// What becomes of rules on record that came from a configuration, when an engine starts whose configuration has them no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeftOut {
    /// They stay: this engine does a single thing, or has no configuration.
    #[default]
    Keep,
    /// They go: this configuration is the one that holds.
    Remove,
}

/// What one look is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DetectOrder {
    pub remedies: Remedies,
    pub scope: Scope,
}

/// Whether a look applies remedies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Remedies {
    Apply,
    #[default]
    Leave,
}

/// What a look is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    #[default]
    All,
    /// Only what actions have answered.
    Answers,
}

/// A thing that a look found, and what was done about it, or would be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detected {
    /// Of its alert, if there was one before.
    pub alert: Option<u64>,
    pub rule: String,
    pub entity: String,
    pub entity_id: String,
    pub reason: String,
    pub severity: Severity,
    pub user: Option<String>,
    pub since: Timestamp,
    pub message: String,
    /// `opened`, `renewed`, `admin told`, `retry`, `escalated: …`, `held: …`.
    pub done: Vec<String>,
}

/// What a look came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detection {
    /// Nothing of it was done.
    pub dry_run: bool,
    pub found: Vec<Detected>,
    /// Alerts that are closed because the thing has left its state: entity, id and why.
    pub closed: Vec<(String, String, String)>,
    pub opened: usize,
    pub remedies: usize,
    pub escalated: usize,
    pub failed: usize,
    /// Actions that were asked for things that are stuck.
    pub asked: Vec<String>,
    /// What is wrong with rules or their answers.
    pub faults: Vec<String>,
    /// How long the database was asked.
    pub database_us: u64,
}

impl Detection {
    /// `step`: 3, `payment`: 1.
    pub fn by_entity(&self) -> std::collections::BTreeMap<&str, usize> {
        let mut counts = std::collections::BTreeMap::new();
        self.found.iter().for_each(|one| *counts.entry(one.entity.as_str()).or_default() += 1);
        counts
    }
}

/// Turns that may be lost to somebody who did the same at the same time.
const TRIES: usize = 3;

impl Engine {
    /// The same for somebody, on record before it begins: who asked is known whatever becomes of it.
    pub async fn detect_for(&self, order: DetectOrder, by: String) -> Result<Detection, EngineError> {
        let after = match order.remedies {
            Remedies::Apply => "looked for; remedies are applied",
            Remedies::Leave => "looked for; remedies are left to people",
        };
        self.put_on_record(AuditEntry {
            who: by,
            verb: "look".into(),
            target: "what is stuck".into(),
            why: None,
            before: None,
            after: Some(after.into()),
        })
        .await?;
        self.detect(order).await
    }

    /// Look for what is stuck now, and do what follows from it.
    pub async fn detect(&self, order: DetectOrder) -> Result<Detection, EngineError> {
        for _ in 1..TRIES {
            match self.ask(|reply| crate::request::Request::Detect { order, reply }).await {
                Err(EngineError::Unavailable(StoreError::Lost { .. })) => {}
                done => return done,
            }
        }
        self.ask(|reply| crate::request::Request::Detect { order, reply }).await
    }
}

/// What a look would find and do; nothing is written.
pub fn dry_detect(
    browse: &Browse,
    policy: StuckPolicy,
    order: DetectOrder,
    now: Timestamp,
) -> Result<Detection, StoreError> {
    let rounds = browse.stuck_look()?.rounds;
    Ok(dry_look(browse, policy, order, (rounds, now))?.0)
}

/// The same from anywhere in the searches, and where the next look goes on.
pub fn dry_look(
    browse: &Browse,
    policy: StuckPolicy,
    order: DetectOrder,
    (rounds, now): (Rounds, Timestamp),
) -> Result<(Detection, Rounds), StoreError> {
    let look = look::look(browse, order.scope, rounds, now)?;
    let detection = look.preview(policy, order);
    Ok((detection, look.rounds.unwrap_or_default()))
}
