//! Workflows against their steps and definitions.

use super::{GRACE, Report, Scene};
use crate::sql::Row;
use crate::{Result, params};
use model::WorkflowId;
use model::definition::{Definition, StepDef};
use std::collections::HashMap;

const LIVE: &str = "s.state in ('not_runnable', 'pending', 'dispatched', 'running', 'polling')";

/// Invariant, what is wrong, and the workflows for which it is.
const WRONG: [(&str, &str, &str); 15] = [
    (
        "I6",
        "it is running, and no step of it will ever move it",
        "select w.id from workflows w where w.state = 'running' and not exists
           (select 1 from steps s where s.workflow_id = w.id and s.block_id is null and {live})",
    ),
    (
        "I6",
        "a step of it is held, and nothing will let it go",
        "select w.id from workflows w where w.state in ('pending', 'running') and exists
           (select 1 from steps s where s.workflow_id = w.id and s.block_id is null and s.reason = 'workflow_held')",
    ),
    (
        "I6",
        "a block of it is held, and nothing will let it go",
        "select w.id from workflows w where w.state in ('pending', 'running') and exists
           (select 1 from steps s join blocks b on b.id = s.child_block_id
             where s.workflow_id = w.id and s.block_id is null and b.held = 1 and {live})",
    ),
    (
        "I23",
        "it is over, and a step of it is not",
        "select distinct w.id from workflows w join steps s on s.workflow_id = w.id
          where w.state in ('succeeded', 'cancelled', 'compensated') and s.block_id is null and {live}",
    ),
    (
        "I23",
        "it is over, and a workflow that a step of it started is not",
        "select distinct w.id from workflows w join steps s on s.workflow_id = w.id
           join workflows b on b.parent_step_id = s.id
          where w.state in ('succeeded', 'cancelled', 'compensated') and b.state in ('pending', 'running', 'paused')",
    ),
    (
        "I6",
        "what it did is being undone, and nothing will go on with that",
        "select w.id from workflows w where w.state = 'compensating' and w.wake_at is null and not exists
           (select 1 from steps s where s.workflow_id = w.id and s.block_id is null and {live})",
    ),
    (
        "I6",
        "it is to be tried again by itself, and nothing will look at it",
        "select w.id from workflows w where w.state = 'failed' and w.auto_retry_at is not null and w.wake_at is null",
    ),
    (
        "I20",
        "something of it is on record as undone, and the step that undid it did not complete",
        // A step that was archived completed.
        "select distinct r.workflow_id from compensation_runs r where r.state = 'succeeded' and r.items_done = 0
            and (r.step_id is null or exists (select 1 from steps s where s.id = r.step_id and s.state <> 'completed'))",
    ),
    (
        "I21",
        "two of its steps are undone at once, or not in the order of the plan",
        "select distinct a.workflow_id from compensation_runs a join compensation_runs b
             on b.workflow_id = a.workflow_id and b.compensation = a.compensation and b.position > a.position
          where a.state in ('pending', 'running', 'failed') and b.state in ('running', 'succeeded', 'failed')",
    ),
    (
        "I20",
        "it is compensated, and something of its plan is neither undone nor left out on purpose",
        "select distinct w.id from workflows w join compensation_runs r
             on r.workflow_id = w.id and r.compensation = w.compensations
          where w.state = 'compensated' and r.state not in ('succeeded', 'skipped')",
    ),
    (
        "I21",
        "what it did last is not undone first",
        "select distinct a.workflow_id from compensation_runs a join compensation_runs b
             on b.workflow_id = a.workflow_id and b.compensation = a.compensation and b.position > a.position
           join steps sa on sa.id = a.undoes join steps sb on sb.id = b.undoes
          where sa.completed_at < sb.completed_at",
    ),
    (
        "I22",
        "a step of it began while what it did is being undone",
        "select distinct w.id from workflows w join steps s on s.workflow_id = w.id and s.block_id is null
          where w.state = 'compensating' and s.created_at > w.compensation_started_at
            and not exists (select 1 from compensation_runs r where r.workflow_id = w.id
                               and s.step_key = r.step_key || ':compensation')",
    ),
    (
        "I27",
        "what it did is undone, and nobody decided that",
        "select w.id from workflows w where w.compensation_started_at is not null and not exists
           (select 1 from resolution_decisions d where d.workflow_id = w.id and d.at = w.compensation_started_at)",
    ),
    (
        "I25",
        "a branch of it was taken without a decision on record",
        "select distinct s.workflow_id from steps s
          where s.action = 'stepfast.branch' and s.state = 'completed' and s.workflow_id is not null and not exists
            (select 1 from branch_decisions d where d.workflow_id = s.workflow_id and d.step_key = s.step_key and d.kind = 'branch')",
    ),
    (
        "I35",
        "its definition is not on record, or is another by now",
        "select w.id from workflows w where not exists
           (select 1 from definitions d where d.key = w.definition_key and d.version = w.definition_version
               and d.hash = w.definition_hash)",
    ),
];

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    let id = |row: &Row| Ok(WorkflowId::from_bytes(row.get(0)?));
    for (invariant, wrong, text) in WRONG {
        for workflow in scene.sql().rows(&text.replace("{live}", LIVE), params![], id)? {
            report.add(invariant, format!("workflow {workflow}"), wrong);
        }
    }
    left_alone(scene, report)?;
    retried(scene, report)?;
    earned(scene, report)
}

