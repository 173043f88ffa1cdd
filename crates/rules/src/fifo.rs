//! Where the line of a message group is decided, and what a person may do to one.
//!
//! Why    one decider for all of a line: so a line lives in the dispatch group that follows from its name, whoever asks.

use crate::board::Held;
use model::{DispatchGroup, StepId, group_key};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// What a person may do to a message group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupVerb {
    /// Nothing of it starts until it is resumed.
    Pause,
    Resume,
    /// The first of it is passed over: one that failed is forgiven, any other is skipped.
    SkipHead,
    /// What failed is made anew, and has the place it had.
    Requeue,
    /// What failed holds nobody back any more; its state stays.
    Ignore,
    /// Everything of it that has not ended is cancelled, and what failed is forgiven.
    Cancel,
    /// Nothing holds it back any more, neither a pause nor what failed.
    Unblock,
}

impl GroupVerb {
    pub const ALL: [GroupVerb; 7] = [
        GroupVerb::Pause,
        GroupVerb::Resume,
        GroupVerb::SkipHead,
        GroupVerb::Requeue,
        GroupVerb::Ignore,
        GroupVerb::Cancel,
        GroupVerb::Unblock,
    ];
    pub fn word(self) -> &'static str {
        match self {
            GroupVerb::Pause => "pause",
            GroupVerb::Resume => "resume",
            GroupVerb::SkipHead => "skip-head",
            GroupVerb::Requeue => "requeue",
            GroupVerb::Ignore => "ignore",
            GroupVerb::Cancel => "cancel",
            GroupVerb::Unblock => "unblock",
        }
    }
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum GroupRefusal {
    #[error("it is paused already")]
    Paused,
    #[error("it is not paused")]
    NotPaused,
    #[error("no step of it failed and holds it back")]
    NotBlocked,
    #[error("nothing holds it back")]
    NotHeld,
    #[error("no step of it waits or runs")]
    Empty,
    #[error("step {meant} is not its head any more; {head} is")]
    OtherHead { meant: StepId, head: StepId },
}

/// One thing to be done to a message group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupAct {
    Pause,
    Resume,
    /// It waits in the queue outside, and does not begin when somebody is sent for it.
    PutBack(StepId),
    /// Its failure holds nobody back any more.
    Forgive(StepId),
    /// A new step takes its place.
    Retry(StepId),
    Skip(StepId),
    Cancel(StepId),
}

/// Whether what would be done is done to the head that was meant.
pub fn still(head: Option<StepId>, acts: &[GroupAct]) -> Result<(), GroupRefusal> {
    match (head, acts) {
        (Some(meant), [GroupAct::Skip(head) | GroupAct::Forgive(head)]) if meant != *head => {
            Err(GroupRefusal::OtherHead { meant, head: *head })
        }
        _ => Ok(()),
    }
}

/// What follows from a verb: `live` are the steps that wait or run, the first one first; for a pause, those that nobody has begun
/// and that are out of hand all the same.
pub fn decide(verb: GroupVerb, held: &Held, live: &[StepId]) -> Result<Vec<GroupAct>, GroupRefusal> {
    let forgiven = || held.blocked_by.iter().map(|id| GroupAct::Forgive(*id));
    let blocked = !held.blocked_by.is_empty();
    Ok(match verb {
        GroupVerb::Pause if held.paused => return Err(GroupRefusal::Paused),
        GroupVerb::Pause => {
            std::iter::once(GroupAct::Pause).chain(live.iter().map(|id| GroupAct::PutBack(*id))).collect()
        }
        GroupVerb::Resume if !held.paused => return Err(GroupRefusal::NotPaused),
        GroupVerb::Resume => vec![GroupAct::Resume],
        GroupVerb::SkipHead if blocked => forgiven().take(1).collect(),
        GroupVerb::SkipHead => vec![GroupAct::Skip(*live.first().ok_or(GroupRefusal::Empty)?)],
        GroupVerb::Requeue | GroupVerb::Ignore if !blocked => return Err(GroupRefusal::NotBlocked),
        GroupVerb::Requeue => held.blocked_by.iter().map(|id| GroupAct::Retry(*id)).collect(),
        GroupVerb::Ignore => forgiven().collect(),
        GroupVerb::Cancel if !blocked && live.is_empty() => return Err(GroupRefusal::Empty),
        // From the end, so that nothing of it starts in between.
        GroupVerb::Cancel => forgiven().chain(live.iter().rev().map(|id| GroupAct::Cancel(*id))).collect(),
        GroupVerb::Unblock if !blocked && !held.paused => return Err(GroupRefusal::NotHeld),
        GroupVerb::Unblock => forgiven().chain(held.paused.then_some(GroupAct::Resume)).collect(),
    })
}

