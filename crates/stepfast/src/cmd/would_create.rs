//! `steps create --dry-run`: whether the rules would take these steps, without asking anybody to make them.

use super::output;
use crate::Refused;
use crate::cli::Common;
use crate::config::Settings;
use crate::door::listed;
use crate::window::Window;
use anyhow::{Result, bail};
use engine::Ids;
use model::{Block, BlockId, Count, Name, NewStep, Step, StepId};
use rules::creation::{Ground, plan};
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::process::ExitCode;
use store::{Clock, SystemClock};

pub async fn look(settings: &Settings, common: &Common, steps: &[NewStep]) -> Result<ExitCode> {
    let window = Window::open(settings, common)?;
    let pools = window.pools().await?.iter().map(|pool| pool.name.as_str().into()).collect();
    let planned = planned(settings, steps, (pools, named(&window, steps)?))?;
    match common.json {
        true => output::line(&json!({ "steps": planned, "dry_run": true })),
        false => output::text(format_args!("{} would be created", Count(planned, "step"))),
    }
    Ok(ExitCode::SUCCESS)
}

/// Rows that the request names, as far as they exist.
type Rows = (HashMap<BlockId, Block>, HashMap<StepId, Step>);

fn named(window: &Window, steps: &[NewStep]) -> Result<Rows> {
    let (mut blocks, mut parents) = (HashMap::new(), HashMap::new());
    let names = steps.iter().filter(|step| step.block_id.is_some() || step.parent_step_id.is_some());
    for step in names {
        let Window::Database(browse) = window else {
            let problem = "a dry run of steps below others looks into the database";
            bail!(Refused(format!("{problem}; leave --server out")));
        };
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

/// How many there would be, or everything that is wrong with them.
fn planned(
    settings: &Settings,
    steps: &[NewStep],
    (pools, (blocks, parents)): (BTreeSet<Name>, Rows),
) -> Result<usize> {
    let (now, ids) = (SystemClock::default().now(), Ids::default());
    let (groups, queues) = (&settings.engine.groups, settings.engine.known_queues());
    let Some(first) = groups.first() else { bail!(Refused("there is no dispatch group".into())) };
    let (mut new_id, mut next_group) = (|| ids.row(now), || first.clone());
    let mut ground = Ground {
        now,
        dispatch_groups: groups,
        queues: &queues,
        pools: &pools,
        blocks,
        parents,
        new_id: &mut new_id,
        next_group: &mut next_group,
    };
    match plan(steps, &mut ground) {
        Ok(plan) => Ok(plan.steps.len()),
        Err(faults) => bail!(Refused(listed(&faults))),
    }
}
