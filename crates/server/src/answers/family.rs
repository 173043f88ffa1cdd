//! Where a step stands in its tree: those above it, up to the root, and the first of those below.

use super::{Parents, view};
use crate::secrets::Known;
use model::StepId;
use store::{Browse, Result};

/// Steps above one that are looked up; a tree that is deeper is told from here on.
const ABOVE_MAX: usize = 20;
/// Steps below one that are shown.
pub const BELOW_SHOWN: usize = 50;

#[derive(Debug, Default)]
pub struct Family {
    /// The root first.
    pub above: Vec<wire::StepView>,
    /// In the order of their block.
    pub below: Vec<wire::StepView>,
}

pub fn family(browse: &Browse, id: StepId) -> Result<Family> {
    let (mut parents, mut known) = (Parents::default(), Known::default());
    let Some(row) = browse.step(id)? else { return Ok(Family::default()) };
    let mut below = Vec::new();
    if let Some(block) = row.step.child_block {
        for child in browse.block_steps(block, BELOW_SHOWN)? {
            below.push(view(browse, &child, &mut parents, &mut known)?);
        }
    }
    let mut above = Vec::new();
    let mut next = parents.of(browse, &row)?;
    while let Some(owner) = next.filter(|_| above.len() < ABOVE_MAX) {
        let Some(row) = browse.step(owner)? else { break };
        above.push(view(browse, &row, &mut parents, &mut known)?);
        next = parents.of(browse, &row)?;
    }
    above.reverse();
    Ok(Family { above, below })
}
