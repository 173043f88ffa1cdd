//! What a node sees of the others when it looks: their signals and answers, who lives, and who has what.

use crate::batch::{NodeRow, SessionRow, SignalRow};
use model::{Breaker, DispatchGroup, Name, NodeId, SignalId, Timestamp};
use rules::share::{Sharer, share};

/// One look at the shared rows.
#[derive(Debug, Default)]
pub struct Look {
    /// For this node and its groups, oldest first.
    pub signals: Vec<SignalRow>,
    /// What this node asked for, with the answer.
    pub answers: Vec<(SignalId, String)>,
    /// Every node that lives, this one too.
    pub nodes: Vec<NodeSeen>,
    pub groups: Vec<GroupSeen>,
    /// Sessions of other nodes that live.
    pub sessions: Vec<SessionRow>,
    pub breaker: Breaker,
}

#[derive(Debug, Clone)]
pub struct NodeSeen {
    pub sharer: Sharer,
    /// How long it counts as alive unless it is heard of again.
    pub until: Timestamp,
}

#[derive(Debug, Clone)]
pub struct GroupSeen {
    pub dispatch_group: DispatchGroup,
    /// Its place among the groups.
    pub ordinal: i64,
    /// Who has it, if that node lives and its lease has not run out.
    pub owner: Option<NodeId>,
    pub lease_ends_at: Option<Timestamp>,
    pub breaker: Breaker,
    /// What its owner cannot place itself, by queue and action.
    pub ready: Vec<(Name, Name)>,
}

impl Look {
    /// Whether the groups should change hands in a way that is this node's to carry out.
    pub fn wants_shift(&self, node: &NodeRow) -> bool {
        let groups: Vec<_> = self.groups.iter().map(|g| (g.dispatch_group.clone(), g.owner)).collect();
        let sharers: Vec<Sharer> = self.nodes.iter().map(|n| n.sharer.clone()).collect();
        let spread = share(&groups, &sharers);
        groups.iter().any(|(group, owner)| {
            let mine = spread.get(group) == Some(&node.id);
            match owner {
                None => mine,
                Some(owner) => *owner == node.id && !mine,
            }
        })
    }
    /// When another node or one of its sessions is gone, unless it is heard of before.
    pub fn next_end(&self, node: NodeId) -> Option<Timestamp> {
        let nodes = self.nodes.iter().filter(|n| n.sharer.node != node).map(|n| n.until);
        let groups = self.groups.iter().filter(|g| g.owner.is_some_and(|o| o != node));
        nodes
            .chain(groups.filter_map(|g| g.lease_ends_at))
            .chain(self.sessions.iter().map(|s| s.lease_ends_at))
            .min()
    }
}
