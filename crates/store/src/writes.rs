//! What a turn writes, as statements and the values of their rows, whichever the database.
//!
//! Why    SQLite runs a statement for each row, PostgreSQL once for all of them; what is written is said once.

mod alerts;
mod notices;
mod pauses;
mod polls;
mod workflows;

pub use alerts::event as alert_event;

use crate::batch::{
    Attempt, ClaimLog, EventRow, GroupWrite, Narrow, Post, SessionRow, SignalRow, SignalTo, Slot, TallyKey,
    Tick,
};
use crate::sql::Param;
use crate::statements as sql;
use crate::{Batch, StepWrite, restored, rows};
use model::limits;
use model::{Backoff, Block, Breaker, Counts, Minute, Step, StepId, Timestamp};
use rules::board::HoldChange;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// The values of one row.
pub type Values<'a> = Vec<Param<'a>>;

/// Rows for one statement.
pub struct Write<'a> {
    pub sql: &'static str,
    pub rows: Vec<Values<'a>>,
    /// Every row must be found as it was seen.
    pub fenced: bool,
}

macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$(Param::from($value)),*] };
}
use values;

/// Everything a batch writes, in order, but for the audit: that is linked with what others wrote before it.
pub fn compose(batch: &Batch) -> Vec<Write<'_>> {
    let mut plan = Plan(Vec::new());
    plan.put_steps(batch);
    plan.put_blocks(batch);
    plan.put_workflows(batch);
    plan.put(sql::INSERT_CLAIM, true, batch.claims.iter().map(claim).collect());
    let slot = |s: &Slot| values![s.step, s.pool.to_string(), s.dispatch_group.to_string(), batch.now];
    plan.put(sql::LEAVE_SLOT, false, batch.slots_left.iter().map(|id| values![*id]).collect());
    plan.put(sql::TAKE_SLOT, false, batch.slots.iter().map(slot).collect());
    plan.put(
        sql::USE_RATE,
        false,
        batch.rates.iter().map(|(pool, until)| values![*until, &**pool]).collect(),
    );
    plan.put_holds(batch);
    plan.put_sweeps(batch);
    plan.put_posts(batch);
    plan.put(sql::DELETE_CLAIM, false, batch.claims_done.iter().map(|id| vec![Param::from(*id)]).collect());
    let tallies = batch.tallies.iter().filter(|(_, delta)| *delta != 0);
    let tallies = tallies.map(|(key, delta)| tally(key, *delta)).chain(workflows::tallies(batch));
    plan.put(sql::ADD_TALLY, true, tallies.collect());
    plan.put_attempts(batch);
    plan.put_polls(batch);
    plan.put_notices(batch);
    plan.put_logs(batch);
    plan.put(sql::INSERT_EVENT, true, batch.events.iter().map(event).collect());
    plan.put(sql::INSERT_TICK, true, batch.ticks.iter().map(tick).collect());
    plan.put(sql::INSERT_MINUTE, true, batch.minutes.iter().map(minute).collect());
    plan.put_alerts(batch);
    plan.put_signals(batch);
    for one in &batch.sessions {
        plan.put(sql::PUT_SESSION, true, vec![session(one)]);
    }
    let on = || serde_json::to_string(&Breaker::default()).unwrap_or_default();
    for (group, was) in &batch.breakers_over {
        let was = serde_json::to_string(was).unwrap_or_default();
        match group {
            Some(group) => plan.put(sql::END_BREAKER, false, vec![values![on(), group.as_str(), was]]),
            None => plan.put(sql::END_GLOBAL_BREAKER, false, vec![values![on(), was]]),
        }
    }
    if batch.forget {
        plan.put(sql::FORGET_SESSIONS, false, vec![values![batch.now - DAY]]);
        plan.put(sql::FORGET_NODES, false, vec![values![batch.now - 7 * DAY]]);
        plan.put(sql::FORGET_ALERTS, false, vec![values![batch.now - limits::ALERTS_KEPT]]);
        plan.put(sql::FORGET_ALERT_EVENTS, false, vec![values![batch.now - limits::ALERTS_KEPT]]);
        plan.put(sql::FORGET_SIGNALS, false, vec![values![batch.now - HOUR]]);
        plan.put(sql::FORGET_MINUTES, false, vec![values![batch.now - limits::MINUTES_KEPT]]);
        plan.put(sql::FORGET_NOTICES, false, vec![values![batch.now - limits::NOTICE_KEEP]]);
    }
    if batch.breaker.as_ref().is_some_and(|breaker| !breaker.off) {
        plan.put(sql::CONFIRM_RESTORED, false, vec![values![restored::MARK]]);
    }
    for (name, value) in settings(batch) {
        plan.put(sql::PUT_SETTING, true, vec![vec![Param::from(name), Param::from(value)]]);
    }
    if let Some(renewed) = renewed(batch) {
        let [node, groups, sessions] = renewed;
        plan.put(sql::RENEW_NODE, true, vec![node]);
        plan.put(sql::RENEW_GROUPS, false, vec![groups]);
        plan.put(sql::RENEW_SESSIONS, false, vec![sessions]);
    }
    for one in &batch.groups {
        plan.put(sql::WRITE_GROUP, false, vec![group(one)]);
    }
    plan.0
}

