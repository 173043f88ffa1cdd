//! Answers why a step is not moving, from what the database says.

use super::Browse;
use crate::batch::SessionRow;
use crate::{Result, StepRow};
use model::{Breaker, GroupStatus, Timestamp};
use rules::why::{Context, Why, why};

/// What every answer shares; read once for many steps.
pub struct Circumstances {
    pub now: Timestamp,
    pub breaker: Breaker,
    pub groups: Vec<GroupStatus>,
    pub sessions: Vec<SessionRow>,
    /// Attempts in flight per session.
    pub held: std::collections::HashMap<model::SessionId, usize>,
}

impl Browse {
    pub fn circumstances(&self, now: Timestamp) -> Result<Circumstances> {
        let sql = "select session_id, count(*) from steps_now where session_id is not null and state in ('dispatched', 'running')
                   group by session_id";
        let held = self.rows(sql, vec![], |r| {
            Ok((model::SessionId::from_bytes(r.get(0)?), r.get::<_, i64>(1)?.unsigned_abs() as usize))
        })?;
        Ok(Circumstances {
            now,
            breaker: self.breaker()?,
            groups: self.groups()?,
            sessions: self.sessions()?,
            held: held.into_iter().collect(),
        })
    }

    pub fn why(&self, row: &StepRow, around: &Circumstances) -> Result<Vec<Why>> {
        let step = &row.step;
        let block = step.block().map(|b| self.block(b)).transpose()?.flatten();
        let owner = block.as_ref().and_then(|b| b.owner).map(|o| self.step(o)).transpose()?.flatten();
        let children = step.child_block.map(|b| self.block(b)).transpose()?.flatten();
        let group = around.groups.iter().find(|g| g.dispatch_group == step.dispatch_group);
        let takes = |s: &&SessionRow| {
            s.lease_ends_at > around.now
                && s.offer.queues.contains(&step.queue)
                && s.offer.actions.contains(&step.action)
        };
        let takers: Vec<&SessionRow> = around.sessions.iter().filter(takes).collect();
        let free = takers.iter().filter(|s| around.held.get(&s.id).is_none_or(|n| *n < s.offer.capacity)).count();
        let held_until = step.session.and_then(|id| around.sessions.iter().find(|s| s.id == id)).map(|s| s.lease_ends_at);
        let context = Context {
            now: around.now,
            block: block.as_ref(),
            owner: owner.as_ref().map(|o| &o.step),
            children: children.as_ref(),
            everywhere: around.breaker.clone(),
            group: group.map(|g| g.breaker.clone()).unwrap_or_default(),
            group_owned: group.is_some_and(|g| g.owner.is_some() && g.lease_ends_at.is_some_and(|at| at > around.now)),
            takers: takers.len(),
            free_takers: free,
            held_until,
        };
        Ok(why(step, &context))
    }
}
