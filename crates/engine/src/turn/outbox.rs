//! Steps that go into the queue outside: dispatched here, published once that is durable, and begun by whoever the queue sends.
//!
//! Why    the queue carries and the store decides. A step is dispatched before its message is published, so a message that is
//!        lost, doubled or late finds a row that knows better; what was to be published when a node died is on record.

use super::node::{Node, Turn};
use super::peers::Then;
use super::sessions::Hold;
use crate::EngineError;
use crate::request::{Attending, Outgoing, Publication, Reply, Sent};
use crate::signal::{Pulled, Signal, Taken};
use model::{
    Claim, DispatchGroup, Effect, Name, NotBegun, Session, SessionId, SessionOffer, State, Step, StepId,
    Timestamp,
};
use rules::board::{Changes, IdMap};
use rules::outbox;
use std::collections::HashSet;
use store::{Batch, Post, Result, StoreError};
use tracing::{info, warn};

/// Messages that nobody came for, put back at once.
const STALE_PAGE: usize = 100;

struct Queued {
    attempt: u32,
    /// Since when the queue has it, or is to have it.
    since: Timestamp,
    /// On record as to be published.
    unconfirmed: bool,
}

#[derive(Default)]
pub struct Outbox {
    /// Who publishes.
    publisher: Option<Attending>,
    queued: IdMap<StepId, Queued>,
    looked_at: Timestamp,
    /// When somebody last came for a message, and since when the youngest was in the queue for which somebody came.
    came: Option<(Timestamp, Timestamp)>,
    /// Everything was read anew, and some of it may not have been published.
    again: bool,
}

impl Outbox {
    fn publisher(&self) -> Option<&Attending> {
        self.publisher.as_ref().filter(|publisher| !publisher.hand.is_closed())
    }
    pub fn free(&self) -> usize {
        self.publisher().map_or(0, |publisher| publisher.capacity.saturating_sub(self.queued.len()))
    }
    /// When messages are looked at that nobody came for.
    pub fn next_look(&self) -> Option<Timestamp> {
        let publisher = self.publisher().filter(|_| !self.queued.is_empty())?;
        Some(self.looked_at + publisher.look_every)
    }
    fn stale(&mut self, now: Timestamp) -> Vec<(StepId, u32)> {
        let Some(publisher) = &self.publisher else { return Vec::new() };
        let after = publisher.stale_after;
        // While the queue moves, whoever is behind those that are fetched waits and is not lost.
        let reached = self.came.filter(|(at, _)| now.since(*at) < after).map(|(_, youngest)| youngest);
        let is_stale = |q: &Queued| {
            !q.unconfirmed && now.since(q.since) >= after && reached.is_none_or(|reached| q.since < reached)
        };
        let stale = self.queued.iter().filter(|(_, q)| is_stale(q));
        let mut stale: Vec<(Timestamp, StepId, u32)> =
            stale.map(|(id, q)| (q.since, *id, q.attempt)).collect();
        stale.sort_unstable();
        stale.truncate(STALE_PAGE);
        stale.into_iter().map(|(_, id, attempt)| (id, attempt)).collect()
    }
    /// Somebody came for a message that was in the queue since then.
    fn fetched(&mut self, since: Timestamp, now: Timestamp) {
        let youngest = self.came.map_or(since, |(_, youngest)| youngest.max(since));
        self.came = Some((now, youngest));
    }
}

impl Node {
    /// The queue as a session: the pick need not know more of it.
    pub(super) fn queue_session(&self) -> Option<Session> {
        let publisher = self.outbox.publisher()?;
        let offer = SessionOffer {
            host: self.config.host.clone(),
            queues: self.config.known_queues(),
            actions: self.config.published.clone(),
            capacity: publisher.capacity,
            remote: false,
        };
        let held = self.outbox.queued.len();
        Some(Session { id: SessionId::OUTBOX, offer, held, lease_ends_at: self.board.now })
    }

    /// Every queue and action that somebody takes.
    pub(super) fn wanted(&self) -> HashSet<(Name, Name)> {
        let mut wanted = self.sessions.wanted();
        if let Some(Session { offer, .. }) = self.queue_session() {
            let pairs =
                offer.queues.iter().flat_map(|q| offer.actions.iter().map(|a| (q.clone(), a.clone())));
            wanted.extend(pairs);
        }
        wanted
    }

    /// Somebody publishes from now on: what is not published yet comes first.
    pub(super) fn attend(&mut self, turn: &mut Turn, publisher: Attending, reply: Reply<()>) -> Result<()> {
        self.outbox.looked_at = self.board.now;
        self.outbox.publisher = Some(publisher);
        self.publish_again(turn)?;
        self.want()?;
        turn.acts.reply(reply, ());
        Ok(())
    }

