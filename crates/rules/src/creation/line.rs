//! What a request says about order: the message group, the place in it, and until when it is wanted.

use super::Planner;
use crate::fifo;
use model::{
    DEFAULT_MESSAGE_GROUP, DEFAULT_SEQUENCE, DispatchGroup, DispatchMode, Member, NewStep, StepId, StepKind,
    Timestamp,
};

impl Planner<'_, '_> {
    /// Its part in a message group: an order without a group is that of the group everybody shares.
    pub(super) fn member_for(&mut self, new: &NewStep, path: &str, id: StepId) -> Option<Member> {
        let fix = "immediate, next_on_error or block_on_error";
        let mode = self.word(&new.mode, format!("{path}.mode"), DispatchMode::Immediate, fix);
        let group = match new.message_group.as_deref() {
            Some("") => {
                self.fault(
                    format!("{path}.message_group"),
                    "is empty",
                    "name what must stay in order, for example `customer-12345`, or leave it out",
                );
                return None;
            }
            Some(group) => group,
            None if mode.is_ordered() => DEFAULT_MESSAGE_GROUP,
            None => return None,
        };
        if mode.is_ordered()
            && let Some(parent) = new.parent_step_id.and_then(|parent| self.ground.parents.get(&parent))
            && parent.is_held()
            && parent.line().is_some_and(|line| &*line.group == group)
        {
            self.fault(
                format!("{path}.message_group"),
                format!("its parent has the message group `{group}`, and would wait for itself"),
                "give it another message group, or none, or let the parent's job report it as a child",
            );
        }
        if mode.is_ordered() && new.kind.as_deref() == Some(StepKind::Resolver.word()) {
            self.fault(
                format!("{path}.mode"),
                "a resolver is not done in order",
                "leave out `mode`, or let the resolver's job make a child that is",
            );
        }
        let sequence = new.sequence.unwrap_or(DEFAULT_SEQUENCE);
        Some(Member { group: group.into(), mode, sequence, place: id, joined: false })
    }

    /// Where a step is decided: with its line, if it stands in one.
    pub(super) fn home_for(
        &mut self,
        new: &NewStep,
        path: &str,
        member: Option<&Member>,
        home: Option<DispatchGroup>,
    ) -> DispatchGroup {
        match member.filter(|member| member.mode.is_ordered()) {
            Some(member) => self.group_of_line(new, path, &member.group),
            None => self.group_for(new, path, home),
        }
    }

    /// A line has one decider, so all of it lives in the dispatch group that follows from its name.
    fn group_of_line(&mut self, new: &NewStep, path: &str, group: &str) -> DispatchGroup {
        let home = fifo::home(group, self.ground.dispatch_groups);
        if let Some(name) = new.dispatch_group.as_deref().filter(|name| *name != home.as_str()) {
            let problem = format!("`{name}` is not where the message group `{group}` lives");
            self.fault(format!("{path}.dispatch_group"), problem, format!("write `{home}` or leave it out"));
        }
        home
    }

    pub(super) fn expires_at(&mut self, new: &NewStep, path: &str) -> Option<Timestamp> {
        let at = new.expires_at.map(Timestamp)?;
        let due = new.dispatch_after.map_or(self.ground.now, |due| self.ground.now.max(Timestamp(due)));
        if at <= due {
            let fix = "write an instant that lies ahead, and behind the one at which it is due";
            self.fault(format!("{path}.expires_at"), "is over before the step could start", fix);
        }
        Some(at)
    }
}
