//! Where steps that may be stuck are looked for: every index that the dispatcher has for them, a part of each in one look.
//!
//! Why    nothing more is written for any step. Most of what lives waits by design, and most of that can be told by the sort of a step
//!        alone: where somebody takes such steps and the dispatch group is at work, nothing of it is lost, and its row is not read.

use super::rounds::{Leg, Room, Rounds, Spent, shared};
use super::{ROOM, Scene, Wanted, id_at};
use crate::sql::{Param, Row};
use crate::statements::BLOCK_COLUMNS;
use crate::{Browse, Circumstances, Result, Sort, message_groups, params, pools, reads, rows};
use model::{Block, BlockId, Reason, SessionId, StepId, StepKind, StuckClock, Timestamp, limits};
use std::collections::{BTreeSet, HashMap};

/// What the first of a line costs: it is found by itself.
const HEAD_COST: usize = 5;
/// Behind the steps of a block and its resolvers.
const BLOCK_OVER: u8 = 2;
/// Open blocks of a dispatch group.
pub(super) const BLOCKS: &str =
    "from blocks where home = $1 and is_open = 1 and id > $2 and id < $3 order by home, id limit $4";
/// Steps at one index of a block, whatever their state. Said by rows, so that no planner takes the way along all ids.
pub(super) const AT_INDEX: &str = "select id, state, wake_at, created_at, kind, dispatch_group, queue, action, pool from steps
    where block_id is not null and (block_id, block_index, id) > ($1, $2, $3) and (block_id, block_index) <= ($1, $2)
    order by block_id, block_index, id limit $4";
/// Steps that should have begun before then.
pub(super) const OVERDUE: &str = "select wake_at, id, reason, dispatch_group, queue, action, pool from steps
    where wake_at is not null and wake_at >= $1 and (wake_at, id) > ($1, $2) and wake_at < $3
    order by wake_at, id limit $4";
/// Steps that somebody has.
pub(super) const HELD: &str = "select session_id, id, state, created_at from steps
    where session_id is not null and (session_id, id) > ($1, $2) order by session_id, id limit $3";
/// Steps that failed in a span of time; those of a workflow or of a parent are told as that.
pub(super) const FAILED: &str =
    "select completed_at, id, case when workflow_id is null then reason else 'workflow' end from steps
    where (state = 'failed' or state = 'stopped' or state = 'timed_out')
      and completed_at >= $1 and (completed_at, id) > ($1, $2) and completed_at < $3
    order by completed_at, id limit $4";

/// The ready steps of one sort, in the words and the order of their index.
pub(super) fn of_sort(pooled: bool) -> String {
    let ready = "state = 'pending' and block_id is null and wake_at is null and mode is null";
    let (pool, order) = match pooled {
        true => ("pool is not null and pool = $7", "pool, dispatch_group, queue, priority, id"),
        false => ("pool is null", "dispatch_group, queue, priority, id"),
    };
    format!(
        "select id, action from steps
          where dispatch_group = $1 and queue = $2 and priority = $3 and id > $4 and id < $5 and {ready} and {pool}
          order by {order} limit $6"
    )
}

/// Which sorts of pending steps may wait for something that nobody means.
struct Lost<'a> {
    around: &'a Circumstances,
    known: HashMap<[String; 3], bool>,
}

impl Lost<'_> {
    fn may_be(&mut self, kind: [String; 3], pool: Option<&str>) -> bool {
        let no_pool = pool.is_some_and(|pool| !self.around.pools.iter().any(|one| &*one.pool.name == pool));
        let around = self.around;
        no_pool
            || *self
                .known
                .entry(kind)
                .or_insert_with_key(|[group, queue, action]| !around.is_served(group, queue, action))
    }
}

/// Searches for steps, and what they have found.
pub(super) struct StepSearches<'a> {
    browse: &'a Browse,
    wanted: &'a Wanted,
    scene: &'a Scene,
    rounds: &'a mut Rounds,
    lost: Lost<'a>,
    pub found: BTreeSet<StepId>,
}

