//! Archive and purge: whole settled trees leave the live tables, one page to a transaction.
//!
//! Why    half a tree lies: a parent whose children are gone looks childless. A tree is a step that stands alone or a block
//!        without owner, with everything below; it leaves only when every step ended (or sleeps), no rule has to look at
//!        any of its blocks, and nothing happened since. A page is bounded in trees and in rows looked at, so that turns are not kept waiting;
//!        a tree larger than a page still goes in one piece.

use crate::{Result, Retained, Retention, StoreError};
use model::{State, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use std::collections::HashSet;

const TREES_PER_PAGE: usize = 1_000;
/// No further tree is begun once a page has this many steps.
const STEPS_PER_PAGE: usize = 2_000;
/// Possible roots looked at in one page.
const ROWS_PER_PAGE: usize = 10_000;

/// A step that leaves is no longer counted.
const DROP_TALLY: &str = "insert into tallies (dispatch_group, queue, action, host, state, leaf, throttled, n)
    select dispatch_group, queue, action, coalesce(host, ''), state, child_block_id is null, throttled, -1
      from steps where rowid = ?1
    on conflict (dispatch_group, queue, action, host, state, leaf, throttled) do update set n = tallies.n + excluded.n";

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
    Ticks,
}

/// The archive goes first: a step that took another's place must not leave before it.
fn stages(what: Retention) -> Vec<Stage> {
    let both = |place| [Stage::Roots(place), Stage::RootBlocks(place)];
    match what {
        Retention::Archive { .. } => both(Place::Live).to_vec(),
        Retention::Purge { only_archive, ticks, .. } => {
            let mut stages = both(Place::Archive).to_vec();
            stages.extend(both(Place::Live).into_iter().filter(|_| !only_archive));
            stages.extend(ticks.then_some(Stage::Ticks));
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
    after: i64,
}

/// One page, and where the next one begins.
pub fn run(connection: &mut Connection, what: Retention, from: Cursor) -> Result<(Retained, Cursor)> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut page = Page::new(&tx, what, Act::Write)?;
    let next = page.fill(from)?;
    let mut out = page.out;
    tx.commit()?;
    out.more = next.of.is_some();
    Ok((out, next))
}

/// What would leave if every page were taken now.
pub fn preview(connection: &Connection, what: Retention) -> Result<Retained> {
    let tx = connection.unchecked_transaction()?;
    let mut total = Retained::default();
    let mut cursor = Cursor::default();
    loop {
        let mut page = Page::new(&tx, what, Act::Count)?;
        cursor = page.fill(cursor)?;
        total.add(&page.out);
        if cursor.of.is_none() {
            return Ok(total);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Write,
    Count,
}

#[derive(Default)]
struct Tree {
    steps: Vec<(i64, [u8; 16])>,
    blocks: Vec<i64>,
}

struct Page<'a> {
    tx: &'a Connection,
    what: Retention,
    before: Timestamp,
    act: Act,
    /// Steps the claim log speaks for: somebody may still report on them.
    claimed: HashSet<[u8; 16]>,
    out: Retained,
}

impl<'a> Page<'a> {
    fn new(tx: &'a Connection, what: Retention, act: Act) -> Result<Page<'a>> {
        let (Retention::Archive { before } | Retention::Purge { before, .. }) = what;
        let mut statement = tx.prepare_cached("select step_id from claimed where length(step_id) = 16")?;
        let claimed = statement.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
        Ok(Page { tx, what, before, act, claimed, out: Retained::default() })
    }

    fn is_full(&self) -> bool {
        self.out.trees >= TREES_PER_PAGE || self.out.steps >= STEPS_PER_PAGE
    }

    fn fill(&mut self, from: Cursor) -> Result<Cursor> {
        let first = Cursor { of: Some(self.what), stage: 0, after: 0 };
        let mut at = if from.of == Some(self.what) { from } else { first };
        while let Some(stage) = stages(self.what).get(at.stage) {
            let left_at = match *stage {
                Stage::Roots(place) => self.roots(place, at.after)?,
                Stage::RootBlocks(place) => self.root_blocks(place, at.after)?,
                Stage::Ticks => self.ticks(at.after)?,
            };
            match left_at {
                Some(after) => return Ok(Cursor { after, ..at }),
                None => at = Cursor { stage: at.stage + 1, after: 0, ..at },
            }
        }
        Ok(Cursor::default())
    }

    /// Where it stopped before the end, if it did.
    fn roots(&mut self, place: Place, mut after: i64) -> Result<Option<i64>> {
        let rows = self.look(
            &place.sql("select rowid, block_id is null, created_at from {steps} where rowid > ?1 order by rowid limit ?2"),
            after,
            |r| Ok((r.get::<_, i64>(0)?, r.get::<_, bool>(1)?, r.get::<_, i64>(2)?)),
        )?;
        let all = rows.len() < ROWS_PER_PAGE;
        for (row, is_root, created_at) in rows {
            if place == Place::Live && created_at >= self.before.0 {
                // Rows are numbered in the order they were made: what follows is younger.
                return Ok(None);
            }
            if is_root {
                if self.is_full() {
                    return Ok(Some(after));
                }
                self.take(place, Root::Step(row))?;
            }
            after = row;
        }
        Ok((!all).then_some(after))
    }

    fn root_blocks(&mut self, place: Place, mut after: i64) -> Result<Option<i64>> {
        let rows = self.look(
            &place.sql(
                "select rowid, id, owner_id is null from {blocks} where rowid > ?1 order by rowid limit ?2",
            ),
            after,
            |r| Ok((r.get::<_, i64>(0)?, r.get::<_, [u8; 16]>(1)?, r.get::<_, bool>(2)?)),
        )?;
        let all = rows.len() < ROWS_PER_PAGE;
        for (row, id, is_root) in rows {
            if is_root {
                if self.is_full() {
                    return Ok(Some(after));
                }
                match self.made_at(place, &id)? {
                    Some(at) if place == Place::Live && at >= self.before.0 => return Ok(None),
                    Some(_) => self.take(place, Root::Block(id))?,
                    // A block without any step says nothing about its age; it stays.
                    None => {}
                }
            }
            after = row;
        }
        Ok((!all).then_some(after))
    }

    /// When a block came to be: with its first step.
    fn made_at(&self, place: Place, block: &[u8; 16]) -> Result<Option<i64>> {
        let sql = "select created_at from {steps} where block_id = ?1 order by block_index, id limit 1";
        Ok(self.tx.prepare_cached(&place.sql(sql))?.query_row([block], |r| r.get(0)).optional()?)
    }

    fn look<T>(
        &self,
        sql: &str,
        after: i64,
        read: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.tx.prepare_cached(sql)?;
        let rows = statement.query_map(params![after, ROWS_PER_PAGE as i64], read)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn ticks(&mut self, after: i64) -> Result<Option<i64>> {
        let sql = "select id, completed_at from ticks where id > ?1 order by id limit ?2";
        let rows = self.look(sql, after, |r| Ok((r.get::<_, i64>(0)?, r.get::<_, i64>(1)?)))?;
        let old: Vec<i64> =
            rows.iter().take_while(|(_, at)| *at < self.before.0).map(|(id, _)| *id).collect();
        let Some(last) = old.last().copied() else { return Ok(None) };
        self.out.ticks += old.len();
        if self.act == Act::Write {
            self.tx.execute("delete from ticks where id > ?1 and id <= ?2", params![after, last])?;
        }
        Ok((old.len() == ROWS_PER_PAGE).then_some(last))
    }

    /// Let a tree go if it is settled; a damaged one stays where `check` can see it.
    fn take(&mut self, place: Place, root: Root) -> Result<()> {
        let Some(tree) = self.gather(place, root)? else { return Ok(()) };
        self.out.trees += 1;
        self.out.steps += tree.steps.len();
        self.out.blocks += tree.blocks.len();
        if self.act == Act::Write { self.remove(place, &tree) } else { Ok(()) }
    }

    /// The whole tree, or nothing as soon as something of it is not settled.
    fn gather(&self, place: Place, root: Root) -> Result<Option<Tree>> {
        const COLUMNS: &str = "rowid, id, state, coalesce(completed_at, created_at), child_block_id";
        let mut tree = Tree::default();
        let mut below: Vec<[u8; 16]> = Vec::new();
        match root {
            Root::Block(id) => below.push(id),
            Root::Step(row) => {
                let sql = place.sql(&format!("select {COLUMNS} from {{steps}} where rowid = ?1"));
                let mut statement = self.tx.prepare_cached(&sql)?;
                let mut found = statement.query([row])?;
                while let Some(row) = found.next()? {
                    if !self.step(row, &mut tree, &mut below)? {
                        return Ok(None);
                    }
                }
            }
        }
        let (blocks, steps) = (
            place.sql("select rowid from {blocks} where id = ?1 and touched = 0 and sweep_kind is null"),
            place.sql(&format!("select {COLUMNS} from {{steps}} where block_id = ?1")),
        );
        while let Some(block) = below.pop() {
            let mut statement = self.tx.prepare_cached(&blocks)?;
            let mut found = statement.query([block])?;
            let Some(row) = found.next()? else { return Ok(None) };
            tree.blocks.push(row.get(0)?);
            let mut statement = self.tx.prepare_cached(&steps)?;
            let mut found = statement.query([block])?;
            while let Some(row) = found.next()? {
                if !self.step(row, &mut tree, &mut below)? {
                    return Ok(None);
                }
            }
        }
        Ok(Some(tree))
    }

    /// Note one step of a tree; false when it is not settled.
    fn step(&self, row: &Row, tree: &mut Tree, below: &mut Vec<[u8; 16]>) -> Result<bool> {
        let state = row.get_ref(2)?.as_str().map_err(|e| StoreError::Down(e.to_string()))?;
        let settled = state.parse::<State>().is_ok_and(|s| s.is_terminal() || s == State::NotRunnable);
        let id: [u8; 16] = row.get(1)?;
        if !settled || row.get::<_, i64>(3)? >= self.before.0 || self.claimed.contains(&id) {
            return Ok(false);
        }
        tree.steps.push((row.get(0)?, id));
        below.extend(row.get::<_, Option<[u8; 16]>>(4)?);
        Ok(true)
    }

    fn remove(&self, place: Place, tree: &Tree) -> Result<()> {
        let archive = matches!(self.what, Retention::Archive { .. });
        for (row, id) in &tree.steps {
            if place == Place::Live {
                self.tx.prepare_cached(DROP_TALLY)?.execute([row])?;
            }
            if archive {
                self.one("insert or replace into steps_archive select * from steps where rowid = ?1", *row)?;
            } else {
                self.forget(id)?;
            }
            self.one(&place.sql("delete from {steps} where rowid = ?1"), *row)?;
        }
        for row in &tree.blocks {
            if archive {
                self.one(
                    "insert or replace into blocks_archive select * from blocks where rowid = ?1",
                    *row,
                )?;
            }
            self.one(&place.sql("delete from {blocks} where rowid = ?1"), *row)?;
        }
        Ok(())
    }

    fn one(&self, sql: &str, row: i64) -> Result<()> {
        match self.tx.prepare_cached(sql)?.execute([row])? {
            1 => Ok(()),
            _ => Err(StoreError::Lost { what: "a tree that was about to leave".into() }),
        }
    }

    /// What is known of a step beside its row.
    fn forget(&self, id: &[u8; 16]) -> Result<()> {
        self.tx.prepare_cached("delete from step_attempts where step_id = ?1")?.execute([id])?;
        self.tx.prepare_cached("delete from events where entity_id = ?1")?.execute([id])?;
        let name = model::StepId::from_bytes(*id).to_string();
        let alerts = "delete from alerts where entity = 'step' and entity_id = ?1 and closed_at is null";
        self.tx.prepare_cached(alerts)?.execute([name])?;
        Ok(())
    }
}

/// Where a tree begins.
#[derive(Clone, Copy)]
enum Root {
    Step(i64),
    Block([u8; 16]),
}
