//! Archive and purge: whole settled trees leave the live tables, one page to a transaction.
//!
//! Why    half a tree lies: a parent whose children are gone looks childless. A tree is a step that stands alone or a block
//!        without owner, with everything below; it leaves only when every step ended (or sleeps), no rule has to look at
//!        any of its blocks, and nothing happened since. A page is bounded in trees and in rows looked at, so that turns are not kept waiting;
//!        a tree larger than a page still goes in one piece. What leaves is gathered first and removed by a few statements for
//!        all of it, for a server is too far away to be asked for each row.

mod flows;
mod record;

use crate::pages::{BEFORE_ALL, Pages};
use crate::sql::{Access, Param, Row, Sql, packed};
use crate::{Asked, Result, Retained, Retention, StoreError, audit, params};
use model::{State, StepId, Timestamp};
use std::collections::HashSet;

const TREES_PER_PAGE: usize = 1_000;
/// No further tree is begun once a page has this many steps.
const STEPS_PER_PAGE: usize = 2_000;
/// Possible roots looked at in one page.
const ROWS_PER_PAGE: usize = 10_000;
const _: () = assert!(ROWS_PER_PAGE.is_multiple_of(ROWS_AT_ONCE));

/// Rows that one statement reads or removes.
const ROWS_AT_ONCE: usize = 2_000;

/// Steps that leave are no longer counted.
const DROP_TALLIES: &str = "insert into tallies (dispatch_group, queue, action, host, state, leaf, throttled, n)
    select dispatch_group, queue, action, coalesce(host, ''), state, case when child_block_id is null then 1 else 0 end,
           throttled, -count(*)
      from steps where {among} group by 1, 2, 3, 4, 5, 6, 7
    on conflict (dispatch_group, queue, action, host, state, leaf, throttled) do update set n = tallies.n + excluded.n";

/// A workflow for which nothing more can be decided, since before `$3`.
const OVER: &str = "(w.state in ('succeeded', 'cancelled', 'compensated') or w.state = 'failed' and w.resolved_at is not null)
    and w.completed_at < $3";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Live,
    Archive,
}

impl Place {
    /// A statement for this place's tables.
    fn sql(self, text: &str) -> String {
        let (steps, blocks) = match self {
            Place::Live => ("steps", "blocks"),
            Place::Archive => ("steps_archive", "blocks_archive"),
        };
        text.replace("{steps}", steps).replace("{blocks}", blocks)
    }
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Steps that stand alone, with what they own.
    Roots(Place),
    /// Blocks without owner.
    RootBlocks(Place),
    /// Workflows that are over; their steps follow them.
    Workflows,
    Ticks,
    /// Flows that are over.
    Flows,
}

/// The archive goes first: a step that took another's place must not leave before it.
fn stages(what: Retention) -> Vec<Stage> {
    let both = |place| [Stage::Roots(place), Stage::RootBlocks(place)];
    match what {
        Retention::Archive { .. } => both(Place::Live).to_vec(),
        Retention::Purge { only_archive, ticks, .. } => {
            let mut stages = vec![Stage::Workflows];
            stages.extend(both(Place::Archive));
            stages.extend(both(Place::Live).into_iter().filter(|_| !only_archive));
            stages.extend(ticks.then_some(Stage::Ticks));
            stages.extend((!only_archive).then_some(Stage::Flows));
            stages
        }
    }
}

/// How far one order of retention has come; another order begins anew.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    of: Option<Retention>,
    stage: usize,
    /// The last row of the stage that was looked at.
    after: Option<Mark>,
}

/// A row by what its walk is ordered by.
#[derive(Clone, Copy, Debug)]
enum Mark {
    Number(i64),
    Id([u8; 16]),
}

