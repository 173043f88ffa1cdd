//! What a node tells of itself: a dispatch group that stands still, and a step that a rule wanted to move where nothing leads.
//!
//! Why    a group is told when work that could run waits and nothing happens. Where something of it is in a worker's hands, or every worker
//!        is busy, it goes on when they are done: a long job is told as that by the rules about what is stuck, and not as a dead group.

use super::node::{Node, Turn};
use crate::stuck::own;
use model::{DispatchGroup, OBSERVED, Severity, StepId, Timestamp, limits};
use rules::stuck::{ILLEGAL_MOVE, NO_PROGRESS};
use std::sync::atomic::Ordering;
use store::{AlertWrite, Result, alerts};
use tracing::warn;

const GROUP: &str = "dispatch_group";

impl Node {
    /// A group that has work that could run, and has ended nothing for long, is told; it is untold when it moves again.
    pub(super) fn watch_groups(&mut self, turn: &mut Turn, now: Timestamp) -> Result<()> {
        let groups: Vec<DispatchGroup> = self.lease.groups.iter().map(|(g, _)| g.clone()).collect();
        for group in groups {
            match (self.stands_still(&group, now)?, self.alerted.contains(&group)) {
                (true, false) => self.tell_group(turn, group, now)?,
                (false, true) => self.untell_group(turn, group)?,
                _ => {}
            }
        }
        // One group alone is told, and does not keep others from coming here.
        let of = |id: StepId| self.board.step(id).map(|step| step.dispatch_group.clone());
        let goes_on = |group| !self.is_quiet(group, now) || self.sessions.have_of(group, of);
        let mut mine = self.lease.groups.iter().map(|(group, _)| group);
        let stalled = mine.clone().any(|group| self.alerted.contains(group)) && !mine.any(goes_on);
        self.stalled.store(stalled, Ordering::Relaxed);
        Ok(())
    }

    fn is_quiet(&self, group: &DispatchGroup, now: Timestamp) -> bool {
        self.last_end.get(group).is_some_and(|at| now.since(*at) >= limits::NO_PROGRESS)
    }

    fn stands_still(&self, group: &DispatchGroup, now: Timestamp) -> Result<bool> {
        let off = self.breaker.is_off(now) || self.group_breakers.get(group).is_some_and(|b| b.is_off(now));
        let of = |id: StepId| self.board.step(id).map(|step| step.dispatch_group.clone());
        if off || !self.is_quiet(group, now) || self.sessions.are_busy() || self.sessions.have_of(group, of) {
            return Ok(false);
        }
        let oldest = store::oldest_ready(self.store.reader(), group)?;
        Ok(oldest.is_some_and(|at| now.since(at) >= limits::NO_PROGRESS))
    }

    fn tell_group(&mut self, turn: &mut Turn, group: DispatchGroup, now: Timestamp) -> Result<()> {
        let minutes = limits::NO_PROGRESS.as_secs() / 60;
        let message =
            format!("a ready step has waited, and no step has ended or runs, for over {minutes} minutes");
        warn!(dispatch_group = %group, "{message}");
        let entity_id = group.to_string();
        self.alerted.insert(group);
        self.tell(turn, own(GROUP, &entity_id, NO_PROGRESS, &message, now), now)?;
        let (entity, reason, severity) = (GROUP, NO_PROGRESS, Severity::Critical);
        turn.alerts.push(AlertWrite::Open { entity, entity_id, reason, severity, message });
        Ok(())
    }

    /// It is known as told until the alert is seen to be closed: somebody may have changed it in the same moment.
    fn untell_group(&mut self, turn: &mut Turn, group: DispatchGroup) -> Result<()> {
        match alerts::open_one(self.store.reader(), GROUP, group.as_str(), NO_PROGRESS)? {
            // Only a person closes what a person opened again.
            Some(alert) if alert.closes_itself() => {
                let (id, version, by) = (alert.id, alert.version, OBSERVED.into());
                turn.alerts.push(AlertWrite::TakeBack { id, version, by });
            }
            _ => drop(self.alerted.remove(&group)),
        }
        Ok(())
    }

    /// A rule asked for a move that does not exist.
    pub(super) fn tell_illegal(
        &mut self,
        turn: &mut Turn,
        (step, message): (StepId, String),
        now: Timestamp,
    ) -> Result<()> {
        let (entity, entity_id) = ("step", step.to_string());
        // The rule may want it in every turn; it is told again when nobody acknowledges it.
        if alerts::open_one(self.store.reader(), entity, &entity_id, ILLEGAL_MOVE)?.is_none() {
            self.tell(turn, own(entity, &entity_id, ILLEGAL_MOVE, &message, now), now)?;
        }
        let (reason, severity) = (ILLEGAL_MOVE, Severity::Critical);
        turn.alerts.push(AlertWrite::Open { entity, entity_id, reason, severity, message });
        Ok(())
    }
}
