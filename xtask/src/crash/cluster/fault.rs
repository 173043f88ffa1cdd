//! What is done to a cluster in a round: the kinds of faults, who stands where, and in which order things happen.

use crate::crash::dice::Dice;
use crate::crash::server::Post;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

pub const NODES: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    KillNode,
    /// A node that runs jobs, beside nodes that run none.
    KillWorker,
    /// A node of another machine: only its silence tells that it is gone.
    KillFar,
    CrashDatabase,
    /// A node stands still for longer than its lease.
    Freeze,
    CutConnection,
    /// A node whose time of day is an hour off.
    WrongClock,
}

impl Kind {
    pub fn is_kill(self) -> bool {
        matches!(self, Kind::KillNode | Kind::KillWorker | Kind::KillFar)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::KillNode => "node killed",
            Kind::KillWorker => "worker killed",
            Kind::KillFar => "far node killed",
            Kind::CrashDatabase => "database crashed",
            Kind::Freeze => "node frozen",
            Kind::CutConnection => "connection cut",
            Kind::WrongClock => "clock off by an hour",
        })
    }
}

/// Happen in every round; the others take long, or are of who stands where.
const EACH_ROUND: [Kind; 3] = [Kind::KillNode, Kind::CrashDatabase, Kind::CutConnection];
/// Beyond those that are due.
const EXTRA: (u64, u64) = (1, 3);
const OFFSETS: [&str; 2] = ["+3600s", "-3600s"];

/// What this machine can do beside the ordinary.
#[derive(Clone, Debug, Default)]
pub struct Means {
    /// Processes can be given a view of their own.
    pub far: bool,
    /// What sets a clock wrong.
    pub clock: Option<PathBuf>,
}

#[derive(Debug)]
pub struct Plan {
    pub posts: Vec<Post>,
    pub faults: Vec<Kind>,
}

impl Plan {
    /// Rounds are numbered from one. Those with a lease to wait for are rare, for they take long.
    pub fn of(round: u32, means: &Means, dice: &mut Dice) -> Plan {
        let far = round % 4 == 2 && means.far;
        // A near worker and a near idler are always there, to be killed.
        let mut workers = match round % 3 {
            0 => [64, 64, 64],
            1 => [100, 0, 0],
            _ => [80, 60, 0],
        };
        dice.shuffle(&mut workers);
        let mut posts: Vec<Post> =
            workers.into_iter().map(|workers| Post { workers, ..Post::default() }).collect();
        if far {
            let fit: Vec<usize> = (0..NODES).filter(|&n| leaves_both(&posts, n)).collect();
            posts[*dice.choose(&fit)].far = true;
        }
        if let Some(library) = means.clock.as_ref().filter(|_| round.is_multiple_of(2)) {
            let at = dice.between(0, NODES as u64 - 1) as usize;
            posts[at].clock = Some((library.clone(), *dice.choose(&OFFSETS)));
        }
        let mut cheap = EACH_ROUND.to_vec();
        if posts.iter().any(|post| post.workers == 0) {
            cheap.push(Kind::KillWorker);
        }
        let mut faults = cheap.clone();
        faults.extend((0..dice.between(EXTRA.0, EXTRA.1)).map(|_| *dice.choose(&cheap)));
        faults.extend((round % 4 == 1).then_some(Kind::Freeze));
        faults.extend(far.then_some(Kind::KillFar));
        dice.shuffle(&mut faults);
        Plan { posts, faults }
    }

    /// Where a fault of this kind may strike.
    pub fn targets(&self, kind: Kind) -> Vec<usize> {
        let idlers = self.posts.iter().any(|post| post.workers == 0 && !post.far);
        let fits = |post: &Post| match kind {
            Kind::KillNode => !post.far && (!idlers || post.workers == 0),
            Kind::KillWorker => !post.far && post.workers > 0,
            Kind::KillFar => post.far,
            Kind::Freeze | Kind::CutConnection | Kind::CrashDatabase | Kind::WrongClock => true,
        };
        (0..self.posts.len()).filter(|&n| fits(&self.posts[n])).collect()
    }
}

/// Both kinds of near nodes are left when this one is far; where all are alike, any may be.
fn leaves_both(posts: &[Post], far: usize) -> bool {
    let workers: BTreeSet<bool> = posts.iter().map(|post| post.workers > 0).collect();
    let near = posts.iter().enumerate().filter(|(n, _)| *n != far);
    near.map(|(_, post)| post.workers > 0).collect::<BTreeSet<_>>() == workers
}

/// The kinds that a run of so many rounds must have seen.
pub fn required(rounds: u32, means: &Means) -> BTreeSet<Kind> {
    let mut kinds = BTreeSet::from(EACH_ROUND);
    kinds.extend([Kind::KillWorker, Kind::Freeze]);
    kinds.extend((rounds >= 2 && means.far).then_some(Kind::KillFar));
    kinds.extend((rounds >= 2 && means.clock.is_some()).then_some(Kind::WrongClock));
    kinds
}

/// `2 node killed, 1 connection cut`.
pub fn told(faults: &BTreeMap<Kind, u64>) -> String {
    faults.iter().map(|(kind, n)| format!("{n} {kind}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn able() -> Means {
        Means { far: true, clock: Some("faketime".into()) }
    }

    /// What the plans of so many rounds would do.
    fn planned(rounds: u32, means: &Means, seed: u64) -> BTreeSet<Kind> {
        let mut dice = Dice::new(seed);
        let mut kinds = BTreeSet::new();
        for round in 1..=rounds {
            let plan = Plan::of(round, means, &mut dice);
            assert!(plan.faults.iter().all(|kind| !plan.targets(*kind).is_empty()), "{plan:?}");
            assert!(plan.posts.iter().any(|post| post.workers > 0), "{plan:?}");
            kinds.extend(&plan.faults);
            kinds.extend(plan.posts.iter().any(|post| post.clock.is_some()).then_some(Kind::WrongClock));
        }
        kinds
    }

    #[test]
    fn every_required_kind_is_planned() {
        for (rounds, seed) in (1..=20).zip(0..) {
            for means in [able(), Means::default()] {
                assert_eq!(planned(rounds, &means, seed), required(rounds, &means), "{rounds} rounds");
            }
        }
    }

    #[test]
    fn two_rounds_see_every_kind() {
        assert_eq!(required(2, &able()).len(), 7);
        assert_eq!(required(1, &able()).len(), 5);
    }
}
