//! What is stuck, in turns: when to look for it, and what follows from a look, in one commit.
//!
//! Why    the look itself reads for as long as it needs, on a thread and a connection of its own; no turn waits for it. One node looks at
//!        a time: it takes the right to in one turn, and gives it back in the turn that does what follows, whose commit fails if anybody
//!        has looked meanwhile. So remedies are counted once, and a node that asks at the same time waits and loses nothing.

use super::node::{Node, Turn};
use crate::EngineError;
use crate::request::{Reply, Request};
use crate::stuck::{DetectOrder, Detection, Look, Remedies, Scope, look_as};
use model::{Timestamp, limits};
use std::collections::VecDeque;
use std::time::Duration;
use store::stuck::look_row;
use store::{LookWrite, Result, StoreError};
use tracing::{info, warn};

/// After a start, the first look waits so long at most: workers come back first.
const FIRST_LOOK: Duration = Duration::from_secs(60);

/// What one look is to do, and who waits for it.
type Ordered = (DetectOrder, Option<Reply<Detection>>);

/// Who looks, when, and who waits for it.
#[derive(Default)]
pub struct Stuck {
    next_at: Option<Timestamp>,
    /// When answers of actions are looked at.
    answers_at: Option<Timestamp>,
    /// When it is tried again to look, for another node did.
    again_at: Option<Timestamp>,
    looking: bool,
    waiting: VecDeque<Ordered>,
}

impl Stuck {
    pub fn starting(every: Option<Duration>, now: Timestamp) -> Stuck {
        Stuck { next_at: every.map(|every| now + every.min(FIRST_LOOK)), ..Stuck::default() }
    }
    pub fn next_at(&self) -> Option<Timestamp> {
        let due = [self.next_at, self.answers_at, self.again_at].into_iter().flatten().min();
        due.filter(|_| !self.looking)
    }
    /// Whoever looked may have been dropped with the turn that it told; whoever waits asks again.
    pub fn forget(&mut self) {
        self.looking = false;
        self.again_at = None;
        let lost = StoreError::Lost { what: "the turn before the look".into() };
        self.waiting.drain(..).for_each(|(_, reply)| refused(reply, &lost));
    }
    /// Actions were asked, and their answers are looked at then.
    pub fn hear_at(&mut self, at: Option<Timestamp>) {
        self.answers_at = at;
    }
    /// Whoever waits for another node's look goes first when it is over.
    fn wait(&mut self, ordered: Ordered, now: Timestamp) {
        self.waiting.push_front(ordered);
        self.again_at = Some(now + limits::STUCK_LOOK_AGAIN);
    }
}

impl Node {
    /// The leader looks by itself; whoever waits for another node's look tries again.
    pub(super) fn look_when_due(&mut self, turn: &mut Turn, now: Timestamp) {
        if self.stuck.again_at.is_some_and(|at| at <= now) {
            self.stuck.again_at = None;
            self.look_for_next(turn, now);
        }
        if !self.is_leader() {
            // A node that becomes the leader begins to count then.
            if let Some(every) = self.config.stuck.every {
                self.stuck.next_at = Some(now + every);
            }
            // Answers to what it asked for are heard by the leader.
            self.stuck.answers_at = None;
            return;
        }
        let due = [self.stuck.next_at, self.stuck.answers_at].into_iter().flatten().min();
        if self.stuck.looking || due.is_none_or(|at| at > now) {
            return;
        }
        let whole = self.stuck.next_at.is_some_and(|at| at <= now);
        let scope = if whole { Scope::All } else { Scope::Answers };
        if whole {
            self.stuck.next_at = self.config.stuck.every.map(|every| now + every);
        }
        self.stuck.answers_at = None;
        // Where nobody wants looks by themselves, what was asked for is heard and no more.
        let remedies = if self.config.stuck.every.is_some() { Remedies::Apply } else { Remedies::Leave };
        self.begin_look(turn, (DetectOrder { remedies, scope }, None), now);
    }

