//! Items of fan-outs that are made again.

use crate::sql::Sql;
use crate::{Result, params};
use model::{BlockId, StepId};
use std::collections::BTreeSet;

/// Items that an earlier run left without success: their numbers and rows, a page of them behind a row.
pub fn unfinished(
    sql: &dyn Sql,
    block: BlockId,
    run: u32,
    behind: Option<StepId>,
    limit: usize,
) -> Result<Vec<(u32, StepId)>> {
    // All items of a fan-out stand at one index, so a page begins where the last one ended.
    let text = "select item, id from steps
                 where block_id = $1 and block_index = 1 and id > $2 and run < $3 and item is not null
                   and (state = 'failed' or state = 'stopped' or state = 'timed_out' or state = 'cancelled')
                 order by id limit $4";
    let behind = behind.map_or([0; 16], |id| *id.bytes());
    sql.rows(text, params![block, &behind, i64::from(run), limit], |row| {
        Ok((row.get(0)?, StepId::from_bytes(row.get(1)?)))
    })
}

/// The items that were made in a run.
pub fn made_in(sql: &dyn Sql, block: BlockId, run: u32) -> Result<BTreeSet<u32>> {
    let text = "select item from steps where block_id = $1 and run = $2 and item is not null";
    Ok(sql.rows(text, params![block, i64::from(run)], |row| row.get(0))?.into_iter().collect())
}
