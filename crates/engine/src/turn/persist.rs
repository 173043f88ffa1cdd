//! Turns what changed into rows to write: each row once, and a claim on this node as a line in the log.

use super::act::Acts;
use super::attempts::attempts;
use super::counted::count;
use super::node::{Node, Turn};
use crate::spans::{self, Span};
use model::{Detail, DispatchGroup, NodeId, SessionId, State, Step, StepId, Timestamp, limits};
use rules::board::{Changes, Moved, StepChange};
use rules::fifo;
use std::collections::{BTreeMap, HashMap, HashSet};
use store::{Batch, BlockWrite, ClaimLog, EventRow, RowKnown, StepWrite, TallyKey, message_groups};

impl Node {
    /// The batch of this turn, what to do once it is durable, and the steps it changed.
    pub(super) fn compose(&mut self, mut turn: Turn, now: Timestamp) -> (Batch, Acts, Vec<StepId>) {
        let changes = self.board.take_changes();
        self.count_changes(&mut turn, &changes, now);
        let mut batch = Batch::new(self.lease.clone(), now);
        batch.attempts = std::mem::take(&mut turn.attempts);
        batch.attempts.extend(attempts(&changes, std::mem::take(&mut turn.deliveries), now));
        batch.polls = std::mem::take(&mut turn.polls);
        batch.logs = std::mem::take(&mut turn.logs);
        batch.tallies = tallies(turn.abroad.iter().chain([&changes]), std::mem::take(&mut turn.counted));
        if self.config.full_history {
            let moves = turn.abroad.iter().chain([&changes]).flat_map(|c| &c.moves);
            batch.events = moves.map(event_row).collect();
        }
        let ids = changes.steps.iter().map(|(s, _)| s.id).collect();
        self.take_from_sessions(&mut turn, &changes);
        self.write_slots(&mut turn, &changes, &mut batch);
        self.write_posts(&mut turn, &changes, &mut batch);
        self.find_again(&changes, now);
        let home = |group: &str| fifo::home(group, &self.config.groups);
        let holds = self.board.take_holds().into_iter();
        batch.holds = holds.map(|change| (home(change.group()), change)).collect();
        let ended = self.ended_attempts(&turn, &changes, now);
        self.write_steps(&mut batch, changes.steps, now);
        self.write_workflows(&mut batch);
        self.tell_tracer(&mut turn, ended, &batch);
        self.notices.write(&mut batch);
        self.sweep_lines(&mut batch, turn.forget);
        batch.blocks.reserve(changes.blocks.len());
        for (block, change) in changes.blocks {
            let write = BlockWrite::of(block, change.before.as_ref());
            if let Some(version) = write.expected {
                self.board.set_block_version(write.block.id, version + 1);
            }
            batch.blocks.push(write);
        }
        for changes in std::mem::take(&mut turn.abroad) {
            batch.steps.extend(changes.steps.into_iter().map(|(step, change)| StepWrite {
                step,
                expected: None,
                detail: change.detail,
                row: RowKnown::Nothing,
            }));
            batch.blocks.extend(changes.blocks.into_iter().map(|(block, _)| BlockWrite::of(block, None)));
        }
        batch.signals = turn.signals;
        batch.answers = std::mem::take(&mut turn.acts.signals);
        batch.signals_done = turn.heard;
        batch.wake = turn.wake.into_iter().collect();
        batch.claims_done = self.book.take_done();
        batch.sessions = turn.sessions;
        batch.groups = turn.groups;
        batch.breaker = turn.breaker;
        batch.breakers_over = turn.breakers_over;
        batch.audit = turn.audit;
        batch.alerts = turn.alerts;
        batch.alert_events = turn.alert_events;
        (batch.stuck_asks, batch.looks) = (turn.stuck_asks, turn.looks);
        batch.took_roots = turn.took_roots;
        batch.forget = turn.forget;
        batch.renew = turn.renew.then(|| (now + limits::GROUP_LEASE, now + limits::SESSION_LEASE));
        self.close_ticks(&mut batch, now);
        (batch, turn.acts, ids)
    }