/// The dispatch group of a message group. `stepfast.enqueue` has the same rule in SQL.
pub fn home(group: &str, dispatch_groups: &[DispatchGroup]) -> DispatchGroup {
    let hash = Sha256::digest(group_key(group));
    let number = u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]);
    dispatch_groups[number as usize % dispatch_groups.len()].clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn told(verb: GroupVerb, paused: bool, failed: &[u64], live: &[u64]) -> String {
        let held = Held { paused, blocked_by: failed.iter().map(|n| StepId::of(*n)).collect() };
        let live: Vec<StepId> = live.iter().map(|n| StepId::of(*n)).collect();
        let short = |id: StepId| id.bytes()[15].to_string();
        let act = |act: &GroupAct| match act {
            GroupAct::Pause => "pause".into(),
            GroupAct::Resume => "resume".into(),
            GroupAct::PutBack(id) => format!("put back {}", short(*id)),
            GroupAct::Forgive(id) => format!("forgive {}", short(*id)),
            GroupAct::Retry(id) => format!("retry {}", short(*id)),
            GroupAct::Skip(id) => format!("skip {}", short(*id)),
            GroupAct::Cancel(id) => format!("cancel {}", short(*id)),
        };
        match decide(verb, &held, &live) {
            Ok(acts) => acts.iter().map(act).collect::<Vec<String>>().join(", "),
            Err(refused) => refused.to_string(),
        }
    }

    #[test]
    fn what_a_verb_does_depends_on_what_holds_the_group() {
        use GroupVerb::*;
        assert_eq!(told(Pause, false, &[], &[]), "pause");
        assert_eq!(told(Pause, false, &[], &[1]), "pause, put back 1");
        assert_eq!(told(Pause, true, &[], &[]), "it is paused already");
        assert_eq!(told(Resume, true, &[7], &[]), "resume");
        assert_eq!(told(Resume, false, &[7], &[]), "it is not paused");
        assert_eq!(told(SkipHead, false, &[], &[1, 2]), "skip 1");
        assert_eq!(told(SkipHead, false, &[7], &[1, 2]), "forgive 7");
        assert_eq!(told(SkipHead, false, &[], &[]), "no step of it waits or runs");
        let head = |n| still(Some(StepId::of(n)), &[GroupAct::Skip(StepId::of(1))]);
        assert_eq!((head(1), head(2).is_err(), still(None, &[]).is_ok()), (Ok(()), true, true));
        assert_eq!(told(Requeue, false, &[7, 8], &[1]), "retry 7, retry 8");
        assert_eq!(told(Requeue, true, &[], &[1]), "no step of it failed and holds it back");
        assert_eq!(told(Ignore, false, &[7], &[1]), "forgive 7");
        assert_eq!(told(Ignore, false, &[], &[1]), "no step of it failed and holds it back");
        assert_eq!(told(Cancel, false, &[7], &[1, 2]), "forgive 7, cancel 2, cancel 1");
        assert_eq!(told(Cancel, false, &[], &[]), "no step of it waits or runs");
        assert_eq!(told(Unblock, true, &[7], &[1]), "forgive 7, resume");
        assert_eq!(told(Unblock, false, &[], &[1]), "nothing holds it back");
    }

    #[test]
    fn a_message_group_has_one_home_and_groups_spread() {
        let groups: Vec<DispatchGroup> =
            model::DEFAULT_GROUPS.iter().map(|g| DispatchGroup::new(g)).collect();
        assert_eq!(home("customer-12345", &groups), home("customer-12345", &groups));
        let mut homes: BTreeMap<DispatchGroup, u32> = BTreeMap::new();
        (0..10_000).for_each(|n| *homes.entry(home(&format!("customer-{n}"), &groups)).or_default() += 1);
        assert!(homes.len() == 10 && homes.values().all(|n| (900..1_100).contains(n)), "{homes:?}");
    }
}
