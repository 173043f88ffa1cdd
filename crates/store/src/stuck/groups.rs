//! Message groups that are held back, dispatch groups that nobody has, and breakers that are off.

use super::rounds::Leg;
use super::{ROOM, Rounds, Scene, Wanted};
use crate::{Browse, Result, message_groups, params};
use model::{Breaker, GroupHold, Timestamp, Watched};
use rules::stuck::{ByDesign, Candidate, of_breaker, of_dispatch_group};
use std::collections::BTreeSet;

/// The breaker over all dispatch groups, as it is named.
const EVERYWHERE: &str = "everywhere";

/// What holds message groups back, by group; a pause comes first.
pub(super) const HOLDS: &str = "select message_group, blocked_by, at from message_groups
    where (message_group, blocked_by) > ($1, $2) order by message_group, blocked_by limit $3";

impl Browse {
    pub(super) fn stuck_message_groups(
        &self,
        wanted: &Wanted,
        rounds: &mut Rounds,
    ) -> Result<Vec<Candidate>> {
        let search = wanted.search("holds");
        let part = rounds.part(&search, ROOM, |after: Option<&(String, Vec<u8>)>, limit| {
            let (group, by) = after.map_or(("", &[][..]), |(group, by)| (group.as_str(), by.as_slice()));
            let mut paused = None;
            let rows = self.sql().rows(HOLDS, params![group, by, limit], |row| {
                let (group, by): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
                if by.is_empty() {
                    paused = Some(group.clone());
                }
                let may = paused.as_ref() != Some(&group) && Timestamp(row.get(2)?) < wanted.before;
                Ok(((group.clone(), by), may.then_some(group)))
            })?;
            Ok(Leg::of(rows, limit))
        })?;
        let names: BTreeSet<String> = part.kept.into_iter().collect();
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
