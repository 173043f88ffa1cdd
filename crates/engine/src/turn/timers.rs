//! Due times of the next minute, read ahead from the store; everything later stays on disk.

use model::{Timestamp, limits};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use store::Result;

/// Due steps read at once.
const PAGE: usize = 1_000;

/// Of steps, or of workflows.
pub struct Timers<I> {
    heap: BinaryHeap<Reverse<(Timestamp, I)>>,
    /// What was read from the store and is not due yet: what was set beside it must not keep more from being read.
    read: BinaryHeap<Reverse<(Timestamp, I)>>,
    /// How far the store has been read.
    read_to: Option<(Timestamp, I)>,
    /// Everything up to here is in the heap.
    complete_to: Option<Timestamp>,
}

/// Behind which instant to read; of those due at it, behind which one, or behind all of them.
pub type Behind<I> = Option<(Timestamp, Option<I>)>;

impl<I: Ord> Default for Timers<I> {
    fn default() -> Self {
        Timers { heap: BinaryHeap::new(), read: BinaryHeap::new(), read_to: None, complete_to: None }
    }
}

impl<I: Copy + Ord> Timers<I> {
    /// One will be due. What is due soon is remembered, for its row may not be on disk when that is read ahead; what is
    /// due later will be there by then. Twice in the heap does no harm.
    pub fn set(&mut self, now: Timestamp, at: Timestamp, id: I) {
        if at <= now + 2 * limits::TIMER_HORIZON {
            self.heap.push(Reverse((at, id)));
        }
    }
    /// Read everything again from the start: someone now takes what nobody took. What is not on disk yet stays in hand.
    pub fn restart(&mut self) {
        (self.read_to, self.complete_to) = (None, None);
    }
    pub fn read_ahead(
        &mut self,
        now: Timestamp,
        read: impl FnOnce(Behind<I>, Timestamp, usize) -> Result<Vec<(Timestamp, I)>>,
    ) -> Result<()> {
        let fresh = self.complete_to.is_some_and(|end| end > now + limits::TIMER_HORIZON / 2);
        if fresh || self.read.len() >= PAGE {
            return Ok(());
        }
        let until = now + limits::TIMER_HORIZON;
        let behind = self.read_to.map(|(at, id)| (at, Some(id)));
        let page = read(behind.or(self.complete_to.map(|end| (end, None))), until, PAGE)?;
        match page.last() {
            Some(last) if page.len() == PAGE => self.read_to = Some(*last),
            _ => {
                self.read_to = None;
                self.complete_to = Some(until);
            }
        }
        self.read.extend(page.into_iter().map(Reverse));
        Ok(())
    }
    pub fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, I)> {
        let due = |heap: &BinaryHeap<Reverse<(Timestamp, I)>>| {
            heap.peek().map(|Reverse(head)| *head).filter(|head| head.0 <= now)
        };
        match (due(&self.heap), due(&self.read)) {
            (Some(set), read) if read.is_none_or(|read| set <= read) => self.heap.pop(),
            _ => due(&self.read).and_then(|_| self.read.pop()),
        }
        .map(|Reverse(head)| head)
    }
    pub fn next_at(&self) -> Option<Timestamp> {
        let heads = [&self.heap, &self.read].map(|heap| heap.peek().map(|Reverse((at, _))| *at));
        // While the heap is full there is nothing to read; while a page is left, there is something to read now.
        let reread = match self.read.len() < PAGE {
            true if self.read_to.is_some() => Some(Timestamp(0)),
            true => self.complete_to.map(|end| end - limits::TIMER_HORIZON / 2),
            false => None,
        };
        heads.into_iter().flatten().chain(reread).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::StepId;
    use std::time::Duration;

    /// Found in review: a wait decided in the turn that reads ahead was neither in the heap nor on disk yet.
    #[test]
    fn a_wait_that_is_not_on_disk_yet_is_remembered_across_a_restart() {
        let (now, wait, step) = (Timestamp(1_000_000), Duration::from_secs(40), StepId::of(1));
        let mut timers = Timers { complete_to: Some(now + Duration::from_secs(29)), ..Timers::default() };
        timers.set(now, now + wait, step);
        timers.restart();
        assert_eq!(timers.pop_due(now + Duration::from_secs(39)), None);
        assert_eq!(timers.pop_due(now + wait), Some((now + wait, step)));
    }

    #[test]
    fn a_full_heap_asks_for_no_reading_and_what_was_set_fills_none() {
        let now = Timestamp(1_000_000);
        let mut timers = Timers { complete_to: Some(now), ..Timers::default() };
        let later = now + Duration::from_secs(20);
        (0..PAGE as u64).for_each(|n| timers.set(now, later, StepId::of(n)));
        let page = |from: u64| {
            move |_: Behind<StepId>, _, n| Ok((0..n as u64).map(|i| (later, StepId::of(from + i))).collect())
        };
        timers.read_ahead(now, page(5_000)).unwrap();
        assert_eq!(timers.next_at(), Some(later));
        assert_eq!(timers.pop_due(later), Some((later, StepId::of(0))));
        let popped = std::iter::from_fn(|| timers.pop_due(later)).count();
        assert_eq!(popped, 2 * PAGE - 1);
    }
}
