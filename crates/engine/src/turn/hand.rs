//! Brings ready steps in and gives them to sessions: at once to those here, as an answer to those elsewhere that ask.

use super::node::{How, Node, Turn};
use super::refill::Commits;
use super::secrets::Veiled;
use super::sessions::Hold;
use crate::request::{Handed, Reply};
use crate::signal::Pulled;
use model::{Claim, DispatchGroup, Name, Session, SessionId, SessionOffer, Step, StepId, Timestamp, limits};
use rules::board::WindowKey;
use rules::pick::{Gate, pick};
use std::collections::BTreeMap;
use store::{GroupWrite, Result, Wake};
use tracing::error;

impl Node {
    /// Due steps and ready rows come in, as far as someone wants them.
    pub(super) fn bring_in(&mut self, now: Timestamp) -> Result<()> {
        for opened in self.board.take_opened() {
            self.readiness.opened(opened.block, now);
            self.sources.open(opened, 0);
        }
        if !self.has_room() {
            return Ok(());
        }
        let (store, lease) = (&mut self.store, &self.lease);
        self.timers.read_ahead(now, |behind, until, limit| {
            let behind = behind.map(|(at, id)| (at, id.unwrap_or(StepId::from_bytes([0xff; 16]))));
            store.due(lease, behind, until, limit)
        })?;
        while self.board.windows.len() < limits::WINDOW_STEPS_MAX {
            let late = self.sources.take_late(&self.board);
            let due =
                if self.sources.takes_late() { late.or_else(|| self.timers.pop_due(now)) } else { late };
            let Some((at, id)) = due else { break };
            if self.board.step(id).is_none()
                && let Some(step) = self.store.step(id)?
                && step.wake_at == Some(at)
            {
                if let Some(place) = step.place {
                    self.bring_block(place.block)?;
                }
                let wanted = || self.board.windows.is_wanted(&step.queue, &step.action);
                if step.line().is_some() || wanted() && self.sources.has_room_or_later(&step, at, &self.board)
                {
                    self.board.load_step(step);
                }
            }
            self.board.refresh_window(id);
        }
        let groups: Vec<DispatchGroup> = self.lease.groups.iter().map(|(g, _)| g.clone()).collect();
        let at = Commits { durable: self.durable };
        self.again |= self.sources.refill(&mut self.board, &mut *self.store, &groups, at)?;
        Ok(())
    }

    /// Somebody may take work: a session here, or one elsewhere that asks when it is told.
    pub(super) fn has_room(&self) -> bool {
        self.sessions.free() > 0 || self.outbox.free() > 0 || self.sessions.any_elsewhere()
    }

    /// Say which ready work this node cannot place, if sessions elsewhere may take it.
    pub(super) fn tell_ready(&mut self, turn: &mut Turn, now: Timestamp) {
        if !self.sessions.any_elsewhere() && self.told_ready.is_empty() {
            return;
        }
        let mut ready: BTreeMap<DispatchGroup, Vec<(Name, Name)>> = BTreeMap::new();
        for window in self.board.windows.iter().filter(|w| !w.ready.is_empty()) {
            let WindowKey { dispatch_group, queue, action, pool } = &window.key;
            let off = self.breaker.is_off(now)
                || self.group_breakers.get(dispatch_group).is_some_and(|b| b.is_off(now));
            // Who asks for work of a full pool asks in vain, and would at once ask again.
            let full = pool.as_ref().is_some_and(|pool| !self.pools.allows(pool, now));
            if !off && !full && self.sessions.is_wanted_elsewhere(queue, action) {
                ready.entry(dispatch_group.clone()).or_default().push((queue.clone(), action.clone()));
            }
        }
        for (group, _) in &self.lease.groups {
            let now = ready.get(group).cloned().unwrap_or_default();
            if self.told_ready.get(group) != Some(&now) {
                if !now.is_empty() {
                    turn.wake.insert(Wake::Everybody);
                }
                self.told_ready.insert(group.clone(), now.clone());
                turn.groups.push(GroupWrite { ready: Some(now), ..GroupWrite::of(group.clone()) });
            }
        }
    }

