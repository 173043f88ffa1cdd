//! Steps that somebody was sent for by the queue outside: begun by the attempt that is queued alone, in the hands of a session.
//!
//! Why    whoever was sent may ask any node, and a message may be old, doubled or late; the owner of the step's dispatch group says
//!        who begins it, elsewhere by the answer to a signal.

use super::node::{Node, Turn};
use super::peers::Then;
use super::sessions::Hold;
use crate::EngineError;
use crate::request::{Reply, Sent};
use crate::signal::{Pulled, Signal, Taken};
use model::{Claim, DispatchGroup, Name, NotBegun, SessionId, Timestamp};
use rules::outbox;
use store::{Result, StoreError};

impl Node {
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
                self.dress(&mut claim)?;
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
        let hold = Hold { turn: self.turn_number, ..Hold::from_before(attempt, dispatch_group) };
        self.sessions.gave(session, claim.step, hold);
    }
}
