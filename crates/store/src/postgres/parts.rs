//! Tallies in parts: what is counted in one second goes to rows of that second, and those are added up a little later.
//!
//! Why    a commit that adds to a row of long life has to go past all its old versions, and while somebody holds a snapshot open none
//!        of them can be cleaned up. Rows that live for a second never have many.

use crate::sql::Param;
use crate::writes::Write;
use crate::{Result, params, sql::Sql, statements};
use model::{NodeId, Timestamp};

/// For `add_tally.sql`, with the part behind its values.
pub const ADD_TO_PART: &str =
    "insert into tally_parts (dispatch_group, queue, action, host, state, leaf, throttled, n, part)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (part, dispatch_group, queue, action, host, state, leaf, throttled) do update set n = tally_parts.n + excluded.n";

/// In one order everywhere, so that two nodes do not wait for each other.
const ADD_UP: &str = "with gone as (delete from tally_parts where {which}
        returning dispatch_group, queue, action, host, state, leaf, throttled, n)
    insert into tallies (dispatch_group, queue, action, host, state, leaf, throttled, n)
    select dispatch_group, queue, action, host, state, leaf, throttled, sum(n) from gone
     group by 1, 2, 3, 4, 5, 6, 7 having sum(n) <> 0 order by 1, 2, 3, 4, 5, 6, 7
    on conflict (dispatch_group, queue, action, host, state, leaf, throttled) do update set n = tallies.n + excluded.n";

const SECOND: i64 = 1_000_000;
/// The seconds of a part; above them stands whose part it is.
const SECONDS: i64 = u32::MAX as i64;
/// A part this old has lost its node.
const LEFT_BEHIND: i64 = 3_600;

#[derive(Default)]
pub struct Parts {
    now: i64,
    /// To be added up with the next commit.
    old: Vec<i64>,
}

impl Parts {
    /// The counts of a batch go to the part of this second; the parts to add up with it.
    pub fn place(&mut self, writes: &mut [Write<'_>], node: NodeId, now: Timestamp) -> Vec<i64> {
        let Some(write) = writes.iter_mut().find(|w| w.sql == statements::ADD_TALLY) else {
            return Vec::new();
        };
        let part = part(node, now);
        if part != self.now {
            self.old.extend(Some(self.now).filter(|old| *old != 0));
            self.now = part;
        }
        write.sql = ADD_TO_PART;
        write.rows.iter_mut().for_each(|row| row.push(Param::from(part)));
        self.old.clone()
    }
    /// It was stored. What was not is tried again; adding up what is gone does nothing.
    pub fn added_up(&mut self, parts: &[i64]) {
        self.old.retain(|part| !parts.contains(part));
    }
}

fn part(node: NodeId, now: Timestamp) -> i64 {
    let [.., a, b, c, d] = *node.bytes();
    let whose = i64::from(u32::from_be_bytes([a, b, c, d]) >> 1);
    (whose << 32) | ((now.0 / SECOND) & SECONDS)
}

pub fn add_up() -> String {
    ADD_UP.replace("{which}", "part = any($1)")
}

/// Parts of nodes that are gone.
pub fn add_up_left_behind(sql: &dyn Sql, now: Timestamp) -> Result<()> {
    let which = format!("part & {SECONDS} < $1");
    sql.execute(&ADD_UP.replace("{which}", &which), params![now.0 / SECOND - LEFT_BEHIND])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_added_up_once_the_next_has_begun() {
        let mut parts = Parts::default();
        let mut at = |second: i64| {
            let rows = vec![vec![Param::Null]];
            let mut writes = [Write { sql: statements::ADD_TALLY, rows, fenced: true }];
            let old = parts.place(&mut writes, NodeId::of(7), Timestamp(second * SECOND));
            assert_eq!((writes[0].sql, writes[0].rows[0].len()), (ADD_TO_PART, 2));
            if second != 8 {
                parts.added_up(&old);
            }
            old.iter().map(|part| part & SECONDS).collect::<Vec<_>>()
        };
        assert_eq!(at(7), [0; 0]);
        assert_eq!(at(7), [0; 0]);
        assert_eq!(at(8), [7], "this commit was not stored");
        assert_eq!(at(8 + 1), [7, 8]);
        assert_eq!(at(9), [0; 0]);
        assert!(Parts::default().place(&mut [], NodeId::of(7), Timestamp(1)).is_empty());
    }
}