    /// What is queued and may not have been published: a queue that does not outlive its process has lost all of it. Whoever
    /// publishes knows what it has in hand.
    fn publish_again(&mut self, turn: &mut Turn) -> Result<()> {
        let Some(publisher) = self.outbox.publisher() else { return Ok(()) };
        let durable = publisher.durable;
        let mut again = Vec::new();
        for (id, queued) in self.outbox.queued.iter_mut().filter(|(_, q)| q.unconfirmed || !durable) {
            queued.since = self.board.now;
            again.push(*id);
        }
        again.sort_unstable();
        for id in again {
            if self.bring(id)?
                && let Some(step) = self.board.step(id)
                && outbox::is_queued(step)
            {
                let outgoing = outgoing(step);
                self.publish(turn, outgoing);
            }
        }
        Ok(())
    }

    fn publish(&self, turn: &mut Turn, outgoing: Outgoing) {
        if let Some(publisher) = self.outbox.publisher() {
            turn.acts.publish(publisher.hand.clone(), outgoing);
        }
    }

    /// After everything was read anew.
    pub(super) fn adopt_posts(&mut self, posts: Vec<Post>) {
        let posts: IdMap<StepId, u32> = posts.into_iter().map(|post| (post.step, post.attempt)).collect();
        let queued = self.board.steps().filter(|step| outbox::is_queued(step)).map(|step| {
            let since = step.dispatched_at.unwrap_or(step.created_at);
            let unconfirmed = posts.get(&step.id) == Some(&step.attempt);
            (step.id, Queued { attempt: step.attempt, since, unconfirmed })
        });
        self.outbox.queued = queued.collect();
        self.outbox.again = !self.outbox.queued.is_empty();
    }

    /// The outbox follows the steps: in with the dispatch, out with whatever takes the step from the queue.
    pub(super) fn write_posts(&mut self, turn: &mut Turn, changes: &Changes, batch: &mut Batch) {
        let durable = self.outbox.publisher.as_ref().is_none_or(|publisher| publisher.durable);
        for (step, change) in &changes.steps {
            let was = change.before.as_ref().filter(|before| outbox::is_queued(before));
            let is = outbox::is_queued(step);
            if was.is_some_and(|before| !is || before.attempt != step.attempt)
                && let Some(queued) = self.outbox.queued.remove(&step.id)
            {
                if queued.unconfirmed {
                    batch.posted.push((step.id, queued.attempt));
                }
                if step.state == State::Running {
                    self.outbox.fetched(queued.since, batch.now);
                }
            }
            if is && was.is_none_or(|before| before.attempt != step.attempt) {
                let since = step.dispatched_at.unwrap_or(batch.now);
                let queued = Queued { attempt: step.attempt, since, unconfirmed: durable };
                self.outbox.queued.insert(step.id, queued);
                if durable {
                    let (attempt, dispatch_group) = (step.attempt, step.dispatch_group.clone());
                    batch.posts.push(Post { step: step.id, attempt, dispatch_group });
                }
                self.publish(turn, outgoing(step));
            }
        }
        for (id, attempt) in std::mem::take(&mut turn.posted) {
            if let Some(queued) = self.outbox.queued.get_mut(&id)
                && queued.attempt == attempt
                && std::mem::take(&mut queued.unconfirmed)
            {
                queued.since = batch.now;
                batch.posted.push((id, attempt));
            }
        }
    }

    /// What came of publishing: the queue has a message, or it never will.
    pub(super) fn published(
        &mut self,
        turn: &mut Turn,
        publications: Vec<Publication>,
        reply: Reply<()>,
        now: Timestamp,
    ) -> Result<()> {
        for Publication { step: id, attempt, problem } in publications {
            match problem {
                None => turn.posted.push((id, attempt)),
                Some(problem) if self.outbox.queued.contains_key(&id) && self.bring(id)? => {
                    warn!(step = %id, problem, "a message was not published");
                    let step = self.board.step(id).expect("it was just brought");
                    let effect = outbox::unpublished(step, attempt, &problem, now);
                    self.put_back(id, effect, now)?;
                }
                Some(_) => {}
            }
        }
        turn.acts.reply(reply, ());
        Ok(())
    }

    fn put_back(&mut self, id: StepId, effect: Option<Effect>, now: Timestamp) -> Result<()> {
        let Some(effect) = effect else { return Ok(()) };
        self.board.apply(effect).map_err(|e| StoreError::Lost { what: e.to_string() })?;
        if let Some(at) = self.board.step(id).and_then(|step| step.wake_at) {
            self.timers.set(now, at, id);
        }
        Ok(())
    }

