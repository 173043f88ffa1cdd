//! Everything that a turn reads, run once on an empty database and written down, so that its plans can be looked at.
//!
//! Why    what only waits must cost a turn nothing, and a statement that scans is slow only when there is much: nothing else would tell.

use crate::sql::{Access, Param, Row, Sql};
use crate::{Lease, Result, Sort, items, pauses, reads, signals, workflows};
use model::{BlockId, DispatchGroup, NodeId, Priority, StepId, StepKind, Timestamp, WorkflowId};
use std::cell::RefCell;

/// Statements with the values that they ran with.
pub type Seen = Vec<(String, Vec<Param<'static>>)>;

struct Recorder<'a> {
    sql: &'a dyn Sql,
    seen: RefCell<Seen>,
}

impl Sql for Recorder<'_> {
    fn each(&self, sql: &str, params: &[Param], look: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        self.seen.borrow_mut().push((sql.into(), params.iter().map(Param::to_static).collect()));
        self.sql.each(sql, params, look)
    }
    fn execute(&self, sql: &str, params: &[Param]) -> Result<u64> {
        self.sql.execute(sql, params)
    }
    fn begin(&self, access: Access) -> Result<()> {
        self.sql.begin(access)
    }
    fn commit(&self) -> Result<()> {
        self.sql.commit()
    }
    fn rollback(&self) -> Result<()> {
        self.sql.rollback()
    }
    fn is_among(&self, column: &str, parameter: usize) -> String {
        self.sql.is_among(column, parameter)
    }
}

/// What a turn reads of steps, workflows, pauses and what was sent to them.
pub fn all(sql: &dyn Sql) -> Seen {
    let recorder = Recorder { sql, seen: RefCell::default() };
    of_steps(&recorder).expect("they run");
    of_workflows(&recorder).expect("they run");
    of_pauses(&recorder).expect("they run");
    recorder.seen.into_inner()
}

/// What only nodes read that share a database.
pub fn shared(sql: &dyn Sql) -> Seen {
    let recorder = Recorder { sql, seen: RefCell::default() };
    signals::unheard(&recorder, &DispatchGroup::new("alpha"), "{").expect("it runs");
    recorder.seen.into_inner()
}

fn of_steps(sql: &dyn Sql) -> Result<()> {
    let (group, block, step, now) =
        (DispatchGroup::new("alpha"), BlockId::of(1), StepId::of(1), Timestamp(1));
    let priority = Priority::Normal;
    let sort = Sort { dispatch_group: group.clone(), queue: "default".into(), priority, pool: None };
    reads::step(sql, step)?;
    reads::block(sql, block)?;
    reads::whole(sql, step)?;
    reads::unsettled(sql, block, None, 10)?;
    reads::ready(sql, &sort, None, 10)?;
    reads::ready(sql, &sort, Some(step), 10)?;
    reads::ready_queues(sql, &group)?;
    reads::at_index(sql, block, StepKind::Default, 1, None, 10)?;
    reads::due(sql, &lease(), Some((now, step)), now, 10)?;
    reads::cut_off(sql, block, 1, 10)?;
    reads::expired(sql, now)?;
    Ok(())
}

fn of_workflows(sql: &dyn Sql) -> Result<()> {
    let (id, step, block) = (WorkflowId::of(1), StepId::of(1), BlockId::of(1));
    workflows::workflow(sql, id)?;
    crate::traces::traces(sql, &[id], |_, _| true)?;
    workflows::workflows(sql, &[id, id])?;
    workflows::due(sql, &lease(), Some((Timestamp(1), Some(id))), Timestamp(2), 10)?;
    workflows::of_key(sql, "key", 10)?;
    workflows::below(sql, step)?;
    workflows::answers(sql, block)?;
    items::unfinished(sql, block, 2, Some(step), 10)?;
    items::made_in(sql, block, 2)?;
    workflows::done(sql, id)?;
    workflows::last_item(sql, block, None)?;
    workflows::next_item(sql, block, (Timestamp(1), step))?;
    workflows::only_child(sql, block)?;
    workflows::compensation_runs(sql, id, 1)?;
    Ok(())
}

fn of_pauses(sql: &dyn Sql) -> Result<()> {
    let id = WorkflowId::of(1);
    pauses::of_workflow(sql, id)?;
    pauses::early(sql, id)?;
    pauses::sent(sql, id, 1)?;
    pauses::message(sql, id, "boss", "m1")?;
    pauses::last_number(sql, id)?;
    Ok(())
}

fn lease() -> Lease {
    let groups = ["alpha", "beta"].map(|name| (DispatchGroup::new(name), 1)).to_vec();
    Lease { node: NodeId::from_bytes([1; 16]), groups }
}
