//! Whether the rules would take these steps, without asking anybody to make them.

use crate::Ids;
use model::{Block, BlockId, DispatchGroup, Fault, Name, NewStep, Step, StepId, Timestamp};
use rules::creation::{Ground, plan};
use std::collections::HashMap;
use store::{Browse, StoreError};

/// How many steps there would be, those within others too, or everything that is wrong with them.
pub fn would_create(
    browse: &Browse,
    steps: &[NewStep],
    (dispatch_groups, queues): (&[DispatchGroup], &[Name]),
    now: Timestamp,
) -> Result<Result<usize, Vec<Fault>>, StoreError> {
    let pools = browse.pools()?.into_iter().map(|pool| pool.pool.name).collect();
    let (blocks, parents) = named(browse, steps)?;
    let ids = Ids::default();
    let Some(first) = dispatch_groups.first() else {
        return Err(StoreError::Refused("there is no dispatch group; a node that runs makes them".into()));
    };
    let (mut new_id, mut next_group) = (|| ids.row(now), || first.clone());
    let mut ground = Ground {
        now,
        dispatch_groups,
        queues,
        pools: &pools,
        blocks,
        parents,
        new_id: &mut new_id,
        next_group: &mut next_group,
    };
    Ok(plan(steps, &mut ground).map(|plan| plan.steps.len()))
}

/// Rows that the request names, as far as they exist.
type Rows = (HashMap<BlockId, Block>, HashMap<StepId, Step>);

fn named(browse: &Browse, steps: &[NewStep]) -> Result<Rows, StoreError> {
    let (mut blocks, mut parents) = (HashMap::new(), HashMap::new());
    for step in steps {
        if let Some(row) = step.parent_step_id.map(|id| browse.step(id)).transpose()?.flatten() {
            let below = row.step.child_block.map(|id| browse.block(id)).transpose()?.flatten();
            blocks.extend(below.map(|block| (block.id, block)));
            parents.insert(row.step.id, row.step);
        }
        let block = step.block_id.map(|id| browse.block(id)).transpose()?.flatten();
        blocks.extend(block.map(|block| (block.id, block)));
    }
    Ok((blocks, parents))
}