impl<'a> StepSearches<'a> {
    pub fn new(
        browse: &'a Browse,
        wanted: &'a Wanted,
        scene: &'a Scene,
        rounds: &'a mut Rounds,
    ) -> StepSearches<'a> {
        let lost = Lost { around: &scene.around, known: HashMap::new() };
        StepSearches { browse, wanted, scene, rounds, lost, found: BTreeSet::new() }
    }

    /// Until when what has a time of its own counts as old.
    fn until(&self) -> Timestamp {
        if self.wanted.clock == StuckClock::Created { self.scene.now } else { self.wanted.before }
    }

    /// Ready steps that stand alone, by each queue and pool.
    pub fn ready(&mut self) -> Result<()> {
        let mut sorts: Vec<Sort> = pools::sorts(self.browse.sql())?;
        for group in &self.scene.around.groups {
            sorts.extend(reads::ready_queues(self.browse.sql(), &group.dispatch_group)?);
        }
        let mut sorts: Vec<(String, Sort)> = sorts.into_iter().map(|sort| (name(&sort), sort)).collect();
        sorts.sort_by(|one, other| one.0.cmp(&other.0));
        // There may be more queues than a look has room for.
        let few = Room { cost: ROOM.kept, kept: ROOM.kept };
        let part =
            self.rounds.part(&self.wanted.search("queues"), few, |after: Option<&String>, limit| {
                let behind =
                    sorts.iter().filter(|(name, _)| after.is_none_or(|after| name > after)).take(limit);
                Ok(Leg::of(behind.map(|one| (one.0.clone(), Some(one))).collect(), limit))
            })?;
        shared(&part.kept, ROOM, |(name, sort), room| self.ready_of(name, sort, room))
    }

    fn ready_of(&mut self, name: &str, sort: &Sort, room: Room) -> Result<Spent> {
        let StepSearches { browse, wanted, rounds, lost, .. } = self;
        let text = of_sort(sort.pool.is_some());
        let search = wanted.search(&format!("ready {name}"));
        let part = rounds.part(&search, room, |after: Option<&StepId>, limit| {
            let (group, queue) = (sort.dispatch_group.as_str(), &*sort.queue);
            let after = after.map_or([0; 16], |id| *id.bytes());
            let last = id_at(wanted.before);
            let mut values = params![group, queue, sort.priority.word(), &after, &last, limit].to_vec();
            values.extend(sort.pool.as_deref().map(Param::from));
            let found = browse
                .sql()
                .rows(&text, &values, |row| Ok((StepId::from_bytes(row.get(0)?), row.get::<String>(1)?)))?;
            let judged = found.into_iter().map(|(id, action)| {
                let may = lost.may_be([group.into(), queue.into(), action], sort.pool.as_deref());
                (id, may.then_some(id))
            });
            Ok(Leg::of(judged.collect(), limit))
        })?;
        Ok(keep(&mut self.found, part))
    }

    /// The first of each line: nobody else of it can be stuck.
    pub fn lines(&mut self) -> Result<()> {
        let scene = self.scene;
        shared(&scene.around.groups, ROOM, |group, room| {
            let StepSearches { browse, wanted, rounds, lost, .. } = self;
            let home = &group.dispatch_group;
            let search = wanted.search(&format!("lines {home}"));
            let part = rounds.part(&search, room, |after: Option<&String>, limit| {
                let limit = (limit / HEAD_COST).max(1);
                let after = after.map_or("", String::as_str);
                let heads = message_groups::heads(browse.sql(), home, after, limit)?;
                let (n, mut rows) = (heads.len(), Vec::new());
                for step in heads {
                    let Some(line) = step.line() else { continue };
                    let kind =
                        [step.dispatch_group.to_string(), step.queue.to_string(), step.action.to_string()];
                    let may = step.created_at < wanted.before && lost.may_be(kind, step.pool.as_deref());
                    rows.push((line.group.to_string(), may.then_some(step.id)));
                }
                Ok(Leg { rows, cost: n * HEAD_COST, ended: n < limit })
            })?;
            Ok(keep(&mut self.found, part))
        })
    }

    /// Steps whose turn it is in their block, and resolvers whose turn it is.
    pub fn blocks(&mut self) -> Result<()> {
        let scene = self.scene;
        shared(&scene.around.groups, ROOM, |group, room| {
            let home = group.dispatch_group.as_str();
            let StepSearches { browse, wanted, rounds, lost, .. } = self;
            let search = wanted.search(&format!("blocks {home}"));
            let part = rounds.part(&search, room, |after, limit| {
                of_blocks(browse, (wanted, home), lost, (after, limit))
            })?;
            Ok(keep(&mut self.found, part))
        })
    }

    /// Those that should have begun long ago.
    pub fn overdue(&mut self) -> Result<()> {
        let until = self.until();
        let StepSearches { browse, wanted, rounds, lost, .. } = self;
        let part = rounds.part(&wanted.search("overdue"), ROOM, |after: Option<&(i64, StepId)>, limit| {
            let (at, id) = after.map_or((i64::MIN, [0; 16]), |(at, id)| (*at, *id.bytes()));
            let found = browse.sql().rows(OVERDUE, params![at, &id, until, limit], |row| {
                let id = StepId::from_bytes(row.get(1)?);
                let is_held = row.get::<Option<String>>(2)?.as_deref() == Some(Reason::WorkflowHeld.word());
                let (kind, pool) = ([row.get(3)?, row.get(4)?, row.get(5)?], row.get::<Option<String>>(6)?);
                Ok(((row.get::<i64>(0)?, id), is_held, kind, pool))
            })?;
            let judged = found.into_iter().map(|(key, is_held, kind, pool)| {
                let may = !is_held && lost.may_be(kind, pool.as_deref());
                (key, may.then_some(key.1))
            });
            Ok(Leg::of(judged.collect(), limit))
        })?;
        keep(&mut self.found, part);
        Ok(())
    }

    pub fn held(&mut self) -> Result<()> {
        let StepSearches { browse, wanted, rounds, .. } = self;
        let part =
            rounds.part(&wanted.search("held"), ROOM, |after: Option<&(SessionId, StepId)>, limit| {
                let (session, id) = after.map_or(([0; 16], [0; 16]), |(s, id)| (*s.bytes(), *id.bytes()));
                let found = browse.sql().rows(HELD, params![&session, &id, limit], |row| {
                    let id = StepId::from_bytes(row.get(1)?);
                    let in_flight = matches!(row.text(2)?, "dispatched" | "running");
                    let may = in_flight && Timestamp(row.get(3)?) < wanted.before;
                    Ok(((SessionId::from_bytes(row.get(0)?), id), may.then_some(id)))
                })?;
                Ok(Leg::of(found, limit))
            })?;
        keep(&mut self.found, part);
        Ok(())
    }

    pub fn failed(&mut self) -> Result<()> {
        let (since, until) = (self.scene.now - limits::STUCK_LOOK_BACK, self.until());
        let StepSearches { browse, wanted, rounds, .. } = self;
        let part = rounds.part(&wanted.search("failed"), ROOM, |after: Option<&(i64, StepId)>, limit| {
            let after = after.filter(|(at, _)| *at >= since.0);
            let (at, id) = after.map_or((since.0, [0; 16]), |(at, id)| (*at, *id.bytes()));
            let found = browse.sql().rows(FAILED, params![at, &id, until, limit], |row| {
                let id = StepId::from_bytes(row.get(1)?);
                let reason: Option<String> = row.get(2)?;
                let apart = !matches!(reason.as_deref(), Some("workflow" | "parent_failed"));
                Ok(((row.get::<i64>(0)?, id), apart.then_some(id)))
            })?;
            Ok(Leg::of(found, limit))
        })?;
        keep(&mut self.found, part);
        Ok(())
    }
}