struct Plan<'a>(Vec<Write<'a>>);

impl<'a> Plan<'a> {
    fn put(&mut self, sql: &'static str, fenced: bool, rows: Vec<Values<'a>>) {
        if !rows.is_empty() {
            self.0.push(Write { sql, rows, fenced });
        }
    }

    fn put_steps(&mut self, batch: &'a Batch) {
        let (mut new, mut end, mut park, mut parked, mut whole) = (vec![], vec![], vec![], vec![], vec![]);
        let (mut new_in_flight, mut in_flight) = (vec![], vec![]);
        for write in &batch.steps {
            match (write.expected, write.narrow()) {
                (None, _) if write.step.is_held() => new_in_flight.push(new_step(write)),
                (Some(expected), None) if write.step.is_held() => in_flight.push(whole_step(write, expected)),
                (None, _) => new.push(new_step(write)),
                (Some(expected), Some(Narrow::End)) => end.push(end_step(write, expected)),
                (Some(expected), Some(Narrow::Park)) => park.push(park_step(write, expected)),
                (Some(expected), Some(Narrow::EndParked)) => parked.push(end_parked(write, expected)),
                (Some(expected), None) => whole.push(whole_step(write, expected)),
            }
        }
        self.put(sql::INSERT_STEP, true, new);
        self.put(sql::END_STEP, true, end);
        self.put(sql::PARK_STEP, true, park);
        self.put(sql::END_PARKED, true, parked);
        self.put(sql::WRITE_STEP, true, whole);
        // One of a message group may take the place of another in the same turn: whoever leaves goes first.
        self.put(sql::INSERT_STEP, true, new_in_flight);
        self.put(sql::WRITE_STEP, true, in_flight);
    }

    fn put_sweeps(&mut self, batch: &'a Batch) {
        let row = |(step, version): &'a (StepId, u64)| values![step.bytes(), *version];
        self.put(sql::SWEEP_LINE, false, batch.swept.iter().map(row).collect());
    }

    /// What is taken out and put in again stays in.
    fn put_posts(&mut self, batch: &'a Batch) {
        let posted = |(step, attempt): &'a (StepId, u32)| values![step.bytes(), *attempt];
        let post = |p: &'a Post| values![p.step.bytes(), p.attempt, p.dispatch_group.as_str(), batch.now];
        self.put(sql::POSTED, false, batch.posted.iter().map(posted).collect());
        self.put(sql::POST, true, batch.posts.iter().map(post).collect());
    }

    /// In order: what is held and let go in one turn is not held.
    fn put_holds(&mut self, batch: &'a Batch) {
        for (home, change) in &batch.holds {
            match change {
                HoldChange::Hold(h) => {
                    let by = h.blocked_by.map_or(Vec::new(), |id| id.bytes().to_vec());
                    let row = values![&*h.group, by, home.as_str(), h.at, h.by.as_deref(), h.why.as_deref()];
                    self.put(sql::HOLD_GROUP, false, vec![row]);
                }
                HoldChange::Release(group, by) => {
                    let by = by.map_or(Vec::new(), |id| id.bytes().to_vec());
                    self.put(sql::RELEASE_GROUP, false, vec![values![&**group, by]]);
                }
            }
        }
    }

    fn put_attempts(&mut self, batch: &'a Batch) {
        self.put(sql::INSERT_ATTEMPT, false, batch.attempts.iter().map(attempt).collect());
        // Whoever comes late may name any attempt.
        let many = batch.attempts.iter().filter(|a| a.attempt > limits::ATTEMPTS_KEPT && !a.is_late());
        let old = many.map(|a| values![a.step.bytes(), a.attempt - limits::ATTEMPTS_KEPT]).collect();
        self.put(sql::FORGET_ATTEMPTS, false, old);
    }

