//! Steps that nobody wants any more once their time is over.
//!
//! Why    a target that defers for ever would keep its step for ever; `expires_at` is the bound. It is looked at when a step is to start, and when
//!        the first of those that wait runs out.

use super::node::Node;
use model::{Effect, Event, Move, State, StepId, Timestamp};
use rules::outbox;
use std::time::Duration;
use store::{Expired, Result, StoreError};

/// How long steps that others stored may be over before it is noticed.
const LOOK_EVERY: Duration = Duration::from_secs(60);

impl Node {
    /// A new step may be the first that runs out.
    pub(super) fn note_expiry(&mut self, at: Option<Timestamp>) {
        self.expires_next = at.map_or(self.expires_next, |at| at.min(self.expires_next));
    }

    pub(super) fn expire(&mut self, now: Timestamp) -> Result<()> {
        if now < self.expires_next {
            return Ok(());
        }
        let Expired { over, next } = store::expired(self.store.reader(), now)?;
        let full = over.len() >= store::EXPIRED_PAGE;
        self.again |= full;
        self.expires_next = if full { now } else { next.unwrap_or(now + LOOK_EVERY).min(now + LOOK_EVERY) };
        for (id, group) in over {
            if self.owns(&group) && self.bring(id)? {
                self.expire_one(id, now)?;
            }
        }
        Ok(())
    }

    /// True if its time was over, and it waited.
    pub(super) fn expire_one(&mut self, id: StepId, now: Timestamp) -> Result<bool> {
        let over = self
            .board
            .step(id)
            .filter(|step| step.state == State::Pending || outbox::is_queued(step))
            .is_some_and(|step| step.expires_at.is_some_and(|at| at <= now));
        if over {
            self.board
                .apply(Effect::MoveStep(Box::new(Move::new(id, Event::Expired))))
                .map_err(|e| StoreError::Lost { what: e.to_string() })?;
        }
        Ok(over)
    }
}
