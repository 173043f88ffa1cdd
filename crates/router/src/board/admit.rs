//! Who is taken in, and who is sent back at the door.
//!
//! Why    a pool that took more than it can queue would hold messages that others could have. A second delivery of a message
//!        that is held becomes another receipt of it: the message is called once and all its deliveries end alike.

use super::{Board, Ending, Key, Line, Place, Queue, Ticket};
use crate::limits::{HOLDS_MAX, RECEIPTS_MAX, UNKNOWN_CODES_MAX};
use crate::warnings::{Category, Severity};
use reqwest::Url;
use std::sync::Arc;
use std::time::Duration;
use transport::{MessagePointer, Receipt, Received};

const POOL_FULL: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It waits for its turn.
    Kept,
    /// It was held already.
    Known,
    /// Its delivery ends here.
    Ended(Receipt, Ending),
}

impl Board {
    pub fn admit(&mut self, received: Received, now: Duration) -> Admission {
        let Received { pointer, receipt, attempt_header, .. } = received;
        let pointer = match pointer {
            Ok(pointer) => pointer,
            Err(why) => {
                let text = format!("a message was dropped: {why}");
                self.counters.dropped += 1;
                self.warnings.add(Category::Configuration, Severity::Error, "queue", &text, now);
                return Admission::Ended(receipt, Ending::Ack);
            }
        };
        let key = Key { id: pointer.id.clone(), attempt: attempt_header.or_else(|| attempt(&pointer)) };
        if self.is_known(&key, &receipt) {
            self.counters.duplicates += 1;
            return Admission::Known;
        }
        if self.was_called(&key) {
            self.counters.duplicates += 1;
            return Admission::Ended(receipt, Ending::Ack);
        }
        match self.delay_at_the_door(&pointer, now) {
            Some(delay) => {
                self.counters.deferred += 1;
                Admission::Ended(receipt, Ending::Defer(delay))
            }
            None => {
                self.take_in(key, pointer, receipt, now);
                Admission::Kept
            }
        }
    }

    fn is_known(&mut self, key: &Key, receipt: &Receipt) -> bool {
        let Some(ticket) = self.tickets.get_mut(key) else { return false };
        if ticket.receipts.len() == RECEIPTS_MAX {
            ticket.receipts.remove(0);
        }
        ticket.receipts.push(receipt.clone());
        ticket.receipt_lost = false;
        true
    }

    /// Without an attempt, the same id may be a new message, and a call too many is better than one too few.
    fn was_called(&mut self, key: &Key) -> bool {
        let found = self.unconfirmed.iter().position(|known| known == key);
        found.and_then(|at| self.unconfirmed.remove(at)).is_some_and(|key| key.attempt.is_some())
    }

    fn delay_at_the_door(&mut self, pointer: &MessagePointer, now: Duration) -> Option<Duration> {
        let code = self.pool_of(&pointer.pool_code, now);
        let pool = &self.pools[&code];
        let line = line(pointer);
        let in_line = self.queues.get(&line).map_or(0, |queue| queue.keys.len());
        let is_full = pool.is_full();
        let too_many = is_full || in_line >= pool.line_max();
        if let Some(group) = &pointer.message_group_id
            && let Some(delay) = self.holds.get_mut(group).and_then(|hold| hold.arrive(&pointer.id, now))
        {
            return Some(delay);
        }
        if self.is_closed {
            return Some(super::end::STOPPING);
        }
        if !too_many {
            return None;
        }
        if is_full {
            let text = "the pool is full; its messages are deferred";
            self.warnings.add(Category::PoolCapacity, Severity::Warning, &code, text, now);
        }
        self.hold(&line, &[&pointer.id], POOL_FULL, now);
        Some(POOL_FULL)
    }

    fn take_in(&mut self, key: Key, pointer: MessagePointer, receipt: Receipt, now: Duration) {
        let code = self.pool_of(&pointer.pool_code, now);
        let line = line(&pointer);
        if let Line::Group(group) = &line
            && let Some(hold) = self.holds.get_mut(group)
        {
            hold.pass(&pointer.id, now);
        }
        let Queue { keys, is_called } = self.queues.entry(line.clone()).or_default();
        keys.push_back(key.clone());
        let pool = self.pools.get_mut(&code).expect("`pool_of` names a pool that exists");
        pool.held += 1;
        if keys.len() == 1 && !*is_called {
            pool.ring.push_back(line.clone());
        }
        let ticket = Ticket {
            target: breaker_name(&pointer.mediation_target),
            pointer: Arc::new(pointer),
            pool: code,
            line,
            receipts: vec![receipt],
            receipt_lost: false,
            received_at: now,
            token_wanted_at: None,
            place: Place::Waiting,
        };
        self.tickets.insert(key, ticket);
    }

    /// The pool of this code, or the one for codes that nobody knows.
    fn pool_of(&mut self, code: &str, now: Duration) -> String {
        if self.pools.get(code).is_some_and(|pool| !pool.leaving) {
            return code.into();
        }
        if self.unknown_codes.len() < UNKNOWN_CODES_MAX && self.unknown_codes.insert(code.into()) {
            let text = format!("there is no such pool; its messages go to `{}`", self.default_pool);
            self.warnings.add(Category::Routing, Severity::Warning, code, &text, now);
        }
        self.default_pool.clone()
    }

    /// Later messages of the group wait until these are back.
    pub(super) fn hold(&mut self, line: &Line, ids: &[&str], delay: Duration, now: Duration) {
        let Line::Group(group) = line else { return };
        if self.holds.len() >= HOLDS_MAX && !self.holds.contains_key(group) {
            return;
        }
        self.holds.entry(group.clone()).or_default().put_back(ids, delay, now);
    }
}

fn line(pointer: &MessagePointer) -> Line {
    match &pointer.message_group_id {
        Some(group) => Line::Group(group.clone()),
        None => Line::Alone(pointer.id.clone()),
    }
}

/// As our own tokens begin.
fn attempt(pointer: &MessagePointer) -> Option<u32> {
    let (attempt, rest) = pointer.auth_token.split_once('.')?;
    let (expiry, _) = rest.split_once('.')?;
    expiry.parse::<u64>().ok()?;
    attempt.parse().ok()
}

/// Without user, password and what follows `?`, which may be secrets and differ from call to call.
pub fn breaker_name(target: &str) -> String {
    let Ok(mut url) = Url::parse(target) else { return "no address".into() };
    url.set_query(None);
    url.set_fragment(None);
    // Both fail only where there is no host, and then there is no user either.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}