    fn put_logs(&mut self, batch: &'a Batch) {
        let (mut lines, mut old) = (vec![], vec![]);
        for (step, attempt, log) in &batch.logs {
            let rows = log.iter().enumerate();
            lines.extend(rows.map(|(n, line)| values![step.bytes(), *attempt, n, line.at, &line.text]));
            if *attempt > limits::LOG_RUNS_MAX {
                old.push(values![step.bytes(), attempt - limits::LOG_RUNS_MAX]);
            }
        }
        self.put(sql::INSERT_LOG, false, lines);
        self.put(sql::FORGET_LOGS, false, old);
    }

    fn put_signals(&mut self, batch: &'a Batch) {
        let (mut answered, mut deleted) = (vec![], vec![]);
        for (id, answer) in &batch.answers {
            match answer {
                Some(answer) => answered.push(values![answer, batch.now, id.bytes()]),
                None => deleted.push(values![id.bytes()]),
            }
        }
        let read = batch.signals_done.iter().map(|id| values![id.bytes()]).collect();
        self.put(sql::INSERT_SIGNAL, true, batch.signals.iter().map(|s| signal(s, batch.now)).collect());
        // Whoever deals with a signal removes or answers it: two cannot.
        self.put(sql::ANSWER_SIGNAL, true, answered);
        self.put(sql::DELETE_SIGNAL, true, deleted);
        self.put(sql::DELETE_SIGNAL, false, read);
    }

    fn put_blocks(&mut self, batch: &'a Batch) {
        let (mut new, mut count, mut whole) = (vec![], vec![], vec![]);
        for write in &batch.blocks {
            match write.expected {
                None => new.push(new_block(&write.block)),
                Some(expected) if write.only_counts => count.push(count_block(&write.block, expected)),
                Some(expected) => whole.push(whole_block(&write.block, expected)),
            }
        }
        self.put(sql::INSERT_BLOCK, true, new);
        self.put(sql::COUNT_BLOCK, true, count);
        self.put(sql::WRITE_BLOCK, true, whole);
    }
}

/// Whether a step is in its line, and whether it was claimed before.
fn joined(s: &Step) -> i64 {
    match s.line() {
        Some(member) if member.joined && !s.state.is_terminal() => 1 + i64::from(s.attempt > 0),
        _ => 0,
    }
}

/// For `insert_step.sql`.
fn new_step(write: &StepWrite) -> Values<'_> {
    let (s, d) = (&write.step, &write.detail);
    let backoff = (s.backoff != Backoff::default()).then_some(&s.backoff);
    let line = s.line();
    values![
        s.id.bytes(),
        s.dispatch_group.as_str(),
        &*s.queue,
        &*s.action,
        s.priority.word(),
        s.kind.word(),
        s.place.as_ref().map(|p| p.block.bytes()),
        s.index(),
        s.child_block.as_ref().map(|b| b.bytes()),
        s.state.word(),
        s.reason.map(|r| r.word()),
        s.wake_at,
        s.attempt,
        s.max_attempts,
        backoff.map(|b| b.delay.as_micros() as i64),
        backoff.map(|b| b.factor),
        backoff.map(|b| b.max_delay.as_micros() as i64),
        s.session.as_ref().map(|x| x.bytes()),
        s.host.as_deref(),
        s.tick,
        s.version,
        s.created_at,
        s.dispatched_at,
        s.started_at,
        s.completed_at,
        &*s.arguments,
        d.note.as_deref(),
        d.step_key.as_deref(),
        d.label.as_deref(),
        d.relatable_type.as_deref(),
        d.relatable_id.as_deref(),
        s.parked,
        d.response.as_deref(),
        s.pool.as_deref(),
        s.member.as_ref().map(|m| &*m.group),
        line.map(|m| m.mode.word()),
        s.member.as_ref().map(|m| i64::from(m.sequence)),
        line.map(|m| m.place.bytes()),
        joined(s),
        s.expires_at,
        s.in_workflow.as_ref().map(|w| w.workflow.bytes()),
        s.in_workflow.map(|w| i64::from(w.def)),
        s.in_workflow.map(|w| i64::from(w.run)),
        s.in_workflow.and_then(|w| w.item).map(i64::from),
        d.branch_key.as_deref(),
        d.error_message.as_deref(),
        s.timeout.map(|timeout| timeout.as_micros() as i64),
        d.retry_source.map(|source| source.word()),
        s.trace.as_ref().map(ToString::to_string),
    ]
}

/// For `end_step.sql`.
fn end_step(write: &StepWrite, expected: u64) -> Values<'_> {
    let s = &write.step;
    values![
        s.attempt,
        s.host.as_deref(),
        s.tick,
        s.dispatched_at,
        s.started_at,
        s.completed_at,
        write.detail.response.as_deref(),
        s.id.bytes(),
        expected,
    ]
}

