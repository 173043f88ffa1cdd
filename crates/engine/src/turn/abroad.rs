//! What a node does with groups that are not its own: it stores new trees there, and tells the owner everything else.
//!
//! Why    owners move, strangers append. Nobody but the owner writes a row that exists, so what an owner holds in memory stays
//!        true, and no turn is lost to another node.

use super::node::{Node, Turn};
use super::owed::Word;
use super::peers::{Peers, Then};
use super::sessions::Hold;
use crate::EngineError;
use crate::request::{Handed, Reply};
use crate::signal::{Arrived, ENDED, Pulled, Signal, read};
use model::{DispatchGroup, NewStep, NodeId, SessionId, SignalId, State, StepId, Timestamp};
use rules::board::Board;
use rules::creation::Plan;
use rules::settle::{Mode, settle};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use store::{Look, Result, SignalRow, SignalTo, StoreError, TallyKey, Wake};
use tracing::{error, info, warn};

/// An attempt of a step in another node's group.
pub type Abroad = (DispatchGroup, (StepId, u32));

impl Node {
    pub(super) fn owns(&self, group: &DispatchGroup) -> bool {
        self.lease.groups.iter().any(|(g, _)| g == group)
    }
    /// Every group is this node's: nothing can be foreign.
    pub(super) fn owns_all(&self) -> bool {
        !self.peers.shared || self.lease.groups.len() == self.config.groups.len()
    }
    /// The group of a step that another node decides about.
    pub(super) fn foreign_group(&mut self, id: StepId) -> Result<Option<DispatchGroup>> {
        if self.owns_all() || self.board.step(id).is_some() {
            return Ok(None);
        }
        let group = self.store.step(id)?.map(|s| s.dispatch_group);
        Ok(group.filter(|g| !self.owns(g)))
    }

    /// The group that decides for the block of a step, or for the step where it stands alone, if it is another node's.
    pub(super) fn foreign_block(&mut self, id: StepId) -> Result<Option<DispatchGroup>> {
        if self.owns_all() {
            return Ok(None);
        }
        let step = match self.board.step(id) {
            Some(step) => Some(step.clone()),
            None => self.store.step(id)?,
        };
        let Some(step) = step else { return Ok(None) };
        let home = match step.block() {
            Some(block) => self.store.block(block)?.map(|block| block.home),
            None => None,
        };
        Ok(Some(home.unwrap_or(step.dispatch_group)).filter(|group| !self.owns(group)))
    }

