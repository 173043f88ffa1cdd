//! Why a live step is not moving, in words, with what holds it and when it can go on.
//!
//! Why    computed when asked and never stored: switching the breaker must not rewrite a million rows. A live step for
//!        which this finds nothing true is lost work, and `check` says so.

use crate::{eligible, pool};
use model::{
    Block, Breaker, Count, PoolUse, Reason, SessionId, State, Step, StepId, StepKind, Timestamp, WAIT_ACTION,
    WorkflowId, WorkflowState,
};
use std::fmt;

mod holder;
pub use holder::Holder;

#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// A resolver: it wakes when a step of its block fails.
    Dormant,
    DueLater {
        at: Timestamp,
        throttled: bool,
    },
    /// It is polled again then, the how-manieth time.
    PollLater {
        at: Timestamp,
        number: u32,
    },
    /// Steps of its block before it have not ended.
    Predecessor {
        index: u32,
        live: u32,
    },
    /// Its parent's job has not returned.
    Parent {
        parent: StepId,
        state: State,
    },
    /// It waits for its own children.
    Children {
        live: u32,
    },
    /// Items of its list are still to be made.
    Items {
        to_come: u32,
    },
    /// It waits for the end of another workflow.
    Below {
        workflow: WorkflowId,
        state: WorkflowState,
    },
    /// Its workflow is paused, or has failed.
    WorkflowHeld {
        workflow: Option<WorkflowId>,
        holder: Option<Holder>,
    },
    /// Its block is being closed; it falls in one of the next turns.
    Closing,
    Breaker {
        everywhere: bool,
        by: Option<String>,
        why: Option<String>,
        until: Option<Timestamp>,
    },
    /// No live session offers this action on this queue.
    NoWorker {
        queue: String,
        action: String,
    },
    /// As many steps of its pool run as may.
    PoolFull {
        pool: String,
        used: usize,
        of: u32,
    },
    /// The rate of its pool lets the next step start later.
    PoolRate {
        pool: String,
        at: Timestamp,
    },
    NoPool {
        pool: String,
    },
    /// Its message group is paused.
    GroupPaused {
        message_group: String,
        by: Option<String>,
        why: Option<String>,
    },
    /// A step of its message group failed, and it waits until that is dealt with.
    GroupBlocked {
        message_group: String,
        by: StepId,
    },
    /// Another step of its message group goes first.
    InLine {
        message_group: String,
        behind: StepId,
    },
    /// Every session that could take it is busy.
    Busy {
        sessions: usize,
    },
    /// Its message is in the queue outside, and nobody was sent for it yet.
    Queued {
        since: Timestamp,
    },
    /// A session has it.
    Held {
        session: SessionId,
        host: Option<String>,
        until: Timestamp,
    },
    /// Nobody decides for its dispatch group.
    NoOwner {
        dispatch_group: String,
    },
    /// It can start in the next turn.
    Next {
        since: Timestamp,
    },
}

/// What the answer depends on besides the step.
#[derive(Clone, Debug, Default)]
pub struct Context<'a> {
    pub now: Timestamp,
    pub block: Option<&'a Block>,
    pub owner: Option<&'a Step>,
    pub children: Option<&'a Block>,
    pub everywhere: Breaker,
    pub group: Breaker,
    pub group_owned: bool,
    /// Live sessions that take this step's queue and action, and how many of them have a free place.
    pub takers: usize,
    pub free_takers: usize,
    /// Until when the session that holds it has its lease.
    pub held_until: Option<Timestamp>,
    /// The pool it names, if there is one of that name.
    pub pool: Option<&'a PoolUse>,
    /// What stands before it in its message group.
    pub ahead: Option<Ahead>,
    /// The workflow whose end it waits for.
    pub below: Option<(WorkflowId, WorkflowState)>,
    /// What its workflow says of holding it back.
    pub holder: Option<&'a Holder>,
}

/// What stands before a step in its message group.
#[derive(Clone, Debug, PartialEq)]
pub enum Ahead {
    Paused { by: Option<String>, why: Option<String> },
    Failed(StepId),
    Step(StepId),
}

