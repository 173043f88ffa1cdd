//! What happens when a call has ended: the message leaves, its slot and its line become free.
//!
//! Why    a line is free only once the broker was told, so that the next of it never runs beside a delivery that may still
//!        come back. If the first was deferred, those behind it are deferred with it: they must not overtake.

use super::{Batch, Board, Ending, Key, Line, Place, Settlement};
use crate::answer::{Action, decide};
use crate::delays;
use crate::limits::{DISBELIEVED_MAX, PUT_OFF_MAX, UNCONFIRMED_MAX};
use crate::mediator::Outcome;
use crate::warnings::{Category, Severity};
use std::time::Duration;

/// How soon others may have what a router that stops gives back.
pub const STOPPING: Duration = Duration::from_secs(1);

impl Board {
    /// A call has ended. None if its message is no longer held.
    pub fn conclude(&mut self, key: &Key, outcome: &Outcome, now: Duration) -> Option<Settlement> {
        let ticket = self.tickets.get(key)?;
        let Place::Calling(pass) = ticket.place else { return None };
        let target = ticket.target.clone();
        let decision = decide(outcome);
        if self.breakers.record(&target, pass, decision.verdict, now) {
            let text = "the breaker of the target opened";
            self.warnings.add(Category::CircuitBreaker, Severity::Error, &target, text, now);
        }
        if let Some((category, severity, text)) = decision.warning {
            let text = format!("message `{}`: {text}", key.id);
            self.warnings.add(category, severity, &target, &text, now);
        }
        let ending = self.ending(key, decision.action, now);
        Some(self.leave(key.clone(), ending))
    }

    fn ending(&mut self, key: &Key, action: Action, now: Duration) -> Ending {
        let ending = match action {
            Action::Done => {
                self.counters.processed += 1;
                Ending::Ack
            }
            Action::Drop => {
                self.counters.dropped += 1;
                Ending::Ack
            }
            Action::Fail { delay } => {
                self.counters.failed += 1;
                Ending::Defer(delay)
            }
            Action::Wait { delay } => {
                self.counters.deferred += 1;
                Ending::Defer(delay)
            }
            Action::PutOff { asked_seconds } => {
                self.counters.deferred += 1;
                Ending::Defer(delays::put_off(self.count_put_off(&key.id, now), asked_seconds))
            }
            Action::Disbelieved => match self.count_put_off(&key.id, now) {
                times if times > DISBELIEVED_MAX => {
                    self.counters.dropped += 1;
                    Ending::Ack
                }
                times => {
                    self.counters.deferred += 1;
                    Ending::Defer(delays::put_off(times, None))
                }
            },
        };
        if ending == Ending::Ack {
            self.put_off.remove(&key.id);
        }
        ending
    }

    fn count_put_off(&mut self, id: &str, now: Duration) -> u32 {
        if self.put_off.len() >= PUT_OFF_MAX
            && !self.put_off.contains_key(id)
            && let Some(eldest) = self.put_off.iter().min_by_key(|(_, (_, at))| *at).map(|(id, _)| id.clone())
        {
            self.put_off.remove(&eldest);
        }
        let (times, at) = self.put_off.entry(id.into()).or_default();
        (*times, *at) = (times.saturating_add(1), now);
        *times
    }

    /// The broker was told of an end, or could not be; what there is to tell it now.
    pub fn left(&mut self, key: &Key, now: Duration) -> Batch {
        let Some(ticket) = self.tickets.get(key) else { return Vec::new() };
        let Place::Leaving { ending, had_slot } = ticket.place else { return Vec::new() };
        if !ticket.receipts.is_empty() {
            return vec![self.settle_again(key, ending)];
        }
        let (pool, line) = (ticket.pool.clone(), ticket.line.clone());
        self.tickets.remove(key);
        if let Some(pool) = self.pools.get_mut(&pool) {
            pool.held -= 1;
            pool.calling -= usize::from(had_slot);
        }
        if had_slot { self.free_line(&line, key, ending, now) } else { Vec::new() }
    }

    /// A delivery that came while another of the same message was ending.
    fn settle_again(&mut self, key: &Key, ending: Ending) -> Settlement {
        let late = self.tickets.get_mut(key).map(|ticket| std::mem::take(&mut ticket.receipts));
        Settlement { key: key.clone(), receipts: late.unwrap_or_default(), ending }
    }

    fn free_line(&mut self, line: &Line, first: &Key, ending: Ending, now: Duration) -> Batch {
        let Some(queue) = self.queues.get_mut(line) else { return Vec::new() };
        queue.is_called = false;
        if let Ending::Defer(delay) = ending {
            self.counters.deferred += u64::from(!self.queues[line].keys.is_empty());
            let batch = self.put_back_line(line, delay, now);
            self.hold(line, &[&first.id], delay, now);
            return batch;
        }
        match queue.keys.front() {
            None => {
                self.queues.remove(line);
            }
            Some(next) => {
                if let Some(pool) = self.pools.get_mut(&self.tickets[next].pool) {
                    pool.ring.push_back(line.clone());
                }
            }
        }
        Vec::new()
    }

    /// Called, but the broker could not be told: should it come again, it is not called again.
    pub fn note_unconfirmed(&mut self, key: &Key) {
        if self.unconfirmed.len() == UNCONFIRMED_MAX {
            self.unconfirmed.pop_front();
        }
        self.unconfirmed.push_back(key.clone());
    }

    /// Nothing is called or taken in any more; what waits goes back.
    pub fn close(&mut self, now: Duration) -> Vec<Batch> {
        self.is_closed = true;
        let lines: Vec<Line> = self.queues.keys().cloned().collect();
        let given_back = lines.iter().map(|line| {
            self.counters.deferred += u64::from(!self.queues[line].keys.is_empty());
            self.put_back_line(line, STOPPING, now)
        });
        given_back.filter(|batch| !batch.is_empty()).collect()
    }

    /// Whatever is still held goes back, also what is being called.
    pub fn abandon(&mut self) -> Batch {
        let held = self.tickets.drain().filter(|(_, ticket)| !ticket.receipts.is_empty());
        let given_back = held.map(|(key, ticket)| Settlement {
            key,
            receipts: ticket.receipts.into_iter().rev().collect(),
            ending: Ending::Defer(STOPPING),
        });
        given_back.collect()
    }
}
