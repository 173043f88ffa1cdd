//! Puts back polls that somebody should have made long ago, when a person asks for it.
//!
//! Why    a due poll is found by its time, and a lost one by the lease of its worker, so this finds nothing while all is well. It is for
//!        the day when something is not: what it finds is told, and begins anew.

use super::super::node::{Node, Turn};
use crate::request::{PollRecovery, Reply};
use model::{State, Step, StepId, Timestamp, limits};
use store::workflows as record;
use store::{AuditEntry, Result};

impl Node {
    pub(in super::super) fn recover_polls(
        &mut self,
        turn: &mut Turn,
        recovery: &PollRecovery,
        reply: Reply<Vec<StepId>>,
        now: Timestamp,
    ) -> Result<()> {
        let before = now - recovery.older;
        let found = record::polls_before(self.store.reader(), &self.lease, before, limits::PAGE_ROWS_MAX)?;
        let mut astray = Vec::new();
        for id in found {
            if !self.bring(id)? {
                continue;
            }
            let step = self.board.step(id).expect("it was just brought").clone();
            if !self.is_astray(&step, before, now) {
                continue;
            }
            astray.push(id);
            if !recovery.dry_run {
                self.put_poll_back(turn, &step, now)?;
                let after = self.board.step(id).map_or(step.state, |step| step.state);
                turn.audit.push(told((&step, after), &recovery.by));
            }
        }
        turn.acts.reply(reply, astray);
        Ok(())
    }

    /// It is due for long and somebody could have begun it, or whoever has it is not known.
    fn is_astray(&self, step: &Step, before: Timestamp, now: Timestamp) -> bool {
        if step.is_held() {
            return step.session.is_some_and(|session| {
                session != model::SessionId::OUTBOX && !self.sessions.is_known(session)
            });
        }
        let group = self.group_breakers.get(&step.dispatch_group);
        let off = self.breaker.is_off(now) || group.is_some_and(|breaker| breaker.is_off(now));
        let full = step.pool.as_ref().is_some_and(|pool| !self.pools.allows(pool, now));
        let wanted = self.board.windows.is_wanted(&step.queue, &step.action);
        step.state == State::Polling && step.is_due(before) && wanted && !off && !full
    }

    fn put_poll_back(&mut self, turn: &mut Turn, step: &Step, now: Timestamp) -> Result<()> {
        if let Some(session) = step.session.filter(|_| step.is_held()) {
            return self.take_back(turn, session, step.id);
        }
        self.board.edit(step.id, |step, _| step.wake_at = Some(now));
        self.timers.set(now, now, step.id);
        self.board.refresh_window(step.id);
        Ok(())
    }
}

fn told((step, after): (&Step, State), by: &str) -> AuditEntry {
    AuditEntry {
        who: by.into(),
        verb: "recover poll".into(),
        target: format!("step {}", step.id),
        why: None,
        before: Some(step.state.to_string()),
        after: Some(format!("{after}, to be polled now")),
    }
}
