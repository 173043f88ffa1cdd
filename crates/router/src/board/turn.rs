//! Whose turn it is: each pool goes round the lines that are ready, as far as its slots and its rate allow.

use super::{Batch, Board, Ending, Key, Line, Place, Settlement};
use crate::limits::{PUT_OFF_IDLE_MAX, TOKEN_WAIT_MAX};
use crate::warnings::{Category, Severity};
use std::sync::Arc;
use std::time::Duration;
use transport::MessagePointer;

const SUSPENDED: Duration = Duration::from_secs(10);
const CIRCUIT_OPEN: Duration = Duration::from_secs(5);
const RATE_LIMITED: Duration = Duration::from_secs(10);
const SWEEP_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub key: Key,
    pub pointer: Arc<MessagePointer>,
}

#[derive(Debug, Default)]
pub struct Turn {
    pub calls: Vec<Call>,
    pub given_back: Vec<Batch>,
    /// When there may be more to do although nothing has happened.
    pub wake_at: Option<Duration>,
}

/// What becomes of the line that is next.
enum Next {
    Call,
    GiveBack(Why),
    /// Not before this moment, if it is known.
    Wait(Option<Duration>),
}

#[derive(Clone, Copy)]
enum Why {
    Suspended,
    CircuitOpen,
    RateLimited,
}

impl Board {
    pub fn turn(&mut self, now: Duration) -> Turn {
        self.sweep(now);
        let mut turn = Turn::default();
        if self.is_closed {
            return turn;
        }
        let codes: Vec<String> = self.pools.keys().cloned().collect();
        for code in codes {
            while let Some(line) = self.pools.get(&code).and_then(|pool| pool.ring.front().cloned()) {
                match self.next(&code, &line, now) {
                    Next::Call => turn.calls.push(self.call(&code, &line, now)),
                    Next::GiveBack(why) => turn.given_back.push(self.give_back(&line, why, now)),
                    Next::Wait(until) => {
                        turn.wake_at = turn.wake_at.into_iter().chain(until).min();
                        break;
                    }
                }
            }
        }
        turn
    }

    fn next(&mut self, code: &str, line: &Line, now: Duration) -> Next {
        let (pool, ticket) = (&self.pools[code], &self.tickets[&self.queues[line].keys[0]]);
        if !pool.config.is_open() {
            return Next::GiveBack(Why::Suspended);
        }
        if pool.free() == 0 {
            return Next::Wait(None);
        }
        if !self.breakers.admits(&ticket.target, now) {
            return Next::GiveBack(Why::CircuitOpen);
        }
        let wait = pool.rate.wait(now);
        if wait == Some(Duration::ZERO) {
            return Next::Call;
        }
        let wanted_at = ticket.token_wanted_at.unwrap_or(now);
        if now >= wanted_at + TOKEN_WAIT_MAX {
            return Next::GiveBack(Why::RateLimited);
        }
        self.note_token_wanted(code, now);
        let token_at = wait.map(|wait| now + wait);
        Next::Wait(token_at.into_iter().chain([wanted_at + TOKEN_WAIT_MAX]).min())
    }

    /// As many as have a slot wait for nothing but the rate.
    fn note_token_wanted(&mut self, code: &str, now: Duration) {
        let pool = &self.pools[code];
        for line in pool.ring.iter().take(pool.free()) {
            if let Some(ticket) = self.tickets.get_mut(&self.queues[line].keys[0]) {
                ticket.token_wanted_at.get_or_insert(now);
            }
        }
    }

    fn call(&mut self, code: &str, line: &Line, now: Duration) -> Call {
        let pool = self.pools.get_mut(code).expect("the pool has a ring with this line");
        pool.ring.pop_front();
        pool.rate.take(now);
        pool.calling += 1;
        let queue = self.queues.get_mut(line).expect("a line in a ring has messages");
        queue.is_called = true;
        let key = queue.keys.pop_front().expect("a line in a ring has messages");
        let ticket = self.tickets.get_mut(&key).expect("a message in a line is held");
        ticket.place = Place::Calling(self.breakers.enter(&ticket.target, now));
        Call { key, pointer: ticket.pointer.clone() }
    }

    fn give_back(&mut self, line: &Line, why: Why, now: Duration) -> Batch {
        let first = &self.tickets[&self.queues[line].keys[0]];
        let (target, pool) = (first.target.clone(), first.pool.clone());
        let (delay, category, about, text) = match why {
            Why::Suspended => {
                self.counters.deferred += 1;
                return self.put_back_line(line, SUSPENDED, now);
            }
            Why::CircuitOpen => {
                self.counters.circuit_open += 1;
                (CIRCUIT_OPEN, Category::CircuitBreaker, target, "the target fails and is spared for a while")
            }
            Why::RateLimited => {
                self.counters.rate_limited += 1;
                (RATE_LIMITED, Category::RateLimit, pool, "messages wait too long for the rate of the pool")
            }
        };
        self.warnings.add(category, Severity::Warning, &about, text, now);
        self.put_back_line(line, delay, now)
    }

    /// All that wait in a line go back to the broker and come again in their order. The first one is counted by whoever knows why.
    pub(super) fn put_back_line(&mut self, line: &Line, delay: Duration, now: Duration) -> Batch {
        let Some(queue) = self.queues.get_mut(line) else { return Vec::new() };
        let keys = std::mem::take(&mut queue.keys);
        if !queue.is_called {
            self.queues.remove(line);
        }
        if let Some(pool) = keys.front().and_then(|key| self.pools.get_mut(&self.tickets[key].pool))
            && let Some(at) = pool.ring.iter().position(|ready| ready == line)
        {
            pool.ring.remove(at);
        }
        let ids: Vec<&str> = keys.iter().map(|key| key.id.as_str()).collect();
        self.hold(line, &ids, delay, now);
        self.counters.deferred += keys.len().saturating_sub(1) as u64;
        let ending = Ending::Defer(delay);
        keys.into_iter().map(|key| self.leave(key, ending)).collect()
    }

    /// Its end is decided, and now the broker is told.
    pub(super) fn leave(&mut self, key: Key, ending: Ending) -> Settlement {
        let ticket = self.tickets.get_mut(&key).expect("a message that leaves is held");
        let had_slot = matches!(ticket.place, Place::Calling(_));
        ticket.place = Place::Leaving { ending, had_slot };
        let mut receipts = std::mem::take(&mut ticket.receipts);
        receipts.reverse();
        Settlement { key, receipts, ending }
    }

    fn sweep(&mut self, now: Duration) {
        self.drop_empty_pools();
        if now.saturating_sub(self.swept_at) < SWEEP_INTERVAL {
            return;
        }
        self.swept_at = now;
        self.breakers.sweep(now);
        self.holds.retain(|_, hold| !hold.is_over(now));
        self.put_off.retain(|_, (_, at)| now.saturating_sub(*at) < PUT_OFF_IDLE_MAX);
    }
}