    /// Steps that could start are found again by whoever looks for some.
    fn find_again(&mut self, changes: &Changes, now: Timestamp) {
        for (step, change) in &changes.steps {
            let in_line = step.line().is_some();
            if step.state == State::Pending && step.is_due(now) && !in_line && !self.board.windows.holds(step)
            {
                match change.before {
                    Some(_) => self.sources.bring_back(step, self.turn_number),
                    None => self.sources.spill(step, self.turn_number),
                }
            }
        }
    }

    /// For the tracer, if there is one.
    fn ended_attempts(&self, turn: &Turn, changes: &Changes, now: Timestamp) -> Vec<Span> {
        let Some(_) = self.config.spans else { return Vec::new() };
        turn.abroad.iter().chain([changes]).flat_map(|changes| spans::attempts(changes, now)).collect()
    }

    fn tell_tracer(&self, turn: &mut Turn, mut ended: Vec<Span>, batch: &Batch) {
        if let Some(tracer) = &self.config.spans {
            ended.extend(spans::workflows(&batch.workflows));
            turn.acts.trace(tracer, ended);
        }
    }

    fn count_changes(&mut self, turn: &mut Turn, changes: &Changes, now: Timestamp) {
        self.readiness.note(changes, now);
        for changes in turn.abroad.iter().chain([changes]) {
            count(&mut turn.acts.counted, changes, &mut self.readiness, now);
            self.minutes.record(changes, now);
        }
    }

    /// Whatever took a step from its session, the next heartbeat tells the worker.
    fn take_from_sessions(&mut self, turn: &mut Turn, changes: &Changes) {
        let mut revoked: BTreeMap<(NodeId, SessionId), Vec<(StepId, u32)>> = BTreeMap::new();
        for (step, change) in &changes.steps {
            let Some(before) = change.before.as_ref().filter(|b| b.is_held()) else { continue };
            if step.attempt != before.attempt || !step.is_held() {
                self.deadlines.forget(before);
            }
            if let Some(session) = before.session
                && step.session != Some(session)
                && let Some(node) = self.sessions.took_back(session, step.id, Some(before.attempt))
            {
                revoked.entry((node, session)).or_default().push((step.id, before.attempt));
            }
        }
        for ((node, session), steps) in revoked {
            self.revoke(turn, node, session, steps);
        }
    }

    fn write_steps(&mut self, batch: &mut Batch, steps: Vec<(Step, StepChange)>, now: Timestamp) {
        let mut claims: BTreeMap<(SessionId, i64, DispatchGroup), Vec<(StepId, u32)>> = BTreeMap::new();
        let mut untouched = HashSet::new();
        let mut parks = Vec::new();
        batch.steps.reserve(steps.len());
        for (step, change) in steps {
            if is_park(&step, &change) && self.book.knows(step.id) {
                self.board.pin(step.id);
                parks.push((step.id, step.attempt));
                continue;
            }
            let claimed = is_claim(&step, &change);
            let by_log = claimed && step.state == State::Running;
            let anew = change.before.as_ref().is_some_and(|before| before.attempt < step.attempt);
            if (claimed || step.is_held() && anew) && !batch.dispatching.contains(&step.dispatch_group) {
                batch.dispatching.push(step.dispatch_group.clone());
            }
            if let (true, Some(session), Some(before)) = (by_log, step.session, &change.before) {
                if before.attempt == 0 && before.version == 0 && before.wake_at.is_none() {
                    untouched.insert(step.id);
                }
                let key = (session, step.tick.unwrap_or(0), step.dispatch_group);
                claims.entry(key).or_default().push((step.id, step.attempt));
                continue;
            }
            let same_block = change.before.as_ref().is_some_and(|b| b.child_block == step.child_block);
            let expected = change.before.as_ref().map(|_| step.version);
            // A parent that waited and now ends: its row says all but that.
            let parked =
                change.before.as_ref().is_some_and(|b| b.parked && b.child_block == step.child_block);
            let mut row = if parked { RowKnown::Parked } else { RowKnown::Nothing };
            if let Some(version) = expected {
                if let Some(logged) = self.book.settle(step.id) {
                    row =
                        if logged.untouched && same_block { RowKnown::Untouched } else { RowKnown::Nothing };
                    if logged.parked {
                        self.board.unpin(step.id);
                    }
                }
                self.board.set_version(step.id, version + 1);
            }
            batch.steps.push(StepWrite { step, expected, detail: change.detail, row });
        }
        for ((session, tick, dispatch_group), pairs) in claims {
            let id = self.book.next_id();
            let claim =
                ClaimLog { id, session, dispatch_group, tick, at: now, parked: false, host: None, pairs };
            self.book.log(&claim, now, |step| untouched.contains(&step));
            batch.claims.push(claim);
        }
        batch.claims.extend(self.book.park(parks, now));
    }

