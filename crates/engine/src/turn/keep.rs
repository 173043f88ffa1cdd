//! Housekeeping within a turn: lapsed sessions, old claims, leases, and recovery.

use super::expire::Expiry;
use super::node::{Node, Turn};
use super::owed::Word;
use super::readiness::Readiness;
use super::refill::Sources;
use super::sessions::Hold;
use super::timers::Timers;
use crate::executions::forget_pages;
use crate::signal::Signal;
use model::{Breaker, DispatchGroup, SessionId, State, Step, StepId, StepKind, Timestamp, limits};
use rules::board::{Board, Opened};
use rules::{outbox, recover};
use std::collections::HashSet;
use std::time::Duration;
use store::{AuditEntry, ClaimLog, Found, Result, SignalRow, StoreError};
use tracing::{info, warn};

/// How often groups are looked at for lack of progress.
const WATCH_EVERY: Duration = Duration::from_secs(60);

/// How often rows that are of no use any more are taken away.
const FORGET_EVERY: Duration = Duration::from_secs(3_600);

impl Node {
    pub(super) fn keep_house(&mut self, turn: &mut Turn, now: Timestamp) -> Result<()> {
        for id in self.book.aged(now) {
            // Touching the step writes its row, and the log no longer has to speak for it.
            self.board.edit(id, |_, _| {});
        }
        if std::mem::take(&mut self.enter_sessions) {
            for session in self.sessions.ids() {
                self.put_session(turn, session);
            }
        }
        if self.is_leader() {
            self.end_breakers(turn, now);
            if now >= self.forgot_at + FORGET_EVERY {
                self.forgot_at = now;
                turn.forget = true;
                forget_pages(self.store.ledger());
            }
        }
        self.look_when_due(turn, now);
        if now >= self.renewed_at + limits::RENEW_EVERY {
            self.renewed_at = now;
            turn.renew = true;
        }
        if now >= self.watched_at + WATCH_EVERY {
            self.watched_at = now;
            self.watch_groups(turn, now)?;
            self.find_stray_slots()?;
        }
        Ok(())
    }

    /// One node does what must be done once: the owner of the first group that has one.
    pub(super) fn is_leader(&self) -> bool {
        self.owns_all() || self.peers.leader == Some(self.row.id)
    }

    /// A breaker whose time is over turns itself on, on record.
    fn end_breakers(&mut self, turn: &mut Turn, now: Timestamp) {
        let over = |b: &Breaker| b.off && b.until.is_some_and(|until| until <= now);
        let entry = |target: String, b: &Breaker| AuditEntry {
            who: "stepfast".into(),
            verb: "breaker on".into(),
            target,
            why: Some("its time was over".into()),
            before: serde_json::to_string(b).ok(),
            after: serde_json::to_string(&Breaker::default()).ok(),
        };
        if over(&self.breaker) {
            turn.audit.push(entry("breaker".into(), &self.breaker));
            turn.breakers_over.push((None, std::mem::take(&mut self.breaker)));
            self.switched_in = self.turn_number;
        }
        for (group, breaker) in self.group_breakers.iter_mut().filter(|(_, b)| over(b)) {
            turn.audit.push(entry(format!("breaker of {group}"), breaker));
            turn.breakers_over.push((Some(group.clone()), std::mem::take(breaker)));
            self.switched_in = self.turn_number;
        }
    }

    pub(super) fn take_back_lapsed(&mut self, turn: &mut Turn, now: Timestamp) -> Result<()> {
        for session in self.sessions.lapsed(now) {
            let held = self.sessions.held_by(session);
            warn!(%session, steps = held.len(), "a session's lease ran out");
            let (own, abroad) = self.part(held);
            for id in own {
                self.take_back(turn, session, id)?;
            }
            self.say(turn, Word::Lost(session, abroad));
            self.end_session(turn, session, now);
            self.sessions.remove(session);
            self.want()?;
        }
        Ok(())
    }

