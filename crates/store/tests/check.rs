//! Each invariant with its planted violation: `check` must name it, and must be silent about healthy rows.

#[path = "world/healthy.rs"]
mod healthy;
mod world;

use healthy::healthy;
use std::collections::BTreeSet;
use std::time::Duration;
use stepfast_store::{Checkable, INVARIANTS};

#[test]
fn healthy_rows_are_clean() {
    let world = healthy(true);
    world.assert_clean();
    let checked = world.check(true);
    assert_eq!(checked.looked_at.len() + checked.left_out.len(), INVARIANTS.len());
    assert!(checked.looked_at.iter().all(|(_, _, partly)| partly.is_none()));
}
