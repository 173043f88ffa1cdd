//! This node's places in the round of dispatch groups, which all nodes and all callers of `enqueue` share.
//!
//! Why    a place taken when it is needed keeps the round exactly even, and costs a round trip. A node that is asked for hundreds
//!        in a second takes some ahead; what it has not used yet, the others do without.

use crate::Result;
use crate::params;
use crate::sql::Sql;
use model::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

const AHEAD: usize = 64;
/// From so many askings in one second on.
const OFTEN: u32 = 300;

#[derive(Default)]
pub struct Places {
    ahead: VecDeque<u64>,
    second: Timestamp,
    asked: u32,
    /// In the second before.
    was_often: bool,
}

impl Places {
    pub fn take(&mut self, sql: &dyn Sql, n: usize, now: Timestamp) -> Result<Vec<u64>> {
        let least = if self.is_often(now) { AHEAD } else { 0 };
        let missing = n.saturating_sub(self.ahead.len());
        if missing > 0 {
            let text = "select nextval('roots') from generate_series(1, $1)";
            let more: Vec<u64> = sql.rows(text, params![missing.max(least)], |row| row.get(0))?;
            self.ahead.extend(more);
        }
        Ok(self.ahead.drain(..n).collect())
    }

    fn is_often(&mut self, now: Timestamp) -> bool {
        const SECOND: Duration = Duration::from_secs(1);
        if now >= self.second + SECOND {
            self.was_often = self.asked > OFTEN && now < self.second + 2 * SECOND;
            (self.second, self.asked) = (now, 0);
        }
        self.asked += 1;
        self.was_often || self.asked > OFTEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_asked_hundreds_of_times_a_second_takes_places_ahead() {
        let mut places = Places::default();
        let at = Timestamp(1_000_000);
        assert!((0..OFTEN).all(|_| !places.is_often(at)));
        assert!(places.is_often(at));
        assert!(places.is_often(at + Duration::from_secs(1)), "it may go on");
        assert!(!places.is_often(at + Duration::from_secs(2)), "it did not");
    }
}
