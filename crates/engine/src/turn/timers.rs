//! Due times of the next minute, read ahead from the store; everything later stays on disk.

use model::{StepId, Timestamp, limits};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use store::{Result, Store};

/// Due steps read at once.
const PAGE: usize = 1_000;

#[derive(Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(Timestamp, StepId)>>,
    /// How far the store has been read.
    read_to: Option<(Timestamp, StepId)>,
    /// Everything up to here is in the heap.
    complete_to: Option<Timestamp>,
}

impl Timers {
    /// A step will be due; remembered only if its time is within what has been read.
    pub fn set(&mut self, at: Timestamp, step: StepId) {
        if self.complete_to.is_some_and(|end| at <= end) || self.read_to.is_some_and(|(end, _)| at <= end) {
            self.heap.push(Reverse((at, step)));
        }
    }
    /// Read everything again from the start: someone now takes what nobody took.
    pub fn restart(&mut self) {
        *self = Timers::default();
    }
    pub fn read_ahead(&mut self, store: &mut dyn Store, now: Timestamp) -> Result<()> {
        let fresh = self.complete_to.is_some_and(|end| end > now + limits::TIMER_HORIZON / 2);
        if fresh || self.heap.len() >= PAGE {
            return Ok(());
        }
        let until = now + limits::TIMER_HORIZON;
        let from = self.read_to.or(self.complete_to.map(|end| (end, StepId::from_bytes([0xff; 16]))));
        let page = store.due(from, until, PAGE)?;
        match page.last() {
            Some(last) if page.len() == PAGE => self.read_to = Some(*last),
            _ => {
                self.read_to = None;
                self.complete_to = Some(until);
            }
        }
        self.heap.extend(page.into_iter().map(Reverse));
        Ok(())
    }
    pub fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, StepId)> {
        let Reverse(head) = *self.heap.peek()?;
        if head.0 > now {
            return None;
        }
        self.heap.pop();
        Some(head)
    }
    pub fn next_at(&self) -> Option<Timestamp> {
        let head = self.heap.peek().map(|Reverse((at, _))| *at);
        let reread = self.complete_to.map(|end| end - limits::TIMER_HORIZON / 2);
        head.into_iter().chain(reread).min()
    }
}
