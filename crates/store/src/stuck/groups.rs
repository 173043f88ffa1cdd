//! Message groups that are held back, dispatch groups that nobody has, and breakers that are off.

use super::{Scene, Wanted};
use crate::{Browse, Result, message_groups, params};
use model::{Breaker, GroupHold, Timestamp, Watched, limits};
use rules::stuck::{ByDesign, Candidate, of_breaker, of_dispatch_group};
use std::collections::BTreeSet;

/// The breaker over all dispatch groups, as it is named.
const EVERYWHERE: &str = "everywhere";

impl Browse {
    pub(super) fn stuck_message_groups(&self, wanted: &Wanted) -> Result<Vec<Candidate>> {
        let text = "select distinct message_group from message_groups where at < $1 order by 1 limit $2";
        let names: BTreeSet<String> = self
            .sql()
            .rows(text, params![wanted.before, limits::STUCK_PAGE], |row| row.get(0))?
            .into_iter()
            .collect();
        let found = names.iter().map(|name| self.one_message_group(name)).collect::<Result<Vec<_>>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    pub(super) fn one_message_group(&self, name: &str) -> Result<Option<Candidate>> {
        let holds = message_groups::holds_of(self.sql(), name)?;
        let Some(first) = holds.iter().map(|hold| hold.at).min() else { return Ok(None) };
        let pause = holds.iter().find(|hold| hold.blocked_by.is_none());
        Ok(Some(Candidate {
            by_design: pause.map(|GroupHold { by, .. }| ByDesign::HeldByPerson { by: by.clone() }),
            what: format!("message group {name}"),
            ..Candidate::new(
                Watched::MessageGroup,
                name,
                if pause.is_some() { "paused" } else { "blocked" },
                first,
            )
        }))
    }
}

/// Every dispatch group, with since when nobody has it.
pub fn dispatch_groups(scene: &Scene) -> Vec<Candidate> {
    let all = scene.around.groups.iter().map(|group| {
        let by_design = of_dispatch_group(group, scene.now);
        let state = if by_design.is_some() { "owned" } else { "no_owner" };
        let last = [group.lease_ends_at, group.last_tick_completed_at, group.last_selected_at];
        let since = last.into_iter().flatten().max().unwrap_or(scene.now);
        Candidate {
            by_design,
            what: format!("dispatch group {}", group.dispatch_group),
            ..Candidate::new(Watched::DispatchGroup, group.dispatch_group.as_str(), state, since)
        }
    });
    all.collect()
}

/// Every breaker that is off.
pub fn breakers(scene: &Scene) -> Vec<Candidate> {
    let of_groups = scene.around.groups.iter().map(|group| (group.dispatch_group.as_str(), &group.breaker));
    let all = std::iter::once((EVERYWHERE, &scene.around.breaker)).chain(of_groups);
    let off = all.filter(|(_, breaker)| breaker.is_off(scene.now));
    off.map(|(name, breaker)| of(name, breaker, scene.now)).collect()
}

fn of(name: &str, breaker: &Breaker, now: Timestamp) -> Candidate {
    Candidate {
        by_design: of_breaker(breaker, now),
        what: match name {
            EVERYWHERE => "the breaker over all dispatch groups".into(),
            group => format!("the breaker of dispatch group {group}"),
        },
        ..Candidate::new(Watched::Breaker, name, "off", breaker.since.unwrap_or(now))
    }
}
