//! The rows of polls that were answered.

use super::{Plan, Values, values};
use crate::batch::Batch;
use crate::sql::Param;
use crate::statements as sql;
use model::{PollAttempt, PollVerdict};

impl<'a> Plan<'a> {
    /// Each once, by its number: two that count alike are one too many, and the turn is not stored.
    pub(super) fn put_polls(&mut self, batch: &'a Batch) {
        let all = || batch.polls.iter();
        self.put(sql::INSERT_POLL, true, all().map(|(poll, _)| poll_attempt(poll)).collect());
        let old = all().filter(|(poll, kept)| poll.number > *kept);
        let old = old.map(|(poll, kept)| values![poll.step.bytes(), poll.number - kept]).collect();
        self.put(sql::FORGET_POLLS, false, old);
    }
}

/// For `insert_poll.sql`.
fn poll_attempt(poll: &PollAttempt) -> Values<'_> {
    values![
        poll.step.bytes(),
        poll.number,
        poll.attempt,
        i64::from(poll.verdict == PollVerdict::Complete),
        i64::from(poll.verdict == PollVerdict::Continue),
        poll.next_interval.map(|wait| wait.as_millis().try_into().unwrap_or(i64::MAX)),
        poll.at,
        poll.data.as_deref(),
    ]
}
