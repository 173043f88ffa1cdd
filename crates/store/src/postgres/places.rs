//! This node's places in the round of dispatch groups, which all nodes and all callers of `enqueue` share.
//!
//! Why    a place taken when it is needed keeps the round exactly even, and costs a round trip. A node that needs many takes what it
//!        needs in a few milliseconds ahead; what it has not used yet, the others do without.

use crate::Result;
use crate::params;
use crate::sql::Sql;
use model::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

/// A second is divided into so many parts, and what one of them needs is taken at once.
const PARTS: usize = 64;
/// More than any node needs; a clock that stands still would make it more.
const AHEAD_MAX: usize = 4_096;

#[derive(Default)]
pub struct Places {
    ahead: VecDeque<u64>,
    second: Timestamp,
    /// How many this second needed so far, and the one before.
    needed: usize,
    before: usize,
}

impl Places {
    pub fn take(&mut self, sql: &dyn Sql, n: usize, now: Timestamp) -> Result<Vec<u64>> {
        let least = self.for_a_while(n, now);
        let missing = n.saturating_sub(self.ahead.len());
        if missing > 0 {
            let text = "select nextval('roots') from generate_series(1, $1)";
            let more: Vec<u64> = sql.rows(text, params![missing.max(least)], |row| row.get(0))?;
            self.ahead.extend(more);
        }
        Ok(self.ahead.drain(..n).collect())
    }

    /// How many will be needed soon, with these.
    fn for_a_while(&mut self, n: usize, now: Timestamp) -> usize {
        const SECOND: Duration = Duration::from_secs(1);
        if now >= self.second + SECOND {
            self.before = if now < self.second + 2 * SECOND { self.needed } else { 0 };
            (self.second, self.needed) = (now, 0);
        }
        self.needed += n;
        (self.needed.max(self.before) / PARTS).min(AHEAD_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_needs_many_in_a_second_takes_places_ahead() {
        let mut places = Places::default();
        let at = Timestamp(1_000_000);
        assert_eq!(places.for_a_while(PARTS - 1, at), 0, "a few are taken one by one");
        assert_eq!(places.for_a_while(9 * PARTS + 1, at), 10);
        assert_eq!(places.for_a_while(1, at + Duration::from_secs(1)), 10, "it may go on");
        assert_eq!(places.for_a_while(1, at + Duration::from_secs(2)), 0, "it did not");
        places.for_a_while(10 * PARTS, at + Duration::from_secs(2));
        assert_eq!(places.for_a_while(1, at + Duration::from_secs(5)), 0, "long ago");
    }
}
