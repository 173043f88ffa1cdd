//! What a step's moves mean for its message group, and what holds groups back.

use super::{Board, Part, Reach, Turned};
use model::{DispatchGroup, DispatchMode, Event, GroupHold, Name, State, StepId};

/// What holds message groups back, as it changed in this turn.
#[derive(Clone, PartialEq, Debug)]
pub enum HoldChange {
    Hold(GroupHold),
    /// The step that blocked it blocks it no more, or the pause is over.
    Release(Name, Option<StepId>),
}

impl HoldChange {
    pub fn group(&self) -> &Name {
        match self {
            HoldChange::Hold(hold) => &hold.group,
            HoldChange::Release(group, _) => group,
        }
    }
}

impl Board {
    /// What a step's end means for its message group: a failure of its own blocks it, if its mode says so.
    pub(super) fn mark_group(&mut self, id: StepId, to: State, event: Event) {
        let step = &self.steps[&id].step;
        let Some(member) = step.line().filter(|member| member.mode == DispatchMode::BlockOnError) else {
            return;
        };
        let group = member.group.clone();
        if to.is_failed() && event != Event::ParentFailed {
            let message = step.reason.map(|reason| reason.word().to_string());
            self.hold_group(GroupHold { group, blocked_by: Some(id), at: self.now, by: None, why: message });
        } else if to == State::Superseded {
            let home = step.dispatch_group.clone();
            self.release_group(&group, &home, Some(id));
        }
    }

    /// A group is held back from now on: by a failed step of it, or by a person.
    pub fn hold_group(&mut self, hold: GroupHold) {
        let mut held = self.lines.held(&hold.group).cloned().unwrap_or_default();
        match hold.blocked_by {
            Some(id) => drop(held.blocked_by.insert(id)),
            None => held.paused = true,
        }
        let turned = self.lines.hold(&hold.group, held);
        self.show(turned);
        self.group_holds.push(HoldChange::Hold(hold));
    }
    /// What held a group back does so no more; false if it did not.
    pub fn release_group(&mut self, group: &Name, home: &DispatchGroup, blocked_by: Option<StepId>) -> bool {
        let mut held = self.lines.held(group).cloned().unwrap_or_default();
        let was = match blocked_by {
            Some(id) => held.blocked_by.remove(&id),
            None => std::mem::take(&mut held.paused),
        };
        if was {
            let turned = self.lines.hold(group, held);
            self.show(turned);
            // It may have been passed over as long as it was held.
            self.lines.open(group, home, Reach::Nothing);
            self.group_holds.push(HoldChange::Release(group.clone(), blocked_by));
        }
        was
    }
    /// A hold that is on record.
    pub fn load_hold(&mut self, hold: &GroupHold) {
        let mut held = self.lines.held(&hold.group).cloned().unwrap_or_default();
        match hold.blocked_by {
            Some(id) => drop(held.blocked_by.insert(id)),
            None => held.paused = true,
        }
        self.lines.hold(&hold.group, held);
    }
    pub fn take_holds(&mut self) -> Vec<HoldChange> {
        std::mem::take(&mut self.group_holds)
    }

    /// A step that is to be done in order is shown to the pick when its turn has come.
    pub(super) fn refresh_line(&mut self, id: StepId, ready: bool) {
        let step = &self.steps[&id].step;
        let part = match step.state {
            State::Pending if step.attempt == 0 && ready => Part::Waits,
            State::Pending if step.attempt > 0 => Part::Holds { ready },
            // Between two polls it keeps its place: what is behind it begins when it has ended.
            State::Polling => Part::Holds { ready },
            _ if step.is_held() => Part::Holds { ready: false },
            _ => Part::Away,
        };
        if part != Part::Away && step.line().is_some_and(|member| !member.joined) {
            self.edit(id, |step, _| step.member.iter_mut().for_each(|member| member.joined = true));
        }
        let step = &self.steps[&id].step;
        let turned = self.lines.set(step, part);
        if part == Part::Away {
            self.windows.set(step, false);
        }
        self.show(turned);
    }

    /// The pick sees whose turn it is in a line, and nobody else of it.
    pub fn show(&mut self, turned: Turned) {
        if turned.before != turned.now
            && let Some(entry) = turned.before.and_then(|id| self.steps.get(&id))
        {
            self.windows.set(&entry.step, false);
        }
        if let Some(entry) = turned.now.and_then(|id| self.steps.get(&id)) {
            self.windows.set(&entry.step, true);
        }
    }
}