fn keep(found: &mut BTreeSet<StepId>, part: super::rounds::Part<StepId>) -> Spent {
    let spent = Spent::from(&part);
    found.extend(part.kept);
    spent
}

fn name(sort: &Sort) -> String {
    let pool = sort.pool.as_deref().unwrap_or_default();
    format!("{} {} {} {pool}", sort.dispatch_group, sort.queue, sort.priority)
}

/// A block, whether the steps or the resolvers of it, and the last step that was read.
type InBlock = (BlockId, u8, StepId);

fn of_blocks(
    browse: &Browse,
    (wanted, home): (&Wanted, &str),
    lost: &mut Lost,
    (mark, limit): (Option<&InBlock>, usize),
) -> Result<Leg<InBlock, StepId>> {
    let first = mark.map_or([0; 16], |(block, lane, _)| match *lane {
        BLOCK_OVER => *block.bytes(),
        _ => u128::from_be_bytes(*block.bytes()).saturating_sub(1).to_be_bytes(),
    });
    let most = limit / limits::STUCK_BLOCK_COST + 1;
    let text = format!("select {BLOCK_COLUMNS} {BLOCKS}");
    let last = id_at(wanted.before);
    let blocks = browse.sql().rows(&text, params![home, &first, &last, most], rows::block)?;
    let mut leg = Leg { rows: Vec::new(), cost: 0, ended: blocks.len() < most };
    for block in &blocks {
        for (lane, kind, index) in lanes(block) {
            let after = match mark.filter(|mark| mark.0 == block.id) {
                Some((_, at, _)) if lane < *at => continue,
                Some((_, at, step)) if lane == *at => *step.bytes(),
                _ => [0; 16],
            };
            let room = limit.saturating_sub(leg.cost);
            let found = at_index(browse, (block.id, index, &after), room)?;
            let is_cut = found.len() >= room;
            leg.cost += found.len();
            leg.rows.extend(found.into_iter().map(|one| {
                let may = one.may_wait(kind, wanted.before) && lost.may_be(one.sort, one.pool.as_deref());
                ((block.id, lane, one.id), may.then_some(one.id))
            }));
            if is_cut {
                leg.ended = false;
                return Ok(leg);
            }
        }
        leg.cost += limits::STUCK_BLOCK_COST;
        leg.rows.push(((block.id, BLOCK_OVER, StepId::from_bytes([0xff; 16])), None));
    }
    Ok(leg)
}