    /// In a file, a step that ends stays in the index of its line until it is swept; elsewhere it leaves by itself.
    fn sweep_lines(&mut self, batch: &mut Batch, all: bool) {
        if self.store.is_shared() {
            return;
        }
        let ended = batch.steps.iter().filter(|write| write.step.state == State::Completed);
        for write in ended.filter(|write| write.narrow().is_some()) {
            let version = write.expected.map_or(0, |version| version + 1);
            batch.swept.extend(self.sources.lines.ended(&write.step, version, &self.board));
        }
        if all {
            // What a crash left there; if it cannot be read now, it is in an hour.
            batch.swept.extend(message_groups::ended_in_line(self.store.reader()).unwrap_or_default());
        }
    }

    fn close_ticks(&mut self, batch: &mut Batch, now: Timestamp) {
        // By hand every turn is a tick; else a tick is a second, and the last one ends with the engine.
        let whole = self.config.by_hand || self.closing;
        batch.minutes = if self.closing { self.minutes.close_all() } else { self.minutes.close(now) };
        batch.ticks = self.ticks.close(if whole { now } else { now - std::time::Duration::from_secs(1) });
        for tick in &batch.ticks {
            batch.groups.push(store::GroupWrite {
                current_tick: Some(tick.id),
                last_tick_completed_at: Some(tick.completed_at),
                last_selected_at: Some(now),
                ..store::GroupWrite::of(tick.dispatch_group.clone())
            });
        }
    }
}

/// Nothing but a claim happened to it: for a row that exists, the log can speak.
fn is_claim(step: &Step, change: &StepChange) -> bool {
    let only = |b: &Step| {
        b.state == State::Pending
            && b.attempt + 1 == step.attempt
            && b.failed_attempts == step.failed_attempts
            && b.lost_attempts == step.lost_attempts
            && b.priority == step.priority
            && b.child_block == step.child_block
            && change.detail == Detail::default()
    };
    step.is_held() && step.session.is_some() && change.before.as_ref().is_none_or(only)
}

/// Nothing but that its job returned and its children are waited for: the log that has its claim can say so.
fn is_park(step: &Step, change: &StepChange) -> bool {
    let only = |b: &Step| b.is_held() && *step == Step { parked: true, session: None, ..b.clone() };
    step.parked && change.detail == Detail::default() && change.before.as_ref().is_some_and(only)
}

fn event_row(moved: &Moved) -> EventRow {
    EventRow {
        at: moved.at,
        step: moved.step,
        from: moved.from,
        event: moved.event,
        to: moved.to,
        attempt: moved.attempt,
    }
}

/// How the counts of each sort of step change.
fn tallies<'a>(
    changes: impl Iterator<Item = &'a Changes>,
    counted: Vec<(TallyKey, i64)>,
) -> Vec<(TallyKey, i64)> {
    let mut deltas: HashMap<TallyKey, i64> = HashMap::new();
    counted.into_iter().for_each(|(key, n)| *deltas.entry(key).or_default() += n);
    for (step, change) in changes.flat_map(|c| &c.steps) {
        let after = TallyKey::of(step);
        if let Some(before) = &change.before {
            let before = TallyKey::of(before);
            if before == after {
                continue;
            }
            *deltas.entry(before).or_default() -= 1;
        }
        *deltas.entry(after).or_default() += 1;
    }
    let mut deltas: Vec<(TallyKey, i64)> = deltas.into_iter().filter(|(_, n)| *n != 0).collect();
    deltas.sort_unstable();
    deltas
}
