//! Spreads the dispatch groups over the nodes that live.
//!
//! Finds   who may have which group, and who has it now.
//! Emits   for each group the node that should have it.
//! Why     every node works this out for itself from the same rows and takes or gives only what is its own: no node has to
//!         tell another. A group stays where it is unless moving it makes the spread more even.

use model::{DispatchGroup, NodeId};
use std::collections::BTreeMap;

/// A node that lives, as far as the spread is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharer {
    pub node: NodeId,
    /// Groups it may have; every group when there is none.
    pub limited_to: Vec<DispatchGroup>,
    /// Takes nothing while one that does not stand by lives.
    pub standby: bool,
}

impl Sharer {
    fn may_have(&self, group: &DispatchGroup) -> bool {
        self.limited_to.is_empty() || self.limited_to.contains(group)
    }
}

/// Who should have each group; a group that nobody may have is left out.
pub fn share(
    groups: &[(DispatchGroup, Option<NodeId>)],
    sharers: &[Sharer],
) -> BTreeMap<DispatchGroup, NodeId> {
    let active = |s: &&Sharer| !s.standby;
    let mut nodes: Vec<&Sharer> = sharers.iter().filter(active).collect();
    if nodes.is_empty() {
        nodes = sharers.iter().collect();
    }
    nodes.sort_by_key(|s| s.node);
    let mut spread = Spread { nodes, has: BTreeMap::new() };
    for (group, owner) in groups {
        if let Some(node) = owner.and_then(|owner| spread.at(owner)).filter(|n| spread.may(*n, group)) {
            spread.has.insert(group.clone(), node);
        }
    }
    for (group, _) in groups {
        if !spread.has.contains_key(group)
            && let Some(node) = spread.poorest(group)
        {
            spread.has.insert(group.clone(), node);
        }
    }
    while let Some((group, node)) = spread.fairer() {
        spread.has.insert(group, node);
    }
    let nodes = spread.nodes;
    spread.has.into_iter().map(|(group, node)| (group, nodes[node].node)).collect()
}

struct Spread<'a> {
    nodes: Vec<&'a Sharer>,
    has: BTreeMap<DispatchGroup, usize>,
}

impl Spread<'_> {
    fn at(&self, node: NodeId) -> Option<usize> {
        self.nodes.iter().position(|s| s.node == node)
    }
    fn may(&self, node: usize, group: &DispatchGroup) -> bool {
        self.nodes[node].may_have(group)
    }
    fn count(&self, node: usize) -> usize {
        self.has.values().filter(|n| **n == node).count()
    }
    /// The node with the fewest groups among those that may have this one.
    fn poorest(&self, group: &DispatchGroup) -> Option<usize> {
        (0..self.nodes.len()).filter(|n| self.may(*n, group)).min_by_key(|n| (self.count(*n), *n))
    }
    /// A move that makes the spread more even: each lowers the difference, so they come to an end.
    fn fairer(&self) -> Option<(DispatchGroup, usize)> {
        let mut rich: Vec<(&DispatchGroup, usize)> = self.has.iter().map(|(g, n)| (g, *n)).collect();
        rich.sort_by_key(|(group, node)| (std::cmp::Reverse(self.count(*node)), *node, (*group).clone()));
        rich.into_iter().find_map(|(group, node)| {
            let to = self.poorest(group)?;
            (self.count(node) > self.count(to) + 1).then(|| (group.clone(), to))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::DEFAULT_GROUPS;

    /// `1 2*:alpha,beta`: node 1, and node 2 which stands by and is limited to two groups.
    fn sharers(text: &str) -> Vec<Sharer> {
        text.split_whitespace()
            .map(|word| {
                let (name, limited) = word.split_once(':').unwrap_or((word, ""));
                Sharer {
                    node: NodeId::of(name.trim_end_matches('*').parse().unwrap()),
                    standby: name.ends_with('*'),
                    limited_to: limited
                        .split(',')
                        .filter(|g| !g.is_empty())
                        .map(DispatchGroup::new)
                        .collect(),
                }
            })
            .collect()
    }

    /// Owners by group, in order, as digits; `.` is nobody.
    fn spread(before: &str, nodes: &str) -> String {
        let owner = |c: char| c.to_digit(10).map(|n| NodeId::of(n.into()));
        let groups: Vec<(DispatchGroup, Option<NodeId>)> = DEFAULT_GROUPS
            .iter()
            .zip(before.chars())
            .map(|(g, c)| (DispatchGroup::new(g), owner(c)))
            .collect();
        let after = share(&groups, &sharers(nodes));
        let digit = |node: &NodeId| (0..10).find(|n| NodeId::of(*n) == *node).unwrap().to_string();
        groups.iter().map(|(g, _)| after.get(g).map_or(".".into(), digit)).collect()
    }

    #[test]
    fn groups_are_spread_evenly() {
        assert_eq!(spread("..........", "1"), "1111111111");
        assert_eq!(spread("..........", "1 2 3"), "1231231231");
    }

    /// How many groups change hands, and how many each node has then.
    fn moves(before: &str, nodes: &str) -> String {
        let after = spread(before, nodes);
        let moved = before.chars().zip(after.chars()).filter(|(b, a)| b != a).count();
        let count = |n: &Sharer| {
            after.chars().filter(|c| NodeId::of(c.to_digit(10).unwrap().into()) == n.node).count()
        };
        let counts: Vec<String> = sharers(nodes).iter().map(|n| count(n).to_string()).collect();
        format!("{moved} moved: {}", counts.join(" "))
    }

    #[test]
    fn a_group_moves_only_when_that_is_fairer() {
        assert_eq!(moves("1111111111", "1 2"), "5 moved: 5 5");
        assert_eq!(moves("2222211111", "1 2"), "0 moved: 5 5");
        assert_eq!(moves("2222211111", "1 2 3"), "3 moved: 3 4 3");
        assert_eq!(moves("1231231231", "1 2"), "3 moved: 5 5");
        assert_eq!(moves("1231231231", "1 2 3 4"), "2 moved: 2 3 3 2");
    }

    #[test]
    fn one_that_stands_by_has_nothing_while_another_lives() {
        assert_eq!(spread("1111111111", "1 2*"), "1111111111");
        assert_eq!(spread("1111111111", "2*"), "2222222222");
        assert_eq!(spread("2222222222", "1 2*"), "1111111111");
    }

    #[test]
    fn a_limited_node_keeps_to_its_groups_and_others_fill_up() {
        assert_eq!(spread("..........", "1:alpha 2"), "1222222222");
        assert_eq!(spread("..........", "1:alpha,beta"), "11........");
        assert_eq!(spread("1222222222", "1:alpha 2"), "1222222222");
    }

    #[test]
    fn the_spread_settles_whoever_lives() {
        for nodes in ["1", "1 2", "1 2 3", "1 2 3 4", "1:alpha 2 3", "1 2*", "1 2:beta,gamma 3*"] {
            let once = spread("1112223334", nodes);
            assert_eq!(spread(&once, nodes), once, "{nodes}");
        }
    }
}