/// Where something of a block may run now.
fn lanes(block: &Block) -> impl Iterator<Item = (u8, StepKind, u32)> {
    let at = [(0, StepKind::Default, block.current_index), (1, StepKind::Resolver, block.resolver_index)];
    let live = |(_, kind, index): &(u8, StepKind, u32)| *index > 0 && block.live_at(*kind, *index) > 0;
    at.into_iter().filter(live).collect::<Vec<_>>().into_iter()
}

/// A step of a block, as far as it says whether it may be stuck.
struct Placed {
    id: StepId,
    is_ready: bool,
    created_at: Timestamp,
    kind: String,
    sort: [String; 3],
    pool: Option<String>,
}

impl Placed {
    fn may_wait(&self, kind: StepKind, before: Timestamp) -> bool {
        self.is_ready && self.created_at < before && self.kind == kind.word()
    }
}

fn at_index(
    browse: &Browse,
    (block, index, after): (BlockId, u32, &[u8; 16]),
    limit: usize,
) -> Result<Vec<Placed>> {
    browse.sql().rows(AT_INDEX, params![block, index, after, limit], |row: &Row| {
        Ok(Placed {
            id: StepId::from_bytes(row.get(0)?),
            is_ready: row.text(1)? == "pending" && row.get::<Option<i64>>(2)?.is_none(),
            created_at: Timestamp(row.get(3)?),
            kind: row.get(4)?,
            sort: [row.get(5)?, row.get(6)?, row.get(7)?],
            pool: row.get(8)?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::migrate_file;
    use crate::stuck::{flows, groups, pauses, workflows};

    #[test]
    fn nothing_is_found_by_reading_history() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("steps.db");
        migrate_file(&path, Timestamp(0), true).unwrap();
        let file = rusqlite::Connection::open(&path).unwrap();
        for (text, index) in [
            (of_sort(false), "steps_ready"),
            (of_sort(true), "steps_pooled"),
            (format!("select id {BLOCKS}"), "blocks_open"),
            (AT_INDEX.into(), "steps_block"),
            (OVERDUE.into(), "steps_wake"),
            (HELD.into(), "steps_held"),
            (FAILED.into(), "steps_failed"),
            (workflows::of_state("paused"), "workflows_open"),
            (workflows::of_state("failed"), "workflows_unresolved"),
            (flows::by("timeout_at"), "flows_due"),
            (flows::by("updated_at"), "flows_quiet"),
            (pauses::over(), "pauses_due"),
            (pauses::old(), "pauses_waiting"),
            (groups::HOLDS.into(), "message_groups"),
        ] {
            let mut statement = file.prepare(&format!("explain query plan {text}")).unwrap();
            let nothing = vec![rusqlite::types::Null; statement.parameter_count()];
            let lines = statement
                .query_map(rusqlite::params_from_iter(nothing), |row| row.get::<_, String>(3))
                .unwrap();
            let plan: Vec<String> = lines.map(|line| line.unwrap()).collect();
            assert!(plan.iter().any(|line| line.contains(index)), "{plan:?}\n{text}");
            assert!(!plan.iter().any(|line| line.contains("TEMP B-TREE")), "{plan:?}\n{text}");
        }
    }
}
