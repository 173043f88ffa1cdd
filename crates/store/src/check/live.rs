//! Every step that has not ended has a true reason to wait, and every one that is held has a live holder.
//!
//! Why    a step for which no reason is true is lost work: nobody will ever look at it again. `rules::why` says the
//!        reason; here it is asked whether it holds.

use super::{GRACE, Report, Scene, lines};
use crate::explain::{self, Circumstances, Kin};
use crate::message_groups::Fronts;
use crate::pages::{BEFORE_ALL, Key, Pages};
use crate::sql::{Param, Row};
use crate::statements::STEP_COLUMNS;
use crate::{Result, StoreError, message_groups, params, rows};
use model::{Block, BlockId, Name, Priority, SessionId, Step, StepId, StepKind, Timestamp};
use rules::why::Why;
use std::collections::HashMap;

const LIVE: &str = "state in ('not_runnable', 'pending', 'dispatched', 'running', 'polling')";

/// Steps that are picked in the order of their ids.
#[derive(PartialEq, Eq, Hash)]
struct Line {
    dispatch_group: Name,
    queue: Name,
    action: Name,
    priority: Priority,
}

struct Look<'a> {
    scene: &'a Scene<'a>,
    around: Circumstances,
    leases: HashMap<SessionId, (Timestamp, Option<Timestamp>)>,
    /// The last block that was asked for, with its owner: steps come in the order of their blocks.
    block: Option<(BlockId, Option<Block>, Option<Step>)>,
    /// The youngest step of each line that was started, and when; read when first asked for.
    started: Option<HashMap<Line, (StepId, Timestamp)>>,
}

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    let mut look = Look { scene, around: around(scene)?, leases: leases(scene)?, block: None, started: None };
    let alone = format!(
        "select {} from steps where id > $1 and block_id is null and {LIVE} order by id limit $2",
        columns()
    );
    let mut rows = Pages::new(scene.sql(), alone, &[BEFORE_ALL], read_live, |live| vec![live.id.into()]);
    while let Some(live) = rows.next()? {
        look.at(live, report)?;
    }
    let placed = format!(
        "select {} from steps where block_id is not null and {LIVE}
            and (block_id, block_index, id) > ($1, $2, $3) order by block_id, block_index, id limit $4",
        columns()
    );
    let first = [BEFORE_ALL, Param::Int(0), BEFORE_ALL];
    let place = |live: &Live| -> Key { vec![live.block.into(), live.index.into(), live.id.into()] };
    let mut rows = Pages::new(scene.sql(), placed, &first, read_live, place);
    while let Some(live) = rows.next()? {
        look.at(live, report)?;
    }
    Ok(())
}

/// A row, and the step in it if it can be understood.
struct Live {
    id: StepId,
    block: Option<BlockId>,
    index: u32,
    step: Result<Step>,
}

fn read_live(row: &Row) -> Result<Live> {
    Ok(Live {
        id: StepId::from_bytes(row.get(0)?),
        block: row.get::<Option<[u8; 16]>>(6)?.map(BlockId::from_bytes),
        index: row.get(7)?,
        step: rows::step(row),
    })
}

/// A step without its payload.
fn columns() -> String {
    STEP_COLUMNS.replace("arguments", "''")
}

fn around(scene: &Scene) -> Result<Circumstances> {
    let mut held: HashMap<SessionId, usize> = HashMap::new();
    let sql = "select session_id, count(*) from steps where session_id is not null group by session_id";
    scene.each(sql, |row| {
        held.insert(SessionId::from_bytes(row.get(0)?), row.get(1)?);
        Ok(())
    })?;
    for session in scene.claims.iter().filter_map(|(_, claim)| claim.session) {
        *held.entry(session).or_default() += 1;
    }
    let mut groups = scene.browse.groups()?;
    if scene.offline {
        groups.iter_mut().for_each(|group| group.owner = None);
    }
    let (breaker, sessions) = (scene.browse.breaker()?, scene.browse.sessions()?);
    let pools = scene.browse.pools()?;
    let (in_flight, published) = (lines::holders(scene)?, explain::published(scene.sql())?);
    Ok(Circumstances { now: scene.now, breaker, groups, sessions, pools, held, in_flight, published })
}

fn leases(scene: &Scene) -> Result<HashMap<SessionId, (Timestamp, Option<Timestamp>)>> {
    let mut leases = HashMap::new();
    scene.each("select id, lease_ends_at, ended_at from sessions", |row| {
        leases.insert(SessionId::from_bytes(row.get(0)?), (Timestamp(row.get(1)?), rows::time(row, 2)?));
        Ok(())
    })?;
    Ok(leases)
}

