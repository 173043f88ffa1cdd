//! What this node did, gathered into one row a minute for charts.
//!
//! Why    a chart over history must not count history. A row is written once its minute is over, with a commit that happens anyway;
//!        a node that dies takes the minute it was in with it.

use model::{Minute, State, Step, Timestamp};
use rules::board::Changes;

#[derive(Default)]
pub struct Minutes {
    open: Minute,
    over: Vec<Minute>,
}

impl Minutes {
    pub fn record(&mut self, changes: &Changes, now: Timestamp) {
        if changes.steps.is_empty() {
            return;
        }
        self.turn_to(now);
        for (step, change) in &changes.steps {
            match &change.before {
                None => self.open.create(step, now),
                Some(before) => self.open.change(before, step, now),
            }
        }
    }

    fn turn_to(&mut self, now: Timestamp) {
        let at = Minute::of(now);
        if self.open.at == at {
            return;
        }
        let before = std::mem::replace(&mut self.open, Minute { at, ..Minute::default() });
        self.over.extend(Some(before).filter(is_worth_a_row));
    }

    /// Minutes that are over, ready to be written.
    pub fn close(&mut self, now: Timestamp) -> Vec<Minute> {
        self.turn_to(now);
        std::mem::take(&mut self.over)
    }

    /// All of them, with the one that is not over.
    pub fn close_all(&mut self) -> Vec<Minute> {
        let last = std::mem::take(&mut self.open);
        self.over.extend(Some(last).filter(is_worth_a_row));
        std::mem::take(&mut self.over)
    }
}

fn is_worth_a_row(minute: &Minute) -> bool {
    minute.created + minute.started + minute.completed + minute.failed + minute.ended > 0
}

/// What one row of a turn adds.
trait Count {
    fn create(&mut self, step: &Step, now: Timestamp);
    fn change(&mut self, before: &Step, step: &Step, now: Timestamp);
    fn start(&mut self, ready: Timestamp, now: Timestamp);
    fn end(&mut self, step: &Step);
}

impl Count for Minute {
    fn create(&mut self, step: &Step, now: Timestamp) {
        self.created += 1;
        if step.is_held() {
            self.start(step.created_at, now);
        }
    }

    fn change(&mut self, before: &Step, step: &Step, now: Timestamp) {
        if step.attempt > before.attempt && step.is_held() {
            self.start(before.wake_at.unwrap_or(before.created_at), now);
        }
        if step.state.is_terminal() && !before.state.is_terminal() {
            self.end(step);
        }
    }

    fn start(&mut self, ready: Timestamp, now: Timestamp) {
        self.started += 1;
        self.waits.add(now.since(ready));
    }

    fn end(&mut self, step: &Step) {
        match step.state {
            State::Completed => self.completed += 1,
            State::Failed | State::Stopped | State::TimedOut => self.failed += 1,
            _ => self.ended += 1,
        }
        if let (Some(from), Some(to)) = (step.started_at, step.completed_at) {
            self.runs.add(to.since(from));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_written_when_it_is_over_and_only_if_something_happened() {
        let mut minutes = Minutes::default();
        assert_eq!(minutes.close(Timestamp(60_000_000)), []);
        minutes.open.completed = 2;
        assert_eq!(minutes.close(Timestamp(119_999_999)), []);
        let closed = minutes.close(Timestamp(120_000_000));
        assert_eq!(closed, [Minute { at: Timestamp(60_000_000), completed: 2, ..Minute::default() }]);
        assert_eq!(minutes.close(Timestamp(240_000_000)), []);
        minutes.open.failed = 1;
        assert_eq!(minutes.close_all().iter().map(|minute| minute.failed).sum::<u64>(), 1);
        assert_eq!(minutes.close_all(), []);
    }
}
