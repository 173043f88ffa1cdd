//! Pauses against their workflows and steps, and against what was sent to them.

use super::{Report, Scene};
use crate::sql::Row;
use crate::{Result, params};
use model::WorkflowId;

/// What is wrong, and the workflows for which it is, with the key of the step.
const WRONG: [(&str, &str); 6] = [
    (
        "a pause of it waits, and it is over",
        "select p.workflow_id, p.step_key from pauses p join workflows w on w.id = p.workflow_id
          where p.state = 'waiting' and (w.state not in ('running', 'paused', 'failed') or w.resolved_at is not null)",
    ),
    (
        "a pause of it waits behind a step that has not completed",
        "select p.workflow_id, p.step_key from pauses p left join steps s on s.id = p.step_id
          where p.state = 'waiting' and (s.id is null or s.state <> 'completed' or s.run <> p.run)",
    ),
    (
        "it waits for triggers, and none of its pauses waits",
        "select w.id, w.definition_key from workflows w where w.state = 'paused' and w.paused_by = 'trigger'
            and not exists (select 1 from pauses p where p.workflow_id = w.id and p.state = 'waiting')",
    ),
    (
        "two pauses of it wait for one trigger",
        "select p.workflow_id, p.trigger_key from pauses p where p.state = 'waiting' and p.trigger_key is not null
          group by p.workflow_id, p.trigger_key having count(*) > 1",
    ),
    (
        "a pause of it went on with something that is not on record as accepted",
        "select p.workflow_id, p.step_key from pauses p where p.state = 'resumed' and p.trigger_key is not null
            and not exists (select 1 from trigger_payloads t where t.workflow_id = p.workflow_id and t.number = p.consumed
                               and t.verdict = 'accepted' and t.trigger_key = p.trigger_key and t.run = p.run)",
    ),
    (
        "something was accepted for it, and no pause went on with it",
        "select t.workflow_id, t.trigger_key from trigger_payloads t where t.verdict = 'accepted'
            and not exists (select 1 from pauses p where p.workflow_id = t.workflow_id and p.consumed = t.number
                               and p.state = 'resumed' and p.trigger_key = t.trigger_key)",
    ),
];

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    let found = |row: &Row| Ok((WorkflowId::from_bytes(row.get(0)?), row.get::<String>(1)?));
    for (wrong, text) in WRONG {
        for (workflow, key) in scene.sql().rows(text, params![], found)? {
            report.add("I31", format!("workflow {workflow} `{key}`"), wrong);
        }
    }
    Ok(())
}