    pub(super) fn hand_out(
        &mut self,
        turn: &mut Turn,
        how: &How,
        now: Timestamp,
    ) -> Result<Vec<DispatchGroup>> {
        if self.board.windows.is_empty() || self.breaker.is_off(now) {
            return Ok(Vec::new());
        }
        let gates: Vec<Gate> = self
            .lease
            .groups
            .iter()
            .filter(|(g, _)| how.only.as_ref().is_none_or(|only| only == g))
            .map(|(g, _)| Gate {
                dispatch_group: g.clone(),
                off: self.group_breakers.get(g).is_some_and(|b| b.is_off(now)),
                max_per_tick: self.config.max_per_tick,
            })
            .collect();
        let mut open = self.sessions.open();
        open.extend(self.asking(turn));
        open.extend(self.queue_session());
        let allowance = self.allowance(now)?;
        let picked = pick(&self.board.windows, &gates, &open, &allowance, (self.turn_number, usize::MAX));
        let n_picked = picked.picks.len();
        let picks = self.take_slots(picked.picks, now)?;
        let mut work: BTreeMap<SessionId, Pulled> = BTreeMap::new();
        for one in &picks {
            if self.expire_one(one.step, now)? {
                self.pools.give_back(one.step);
                self.again = true;
                continue;
            }
            let Some(step) = self.board.step(one.step) else { continue };
            let tick = self.ticks.current(&step.dispatch_group.clone(), now);
            if one.session == SessionId::OUTBOX {
                if let Err(refused) = self.board.queue(one.step, tick) {
                    error!(step = %one.step, %refused, "a ready step could not be queued");
                    self.pools.give_back(one.step);
                }
                continue;
            }
            let host = open.iter().find(|s| s.id == one.session).map(|s| s.offer.host.clone());
            let host = host.unwrap_or_default();
            if let Err(refused) = self.board.claim(one.step, one.session, host, tick) {
                error!(step = %one.step, %refused, "a ready step refused its claim");
                self.pools.give_back(one.step);
                continue;
            }
            let step = self.board.step(one.step).expect("it was just claimed");
            self.deadlines.note(step);
            work.entry(one.session).or_default().push((step.dispatch_group.clone(), claim_of(step)));
        }
        turn.dispatched = picks.len();
        self.again |= n_picked == limits::PICKS_PER_TURN_MAX || !picked.capped.is_empty();
        for (session, claims) in work {
            self.give(turn, session, claims)?;
        }
        Ok(picked.capped)
    }

    /// The same runs once more, to a session that does not know of them.
    pub(super) fn hand_again(
        &mut self,
        turn: &mut Turn,
        session: SessionId,
        holds: Vec<(StepId, Hold)>,
    ) -> Result<()> {
        let mut claims = Pulled::new();
        for (id, hold) in holds {
            if self.owns(&hold.dispatch_group)
                && self.bring(id)?
                && let Some(step) = self.board.step(id)
                && (step.session, step.attempt) == (Some(session), hold.attempt)
            {
                claims.push((hold.dispatch_group, claim_of(step)));
            }
        }
        if !claims.is_empty() {
            self.give(turn, session, claims)?;
        }
        Ok(())
    }

    /// Sessions of other nodes, as far as they ask for work in this turn.
    fn asking(&self, turn: &Turn) -> Vec<Session> {
        let mut places: BTreeMap<SessionId, usize> = BTreeMap::new();
        for (_, session, n) in &turn.pulls {
            *places.entry(*session).or_default() += n;
        }
        let session = |(id, capacity)| {
            let offer = SessionOffer { capacity, ..self.sessions.elsewhere(id)?.offer.clone() };
            Some(Session { id, offer, held: 0, lease_ends_at: self.board.now })
        };
        places.into_iter().filter_map(session).collect()
    }

    /// Work goes to a session here once it is durable, and to one elsewhere as the answer to its signal.
    pub(super) fn give(&mut self, turn: &mut Turn, session: SessionId, mut claims: Pulled) -> Result<()> {
        self.bring_workflows(claims.iter().map(|(_, claim)| claim.step))?;
        for (_, claim) in &mut claims {
            self.dress(claim)?;
        }
        let live = self.sessions.get_mut(session).map(|live| {
            live.handed += 1;
            (live.handed, live.hand.clone())
        });
        let number = live.as_ref().map_or(0, |(number, _)| *number);
        let turn_number = self.turn_number;
        claims.retain_mut(|(dispatch_group, claim)| {
            // Whoever is elsewhere opens it there.
            let opened = match &live {
                Some(_) => self.open_claim(session, claim),
                None => Some(Veiled::Unknown),
            };
            let (attempt, dispatch_group) = (claim.attempt, dispatch_group.clone());
            let veil = opened.clone().unwrap_or_default();
            let hold = Hold { attempt, number, dispatch_group, turn: turn_number, veil };
            self.sessions.gave(session, claim.step, hold);
            opened.is_some()
        });
        match live {
            Some((number, hand)) => {
                let claims = claims.into_iter().map(|(_, claim)| claim).collect();
                turn.acts.hand(hand, Handed { number, claims });
            }
            None => {
                let at =
                    turn.pulls.iter().position(|(_, s, _)| *s == session).expect("it asked in this turn");
                let (signal, _, _) = turn.pulls.remove(at);
                turn.acts.reply(Reply::Signal(signal), slim(claims));
            }
        }
        Ok(())
    }
}

/// An answer stays within bounds: beyond them, arguments are read by whoever runs the step.
fn slim(mut claims: Pulled) -> Pulled {
    let mut bytes = 0;
    for (_, claim) in &mut claims {
        bytes += claim.arguments.len();
        if bytes > limits::PAYLOAD_BYTES_MAX {
            claim.arguments = "".into();
        }
    }
    claims
}

pub(super) fn claim_of(step: &Step) -> Claim {
    Claim {
        step: step.id,
        attempt: step.attempt,
        action: step.action.clone(),
        queue: step.queue.clone(),
        arguments: step.arguments.clone(),
        failed_attempts: step.failed_attempts,
        max_attempts: step.max_attempts,
        place: step.place,
        look: step.look.clone(),
        message_group: step.member.as_ref().map(|member| member.group.clone()),
        workflow: None,
        opens: Vec::new(),
        poll: None,
        trace: step.trace.clone(),
    }
}
