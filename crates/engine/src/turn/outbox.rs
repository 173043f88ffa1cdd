//! Steps that go into the queue outside: dispatched here, published once that is durable, and put back when their message is lost.
//!
//! Why    the queue carries and the store decides. A step is dispatched before its message is published, so a message that is
//!        lost, doubled or late finds a row that knows better; what was to be published when a node died is on record.

use super::node::{Node, Turn};
use crate::request::{Attending, Errand, Outgoing, Publication, Reply};
use model::{DispatchGroup, Effect, Name, Session, SessionId, SessionOffer, State, Step, StepId, Timestamp};
use rules::board::{Changes, IdMap, Wants};
use rules::outbox;
use std::collections::{BTreeMap, BTreeSet};
use store::{Batch, GroupWrite, Post, Result, StoreError};
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
    /// Where the messages of each dispatch group are, as its row says.
    published_to: BTreeMap<DispatchGroup, Name>,
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
    /// What is queued, in the order in which it was made.
    fn all_queued(&self) -> Vec<(StepId, u32)> {
        let mut queued: Vec<(StepId, u32)> = self.queued.iter().map(|(id, q)| (*id, q.attempt)).collect();
        queued.sort_unstable();
        queued
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
    /// The queue as a session: the pick need not know more of it. It carries whatever queue a step is in, also that of a host
    /// that is gone: which workers would have taken it is of no account.
    pub(super) fn queue_session(&self) -> Option<Session> {
        let publisher = self.outbox.publisher()?;
        let windows = self.board.windows.iter().map(|window| &window.key);
        let carried = windows.filter(|key| self.config.published.contains(&key.action));
        let queues: BTreeSet<Name> = carried.map(|key| key.queue.clone()).collect();
        let offer = SessionOffer {
            host: self.config.host.clone(),
            queues: queues.into_iter().collect(),
            actions: self.config.published.clone(),
            capacity: publisher.capacity,
            remote: false,
        };
        let held = self.outbox.queued.len();
        Some(Session { id: SessionId::OUTBOX, offer, held, lease_ends_at: self.board.now })
    }

    /// What somebody takes: sessions by queue and action, and whoever publishes from every queue.
    pub(super) fn wanted(&self) -> Wants {
        let published = self.outbox.publisher().into_iter().flat_map(|_| self.config.published.clone());
        Wants { pairs: self.sessions.wanted(), anywhere: published.collect() }
    }

    /// Somebody publishes from now on: what is not published yet comes first.
    pub(super) fn attend(&mut self, turn: &mut Turn, publisher: Attending, reply: Reply<()>) -> Result<()> {
        self.outbox.looked_at = self.board.now;
        self.outbox.publisher = Some(publisher);
        self.change_queues(turn, self.board.now)?;
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

    /// What lies in another queue than the one that is published to goes back, to be published where it is looked for now; the
    /// old message is refused should it turn up.
    fn change_queues(&mut self, turn: &mut Turn, now: Timestamp) -> Result<()> {
        let Some(queue) = self.outbox.publisher().map(|publisher| publisher.queue.clone()) else {
            return Ok(());
        };
        let elsewhere = |group: &&DispatchGroup| self.outbox.published_to.get(*group) != Some(&queue);
        let groups = self.lease.groups.iter().map(|(group, _)| group);
        let changed: BTreeSet<DispatchGroup> = groups.filter(elsewhere).cloned().collect();
        if changed.is_empty() {
            return Ok(());
        }
        for (id, attempt) in self.outbox.all_queued() {
            if self.bring(id)?
                && let Some(step) = self.board.step(id)
                && changed.contains(&step.dispatch_group)
            {
                let effect = outbox::moved(step, attempt, &queue);
                self.put_back(id, effect, now)?;
            }
        }
        for group in changed {
            let write = GroupWrite { published_to: Some(queue.clone()), ..GroupWrite::of(group.clone()) };
            turn.groups.push(write);
            self.outbox.published_to.insert(group, queue.clone());
        }
        Ok(())
    }

    fn publish(&self, turn: &mut Turn, outgoing: Outgoing) {
        self.send_publisher(turn, Errand::Publish(outgoing));
    }

    fn send_publisher(&self, turn: &mut Turn, errand: Errand) {
        if let Some(publisher) = self.outbox.publisher() {
            turn.acts.send(publisher.hand.clone(), errand);
        }
    }

    /// After everything was read anew.
    pub(super) fn adopt_posts(&mut self, posts: Vec<Post>, published_to: BTreeMap<DispatchGroup, Name>) {
        self.outbox.published_to = published_to;
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
                if queued.unconfirmed || !durable {
                    self.send_publisher(turn, Errand::Forget { step: step.id, attempt: queued.attempt });
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

    pub(super) fn put_back(&mut self, id: StepId, effect: Option<Effect>, now: Timestamp) -> Result<()> {
        let Some(effect) = effect else { return Ok(()) };
        self.board.apply(effect).map_err(|e| StoreError::Lost { what: e.to_string() })?;
        if let Some(at) = self.board.step(id).and_then(|step| step.wake_at) {
            self.timers.set(now, at, id);
        }
        Ok(())
    }

    /// Now and then: messages that nobody came for, and what was left to publish when everything was read anew.
    pub(super) fn look_after_outbox(&mut self, turn: &mut Turn, now: Timestamp) -> Result<()> {
        self.change_queues(turn, now)?;
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
        for (id, attempt) in self.outbox.all_queued() {
            if self.bring(id)? {
                let step = self.board.step(id).expect("it was just brought");
                let effect = outbox::withdrawn(step, attempt);
                self.put_back(id, effect, now)?;
            }
        }
        Ok(())
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