    /// A step is lost with its session.
    pub(super) fn take_back(&mut self, _turn: &mut Turn, session: SessionId, id: StepId) -> Result<()> {
        self.sessions.took_back(session, id, None);
        if !self.bring(id)? {
            return Ok(());
        }
        let step = self.board.step(id).expect("it was just brought");
        if step.session != Some(session) {
            return Ok(());
        }
        let children = step.child_block.and_then(|b| self.board.block(b));
        if let Some(effect) = recover::decide(step, children) {
            self.board.apply(effect).map_err(|e| StoreError::Lost { what: e.to_string() })?;
        }
        Ok(())
    }

    /// Read what a node must know from the store: at the start, and after a commit that failed.
    pub(super) fn recover(&mut self) -> Result<()> {
        let mut found = self.store.recover(&self.lease)?;
        let others = self.store.look(&self.row, &self.lease)?;
        let spoken_for = spoken_for(&others.signals);
        self.sessions.see(others.sessions);
        let lease = &self.lease;
        let mine = |group: &DispatchGroup| lease.groups.iter().any(|(g, _)| g == group);
        let unsure = self.sessions.forget_held(mine, self.durable);
        self.ticks.keep(mine);
        for (session, step, hold) in unsure {
            self.owe(session, vec![(hold.dispatch_group, (step, hold.attempt))]);
        }
        self.owed.unsaid();
        self.drop_unstored();
        self.board = Board::at(self.store.now().max(self.board.now));
        if !self.owns_all() {
            self.board.mine = Some(self.lease.groups.iter().map(|(group, _)| group.clone()).collect());
        }
        self.board.windows.want(self.wanted());
        self.peers.forget_taken();
        self.told_ready.clear();
        self.roots.clear();
        for (group, _) in &self.lease.groups {
            self.last_end.entry(group.clone()).or_insert(self.board.now);
        }
        self.sources = Sources::default();
        self.timers = Timers::default();
        self.deadlines = Default::default();
        self.workflows.forget(std::mem::take(&mut found.last_events));
        self.notices.forget();
        self.readiness = Readiness::default();
        self.workflows_arrived(std::mem::take(&mut found.pending_workflows));
        self.book = Default::default();
        self.book.continue_after(found.last_claim);
        self.ticks.continue_after(found.last_tick);
        self.breaker = found.breaker.clone();
        self.group_breakers =
            found.groups.iter().map(|g| (g.dispatch_group.clone(), g.breaker.clone())).collect();
        self.alerted = found.alerted.iter().cloned().collect();
        self.stuck.forget();
        let until = self.board.now + limits::SESSION_LEASE;
        self.sessions.leave_behind(&found.left, until);
        self.expiry = Expiry::from(self.board.now);
        found.holds.iter().for_each(|hold| self.board.load_hold(hold));
        let (known, slots) = (std::mem::take(&mut found.pools), std::mem::take(&mut found.slots));
        let posts = std::mem::take(&mut found.posts);
        let published_to = std::mem::take(&mut found.published_to);
        let adopted = self.adopt(found, &spoken_for);
        self.adopt_slots(known, slots);
        self.adopt_posts(posts, published_to);
        self.sessions.forget_before();
        adopted
    }

    fn adopt(&mut self, found: Found, spoken_for: &HashSet<StepId>) -> Result<()> {
        let opened: Vec<Opened> = found.blocks.iter().flat_map(openings).collect();
        for block in found.blocks {
            if let Some(owner) = block.owner.filter(|_| block.to_come > 0) {
                self.fill_later(owner);
            }
            self.board.load_block(block);
        }
        for opened in opened {
            self.sources.open(opened, 0);
        }
        let mut lost = 0;
        // What is parked has run: its last word comes first.
        let (parked, claims): (Vec<_>, Vec<_>) = found.claims.into_iter().partition(|claim| claim.parked);
        for claim in parked.into_iter().chain(claims) {
            lost += self.adopt_claims(claim, spoken_for)?;
        }
        for step in found.held {
            let (id, session, attempt) = (step.id, step.session, step.attempt);
            self.load_with_block(step)?;
            if !spoken_for.contains(&id) {
                lost += self.keep_or_lose(id, session, attempt)?;
            }
        }
        if lost > 0 {
            info!(steps = lost, "took back steps whose worker is gone");
        }
        Ok(())
    }

