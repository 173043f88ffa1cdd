//! Pools: a slot is a step that a worker has, and every such step of a pool has one.

use super::{GRACE, Report, Scene};
use crate::{Result, params, rows};
use model::{Name, StepId, Timestamp};
use std::collections::BTreeMap;

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    let mut slots: BTreeMap<StepId, (Name, Timestamp)> = BTreeMap::new();
    scene.each("select step_id, pool, at from pool_slots", |row| {
        slots.insert(StepId::from_bytes(row.get(0)?), (rows::shared(row, 1)?, Timestamp(row.get(2)?)));
        Ok(())
    })?;
    for (id, pool) in held(scene)? {
        if slots.remove(&id).is_none_or(|(of, _)| of != pool) {
            let problem = format!("a worker has it without a slot of its pool `{pool}`");
            report.add("I34", format!("step {id}"), problem);
        }
    }
    // Where nodes share a pool, a slot is on record a moment before the claim.
    for (id, (pool, _)) in slots.into_iter().filter(|(_, (_, at))| *at + GRACE < scene.now) {
        let problem = format!("it has a slot of pool `{pool}`, and no worker has it");
        report.add("I34", format!("step {id}"), problem);
    }
    Ok(())
}

/// Steps of pools that a worker has: by their own row, or by the claim log.
fn held(scene: &Scene) -> Result<Vec<(StepId, Name)>> {
    let by_row = "select id, pool from steps
                   where session_id is not null and state in ('dispatched', 'running') and pool is not null";
    let mut held = scene
        .sql()
        .rows(by_row, params![], |row| Ok((StepId::from_bytes(row.get(0)?), rows::shared(row, 1)?)))?;
    for (id, _) in scene.claims.iter().filter(|(_, claim)| claim.session.is_some()) {
        let pool = scene.sql().first("select pool from steps where id = $1", params![id], |row| {
            rows::optional_shared(row, 0)
        })?;
        held.extend(pool.flatten().map(|pool| (id, pool)));
    }
    Ok(held)
}
