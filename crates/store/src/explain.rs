//! Answers why a step is not moving, from what the database says.

use crate::batch::SessionRow;
use crate::message_groups::Fronts;
use crate::settings::setting;
use crate::sql::Sql;
use crate::{AuditFilter, Browse, Result, StepRow, StoreError, message_groups, params, workflows};
use model::{
    Block, Breaker, GroupStatus, Name, PoolUse, Reason, Step, StepId, Timestamp, Workflow, WorkflowId,
    WorkflowState,
};
use rules::why::{Ahead, Context, Holder, Why, why};
use std::collections::HashMap;
use std::time::Duration;

/// Of a workflow that is paused, how many of its last events are looked at for when it was.
const EVENTS_LOOKED_AT: usize = 50;

/// What every answer shares; read once for many steps.
pub struct Circumstances {
    pub now: Timestamp,
    pub breaker: Breaker,
    pub groups: Vec<GroupStatus>,
    pub sessions: Vec<SessionRow>,
    pub pools: Vec<PoolUse>,
    /// The step of each message group that a worker has.
    pub in_flight: HashMap<Name, StepId>,
    /// Actions that go into the queue outside.
    pub published: Vec<Name>,
    /// Attempts in flight per session.
    pub held: HashMap<model::SessionId, usize>,
}

/// The rows that a step has to do with.
#[derive(Default)]
pub(crate) struct Kin<'a> {
    pub block: Option<&'a Block>,
    pub owner: Option<&'a Step>,
    pub children: Option<&'a Block>,
    pub ahead: Option<Ahead>,
    pub below: Option<(WorkflowId, WorkflowState)>,
    pub holder: Option<&'a Holder>,
}

/// The workflow whose end a step waits for.
pub(crate) fn below(sql: &dyn Sql, step: &Step) -> Result<Option<(WorkflowId, WorkflowState)>> {
    if !step.parked || step.child_block.is_some() {
        return Ok(None);
    }
    let Some(id) = workflows::below(sql, step.id)? else { return Ok(None) };
    Ok(workflows::workflow(sql, id)?.map(|workflow| (id, workflow.state)))
}

impl Browse {
    pub fn circumstances(&self, now: Timestamp) -> Result<Circumstances> {
        // By the index of held rows and the log, never by the view: that would read the whole history.
        let sql = "select session_id, count(*) from
                     (select session_id from steps where session_id is not null and state in ('dispatched', 'running')
                      union all select c.session_id from claimed c join steps s on s.id = c.step_id
                         and s.state = 'pending' and s.attempt + 1 = c.attempt and c.parked = 0) as held
                    group by session_id";
        let held =
            self.sql().rows(sql, params![], |r| Ok((model::SessionId::from_bytes(r.get(0)?), r.get(1)?)))?;
        Ok(Circumstances {
            now,
            breaker: self.breaker()?,
            groups: self.groups()?,
            sessions: self.sessions()?,
            pools: self.pools()?,
            in_flight: message_groups::in_flight(self.sql())?,
            published: published(self.sql())?,
            held: held.into_iter().collect(),
        })
    }

    pub fn why(&self, row: &StepRow, around: &Circumstances) -> Result<Vec<Why>> {
        self.why_behind(row, around, &Fronts::default())
    }

    /// The same, where the fronts of the lines of many were read at once.
    pub(crate) fn why_behind(
        &self,
        row: &StepRow,
        around: &Circumstances,
        fronts: &Fronts,
    ) -> Result<Vec<Why>> {
        let step = &row.step;
        let block = step.block().map(|b| self.block(b)).transpose()?.flatten();
        let owner = block.as_ref().and_then(|b| b.owner).map(|o| self.step(o)).transpose()?.flatten();
        let children = step.child_block.map(|b| self.block(b)).transpose()?.flatten();
        let ahead = message_groups::ahead(self.sql(), step, &around.in_flight, fronts)?;
        let (block, owner) = (block.as_ref(), owner.as_ref().map(|o| &o.step));
        let (below, children) = (below(self.sql(), step)?, children.as_ref());
        let holder = self.holder(step, [block, children])?;
        let holder = holder.as_ref();
        Ok(around.why(step, Kin { block, owner, children, ahead, below, holder }))
    }

    /// What a workflow says of a step that it holds back; of another step nothing is read.
    fn holder(&self, step: &Step, blocks: [Option<&Block>; 2]) -> Result<Option<Holder>> {
        let is_held =
            step.reason == Some(Reason::WorkflowHeld) || blocks.into_iter().flatten().any(|b| b.held);
        let Some(part) = step.in_workflow.filter(|_| is_held) else { return Ok(None) };
        let Some(workflow) = self.workflow(part.workflow)? else { return Ok(None) };
        let by = if Holder::is_person(&workflow) { self.who_paused(&workflow)? } else { None };
        Ok(Some(Holder::of(&workflow, by)))
    }