pub fn why(step: &Step, cx: &Context) -> Vec<Why> {
    match step.state {
        State::NotRunnable => vec![Why::Dormant],
        State::Pending => pending(step, cx),
        State::Polling => polling(step, cx),
        State::Dispatched | State::Running if !step.parked => held(step, cx),
        State::Running if step.child_block.is_none() => {
            let live = cx.below.filter(|(_, state)| !state.is_over());
            live.map(|(workflow, state)| Why::Below { workflow, state }).into_iter().collect()
        }
        State::Running => {
            let to_come = cx.children.map_or(0, |b| b.to_come);
            let held = cx.children.is_some_and(|b| b.held);
            let live = cx.children.map_or(0, |b| b.steps.hot + b.resolvers.hot);
            let closing = cx.children.is_some_and(|b| b.sweep.is_some() || b.wants_resolvers || b.touched);
            match (live, closing) {
                _ if held => vec![held_by(step, cx)],
                (0, _) if to_come > 0 => vec![Why::Items { to_come }],
                (0, true) => vec![Why::Closing],
                (0, false) => Vec::new(),
                (live, _) => vec![Why::Children { live }],
            }
        }
        _ => Vec::new(),
    }
}

/// Until its time comes there is nothing in its way; then it needs what every step needs.
fn polling(step: &Step, cx: &Context) -> Vec<Why> {
    match step.wake_at {
        Some(_) if step.reason == Some(Reason::WorkflowHeld) => vec![held_by(step, cx)],
        Some(at) if at > cx.now => vec![Why::PollLater { at, number: step.polls + 1 }],
        Some(_) => pending(step, cx),
        None => Vec::new(),
    }
}

fn held(step: &Step, cx: &Context) -> Vec<Why> {
    match (step.session, cx.held_until) {
        (Some(SessionId::OUTBOX), _) => {
            vec![Why::Queued { since: step.dispatched_at.unwrap_or(step.created_at) }]
        }
        (Some(session), Some(until)) if until > cx.now => {
            vec![Why::Held { session, host: step.host.as_ref().map(|h| h.to_string()), until }]
        }
        // Its lease ran out: the owner takes it back with its next turn, if there is an owner.
        (Some(_), _) if !cx.group_owned => {
            vec![Why::NoOwner { dispatch_group: step.dispatch_group.to_string() }]
        }
        _ => Vec::new(),
    }
}

fn held_by(step: &Step, cx: &Context) -> Why {
    Why::WorkflowHeld { workflow: step.in_workflow.map(|part| part.workflow), holder: cx.holder.cloned() }
}

fn pending(step: &Step, cx: &Context) -> Vec<Why> {
    let mut all = Vec::new();
    if step.reason == Some(Reason::WorkflowHeld) || cx.block.is_some_and(|block| block.held) {
        return vec![held_by(step, cx)];
    }
    if &*step.action == WAIT_ACTION && step.in_workflow.is_some() {
        return step.wake_at.map(|at| Why::DueLater { at, throttled: false }).into_iter().collect();
    }
    if let Some(at) = step.wake_at
        && at > cx.now
    {
        all.push(Why::DueLater { at, throttled: step.throttled });
    }
    if step.place.is_some() {
        all.extend(placed(step, cx));
    }
    for (breaker, everywhere) in [(&cx.everywhere, true), (&cx.group, false)] {
        if breaker.is_off(cx.now) {
            let Breaker { by, why, until, .. } = breaker.clone();
            all.push(Why::Breaker { everywhere, by, why, until });
        }
    }
    if !cx.group_owned {
        all.push(Why::NoOwner { dispatch_group: step.dispatch_group.to_string() });
    }
    if cx.takers == 0 {
        all.push(Why::NoWorker { queue: step.queue.to_string(), action: step.action.to_string() });
    } else if cx.free_takers == 0 {
        all.push(Why::Busy { sessions: cx.takers });
    }
    all.extend(pooled(step, cx));
    all.extend(in_line(step, cx));
    if all.is_empty() {
        all.push(Why::Next { since: step.wake_at.unwrap_or(step.created_at).max(step.created_at) });
    }
    all
}

fn pooled(step: &Step, cx: &Context) -> Option<Why> {
    let pool = step.pool.as_ref()?.to_string();
    let Some(now) = cx.pool else { return Some(Why::NoPool { pool }) };
    match (now.pool.concurrency, pool::next_start(now, cx.now)) {
        (Some(of), _) if now.used >= of as usize => Some(Why::PoolFull { pool, used: now.used, of }),
        (_, Some(at)) => Some(Why::PoolRate { pool, at }),
        _ => None,
    }
}

fn in_line(step: &Step, cx: &Context) -> Option<Why> {
    let message_group = step.line()?.group.to_string();
    Some(match cx.ahead.clone()? {
        Ahead::Paused { by, why } => Why::GroupPaused { message_group, by, why },
        Ahead::Failed(by) => Why::GroupBlocked { message_group, by },
        Ahead::Step(behind) => Why::InLine { message_group, behind },
    })
}