/// For `park_step.sql`.
fn park_step(write: &StepWrite, expected: u64) -> Values<'_> {
    let s = &write.step;
    values![
        s.attempt,
        s.host.as_deref(),
        s.tick,
        s.dispatched_at,
        s.started_at,
        write.detail.response.as_deref(),
        s.id.bytes(),
        expected,
    ]
}

/// For `end_parked.sql`.
fn end_parked(write: &StepWrite, expected: u64) -> Values<'_> {
    values![write.step.completed_at, write.step.id.bytes(), expected]
}

/// For `write_step.sql`.
fn whole_step(write: &StepWrite, expected: u64) -> Values<'_> {
    let (s, d) = (&write.step, &write.detail);
    values![
        s.state.word(),
        s.reason.map(|r| r.word()),
        s.parked,
        s.throttled,
        s.wake_at,
        s.attempt,
        s.failed_attempts,
        s.lost_attempts,
        s.polls,
        s.priority.word(),
        s.child_block.as_ref().map(|b| b.bytes()),
        s.session.as_ref().map(|x| x.bytes()),
        s.host.as_deref(),
        s.tick,
        s.dispatched_at,
        s.started_at,
        s.completed_at,
        d.response.as_deref(),
        d.error_message.as_deref(),
        d.error_stack_trace.as_deref(),
        d.note.as_deref(),
        d.superseded_by.as_ref().map(|x| x.bytes()),
        d.was_throttled,
        d.was_notified,
        d.late_reports.unwrap_or(0),
        s.look.as_ref().map(|look| look.at.to_string()),
        joined(s),
        d.block_cleared_at,
        d.block_cleared_by.as_deref(),
        d.block_cleared_why.as_deref(),
        s.polled.as_ref().map(|polled| polled.started_at),
        s.polled.as_ref().and_then(|polled| polled.data.as_deref()),
        s.id.bytes(),
        expected,
    ]
}

/// Rules may still have to look at it.
fn is_open(block: &Block) -> bool {
    block.steps.hot + block.resolvers.hot + block.to_come > 0 || block.touched || block.sweep.is_some()
}

fn counts(counts: &Counts) -> Param<'static> {
    Param::from(rows::counts_text(counts))
}

fn numbers(list: &[u32]) -> Param<'static> {
    Param::from(rows::join(list.iter().copied()))
}

fn blame(block: &Block) -> Param<'static> {
    Param::from(block.blame.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
}

/// For `insert_block.sql`.
fn new_block(b: &Block) -> Values<'_> {
    let after = b.sweep.and_then(|s| s.after);
    values![
        b.id.bytes(),
        b.owner.as_ref().map(|o| o.bytes()),
        b.home.as_str(),
        b.success.to_string(),
        b.depth,
        counts(&b.steps),
        counts(&b.resolvers),
        numbers(&b.live),
        numbers(&b.live_resolvers),
        b.current_index,
        b.resolver_index,
        b.cut_at,
        b.resolver_cut_at,
        b.wants_resolvers,
        blame(b),
        b.sweep.map(|s| s.kind.word()),
        b.sweep.map(|s| s.event.word()),
        b.sweep.map(|s| s.above),
        after.map(|a| a.0),
        after.map(|a| a.1),
        b.touched,
        is_open(b),
        b.to_come,
        b.held,
    ]
}

/// For `write_block.sql`.
fn whole_block(b: &Block, expected: u64) -> Values<'_> {
    let after = b.sweep.and_then(|s| s.after);
    values![
        counts(&b.steps),
        counts(&b.resolvers),
        numbers(&b.live),
        numbers(&b.live_resolvers),
        b.current_index,
        b.resolver_index,
        b.cut_at,
        b.resolver_cut_at,
        b.wants_resolvers,
        blame(b),
        b.sweep.map(|s| s.kind.word()),
        b.sweep.map(|s| s.event.word()),
        b.sweep.map(|s| s.above),
        after.map(|a| a.0),
        after.map(|a| a.1),
        b.touched,
        is_open(b),
        b.to_come,
        b.held,
        b.owner.as_ref().map(|o| o.bytes()),
        b.id.bytes(),
        expected,
    ]
}

/// For `count_block.sql`.
fn count_block(b: &Block, expected: u64) -> Values<'_> {
    values![
        counts(&b.steps),
        numbers(&b.live),
        b.current_index,
        b.touched,
        is_open(b),
        b.id.bytes(),
        expected,
    ]
}

/// For `add_tally.sql`.
fn tally<'a>(key: &'a TallyKey, delta: i64) -> Values<'a> {
    values![
        key.dispatch_group.as_str(),
        &*key.queue,
        &*key.action,
        key.host.as_deref().unwrap_or_default(),
        key.state.word(),
        key.leaf,
        key.throttled,
        delta,
    ]
}