    pub(super) fn detect(
        &mut self,
        turn: &mut Turn,
        order: DetectOrder,
        reply: Reply<Detection>,
        now: Timestamp,
    ) {
        self.stuck.waiting.push_back((order, Some(reply)));
        if self.stuck.again_at.is_none() {
            self.look_for_next(turn, now);
        }
    }

    /// Begin the look that somebody waits for, unless there is one under way.
    fn look_for_next(&mut self, turn: &mut Turn, now: Timestamp) {
        if !self.stuck.looking
            && let Some(ordered) = self.stuck.waiting.pop_front()
        {
            self.begin_look(turn, ordered, now);
        }
    }

    /// Take the right to look, and look beside the turns once that is durable; what was seen comes back as a request.
    fn begin_look(&mut self, turn: &mut Turn, (order, reply): Ordered, now: Timestamp) {
        self.stuck.looking = true;
        let node = self.row.id;
        turn.looks.push(LookWrite::Begin { node, ends_at: now + limits::STUCK_LOOK_LEASE });
        let (open, inbox) = (self.store.beside(), self.inbox());
        turn.acts.once_durable(move |stored| {
            if let Err(problem) = stored {
                if let Some(reply) = reply {
                    reply.send(Err(problem));
                }
                return;
            }
            let back = inbox.clone();
            let work = move || {
                let seen = open().and_then(|browse| look_as(node, &browse, order.scope, now));
                // An engine that is gone has nothing to hear.
                let _ = inbox.send(Request::Looked { look: Box::new(seen), order, reply });
            };
            let thread = std::thread::Builder::new().name("stepfast-stuck".into());
            if let Err(problem) = thread.spawn(work) {
                // Whoever waits for it is answered by being dropped.
                let none = Err(StoreError::Down(format!("no thread to look: {problem}")));
                let _ = back.send(Request::Looked { look: Box::new(none), order, reply: None });
            }
        });
    }

    pub(super) fn looked(
        &mut self,
        turn: &mut Turn,
        look: Result<Option<Look>>,
        (order, reply): Ordered,
        now: Timestamp,
    ) -> Result<()> {
        self.stuck.looking = false;
        let look = match look {
            Ok(Some(look)) => look,
            Ok(None) => {
                self.stuck.wait((order, reply), now);
                return Ok(());
            }
            Err(problem) => {
                warn!(%problem, "could not look for what is stuck; trying again with the next look");
                self.refuse_look(turn, reply, problem);
                self.look_for_next(turn, now);
                return Ok(());
            }
        };
        let row = look_row(self.store.reader())?;
        if (row.node, row.version) != (Some(self.row.id), look.version) {
            let lost = StoreError::Lost { what: "the right to look for what is stuck".into() };
            self.refuse_look(turn, reply, lost);
            self.look_for_next(turn, now);
            return Ok(());
        }
        let rounds = look.rounds.as_ref().map(store::stuck::Rounds::written);
        turn.looks.push(LookWrite::End { node: self.row.id, version: look.version, rounds });
        let detection = self.follow_look(turn, look, order, now)?;
        tell_log(&detection);
        if let Some(reply) = reply {
            turn.acts.reply(reply, detection);
        }
        self.look_for_next(turn, now);
        Ok(())
    }

    fn refuse_look(&mut self, turn: &mut Turn, reply: Option<Reply<Detection>>, problem: StoreError) {
        if let Some(reply) = reply {
            turn.acts.refuse(reply, EngineError::Unavailable(problem));
        }
    }
}

fn tell_log(detection: &Detection) {
    detection.faults.iter().for_each(|fault| warn!("{fault}"));
    info!(
        found = detection.found.len(),
        opened = detection.opened,
        remedies = detection.remedies,
        escalated = detection.escalated,
        closed = detection.closed.len(),
        database_us = detection.database_us,
        "looked for what is stuck"
    );
}

/// A look that could not be followed up is answered for.
pub fn refused(reply: Option<Reply<Detection>>, problem: &StoreError) {
    if let Some(reply) = reply {
        reply.send(Err(EngineError::Unavailable(problem.clone())));
    }
}