impl Mark {
    fn or(mark: Option<Mark>, first: Param<'static>) -> Param<'static> {
        match mark {
            Some(Mark::Number(n)) => n.into(),
            Some(Mark::Id(id)) => id.into(),
            None => first,
        }
    }
}

/// One page on record, and where the next one begins.
pub fn run(
    sql: &dyn Sql,
    what: Retention,
    from: Cursor,
    (asked, now): (&Asked, Timestamp),
) -> Result<(Retained, Cursor)> {
    sql.transaction(Access::Alone, |sql| {
        let mut page = Page::new(sql, what, Act::Write)?;
        let next = page.fill(from)?;
        page.leaving.iter().try_for_each(|(place, tree)| page.remove(*place, tree))?;
        let told = record::entry(what, &page.out, asked, now);
        audit::append(sql, told.iter().map(|entry| (now, entry)))?;
        Ok((Retained { more: next.of.is_some(), ..page.out }, next))
    })
}

/// What would leave if every page were taken now.
pub fn preview(sql: &dyn Sql, what: Retention) -> Result<Retained> {
    sql.transaction(Access::Read, |sql| {
        let mut total = Retained::default();
        let mut cursor = Cursor::default();
        loop {
            let mut page = Page::new(sql, what, Act::Count)?;
            cursor = page.fill(cursor)?;
            total.add(&page.out);
            if cursor.of.is_none() {
                return Ok(total);
            }
        }
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Write,
    Count,
}

#[derive(Default)]
struct Tree {
    steps: Vec<[u8; 16]>,
    blocks: Vec<[u8; 16]>,
}

/// A step as its tree needs it.
struct Leaf {
    id: [u8; 16],
    block: Option<[u8; 16]>,
    index: u32,
    settled: bool,
    /// When something happened to it last.
    at: i64,
    below: Option<[u8; 16]>,
}

const LEAF_COLUMNS: &str =
    "id, block_id, block_index, state, coalesce(completed_at, created_at), child_block_id";

fn read_leaf(row: &Row) -> Result<Leaf> {
    let state = row.text(3)?.parse::<State>();
    Ok(Leaf {
        id: row.get(0)?,
        block: row.get(1)?,
        index: row.get(2)?,
        settled: state.is_ok_and(|s| s.is_terminal() || s == State::NotRunnable),
        at: row.get(4)?,
        below: row.get(5)?,
    })
}

struct Page<'a> {
    sql: &'a dyn Sql,
    what: Retention,
    before: Timestamp,
    act: Act,
    /// Steps that stay: the claim log speaks for them, or they hold a message group back.
    needed: HashSet<[u8; 16]>,
    out: Retained,
    /// What leaves from each place, not yet removed.
    leaving: [(Place, Tree); 2],
}

impl<'a> Page<'a> {
    fn new(sql: &'a dyn Sql, what: Retention, act: Act) -> Result<Page<'a>> {
        let (Retention::Archive { before } | Retention::Purge { before, .. }) = what;
        let needed = "select step_id from claimed where length(step_id) = 16
                      union select blocked_by from message_groups where length(blocked_by) = 16";
        let needed = sql.rows(needed, params![], |r| r.get(0))?.into_iter().collect();
        let leaving = [Place::Live, Place::Archive].map(|place| (place, Tree::default()));
        Ok(Page { sql, what, before, act, needed, out: Retained::default(), leaving })
    }

    fn is_full(&self) -> bool {
        self.out.trees >= TREES_PER_PAGE || self.out.steps >= STEPS_PER_PAGE
    }

    fn fill(&mut self, from: Cursor) -> Result<Cursor> {
        let first = Cursor { of: Some(self.what), stage: 0, after: None };
        let mut at = if from.of == Some(self.what) { from } else { first };
        while let Some(stage) = stages(self.what).get(at.stage) {
            let left_at = match *stage {
                Stage::Roots(place) => self.roots(place, at.after)?,
                Stage::RootBlocks(place) => self.root_blocks(place, at.after)?,
                Stage::Workflows => self.workflows(at.after)?,
                Stage::Ticks => self.ticks(at.after)?,
                Stage::Flows => self.flows(at.after)?,
            };
            match left_at {
                Some(after) => return Ok(Cursor { after: Some(after), ..at }),
                None => at = Cursor { stage: at.stage + 1, after: None, ..at },
            }
        }
        Ok(Cursor::default())
    }

    /// Where it stopped before the end, if it did.
    fn roots(&mut self, place: Place, mut after: Option<Mark>) -> Result<Option<Mark>> {
        // What a workflow still goes by stays, and so does what it shows while it is on record.
        let over = match (self.what, self.act) {
            (Retention::Archive { .. }, _) | (_, Act::Count) => OVER,
            (Retention::Purge { .. }, Act::Write) => "$3 < cast(0 as bigint)",
        };
        let text = place.sql(&format!(
            "select {LEAF_COLUMNS}, created_at, workflow_id is null or not exists
                 (select 1 from workflows w where w.id = workflow_id and not ({over}))
               from {{steps}} where id > $1 order by id limit $2"
        ));
        for _ in 0..ROWS_PER_PAGE / ROWS_AT_ONCE {
            let values = [Mark::or(after, BEFORE_ALL), ROWS_AT_ONCE.into(), self.before.into()];
            let read = |r: &Row| Ok((read_leaf(r)?, r.get::<i64>(6)?, r.get::<bool>(7)?));
            let rows = self.sql.rows(&text, &values, read)?;
            let all = rows.len() < ROWS_AT_ONCE;
            for (leaf, created_at, may_leave) in rows {
                if place == Place::Live && created_at >= self.before.0 {
                    // Ids rise with time: what follows is younger.
                    return Ok(None);
                }
                let id = leaf.id;
                if leaf.block.is_none() && may_leave {
                    if self.is_full() {
                        return Ok(after);
                    }
                    self.take(place, Root::Step(leaf))?;
                }
                after = Some(Mark::Id(id));
            }
            if all {
                return Ok(None);
            }
        }
        Ok(after)
    }

    fn root_blocks(&mut self, place: Place, mut after: Option<Mark>) -> Result<Option<Mark>> {
        let rows = self.look(
            &place.sql("select id, owner_id is null from {blocks} where id > $1 order by id limit $2"),
            Mark::or(after, BEFORE_ALL),
            |r| Ok((r.get::<[u8; 16]>(0)?, r.get::<bool>(1)?)),
        )?;
        let all = rows.len() < ROWS_PER_PAGE;
        for (id, is_root) in rows {
            if is_root {
                if self.is_full() {
                    return Ok(after);
                }
                match self.made_at(place, &id)? {
                    Some(at) if place == Place::Live && at >= self.before.0 => return Ok(None),
                    Some(_) => self.take(place, Root::Block(id))?,
                    // A block without any step says nothing about its age; it stays.
                    None => {}
                }
            }
            after = Some(Mark::Id(id));
        }
        Ok(after.filter(|_| !all))
    }

    /// When a block came to be: with its first step.
    fn made_at(&self, place: Place, block: &[u8; 16]) -> Result<Option<i64>> {
        let text = "select created_at from {steps} where block_id = $1 order by block_index, id limit 1";
        self.sql.first(&place.sql(text), params![block], |r| r.get(0))
    }

    fn look<T>(
        &self,
        text: &str,
        after: Param<'static>,
        read: impl FnMut(&Row) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.sql.rows(text, &[after, ROWS_PER_PAGE.into()], read)
    }

    /// Workflows that are over, with what was told and decided of them.
    fn workflows(&mut self, after: Option<Mark>) -> Result<Option<Mark>> {
        let archived = match self.what {
            Retention::Purge { only_archive: true, .. } => {
                "and not exists (select 1 from steps s where s.workflow_id = w.id and s.block_id is null)"
            }
            _ => "",
        };
        let text =
            format!("select id from workflows w where id > $1 and {OVER} {archived} order by id limit $2");
        let values = [Mark::or(after, BEFORE_ALL), TREES_PER_PAGE.into(), self.before.into()];
        let ids: Vec<[u8; 16]> = self.sql.rows(&text, &values, |row| row.get(0))?;
        self.out.workflows += ids.len();
        if self.act == Act::Write {
            // The last event of a group stays: the next one is numbered behind it.
            let events = "delete from workflow_events where {among} and number <
                (select max(number) from workflow_events l where l.dispatch_group = workflow_events.dispatch_group)";
            self.all(events, "workflow_id", &ids)?;
            for (table, column) in [
                ("branch_decisions", "workflow_id"),
                ("resolution_decisions", "workflow_id"),
                ("compensation_runs", "workflow_id"),
                ("workflow_labels", "workflow_id"),
                ("pauses", "workflow_id"),
                ("trigger_payloads", "workflow_id"),
                ("workflows", "id"),
            ] {
                self.all(&format!("delete from {table} where {{among}}"), column, &ids)?;
            }
        }
        Ok(ids.last().filter(|_| ids.len() == TREES_PER_PAGE).map(|last| Mark::Id(*last)))
    }

    fn ticks(&mut self, after: Option<Mark>) -> Result<Option<Mark>> {
        let text = "select id, completed_at from ticks where id > $1 order by id limit $2";
        let after = Mark::or(after, Param::Int(0));
        let rows = self.look(text, after.clone(), |r| Ok((r.get::<i64>(0)?, r.get::<i64>(1)?)))?;
        // Nodes number their ticks in ranges, so a higher number need not be younger.
        let Some((last, _)) = rows.last().copied() else { return Ok(None) };
        self.out.ticks += rows.iter().filter(|(_, at)| *at < self.before.0).count();
        if self.act == Act::Write {
            let text = "delete from ticks where id > $1 and id <= $2 and completed_at < $3";
            self.sql.execute(text, &[after, last.into(), self.before.into()])?;
        }
        Ok((rows.len() == ROWS_PER_PAGE).then_some(Mark::Number(last)))
    }

    /// Let a tree go if it is settled; a damaged one stays where `check` can see it.
    fn take(&mut self, place: Place, root: Root) -> Result<()> {
        let Some(tree) = self.gather(place, root)? else { return Ok(()) };
        self.out.trees += 1;
        self.out.steps += tree.steps.len();
        self.out.blocks += tree.blocks.len();
        if self.act == Act::Write {
            let (_, leaving) = &mut self.leaving[place as usize];
            leaving.steps.extend(tree.steps);
            leaving.blocks.extend(tree.blocks);
        }
        Ok(())
    }

    /// The whole tree, or nothing as soon as something of it is not settled.
    fn gather(&self, place: Place, root: Root) -> Result<Option<Tree>> {
        let mut tree = Tree::default();
        let mut below: Vec<[u8; 16]> = Vec::new();
        match root {
            Root::Block(id) => below.push(id),
            Root::Step(leaf) if self.note(&leaf, &mut tree, &mut below) => {}
            Root::Step(_) => return Ok(None),
        }
        let at_rest =
            place.sql("select 1 from {blocks} where id = $1 and touched = 0 and sweep_kind is null");
        while let Some(block) = below.pop() {
            if self.sql.first(&at_rest, params![&block], |_| Ok(()))?.is_none() {
                return Ok(None);
            }
            tree.blocks.push(block);
            let mut leaves = self.leaves(place, block);
            while let Some(leaf) = leaves.next()? {
                if !self.note(&leaf, &mut tree, &mut below) {
                    return Ok(None);
                }
            }
        }
        Ok(Some(tree))
    }

    /// The steps of a block.
    fn leaves(&self, place: Place, block: [u8; 16]) -> Pages<'a, Leaf> {
        let text = place.sql(&format!(
            "select {LEAF_COLUMNS} from {{steps}} where block_id = $1 and (block_index, id) > ($2, $3)
              order by block_index, id limit $4"
        ));
        let key = |leaf: &Leaf| vec![leaf.block.into(), leaf.index.into(), leaf.id.into()];
        Pages::new(self.sql, text, &[block.into(), Param::Int(0), BEFORE_ALL], read_leaf, key)
    }

    /// Note one step of a tree; false when it is not settled.
    fn note(&self, leaf: &Leaf, tree: &mut Tree, below: &mut Vec<[u8; 16]>) -> bool {
        if !leaf.settled || leaf.at >= self.before.0 || self.needed.contains(&leaf.id) {
            return false;
        }
        tree.steps.push(leaf.id);
        below.extend(leaf.below);
        true
    }

    fn remove(&self, place: Place, tree: &Tree) -> Result<()> {
        let archive = matches!(self.what, Retention::Archive { .. });
        for ids in tree.steps.chunks(ROWS_AT_ONCE) {
            if place == Place::Live {
                self.all(DROP_TALLIES, "id", ids)?;
            }
            if archive {
                self.archive("steps", ids)?;
            } else {
                self.forget(ids)?;
            }
            self.each_one(&place.sql("delete from {steps} where {among}"), ids)?;
        }
        for ids in tree.blocks.chunks(ROWS_AT_ONCE) {
            if archive {
                self.archive("blocks", ids)?;
            }
            self.each_one(&place.sql("delete from {blocks} where {among}"), ids)?;
        }
        Ok(())
    }

    /// Copy rows to the archive; what it holds of them already is older.
    fn archive(&self, table: &str, ids: &[[u8; 16]]) -> Result<()> {
        let copy = format!("insert into {table}_archive select * from {table} where {{among}}");
        if self.all(&format!("{copy} on conflict (id) do nothing"), "id", ids)? < ids.len() as u64 {
            self.all(&format!("delete from {table}_archive where {{among}}"), "id", ids)?;
            self.each_one(&copy, ids)?;
        }
        Ok(())
    }

    /// A statement for all rows whose column is one of these.
    fn all(&self, text: &str, column: &str, ids: &[[u8; 16]]) -> Result<u64> {
        self.sql.execute(&text.replace("{among}", &self.sql.is_among(column, 1)), &[packed(ids)])
    }

    fn each_one(&self, text: &str, ids: &[[u8; 16]]) -> Result<()> {
        match self.all(text, "id", ids)? {
            n if n == ids.len() as u64 => Ok(()),
            _ => Err(StoreError::Lost { what: "a tree that was about to leave".into() }),
        }
    }

    /// What is known of steps beside their rows.
    fn forget(&self, ids: &[[u8; 16]]) -> Result<()> {
        self.all("delete from step_attempts where {among}", "step_id", ids)?;
        self.all("delete from poll_attempts where {among}", "step_id", ids)?;
        self.all("delete from step_logs where {among}", "step_id", ids)?;
        self.all("delete from events where {among}", "entity_id", ids)?;
        // That it was told stays known; by which step does not.
        self.all("update notices set step_id = null where {among}", "step_id", ids)?;
        let leaving: HashSet<String> = ids.iter().map(|id| StepId::from_bytes(*id).to_string()).collect();
        let open = "select entity_id from alerts where entity = 'step' and closed_at is null";
        let open = self.sql.rows(open, params![], |row| row.get::<String>(0))?;
        let alerts = "delete from alerts where entity = 'step' and entity_id = $1 and closed_at is null";
        for step in open.iter().filter(|step| leaving.contains(*step)) {
            self.sql.execute(alerts, params![step])?;
        }
        Ok(())
    }
}

/// Where a tree begins.
enum Root {
    Step(Leaf),
    Block([u8; 16]),
}