fn placed(step: &Step, cx: &Context) -> Option<Why> {
    // What is stored of an open block may lag behind its counts.
    let block = match cx.owner.is_none_or(|owner| owner.parked) {
        true => Block {
            current_index: cx.block?.index_now(StepKind::Default),
            resolver_index: cx.block?.index_now(StepKind::Resolver),
            ..cx.block?.clone()
        },
        false => cx.block?.clone(),
    };
    let block = &block;
    if eligible::has_turn(step, block) {
        return None;
    }
    if let Some(owner) = cx.owner
        && !owner.parked
        && !owner.state.is_terminal()
    {
        return Some(Why::Parent { parent: owner.id, state: owner.state });
    }
    let at = if step.is_resolver() { block.resolver_index } else { block.current_index };
    let live = block.live_at(step.kind, at);
    if block.sweep.is_some() || block.touched {
        return Some(Why::Closing);
    }
    // Nothing before it lives and it is not its turn: that is no reason, and `check` must see it.
    if live == 0 {
        return None;
    }
    Some(Why::Predecessor { index: at, live })
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Dormant => write!(f, "it is a resolver and sleeps until a step of its block fails"),
            Why::DueLater { throttled: true, .. } => write!(f, "it was throttled and is due later"),
            Why::DueLater { .. } => write!(f, "it is due later"),
            Why::PollLater { number, .. } => write!(f, "its poll {number} is due later"),
            Why::Predecessor { index, live } => {
                write!(f, "it waits for {} at index {index} of its block", Count(*live, "step"))
            }
            Why::Parent { parent, state } => {
                write!(f, "its parent {parent} {} and has not returned", state.said())
            }
            Why::Children { live } => {
                write!(f, "it waits for {} of its child block", Count(*live, "live step"))
            }
            Why::Items { to_come } => write!(f, "{to_come} of its items are still to be made"),
            Why::Below { workflow, state } => {
                write!(f, "it waits for workflow {workflow}, which {}", state.said())
            }
            Why::WorkflowHeld { workflow, holder } => {
                let id = workflow.map(|id| format!(" {id}")).unwrap_or_default();
                match holder {
                    Some(holder) => write!(f, "its workflow{id} {holder}"),
                    None => write!(f, "its workflow{id} is held; see `stepfast show`"),
                }
            }
            Why::Closing => write!(f, "its block is being settled"),
            Why::Breaker { everywhere, by, why, .. } => {
                let scope = if *everywhere { "everywhere" } else { "for its dispatch group" };
                write!(f, "the breaker is off {scope}")?;
                by.as_ref().map_or(Ok(()), |by| write!(f, ", switched off by {by}"))?;
                why.as_ref().map_or(Ok(()), |why| write!(f, " ({why})"))
            }
            Why::NoWorker { queue, action } => {
                write!(f, "no worker offers action `{action}` on queue `{queue}`")
            }
            Why::Busy { sessions: 1 } => write!(f, "the worker session that could take it is busy"),
            Why::Busy { sessions } => {
                write!(f, "all {sessions} worker sessions that could take it are busy")
            }
            Why::PoolFull { pool, used, of } => write!(f, "its pool `{pool}` is full: {used} of {of} run"),
            Why::PoolRate { pool, .. } => write!(f, "its pool `{pool}` lets the next one start later"),
            Why::NoPool { pool } => {
                write!(f, "there is no pool `{pool}`; make it with `stepfast pools set {pool}`")
            }
            Why::GroupPaused { message_group, by, why } => {
                let by = by.as_deref().unwrap_or("somebody");
                write!(f, "its message group `{message_group}` was paused by {by}")?;
                why.as_ref().map_or(Ok(()), |why| write!(f, " ({why})"))
            }
            Why::GroupBlocked { message_group, by } => write!(
                f,
                "its message group `{message_group}` is blocked by step {by}, which failed; \
                 see `stepfast message-groups show {message_group}`"
            ),
            Why::InLine { message_group, behind } => {
                write!(f, "step {behind} of its message group `{message_group}` goes first")
            }
            Why::Queued { .. } => write!(f, "its message is in the queue, and nobody was sent for it yet"),
            Why::Held { session, host, .. } => {
                write!(f, "session {session} on {} has it", host.as_deref().unwrap_or("an unknown host"))
            }
            Why::NoOwner { dispatch_group } => {
                write!(f, "no node decides for dispatch group `{dispatch_group}`")
            }
            Why::Next { .. } => write!(f, "it can start in the next turn"),
        }
    }
}

#[cfg(test)]
mod tests;