/// One that waits to begin while somebody decides for its dispatch group.
fn left_alone(scene: &Scene, report: &mut Report) -> Result<()> {
    if scene.offline {
        return Ok(());
    }
    let text = "select w.id from workflows w join dispatch_groups g on g.dispatch_group = w.dispatch_group
                 where w.state = 'pending' and w.concurrency_key is null and w.created_at < $1
                   and g.owner_id is not null and g.lease_ends_at > $2";
    let before = scene.now - GRACE;
    let id = |row: &Row| Ok(WorkflowId::from_bytes(row.get(0)?));
    for workflow in scene.sql().rows(text, params![before, scene.now], id)? {
        report.add("I6", format!("workflow {workflow}"), "it waits to begin, and nothing is in its way");
    }
    Ok(())
}

/// No workflow is tried again by itself more often than its definition says.
fn retried(scene: &Scene, report: &mut Report) -> Result<()> {
    let text = "select w.id, w.auto_retries, d.text from workflows w
                  join definitions d on d.key = w.definition_key and d.version = w.definition_version
                 where w.auto_retries > 0";
    let row =
        |row: &Row| Ok((WorkflowId::from_bytes(row.get(0)?), row.get::<i64>(1)?, row.get::<String>(2)?));
    for (workflow, retries, text) in scene.sql().rows(text, params![], row)? {
        let definition: Option<Definition> = serde_json::from_str(&text).ok();
        let most = definition.map_or(0, |definition| definition.on_failure.max_retries.unwrap_or(3));
        if retries > i64::from(most) {
            let wrong = format!("it was tried again by itself {retries} times; {most} are allowed");
            report.add("I26", format!("workflow {workflow}"), wrong);
        }
    }
    Ok(())
}

/// Whoever succeeded has come to the end of every step.
fn earned(scene: &Scene, report: &mut Report) -> Result<()> {
    let mut steps: HashMap<(String, String), i64> = HashMap::new();
    scene.each("select key, version, text from definitions", |row| {
        let read = serde_json::from_str::<model::definition::Definition>(row.text(2)?);
        match read {
            Ok(definition) => {
                let polls =
                    |step: &&StepDef| step.pause_after.as_ref().is_some_and(|pause| pause.poll.is_some());
                let n = definition.steps.len() + definition.steps.iter().filter(polls).count();
                steps.insert((row.get(0)?, row.get(1)?), n as i64);
            }
            Err(_) => {
                let name = format!("definition {} {}", row.text(0)?, row.text(1)?);
                report.add("S5", name, "it cannot be read");
            }
        }
        Ok(())
    })?;
    let text = "select w.id, w.definition_key, w.definition_version, count(distinct s.def)
                  from workflows w left join
                       (select workflow_id, def, step_key from steps where block_id is null and workflow_id is not null
                        union all
                        select workflow_id, def, step_key from steps_archive where block_id is null and workflow_id is not null) as s
                    on s.workflow_id = w.id and s.step_key not like '%:compensation'
                 where w.state = 'succeeded' group by 1, 2, 3";
    let mut found = Vec::new();
    scene.each(text, |row| {
        found.push((WorkflowId::from_bytes(row.get(0)?), (row.get(1)?, row.get(2)?), row.get::<i64>(3)?));
        Ok(())
    })?;
    for (workflow, definition, n) in found {
        if steps.get(&definition).is_some_and(|of| *of != n) {
            let of = steps[&definition];
            let problem = format!("it succeeded, and {n} of its {of} steps came to an end");
            report.add("I24", format!("workflow {workflow}"), problem);
        }
    }
    Ok(())
}
