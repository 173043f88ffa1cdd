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

/// When it is time to look.
pub struct Expiry {
    /// The first step that waits may be over.
    pub next: Timestamp,
    /// The same of those that were made here, which may not be stored yet.
    noted: Option<Timestamp>,
}

impl Expiry {
    pub fn from(next: Timestamp) -> Expiry {
        Expiry { next, noted: None }
    }
    fn note(&mut self, at: Timestamp) {
        self.noted = Some(self.noted.map_or(at, |noted| noted.min(at)));
        self.next = self.next.min(at);
    }
    fn looked(&mut self, next: Timestamp, now: Timestamp) {
        self.noted = self.noted.filter(|noted| *noted > now);
        self.next = self.noted.map_or(next, |noted| noted.min(next));
    }
}

impl Node {
    /// A new step may be the first that runs out.
    pub(super) fn note_expiry(&mut self, at: Option<Timestamp>) {
        at.into_iter().for_each(|at| self.expiry.note(at));
    }

    pub(super) fn expire(&mut self, now: Timestamp) -> Result<()> {
        if now < self.expiry.next {
            return Ok(());
        }
        let Expired { over, next } = store::expired(self.store.reader(), now)?;
        let full = over.len() >= store::EXPIRED_PAGE;
        self.again |= full;
        let next = if full { now } else { next.unwrap_or(now + LOOK_EVERY).min(now + LOOK_EVERY) };
        self.expiry.looked(next, now);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A step that was made in the turn that looked was noticed a minute late.
    #[test]
    fn what_is_made_while_looking_is_not_forgotten() {
        let mut expiry = Expiry::from(Timestamp(0));
        expiry.note(Timestamp(1_000));
        expiry.looked(Timestamp(60_000), Timestamp(10));
        assert_eq!(expiry.next, Timestamp(1_000));
        expiry.looked(Timestamp(60_000), Timestamp(1_000));
        assert_eq!(expiry.next, Timestamp(60_000));
    }
}
