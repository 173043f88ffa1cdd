//! Where the line of a message group is decided.
//!
//! Why    one decider for all of a line: so a line lives in the dispatch group that follows from its name, whoever asks.

use model::{DispatchGroup, group_key};
use sha2::{Digest, Sha256};

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