    /// Claims that only the log knows: what it says is newer than the step's row.
    fn adopt_claims(&mut self, claim: ClaimLog, spoken_for: &HashSet<StepId>) -> Result<u32> {
        let mut lost = 0;
        let mut logged = Vec::new();
        for (id, attempt) in &claim.pairs {
            let Some(row) = self.store.step(*id)? else { continue };
            if row.state != State::Pending || row.attempt + 1 != *attempt || self.book.knows(*id) {
                continue;
            }
            let step = Step {
                state: State::Running,
                reason: None,
                throttled: false,
                wake_at: None,
                attempt: *attempt,
                session: (!claim.parked).then_some(claim.session),
                parked: claim.parked,
                host: claim.host.clone(),
                tick: Some(claim.tick),
                dispatched_at: Some(claim.at),
                started_at: Some(claim.at),
                ..row
            };
            self.load_with_block(step)?;
            if claim.parked {
                self.board.pin(*id);
            } else if !spoken_for.contains(id) {
                lost += self.keep_or_lose(*id, Some(claim.session), *attempt)?;
            }
            logged.push((*id, *attempt));
        }
        if logged.is_empty() {
            self.book.drop_row(claim.id);
        } else {
            // Whether a row is as it was inserted, only its maker knows.
            self.book.log(&ClaimLog { pairs: logged, ..claim }, self.board.now, |_| false);
        }
        Ok(lost)
    }

    fn load_with_block(&mut self, step: Step) -> Result<()> {
        for block in [step.block(), step.child_block].into_iter().flatten() {
            self.bring_block(block)?;
        }
        self.board.load_step(step);
        Ok(())
    }

    /// A session that lives, here or elsewhere, keeps its step; any other has lost it.
    fn keep_or_lose(&mut self, id: StepId, session: Option<SessionId>, attempt: u32) -> Result<u32> {
        let step = self.board.step(id).expect("it was just loaded");
        if outbox::is_queued(step) {
            return Ok(0);
        }
        if let Some(session) = session
            && self.sessions.is_known(session)
        {
            let dispatch_group = step.dispatch_group.clone();
            self.deadlines.note(step);
            self.sessions.gave(session, id, Hold::from_before(attempt, dispatch_group));
            return Ok(0);
        }
        let children = step.child_block.and_then(|b| self.board.block(b));
        let Some(effect) = recover::decide(step, children) else { return Ok(0) };
        self.board.apply(effect).map_err(|e| StoreError::Lost { what: e.to_string() })?;
        Ok(1)
    }

    /// Every open block may have ready steps on disk that nobody wanted until now.
    pub(super) fn reopen_blocks(&mut self) {
        let opened: Vec<Opened> = self.board.blocks().flat_map(openings).collect();
        for opened in opened {
            self.sources.open(opened, 0);
        }
    }
}

/// Steps about which a session said something before it ended; that is dealt with first.
fn spoken_for(signals: &[SignalRow]) -> HashSet<StepId> {
    let mut steps = HashSet::new();
    for row in signals {
        match serde_json::from_str(&row.body) {
            Ok(Signal::Reports { reports }) => steps.extend(reports.iter().map(|r| r.step)),
            Ok(Signal::GivenBack { steps: given, .. }) => steps.extend(given.iter().map(|(id, _)| *id)),
            _ => {}
        }
    }
    steps
}

/// Indexes of a block that may run now.
pub(super) fn openings(block: &model::Block) -> Vec<Opened> {
    let at = [(StepKind::Default, block.current_index), (StepKind::Resolver, block.resolver_index)];
    at.into_iter()
        .filter(|(kind, index)| *index > 0 && block.live_at(*kind, *index) > 0)
        .map(|(kind, index)| Opened { block: block.id, kind, index })
        .collect()
}