impl Look<'_> {
    fn at(&mut self, live: Live, report: &mut Report) -> Result<()> {
        let step = match live.step {
            Ok(step) => self.scene.claims.now(step),
            Err(StoreError::Corrupt { column, value, .. }) => {
                report.add("S5", format!("step {}", live.id), format!("its {column} is `{value}`"));
                return Ok(());
            }
            Err(problem) => return Err(problem),
        };
        if step.is_held() {
            if let Some(problem) = self.unheld(&step) {
                report.add("I7", format!("step {}", step.id), problem);
            }
            return Ok(());
        }
        if let Some(problem) = self.lost(&step)? {
            report.add("I6", format!("step {}", step.id), problem);
        }
        Ok(())
    }

    fn unheld(&self, step: &Step) -> Option<String> {
        let session = step.session.filter(|session| *session != SessionId::OUTBOX)?;
        let Some((lease_ends_at, ended_at)) = self.leases.get(&session) else {
            return Some(format!("session {session} has it and is not on record"));
        };
        if self.scene.offline {
            return None;
        }
        if ended_at.is_some() {
            return Some(format!("session {session} has it and is over"));
        }
        let lapsed = *lease_ends_at + GRACE < self.scene.now;
        lapsed.then(|| format!("session {session} has it and let its lease run out"))
    }

    /// What is not true about its reasons to wait.
    fn lost(&mut self, step: &Step) -> Result<Option<String>> {
        let children = step.child_block.map(|id| self.read_block(id)).transpose()?.flatten();
        let (block, owner) = match step.block() {
            Some(id) => self.block_of(id)?,
            None => (None, None),
        };
        let ahead =
            message_groups::ahead(self.scene.sql(), step, &self.around.in_flight, &Fronts::default())?;
        let below = explain::below(self.scene.sql(), step)?;
        let (block_now, owner_now, children_now) = (block.as_ref(), owner.as_ref(), children.as_ref());
        // Who holds it is of no account here.
        let kin =
            Kin { block: block_now, owner: owner_now, children: children_now, ahead, below, holder: None };
        let reasons = self.around.why(step, kin);
        let resting = if step.parked { children.as_ref() } else { block.as_ref() }.is_some_and(is_at_rest);
        let unanswered = resting && block.as_ref().is_some_and(|b| b.wants_resolvers);
        self.block = step.block().map(|id| (id, block, owner));
        if reasons.is_empty() {
            return Ok(Some("nothing holds it, and nothing will move it".into()));
        }
        for reason in reasons {
            let wrong = match reason {
                Why::Dormant if step.kind != StepKind::Resolver => "it sleeps and is no resolver",
                Why::Dormant if unanswered => "a step of its block failed, and nobody will wake it",
                Why::Closing if resting => "its block has come to rest without it",
                Why::Predecessor { index, .. } if index >= step.index() => "its block has gone past it",
                Why::DueLater { at, .. } | Why::PollLater { at, .. }
                    if !self.scene.offline && at + GRACE < self.scene.now =>
                {
                    "its time came and went"
                }
                Why::Next { since } if self.is_passed_over(step, since)? => "it could have started long ago",
                _ => continue,
            };
            return Ok(Some(format!("{wrong}; told is only that {reason}")));
        }
        Ok(None)
    }

    /// It could have started over a minute ago, and either nothing of its dispatch group moves, or one behind it went first.
    fn is_passed_over(&mut self, step: &Step, since: Timestamp) -> Result<bool> {
        let since = since.max(self.scene.breakers.changed_at.unwrap_or(since));
        if since + GRACE >= self.scene.now {
            return Ok(false);
        }
        let group = self.around.groups.iter().find(|g| g.dispatch_group == step.dispatch_group);
        let moved_at = group.and_then(|g| g.last_selected_at.max(g.last_tick_completed_at));
        if moved_at.is_none_or(|at| at + GRACE < self.scene.now) {
            return Ok(true);
        }
        if step.place.is_some() || step.attempt > 0 || step.line().is_some() {
            return Ok(false);
        }
        let line = Line {
            dispatch_group: step.dispatch_group.0.clone(),
            queue: step.queue.clone(),
            action: step.action.clone(),
            priority: step.priority,
        };
        let passed = self.started()?.get(&line);
        Ok(passed.is_some_and(|(id, at)| *id > step.id && *at > since + GRACE))
    }

    fn started(&mut self) -> Result<&HashMap<Line, (StepId, Timestamp)>> {
        let mut started = match self.started.take() {
            Some(known) => return Ok(self.started.insert(known)),
            None => HashMap::new(),
        };
        let sql = "select dispatch_group, queue, action, priority, id, started_at from steps
                    where block_id is null and started_at is not null";
        self.scene.each(sql, |row| {
            let line = Line {
                dispatch_group: rows::shared(row, 0)?,
                queue: rows::shared(row, 1)?,
                action: rows::shared(row, 2)?,
                priority: row.text(3)?.parse().unwrap_or(Priority::Normal),
            };
            let this = (StepId::from_bytes(row.get(4)?), Timestamp(row.get(5)?));
            let youngest = started.entry(line).or_insert(this);
            if this.0 > youngest.0 {
                *youngest = this;
            }
            Ok(())
        })?;
        Ok(self.started.insert(started))
    }

    fn block_of(&mut self, id: BlockId) -> Result<(Option<Block>, Option<Step>)> {
        if let Some((known, block, owner)) = self.block.take()
            && known == id
        {
            return Ok((block, owner));
        }
        let block = self.read_block(id)?;
        let owner = block.as_ref().and_then(|b| b.owner).map(|owner| self.read_step(owner)).transpose()?;
        Ok((block, owner.flatten()))
    }

    /// A block that cannot be understood is told elsewhere.
    fn read_block(&self, id: BlockId) -> Result<Option<Block>> {
        match self.scene.browse.block(id) {
            Err(StoreError::Corrupt { .. }) => Ok(None),
            read => read,
        }
    }

    fn read_step(&self, id: StepId) -> Result<Option<Step>> {
        let text = format!("select {} from steps where id = $1", columns());
        match self.scene.sql().first(&text, params![id], rows::step) {
            Ok(step) => Ok(step.map(|step| self.scene.claims.now(step))),
            Err(StoreError::Corrupt { .. }) => Ok(None),
            Err(problem) => Err(problem),
        }
    }
}

/// No rule will look at this block before something else happens to it.
fn is_at_rest(block: &Block) -> bool {
    !block.touched && block.sweep.is_none()
}
