//! Events for subscribers: each becomes a step that delivers it, in the commit of the event itself.
//!
//! Why    what is told and what is delivered are one: a turn that is not stored delivers nothing, and one that is stored loses
//!        nothing. The subscriptions are known in memory, so without any there is nothing to do.

use super::node::{Node, Turn};
use crate::subscriptions::{Event, open_all, step};
use crate::{Keyring, SealError};
use model::{NewStep, Sealed, Timestamp, Workflow, limits};
use rules::subscription::takes;
use std::sync::Arc;
use std::time::Duration;
use store::subscriptions::{self as record, Stored};
use store::{Result, WorkflowEvent};
use tracing::error;

/// How long a node goes by the subscriptions it has read; those it changes itself it knows at once.
const KNOWN_FOR: Duration = Duration::from_secs(1);
/// Deliveries that are made at once.
const MADE_AT_ONCE: usize = 1_000;

struct Subscriber {
    stored: Stored,
    /// What signs, in clear, or why it is not known.
    secrets: std::result::Result<Vec<String>, SealError>,
}

#[derive(Default)]
pub struct Subscribers {
    read_at: Option<Timestamp>,
    all: Vec<Arc<Subscriber>>,
    owed: Vec<(Arc<Subscriber>, WorkflowEvent)>,
}

impl Subscribers {
    /// They may have changed.
    pub fn look_again(&mut self) {
        self.read_at = None;
    }

    /// Whoever asked for this is told.
    pub fn note(&mut self, of: &Workflow, event: &WorkflowEvent) {
        let wants = |one: &&Arc<Subscriber>| {
            takes(&one.stored.subscription.asked, event.kind, &of.definition.key, &of.labels)
        };
        self.owed.extend(self.all.iter().filter(wants).map(|one| (one.clone(), event.clone())));
    }

    fn know(&mut self, all: Vec<Stored>, keys: &Keyring, now: Timestamp) {
        let known = |stored: Stored| Arc::new(Subscriber { secrets: open_all(&stored, keys), stored });
        self.all = all.into_iter().filter(|one| one.subscription.asked.active).map(known).collect();
        self.read_at = Some(now);
    }
}

impl Node {
    /// The subscriptions as they are, or were a moment ago.
    pub(super) fn know_subscribers(&mut self, now: Timestamp) -> Result<()> {
        let subscribers = &mut self.workflows.subscribers;
        if subscribers.read_at.is_some_and(|at| now.since(at) < KNOWN_FOR) {
            return Ok(());
        }
        let all = record::all(self.store.reader())?;
        subscribers.know(all, &self.config.secrets, now);
        Ok(())
    }

    /// A step for each event that somebody asked for.
    pub(super) fn deliver_events(&mut self, turn: &mut Turn, now: Timestamp) -> Result<()> {
        let owed = std::mem::take(&mut self.workflows.subscribers.owed);
        for some in owed.chunks(MADE_AT_ONCE.min(limits::STEPS_PER_CREATE_MAX)) {
            let steps = some.iter().map(|(to, event)| self.delivery(to, event)).collect::<Vec<_>>();
            match self.plan(turn, &steps, now)? {
                Ok(rows) => self.carry_out(turn, rows)?,
                Err(faults) => {
                    error!(fault = %faults[0], deliveries = steps.len(), "events could not be delivered")
                }
            }
        }
        Ok(())
    }

    fn delivery(&self, to: &Subscriber, told: &WorkflowEvent) -> NewStep {
        let subscription = &to.stored.subscription;
        let event = Event {
            id: format!("{}/{}", told.dispatch_group, told.number),
            source: format!("/v1/workflows/{}", told.workflow),
            kind: told.kind,
            subject: told.step_key.clone(),
            at: told.at,
            data: told.data.clone(),
        };
        let keys = &self.config.secrets;
        let made = to.secrets.clone().and_then(|secrets| step(subscription, &secrets, &event, keys));
        let step = made.unwrap_or_else(|problem| unsigned(&to.stored, &event.id, &problem));
        match subscription.asked.ordered {
            false => NewStep { dispatch_group: Some(told.dispatch_group.to_string()), ..step },
            true => NewStep {
                message_group: Some(format!("subscription/{}/{}", subscription.id, told.workflow)),
                mode: Some("next_on_error".into()),
                ..step
            },
        }
    }
}

/// What cannot be signed is not sent: the step fails and says so.
fn unsigned(to: &Stored, id: &str, problem: &SealError) -> NewStep {
    error!(subscription = %to.subscription.id, %problem, "a delivery cannot be signed");
    let sealed: Vec<&String> = to.secrets.iter().filter(|text| Sealed::is_in(text)).collect();
    let arguments = serde_json::json!({"url": to.subscription.asked.url, "id": id, "secrets": sealed});
    NewStep {
        relatable_type: Some("subscription".into()),
        relatable_id: Some(to.subscription.id.to_string()),
        ..NewStep::of("deliver").with(&arguments).expect("plain data")
    }
}
