//! The last commit that was acknowledged, so that a database that lacks it is not trusted.
//!
//! Why    a standby that is promoted before it received everything looks sound: rows, leases and epochs fit each other, only work
//!        that was promised is missing. A node that remembers what it promised refuses such a database, loudly.

use crate::{Lease, Result, StoreError};
use model::{DispatchGroup, NodeId};
use std::sync::{Arc, Mutex, PoisonError};

/// What the database says of the groups, with the last commit of this node.
pub const SEEN: &str = "select dispatch_group, owner_id, epoch,
    (select stamp from commit_stamps where substr(stamp, 1, 16) = $1 order by stamp desc limit 1) from dispatch_groups";

/// One row of `SEEN`.
pub struct Seen {
    pub group: String,
    pub owner: Option<Vec<u8>>,
    pub epoch: u64,
    pub stamp: Option<Vec<u8>>,
}

#[derive(Clone, Default)]
pub struct Mark(Arc<Mutex<Option<Last>>>);

struct Last {
    node: NodeId,
    groups: Vec<(DispatchGroup, u64)>,
    commits: u64,
}

/// What a commit leaves behind.
pub fn stamp(node: NodeId, commits: u64) -> Vec<u8> {
    node.bytes().iter().copied().chain(commits.to_be_bytes()).collect()
}

impl Mark {
    pub fn acknowledge(&self, lease: &Lease, commits: u64) {
        let last = Last { node: lease.node, groups: lease.groups.clone(), commits };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
    }
    /// Whose commit it was, if one was acknowledged.
    pub fn node(&self) -> Option<NodeId> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|last| last.node)
    }
    /// Refuses a database that does not have what was acknowledged.
    pub fn judge(&self, rows: &[Seen]) -> Result<()> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(last) = last.as_ref() else { return Ok(()) };
        let wanted = stamp(last.node, last.commits);
        let behind = |row: &Seen| {
            let Some((_, epoch)) = last.groups.iter().find(|(g, _)| g.as_str() == row.group) else {
                return false;
            };
            let ours = row.epoch == *epoch && row.owner.as_deref() == Some(last.node.bytes().as_slice());
            row.epoch < *epoch || ours && row.stamp.as_ref().is_none_or(|stamp| *stamp < wanted)
        };
        match rows.iter().find(|row| behind(row)) {
            None => Ok(()),
            Some(row) => Err(StoreError::Refused(format!(
                "the database is behind: it lacks work of dispatch group `{}` that was acknowledged. Was a standby promoted that had \
                 not received everything? Bring back the server that has it; or restart every node to go on without",
                row.group
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(owner: u64, epoch: u64, stamp: Option<Vec<u8>>) -> Seen {
        let owner = Some(NodeId::of(owner).bytes().to_vec());
        Seen { group: "alpha".into(), owner, epoch, stamp }
    }

    #[test]
    fn what_was_acknowledged_must_be_there() {
        let (mark, node) = (Mark::default(), NodeId::of(1));
        assert!(mark.judge(&[seen(1, 1, None)]).is_ok(), "nothing was acknowledged yet");
        mark.acknowledge(&Lease { node, groups: vec![(DispatchGroup::new("alpha"), 3)] }, 300);
        let judge = |seen| mark.judge(&[seen]).is_ok();
        assert!(judge(seen(1, 3, Some(stamp(node, 300)))));
        assert!(judge(seen(1, 3, Some(stamp(node, 301)))), "one whose answer was lost");
        assert!(judge(seen(2, 4, Some(stamp(NodeId::of(2), 1)))), "another node has it since");
        assert!(!judge(seen(1, 3, Some(stamp(node, 255)))));
        assert!(!judge(seen(1, 3, None)));
        assert!(!judge(seen(2, 2, None)), "an epoch before ours");
    }
}