    /// Now and then: messages that nobody came for, and what was left to publish when everything was read anew.
    pub(super) fn look_after_outbox(&mut self, turn: &mut Turn, now: Timestamp) -> Result<()> {
        if std::mem::take(&mut self.outbox.again) {
            match self.config.published.is_empty() {
                true => self.put_all_back(now)?,
                false => self.publish_again(turn)?,
            }
        }
        if self.outbox.next_look().is_none_or(|at| at > now) {
            return Ok(());
        }
        self.outbox.looked_at = now;
        let after = self.outbox.publisher.as_ref().map(|publisher| publisher.stale_after).unwrap_or_default();
        let stale = self.outbox.stale(now);
        if !stale.is_empty() {
            info!(messages = stale.len(), "messages that nobody came for are published again");
        }
        for (id, attempt) in stale {
            if self.bring(id)? {
                let step = self.board.step(id).expect("it was just brought");
                let effect = outbox::stale(step, attempt, after);
                self.put_back(id, effect, now)?;
            }
        }
        Ok(())
    }

    /// This node publishes nothing any more: what is queued goes to whoever takes it.
    fn put_all_back(&mut self, now: Timestamp) -> Result<()> {
        let mut queued: Vec<(StepId, u32)> =
            self.outbox.queued.iter().map(|(id, queued)| (*id, queued.attempt)).collect();
        queued.sort_unstable();
        for (id, attempt) in queued {
            if self.bring(id)? {
                let step = self.board.step(id).expect("it was just brought");
                let effect = outbox::withdrawn(step, attempt);
                self.put_back(id, effect, now)?;
            }
        }
        Ok(())
    }

    /// Somebody was sent for a step: it starts in the hands of the session that asks, if the attempt is the one that is queued.
    pub(super) fn begin(
        &mut self,
        turn: &mut Turn,
        sent: Sent,
        reply: Reply<Taken>,
        now: Timestamp,
    ) -> Result<()> {
        if let (Some(group), Reply::Caller(_)) = (self.foreign_group(sent.step)?, &reply) {
            let session = sent.session;
            self.ask(turn, &group, &Signal::Begin(sent), Then::Begin { session, reply: Some(reply) });
            return Ok(());
        }
        let live = self.sessions.get(sent.session).filter(|live| live.is_open());
        let offer = live.map(|live| &live.session.offer);
        let offer = offer.or_else(|| self.sessions.elsewhere(sent.session).map(|other| &other.offer));
        let Some(host) = offer.map(|offer| offer.host.clone()) else {
            turn.acts.refuse(reply, EngineError::NoSession);
            return Ok(());
        };
        if let Err(no) = self.begun(&sent, host, now)? {
            turn.acts.reply(reply, Err(no));
            return Ok(());
        }
        let step = self.board.step(sent.step).expect("it was just begun");
        let (group, mut claim) = (step.dispatch_group.clone(), super::hand::claim_of(step));
        match reply {
            Reply::Caller(_) => {
                self.give(turn, sent.session, vec![(group, claim)])?;
                turn.acts.reply(reply, Ok(Pulled::new()));
            }
            Reply::Signal(_) => {
                claim.workflow = self.workflow_of(sent.step)?;
                claim.poll = self.poll_claimed(sent.step)?;
                self.held_elsewhere(sent.session, &group, &claim);
                turn.acts.reply(reply, Ok(vec![(group, claim)]));
            }
        }
        Ok(())
    }

    fn begun(
        &mut self,
        sent: &Sent,
        host: Name,
        now: Timestamp,
    ) -> Result<std::result::Result<(), NotBegun>> {
        if !self.bring(sent.step)? {
            return Ok(Err(NotBegun::Unknown));
        }
        self.expire_one(sent.step, now)?;
        let step = self.board.step(sent.step).expect("it was just brought");
        if let Err(no) = outbox::may_begin(step, sent.attempt) {
            return Ok(Err(no));
        }
        self.board
            .begin(sent.step, sent.session, host)
            .map_err(|e| StoreError::Lost { what: e.to_string() })?;
        self.board.step(sent.step).into_iter().for_each(|step| self.deadlines.note(step));
        Ok(Ok(()))
    }

    /// The owner elsewhere let a session of this node begin a step, or did not.
    pub(super) fn begun_abroad(
        &mut self,
        turn: &mut Turn,
        session: SessionId,
        reply: Option<Reply<Taken>>,
        answer: std::result::Result<Taken, EngineError>,
    ) {
        let is_open = self.sessions.get(session).is_some_and(|live| live.is_open());
        let answer = match answer {
            Ok(Ok(pulled)) => {
                self.pulled(turn, session, 0, Ok(pulled));
                if is_open { Ok(Ok(Pulled::new())) } else { Err(EngineError::NoSession) }
            }
            other => other,
        };
        if let Some(reply) = reply {
            reply.send(answer);
        }
    }

    fn held_elsewhere(&mut self, session: SessionId, group: &DispatchGroup, claim: &Claim) {
        let (attempt, dispatch_group) = (claim.attempt, group.clone());
        let hold = Hold { attempt, number: 0, dispatch_group, turn: self.turn_number };
        self.sessions.gave(session, claim.step, hold);
    }
}

fn outgoing(step: &Step) -> Outgoing {
    Outgoing {
        step: step.id,
        attempt: step.attempt,
        pool: step.pool.clone(),
        message_group: step.member.as_ref().map(|member| member.group.clone()),
    }
}
