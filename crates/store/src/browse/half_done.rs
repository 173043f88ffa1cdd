//! What is begun and not over, from the indexes that hold only such: candidates, of which the rule says which are half done.
//!
//! Why    rows that are of no use may stand between those that are, so a look goes over so many rows and says how far it came. However many
//!        live, a page costs the same.

use super::{Browse, StepRow};
use crate::flows::{self, FlowFilter, FlowShown};
use crate::sql::{Param, Row};
use crate::statements::{
    HALF_DONE_REACH, HALF_DONE_WORKFLOWS, OPEN_REACH, OPEN_TREES, UNRESOLVED_WORKFLOWS, with_columns,
};
use crate::{Result, params, workflows};
use model::{BlockId, Flow, FlowId, FlowStep, StepId, Workflow, limits};

/// States in which something is done, and something is not; those that failed are looked up apart.
const GOING_ON: [&str; 4] = ["running", "paused", "compensating", "compensation_failed"];

/// Behind all ids.
const END: [u8; 16] = [0xff; 16];
/// Rows that one look goes over, whatever they are, but for the last.
const BEFORE_THE_LAST: i64 = limits::HALF_DONE_LOOKED_AT as i64 - 1;

/// What a look has found, by the id it goes on behind, and how far it went; none where nothing is left.
#[derive(Debug)]
pub struct Looked<T> {
    pub found: Vec<([u8; 16], T)>,
    pub until: Option<[u8; 16]>,
}

impl<T> Looked<T> {
    /// Of those within reach so many were read at most.
    fn of(found: Vec<([u8; 16], T)>, limit: usize, reach: Option<[u8; 16]>) -> Looked<T> {
        let last = found.last().filter(|_| found.len() >= limit).map(|(id, _)| *id);
        Looked { until: last.or(reach), found }
    }

    /// Two looks as one, which goes as far as both.
    fn with(mut self, other: Looked<T>) -> Looked<T> {
        self.found.extend(other.found);
        self.until = [self.until, other.until].into_iter().flatten().min();
        self
    }
}

impl Browse {
    /// Workflows that are not over or failed, behind an id: so many in each state.
    pub fn unfinished_workflows(&self, after: [u8; 16], limit: usize) -> Result<Looked<Workflow>> {
        let (begun, failed) = (with_columns(HALF_DONE_WORKFLOWS), with_columns(UNRESOLVED_WORKFLOWS));
        let failed = self.sql().rows(&failed, params![after, limit], workflow)?;
        let mut looked = Looked::of(failed, limit, None);
        for state in GOING_ON {
            let reach = self.how_far(HALF_DONE_REACH, params![state, after, BEFORE_THE_LAST])?;
            let values = params![state, after, reach.unwrap_or(END), limit];
            let found = self.sql().rows(&begun, values, workflow)?;
            looked = looked.with(Looked::of(found, limit, reach));
        }
        Ok(looked)
    }

    /// Flows of which something has happened and that are not over, or failed, behind an id.
    pub fn unfinished_flows(&self, after: [u8; 16], limit: usize) -> Result<Looked<Flow>> {
        let found = flows::half_done(self.sql(), after, limit)?;
        Ok(Looked::of(found.into_iter().map(|flow| (*flow.id.bytes(), flow)).collect(), limit, None))
    }

    /// Steps that stand alone and wait for those below them, by the blocks they own, behind one: so many in each dispatch group.
    pub fn unfinished_trees(&self, after: [u8; 16], limit: usize) -> Result<Looked<StepId>> {
        let mut looked = Looked { found: Vec::new(), until: None };
        for group in self.groups()? {
            let home = group.dispatch_group.as_str();
            let reach = self.how_far(OPEN_REACH, params![home, after, BEFORE_THE_LAST])?;
            let values = params![home, after, reach.unwrap_or(END), limit];
            let found = self
                .sql()
                .rows(OPEN_TREES, values, |row| Ok((row.get(0)?, StepId::from_bytes(row.get(1)?))))?;
            looked = looked.with(Looked::of(found, limit, reach));
        }
        Ok(looked)
    }

    /// The id of the last row that a look goes over; none if there are fewer.
    fn how_far(&self, text: &str, values: &[Param]) -> Result<Option<[u8; 16]>> {
        self.sql().first(text, values, |row| row.get(0))
    }

    /// The first steps of a block, in their order.
    pub fn block_steps(&self, block: BlockId, limit: usize) -> Result<Vec<StepRow>> {
        let limit = limit.clamp(1, limits::PROGRESS_STEPS_MAX);
        self.query(&format!("where block_id = $1 order by block_index, id limit {limit}"), params![block])
    }

    /// What it is now and how it came to it agree.
    pub fn flow(&self, id: FlowId) -> Result<Option<FlowShown>> {
        self.at_one_moment(|| flows::show(self.sql(), id))
    }

    pub fn flow_steps(&self, id: FlowId) -> Result<Vec<FlowStep>> {
        flows::steps(self.sql(), id)
    }

    /// Newest first, and behind which to go on when there may be more.
    pub fn flows(&self, filter: &FlowFilter) -> Result<(Vec<Flow>, Option<FlowId>)> {
        flows::page(self.sql(), filter)
    }
}

fn workflow(row: &Row) -> Result<([u8; 16], Workflow)> {
    workflows::read(row).map(|workflow| (*workflow.id.bytes(), workflow))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Running workflows of which nothing is done, as many as a look and a half goes over; something is done of the last.
    const MANY: &str = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1500)
        insert into workflows (id, definition_key, definition_version, definition_hash, dispatch_group, state, depth, input, labels, created_at)
        select cast(printf('%016d', i) as blob), 'w', '1.0.0', 'h', 'alpha', 'running', 0, '{}', '{}', 1 from n;
        insert into steps (id, dispatch_group, queue, action, priority, kind, block_index, state, max_attempts, arguments, created_at,
                           workflow_id, def, run)
        select zeroblob(16), 'alpha', 'default', 'ok', 'normal', 'default', 1, 'completed', 1, '{}', 1, max(id), 0, 1 from workflows;";

    /// The list went over all that live until it had found a page.
    #[test]
    fn a_look_goes_over_so_many_and_says_how_far_it_came() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("half.db");
        crate::sqlite::migrate_file(&path, model::Timestamp(0), true).unwrap();
        let file = rusqlite::Connection::open(path).unwrap();
        file.execute_batch(MANY).unwrap();
        let browse = Browse::new(Box::new(file), "test".into());
        let first = browse.unfinished_workflows([0; 16], 10).unwrap();
        let until = first.until.expect("there are more");
        assert_eq!((first.found.len(), &until), (0, b"0000000000001000"));
        let second = browse.unfinished_workflows(until, 10).unwrap();
        assert_eq!(second.found.iter().map(|(id, _)| id).collect::<Vec<_>>(), [b"0000000000001500"]);
        assert_eq!(second.until, None);
    }
}