/// For `insert_claim.sql`.
fn claim(claim: &ClaimLog) -> Values<'_> {
    let ClaimLog { id, session, dispatch_group, tick, at, parked, pairs, .. } = claim;
    let mut text = String::with_capacity(pairs.len() * 38 + 2);
    for (step, attempt) in pairs {
        text += if text.is_empty() { "[\"" } else { ",\"" };
        text += step.0.as_simple().encode_lower(&mut [0; 32]);
        text.push(':');
        text += &attempt.to_string();
        text.push('"');
    }
    text.push(']');
    values![*id, session.bytes(), dispatch_group.as_str(), *tick, *at, *parked, text]
}

/// For `insert_signal.sql`.
fn signal(s: &SignalRow, now: Timestamp) -> Values<'_> {
    let (group, node) = match &s.to {
        SignalTo::Group(group) => (Some(group.as_str()), None),
        SignalTo::Node(node) => (None, Some(node.bytes())),
    };
    values![s.id.bytes(), group, node, s.from.as_ref().map(|n| n.bytes()), &s.body, now]
}

/// For `insert_attempt.sql`.
fn attempt(a: &Attempt) -> Values<'_> {
    let delivery = a.delivery.as_ref();
    values![
        a.step.bytes(),
        a.attempt,
        a.at,
        a.session.as_ref().map(|s| s.bytes()),
        a.host.as_deref(),
        a.started_at,
        &a.outcome,
        a.message.as_deref(),
        delivery.map(|d| d.status.word()),
        delivery.and_then(|d| d.http_code).map(u32::from),
        delivery.and_then(|d| d.error_type).map(|e| e.word()),
        delivery.and_then(|d| d.response_body.as_deref()),
        delivery.map(|d| d.duration_ms),
    ]
}

/// For `insert_event.sql`.
fn event(e: &EventRow) -> Values<'_> {
    values![e.at, e.step.bytes(), e.from.map(|s| s.word()), e.event.map(|x| x.word()), e.to.word(), e.attempt]
}

/// For `insert_tick.sql`.
fn tick(t: &Tick) -> Values<'_> {
    values![
        t.id,
        t.dispatch_group.as_str(),
        t.started_at,
        t.completed_at,
        t.duration_us,
        t.turns,
        t.progress,
        t.steps_dispatched,
        t.capped,
        t.left_over,
        serde_json::to_string(&t.phases).unwrap_or_default(),
    ]
}

/// For `insert_minute.sql`.
fn minute(m: &Minute) -> Values<'_> {
    let told = |spread: &model::Spread| serde_json::to_string(spread).unwrap_or_default();
    values![m.at, m.created, m.started, m.completed, m.failed, m.ended, told(&m.waits), told(&m.runs)]
}

/// For `put_session.sql`.
fn session(s: &SessionRow) -> Values<'_> {
    let list = |names: &[model::Name]| serde_json::to_string(names).unwrap_or_default();
    values![
        s.id.bytes(),
        s.node.bytes(),
        &*s.offer.host,
        list(&s.offer.queues),
        list(&s.offer.actions),
        s.offer.capacity,
        s.started_at,
        s.lease_ends_at,
        s.ended_at,
        s.offer.remote,
    ]
}

/// For `write_group.sql`.
fn group(g: &GroupWrite) -> Values<'_> {
    let breaker = g.breaker.as_ref().map(|b| serde_json::to_string(b).unwrap_or_default());
    values![
        breaker,
        g.lease_ends_at,
        g.last_selected_at,
        g.current_tick,
        g.last_tick_completed_at,
        g.ready.as_ref().map(|ready| serde_json::to_string(ready).unwrap_or_default()),
        g.published_to.as_deref(),
        g.dispatch_group.as_str(),
    ]
}

/// Settings that the batch changes, by name.
fn settings(batch: &Batch) -> Vec<(&'static str, String)> {
    let breaker = batch.breaker.as_ref().map(|b| ("breaker", serde_json::to_string(b).unwrap_or_default()));
    let next_root = batch.next_root.map(|n| ("next_root", n.to_string()));
    breaker.into_iter().chain(next_root).collect()
}

/// For `renew_node.sql`, `renew_groups.sql` and `renew_sessions.sql`.
fn renewed(batch: &Batch) -> Option<[Values<'_>; 3]> {
    let (groups, sessions) = batch.renew?;
    let node = batch.lease.node.bytes();
    Some([values![batch.now, node], values![groups, node], values![sessions, node]])
}
