//! What whoever publishes has in hand: messages that wait, that are on their way, or of which nobody was told yet.
//!
//! Why    the engine may hand a message over again, and takes one back when its step is not queued any more: while a broker is away,
//!        memory must not grow with what was cancelled meanwhile. What was taken back is passed over when its turn comes, and swept
//!        when most of what waits is of that kind.

use crate::request::Outgoing;
use model::StepId;
use std::collections::{HashMap, VecDeque};

/// So many may wait in vain before it is worth a sweep.
const SWEEP_AT: usize = 1_000;

#[derive(Default)]
pub struct Tray {
    waiting: VecDeque<Outgoing>,
    known: HashMap<StepId, u32>,
}

impl Tray {
    /// A message is to be published, unless it is in hand already.
    pub fn take(&mut self, message: Outgoing) {
        if self.known.insert(message.step, message.attempt) != Some(message.attempt) {
            self.waiting.push_back(message);
        }
    }

    /// Its turn comes again, before all others.
    pub fn put_back(&mut self, message: Outgoing) {
        if self.wants(&message) {
            self.waiting.push_front(message);
        }
    }

    /// The engine knows what came of it, or wants it no more.
    pub fn forget(&mut self, step: StepId, attempt: u32) {
        if self.known.get(&step) == Some(&attempt) {
            self.known.remove(&step);
        }
        if self.waiting.len() > 2 * self.known.len() + SWEEP_AT {
            let known = &self.known;
            self.waiting.retain(|message| known.get(&message.step) == Some(&message.attempt));
        }
    }

    /// The next messages, at most so many.
    pub fn next(&mut self, most: usize) -> Vec<Outgoing> {
        let mut batch = Vec::new();
        while batch.len() < most
            && let Some(message) = self.waiting.pop_front()
        {
            if self.wants(&message) {
                batch.push(message);
            }
        }
        batch
    }

    /// Whether nothing waits.
    pub fn is_empty(&mut self) -> bool {
        while self.waiting.front().is_some_and(|message| !self.wants(message)) {
            self.waiting.pop_front();
        }
        self.waiting.is_empty()
    }

    fn wants(&self, message: &Outgoing) -> bool {
        self.known.get(&message.step) == Some(&message.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(step: u64, attempt: u32) -> Outgoing {
        Outgoing { step: StepId::of(step), attempt, pool: None, message_group: None }
    }

    fn told(messages: &[Outgoing]) -> String {
        let one = |message: &Outgoing| format!("{}#{}", message.step.bytes()[15], message.attempt);
        messages.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_message_is_taken_once_and_what_was_taken_back_is_passed_over() {
        let mut tray = Tray::default();
        for (step, attempt) in [(1, 1), (2, 1), (1, 1), (3, 1)] {
            tray.take(message(step, attempt));
        }
        tray.forget(StepId::of(2), 1);
        tray.take(message(2, 2));
        assert_eq!(told(&tray.next(2)), "1#1 3#1");
        tray.put_back(message(1, 1));
        assert_eq!(told(&tray.next(9)), "1#1 2#2");
        tray.take(message(1, 1));
        assert!(tray.is_empty(), "it is on its way");
        tray.forget(StepId::of(1), 1);
        tray.put_back(message(1, 1));
        assert!(tray.is_empty(), "it was taken back while it was on its way");
        tray.forget(StepId::of(2), 1);
        assert_eq!(tray.known.len(), 2, "an old word about an attempt says nothing about the next");
    }

    /// Issue 5: what was cancelled while the broker was away stayed in hand until it was back.
    #[test]
    fn what_is_cancelled_while_nothing_can_be_published_takes_no_room() {
        let mut tray = Tray::default();
        (0..50).for_each(|step| tray.take(message(step, 1)));
        for step in 100..100_000 {
            tray.take(message(step, 1));
            tray.forget(StepId::of(step), 1);
            assert!(tray.waiting.len() <= 2 * tray.known.len() + SWEEP_AT, "{} wait", tray.waiting.len());
        }
        assert_eq!(tray.known.len(), 50);
        assert_eq!(tray.next(usize::MAX).len(), 50);
    }
}