    /// Write something down for the owner of a group.
    pub(super) fn tell_owner(&mut self, turn: &mut Turn, group: &DispatchGroup, signal: &Signal) -> SignalId {
        let to = SignalTo::Group(group.clone());
        turn.wake.insert(Wake::Group(group.clone()));
        self.write_down(turn, to, signal)
    }
    pub(super) fn write_down(&mut self, turn: &mut Turn, to: SignalTo, signal: &Signal) -> SignalId {
        let id = SignalId::from_bytes(self.ids.row(self.board.now));
        let body = serde_json::to_string(signal).expect("a signal is plain data");
        turn.signals.push(SignalRow { id, to, from: None, body });
        id
    }
    /// Ask the owner of a group, and wait for its answer.
    pub(super) fn ask(&mut self, turn: &mut Turn, group: &DispatchGroup, signal: &Signal, then: Then) {
        let id = self.tell_owner(turn, group, signal);
        turn.signals.last_mut().expect("it was just written").from = Some(self.row.id);
        self.peers.wait(id, group.clone(), then, (self.turn_number, self.board.now));
    }
    /// Ask the owner of a group for what a caller wants.
    pub(super) fn forward<T: DeserializeOwned + Send + 'static>(
        &mut self,
        turn: &mut Turn,
        group: &DispatchGroup,
        signal: &Signal,
        reply: Reply<T>,
    ) {
        if let Reply::Signal(id) = reply {
            // It was meant for this node's groups, and something it names is not there.
            return turn.acts.refuse(Reply::<()>::Signal(id), EngineError::Apart);
        }
        let tell = move |answer: std::result::Result<&str, EngineError>| reply.send(answer.and_then(read));
        self.ask(turn, group, signal, Then::Tell(Box::new(tell)));
    }

    /// The group whose owner must create these steps, for they join rows of it.
    pub(super) fn joins_abroad(
        &mut self,
        steps: &[NewStep],
    ) -> Result<std::result::Result<Option<DispatchGroup>, EngineError>> {
        if self.owns_all() {
            return Ok(Ok(None));
        }
        let mut groups = BTreeSet::new();
        for step in steps {
            if let Some(parent) = step.parent_step_id {
                let group = match self.board.step(parent) {
                    Some(step) => Some(step.dispatch_group.clone()),
                    None => self.store.step(parent)?.map(|s| s.dispatch_group),
                };
                groups.extend(group);
            }
            for id in [step.block_id, step.child_block_id].into_iter().flatten() {
                let home = match self.board.block(id) {
                    Some(block) => Some(block.home.clone()),
                    None => self.store.block(id)?.map(|b| b.home),
                };
                groups.extend(home);
            }
        }
        let owners: HashSet<Option<NodeId>> = groups
            .iter()
            .map(|g| if self.owns(g) { Some(self.row.id) } else { self.peers.owner_of(g) })
            .collect();
        let abroad = groups.iter().find(|g| !self.owns(g)).cloned();
        Ok(match abroad {
            Some(_) if owners.len() > 1 => Err(EngineError::Apart),
            abroad => Ok(abroad),
        })
    }

    /// Store new trees in groups of other nodes, and tell their owners where to look.
    pub(super) fn settle_abroad(&mut self, turn: &mut Turn, plan: Plan) -> Result<()> {
        if plan.steps.is_empty() {
            return Ok(());
        }
        let mut board = Board::at(self.board.now);
        plan.blocks.into_iter().for_each(|block| board.insert_block(block));
        plan.steps.into_iter().for_each(|(step, detail)| board.insert_step(step, detail));
        settle(&mut board, &mut *self.store, Mode::FixedPoint)?;
        let changes = board.take_changes();
        let mut arrivals: BTreeMap<DispatchGroup, Arrived> = BTreeMap::new();
        for (step, _) in changes.steps.iter().filter(|(s, _)| s.state == State::Pending) {
            let arrived = arrivals.entry(step.dispatch_group.clone()).or_default();
            match (step.wake_at, step.place) {
                (Some(at), _) if at > self.board.now + 2 * model::limits::TIMER_HORIZON => {}
                (Some(at), _) => arrived.wakes.push((at, step.id)),
                (None, _) if step.line().is_some_and(|member| member.joined) => {
                    arrived.note_line(step);
                    self.peers.expect(&step.dispatch_group, &step.queue, &step.action);
                }
                (None, None) => {
                    arrived.note(step);
                    self.peers.expect(&step.dispatch_group, &step.queue, &step.action);
                }
                (None, Some(_)) => {}
            }
        }
        for (block, _) in &changes.blocks {
            arrivals.entry(block.home.clone()).or_default().blocks.push(block.id);
        }
        for (group, arrived) in arrivals {
            self.tell_owner(turn, &group, &Signal::Arrived(arrived));
        }
        turn.abroad.push(changes);
        Ok(())
    }

    /// Look at what the others left, and deal with it in this turn.
    pub(super) fn look(&mut self, turn: &mut Turn, now: Timestamp) -> Result<()> {
        let overdue = self.peers.overdue(now);
        for id in self.store.withdraw(&overdue)? {
            if let Some((then, problem)) = self.peers.give_up(id) {
                self.answered(turn, then, Err(problem));
            }
        }
        let mut look = self.store.look(&self.row, &self.lease)?;
        self.peers.hears = self.store.hears();
        self.peers.saw(&look, self.row.id, now);
        let on_record = look.nodes.iter().any(|n| n.sharer.node == self.row.id);
        self.peers.shift = !on_record || look.wants_shift(&self.row);
        self.see_breakers(&look);
        self.pools.look_again();
        for (id, answer) in std::mem::take(&mut look.answers) {
            turn.heard.push(id);
            if let Some(then) = self.peers.answered(id) {
                self.answered(turn, then, Ok(&answer));
            }
        }
        for then in self.peers.vanished(&overdue, now) {
            self.answered(turn, then, Err(unknown()));
        }
        let met = self.sessions.meet(&look.sessions);
        // After a turn that the database refused, one at a time: one of them may be why.
        let at_once = if self.unfit { 1 } else { usize::MAX };
        let fresh = |peers: &mut Peers, id| peers.take(id, self.turn_number, self.unfit);
        let mut signals = std::mem::take(&mut look.signals);
        // Rows say already how steps ended: whoever decides by them has heard of it.
        signals.sort_by_key(|s| !s.body.starts_with(ENDED));
        let signals: Vec<SignalRow> =
            signals.into_iter().filter(|s| fresh(&mut self.peers, s.id)).take(at_once).collect();
        for signal in signals {
            self.take_signal(turn, signal, now)?;
        }
        // Last: what a session said before it ended counts.
        self.see_sessions(turn, &mut look, met)
    }

    fn answered(&mut self, turn: &mut Turn, then: Then, answer: std::result::Result<&str, EngineError>) {
        match then {
            Then::Tell(tell) => tell(answer),
            Then::Reported { of, tell } => {
                for (session, step) in of {
                    if let Some(live) = self.sessions.get_mut(session) {
                        live.reported.remove(&step);
                    }
                }
                tell(answer);
            }
            Then::Begin { session, reply } => {
                self.begun_abroad(turn, session, reply, answer.and_then(read));
            }
            Then::Pull { session, places, .. } => self.pulled(turn, session, places, answer.and_then(read)),
        }
    }

    /// Somebody else may have switched a breaker.
    fn see_breakers(&mut self, look: &Look) {
        if self.switched_in > self.durable {
            return;
        }
        self.breaker = look.breaker.clone();
        for group in &look.groups {
            self.group_breakers.insert(group.dispatch_group.clone(), group.breaker.clone());
        }
    }

    /// What a session of another node held is lost with it.
    fn see_sessions(&mut self, turn: &mut Turn, look: &mut Look, met: bool) -> Result<()> {
        let (gone, changed) = self.sessions.see(std::mem::take(&mut look.sessions));
        for (session, elsewhere) in gone.into_iter().filter(|(_, e)| !e.held.is_empty()) {
            warn!(%session, steps = elsewhere.held.len(), "a session of another node is gone");
            let mut steps: Vec<(StepId, u32)> = elsewhere.held.into_iter().collect();
            steps.sort_unstable();
            for (id, _) in &steps {
                self.take_back(turn, session, *id)?;
            }
            self.revoke(turn, elsewhere.node, session, steps);
        }
        if changed || met {
            self.want()?;
        }
        Ok(())
    }

    /// Tell another node that steps are no longer its session's.
    pub(super) fn revoke(
        &mut self,
        turn: &mut Turn,
        node: NodeId,
        session: SessionId,
        steps: Vec<(StepId, u32)>,
    ) {
        turn.wake.insert(Wake::Node(node));
        self.write_down(turn, SignalTo::Node(node), &Signal::Revoked { session, steps });
    }

    pub(super) fn take_signal(&mut self, turn: &mut Turn, row: SignalRow, now: Timestamp) -> Result<()> {
        if let Some(from) = row.from {
            turn.wake.insert(Wake::Node(from));
        }
        let signal = match serde_json::from_str(&row.body) {
            Ok(signal) => signal,
            Err(problem) => {
                error!(signal = %row.id, %problem, "a signal is not understood");
                match row.from {
                    Some(_) => turn.acts.refuse(Reply::<()>::Signal(row.id), EngineError::Undone),
                    None => turn.acts.heard(row.id),
                }
                return Ok(());
            }
        };
        // What arrived is there and has to be counted, however often it is tried.
        if self.peers.is_hopeless(row.id) && !matches!(signal, Signal::Arrived(_)) {
            error!(signal = %row.id, "a signal was tried again and again, and is given up");
            turn.acts.refuse(Reply::<()>::Signal(row.id), EngineError::Undone);
            return Ok(());
        }
        self.apply_signal(turn, row, signal, now)
    }

    /// Who asks is answered with the commit; who only tells is not.
    fn apply_signal(
        &mut self,
        turn: &mut Turn,
        row: SignalRow,
        signal: Signal,
        now: Timestamp,
    ) -> Result<()> {
        let id = row.id;
        match signal {
            Signal::Create { steps, by } => return self.create(turn, steps, by, Reply::Signal(id), now),
            Signal::Reports { reports } => return self.reports(turn, reports, Reply::Signal(id), now),
            Signal::Operate { operation } if row.from.is_none() && self.put_off(turn, &operation, now)? => {}
            Signal::Operate { operation } => return self.operate(turn, operation, Reply::Signal(id), now),
            Signal::OperateGroup { operation } => {
                return self.operate_group(turn, operation, Reply::Signal(id), now);
            }
            Signal::OperateWorkflow { operation } => {
                return self.operate_workflow(turn, operation, Reply::Signal(id), now);
            }
            Signal::Trigger { order } => return self.trigger(turn, order, Reply::Signal(id), now),
            Signal::PauseToken { order, hash } => {
                return self.pause_token(turn, (order, hash), Reply::Signal(id), now);
            }
            Signal::Tell { channel, notice } => {
                let reply = row.from.map(|_| Reply::Signal(id));
                return self.hear_notice(turn, (channel, *notice), (id, reply), now);
            }
            Signal::Gathered { channel, waiting } => {
                return self.hear_gathered(turn, (channel, waiting), id, now);
            }
            Signal::Pull { session, places } => {
                turn.pulls.push((id, session, places));
                return Ok(());
            }
            Signal::Begin(sent) => return self.begin(turn, sent, Reply::Signal(id), now),
            Signal::Arrived(arrived) => {
                if let SignalTo::Group(group) = &row.to {
                    self.arrived(turn, group, arrived, now)?;
                }
            }
            Signal::Join { steps } => self.join_line(steps)?,
            Signal::Follow { steps, event } => self.follow(steps, event)?,
            Signal::Ended { steps } => self.ended_elsewhere(steps)?,
            Signal::Lost { session, steps } => {
                for (id, attempt) in steps {
                    if self.is_held_by(session, id, attempt)? {
                        self.take_back(turn, session, id)?;
                    }
                }
            }
            Signal::GivenBack { session, steps } => {
                for (id, attempt) in steps {
                    if self.is_held_by(session, id, attempt)? {
                        self.give_back(session, id)?;
                    }
                }
            }
            Signal::Revoked { session, steps } => {
                for (id, attempt) in steps {
                    self.sessions.took_back(session, id, Some(attempt));
                }
            }
        }
        turn.acts.heard(row.id);
        Ok(())
    }

    fn is_held_by(&mut self, session: SessionId, id: StepId, attempt: u32) -> Result<bool> {
        if self.foreign_group(id)?.is_some() {
            return Ok(false);
        }
        let held = |s: &model::Step| s.is_held() && s.session == Some(session) && s.attempt == attempt;
        Ok(self.bring(id)? && self.board.step(id).is_some_and(held))
    }

    fn arrived(
        &mut self,
        turn: &mut Turn,
        group: &DispatchGroup,
        mut arrived: Arrived,
        now: Timestamp,
    ) -> Result<()> {
        for (queue, action, n) in std::mem::take(&mut arrived.uncounted) {
            turn.counted.push((TallyKey::of_new(group.clone(), queue, action), n));
        }
        for (sort, id) in arrived.sorts(group) {
            self.sources.arrived(sort, id);
        }
        for (name, sequence, place) in std::mem::take(&mut arrived.lines) {
            self.sources.lines.arrived(&name, group, (sequence, place), &mut self.board);
        }
        for id in arrived.blocks {
            if let Some(block) = self.block_or_load(id)? {
                super::keep::openings(&block).into_iter().for_each(|opened| self.sources.open(opened, 0));
            }
        }
        self.workflows_arrived(std::mem::take(&mut arrived.workflows));
        arrived.wakes.iter().for_each(|(at, id)| self.timers.set(now, *at, *id));
        if arrived.due.is_some_and(|due| due <= now + 2 * model::limits::TIMER_HORIZON) {
            self.timers.restart();
        }
        Ok(())
    }

    /// Another node's owner gave a session of this node work: it is durable there, so it can start.
    pub(super) fn pulled(
        &mut self,
        turn: &mut Turn,
        session: SessionId,
        places: usize,
        answer: std::result::Result<Pulled, EngineError>,
    ) {
        let pulled = answer.unwrap_or_else(|problem| {
            info!(%problem, "work was asked for and not given");
            Vec::new()
        });
        let (pulled, unread) = self.with_arguments(pulled);
        self.hand_back(turn, session, unread);
        let Some(live) = self.sessions.get_mut(session) else {
            return self.hand_back(turn, session, pulled);
        };
        live.asked_in_vain(places);
        if pulled.is_empty() {
            return;
        }
        if !live.is_open() {
            return self.hand_back(turn, session, pulled);
        }
        live.handed += 1;
        let (number, hand) = (live.handed, live.hand.clone());
        let mut claims = Vec::with_capacity(pulled.len());
        for (dispatch_group, mut claim) in pulled {
            let (opened, attempt) = (self.open_claim(session, &mut claim), claim.attempt);
            let veil = opened.clone().unwrap_or_default();
            self.sessions.gave(session, claim.step, Hold { attempt, number, dispatch_group, turn: 0, veil });
            claims.extend(opened.map(|_| claim));
        }
        // A session that is gone loses its lease; its steps come back that way.
        let _ = hand.send(Handed { number, claims });
    }

    /// Large arguments do not travel in the answer; what cannot be read is given back.
    fn with_arguments(&mut self, pulled: Pulled) -> (Pulled, Pulled) {
        let (mut whole, mut unread) = (Vec::with_capacity(pulled.len()), Vec::new());
        for (group, mut claim) in pulled {
            if claim.arguments.is_empty() {
                match self.store.step(claim.step) {
                    Ok(Some(step)) => claim.arguments = step.arguments,
                    _ => {
                        unread.push((group, claim));
                        continue;
                    }
                }
            }
            whole.push((group, claim));
        }
        (whole, unread)
    }

    fn hand_back(&mut self, turn: &mut Turn, session: SessionId, pulled: Pulled) {
        let steps = pulled.into_iter().map(|(group, claim)| (group, (claim.step, claim.attempt))).collect();
        self.say(turn, Word::GivenBack(session, steps));
    }

    /// What was asked and not stored is answered so, and places that were kept for it are free.
    pub(super) fn drop_unstored(&mut self) {
        for then in self.peers.unstored(self.durable) {
            let problem =
                EngineError::Unavailable(StoreError::Unknown("the turn that asked was not stored".into()));
            self.answered(&mut Turn::default(), then, Err(problem));
        }
    }

    /// Nobody will read the answers any more: what can be taken back is, and whoever waits is told.
    pub(super) fn stop_waiting(&mut self) {
        let all = self.peers.all_waiting();
        let withdrawn = self.store.withdraw(&all).unwrap_or_default();
        for id in withdrawn {
            if let Some((then, problem)) = self.peers.give_up(id) {
                self.answered(&mut Turn::default(), then, Err(problem));
            }
        }
        for then in self.peers.take_waiting() {
            self.answered(&mut Turn::default(), then, Err(unknown()));
        }
    }

    /// Held steps of this node's own groups, and those of others with the group of each.
    pub(super) fn part(&self, held: Vec<(StepId, Hold)>) -> (Vec<StepId>, Vec<Abroad>) {
        let (own, abroad): (Vec<_>, Vec<_>) =
            held.into_iter().partition(|(_, hold)| self.owns(&hold.dispatch_group));
        let abroad = abroad.into_iter().map(|(id, hold)| (hold.dispatch_group, (id, hold.attempt)));
        (own.into_iter().map(|(id, _)| id).collect(), abroad.collect())
    }

    /// Steps by the group of each: one signal to the owner of each group.
    pub(super) fn tell_owners(
        &mut self,
        turn: &mut Turn,
        steps: Vec<Abroad>,
        signal: impl Fn(Vec<(StepId, u32)>) -> Signal,
    ) {
        let mut by_group: BTreeMap<DispatchGroup, Vec<(StepId, u32)>> = BTreeMap::new();
        for (group, step) in steps {
            by_group.entry(group).or_default().push(step);
        }
        for (group, steps) in by_group {
            self.tell_owner(turn, &group, &signal(steps));
        }
    }

    /// Ask owners elsewhere for work that they cannot place and a session here has room for.
    pub(super) fn pull(&mut self, turn: &mut Turn) {
        if self.peers.hints.is_empty() || self.closing {
            return;
        }
        for session in self.sessions.open() {
            let takes = |h: &super::peers::Hint| h.ready.iter().any(|(q, a)| session.takes(q, a));
            let mut owners: BTreeMap<NodeId, DispatchGroup> = BTreeMap::new();
            for hint in self.peers.hints.iter().filter(|h| takes(h)) {
                if !self.peers.is_asked(session.id, hint.owner) {
                    owners.entry(hint.owner).or_insert_with(|| hint.dispatch_group.clone());
                }
            }
            self.peers.hints.retain(|h| !owners.contains_key(&h.owner));
            let mut free = session.free();
            let mut left = owners.len();
            for (owner, group) in owners {
                let places = free.div_ceil(left.max(1)).min(free);
                (free, left) = (free - places, left - 1);
                if places == 0 {
                    break;
                }
                let session = session.id;
                self.ask(
                    turn,
                    &group,
                    &Signal::Pull { session, places },
                    Then::Pull { session, places, owner },
                );
                self.sessions.get_mut(session).into_iter().for_each(|live| live.ask(places));
            }
        }
    }

    /// Give up or take groups, as the spread has it: nothing of this node is on its way, and everything is read anew.
    pub(super) fn shift(&mut self) -> Result<()> {
        let before = self.lease.groups.clone();
        self.lease = self.store.lease_again(&self.row, &self.lease, &self.config.groups)?;
        self.peers.shift = false;
        self.enter_sessions = true;
        if self.lease.groups != before {
            let groups: Vec<&str> = self.lease.groups.iter().map(|(g, _)| g.as_str()).collect();
            info!(groups = groups.join(" "), "the dispatch groups of this node changed");
            self.recover()?;
            self.again();
        }
        Ok(())
    }
}

/// Whoever asked cannot be told what became of it.
fn unknown() -> EngineError {
    EngineError::Unavailable(StoreError::Unknown(
        "the node that decides about it did not answer in time".into(),
    ))
}