    /// Who paused a workflow, or one above it that took it along: at the same instant, by the audit.
    fn who_paused(&self, workflow: &Workflow) -> Result<Option<String>> {
        let events = self.workflow_events_before(workflow.id, None, EVENTS_LOOKED_AT)?;
        let Some(paused) = events.iter().find(|event| event.kind == "workflow.paused") else {
            return Ok(None);
        };
        let (from, to) = (Some(paused.at), Some(Timestamp(paused.at.0 + 1)));
        let (mut id, mut parent) = (workflow.id, workflow.parent);
        loop {
            let (target, verb) = (Some(format!("workflow {id}")), Some("pause".to_string()));
            let filter = AuditFilter { target, verb, from, to, limit: 1, ..AuditFilter::default() };
            if let Some((_, _, entry)) = self.audit_page(&filter)?.0.pop() {
                return Ok(Some(entry.who));
            }
            let above = parent.map(|step| self.step(step)).transpose()?.flatten();
            let above = above.and_then(|row| row.step.in_workflow);
            let above = above.map(|part| self.workflow(part.workflow)).transpose()?.flatten();
            let Some(above) = above else { return Ok(None) };
            (id, parent) = (above.id, above.parent);
        }
    }
}

/// A dispatch group in which something was done so lately is at work.
const AT_WORK: Duration = Duration::from_secs(5 * 60);

impl Circumstances {
    /// Whether something was done of late in a dispatch group.
    pub(crate) fn is_at_work(&self, dispatch_group: &str) -> bool {
        let group = self.groups.iter().find(|g| g.dispatch_group.as_str() == dispatch_group);
        group.and_then(|g| g.last_tick_completed_at).is_some_and(|at| self.now.since(at) < AT_WORK)
    }

    /// Somebody takes such steps, and decides for them: whatever of them is pending and has no pool waits by design.
    pub(crate) fn is_served(&self, dispatch_group: &str, queue: &str, action: &str) -> bool {
        let group = self.groups.iter().find(|g| g.dispatch_group.as_str() == dispatch_group);
        let has_owner =
            group.is_some_and(|g| g.owner.is_some() && g.lease_ends_at.is_some_and(|at| at > self.now));
        let has = |names: &[Name], name: &str| names.iter().any(|one| &**one == name);
        let takes = |s: &SessionRow| {
            s.lease_ends_at > self.now && has(&s.offer.queues, queue) && has(&s.offer.actions, action)
        };
        let is_taken = has(&self.published, action) || self.sessions.iter().any(takes);
        has_owner && is_taken && self.is_at_work(dispatch_group)
    }

    /// Why a step is not moving, when its rows are at hand.
    pub(crate) fn why(&self, step: &Step, kin: Kin) -> Vec<Why> {
        let Kin { block, owner, children, ahead, below, holder } = kin;
        let group = self.groups.iter().find(|g| g.dispatch_group == step.dispatch_group);
        let takes = |s: &&SessionRow| {
            s.lease_ends_at > self.now
                && s.offer.queues.contains(&step.queue)
                && s.offer.actions.contains(&step.action)
        };
        let takers: Vec<&SessionRow> = self.sessions.iter().filter(takes).collect();
        let queue = usize::from(self.published.contains(&step.action));
        let free =
            takers.iter().filter(|s| self.held.get(&s.id).is_none_or(|n| *n < s.offer.capacity)).count();
        let held_until =
            step.session.and_then(|id| self.sessions.iter().find(|s| s.id == id)).map(|s| s.lease_ends_at);
        let context = Context {
            now: self.now,
            block,
            owner,
            children,
            everywhere: self.breaker.clone(),
            group: group.map(|g| g.breaker.clone()).unwrap_or_default(),
            group_owned: group
                .is_some_and(|g| g.owner.is_some() && g.lease_ends_at.is_some_and(|at| at > self.now)),
            takers: takers.len() + queue,
            free_takers: free + queue,
            held_until,
            pool: step.pool.as_ref().and_then(|name| self.pools.iter().find(|p| p.pool.name == *name)),
            ahead,
            below,
            holder,
        };
        why(step, &context)
    }
}

/// Actions that nodes put into the queue outside, as they said when they started.
pub(crate) fn published(sql: &dyn Sql) -> Result<Vec<Name>> {
    let told = setting(sql, "published")?;
    let names = |text: String| {
        serde_json::from_str(&text).map_err(|_| StoreError::Corrupt {
            table: "settings",
            column: "published",
            value: text,
        })
    };
    told.map_or(Ok(Vec::new()), names)
}
