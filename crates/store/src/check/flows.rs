//! Tracked flows: one run that is not over, a state that its steps make, and a history that leads to it.

use super::{Report, Scene};
use crate::Result;
use crate::sql::Row;
use model::{FlowId, limits};

/// What is wrong, and the flows for which it is, with what it is about.
const WRONG: [(&str, &str); 12] = [
    (
        "its state is none, or does not agree with when it was finished",
        "select id, state from flows where
            case when state in ('pending', 'running', 'failed') then finished_at is not null
                 when state in ('completed', 'cancelled', 'superseded') then finished_at is null else 1 = 1 end",
    ),
    (
        "it failed and nothing says how, or the other way about",
        "select id, state from flows where (state = 'failed') <> (error is not null)",
    ),
    (
        "somebody gave it up, and it is not failed",
        "select id, state from flows where given_up_at is not null and state <> 'failed'",
    ),
    (
        "two runs of it are not over",
        "select id, type from flows f where state in ('pending', 'running', 'failed') and exists
            (select 1 from flows g where g.type = f.type and g.key = f.key and g.entity_type = f.entity_type
                and g.entity_id = f.entity_id and g.id <> f.id and g.state in ('pending', 'running', 'failed'))",
    ),
    (
        "a step that it needs failed, and it goes on",
        "select f.id, s.name from flows f join flow_steps s on s.flow_id = f.id
          where s.state = 'failed' and s.optional = 0 and f.state in ('pending', 'running', 'completed')",
    ),
    (
        "it is completed, and a step of it is not",
        "select f.id, s.name from flows f join flow_steps s on s.flow_id = f.id
          where f.state = 'completed' and s.state = 'pending'",
    ),
    (
        "every step of it is over, and it is not",
        "select f.id, f.type from flows f where f.state in ('pending', 'running') and f.is_open = 0
            and exists (select 1 from flow_steps s where s.flow_id = f.id)
            and not exists (select 1 from flow_steps s where s.flow_id = f.id and s.state = 'pending')",
    ),
    (
        "a step of it is nowhere, or ended at no time",
        "select flow_id, name from flow_steps
          where state not in ('pending', 'completed', 'failed', 'skipped') or (state = 'pending') <> (at is null)",
    ),
    (
        "something of it is done, and not when",
        "select f.id, f.type from flows f where f.progressed_at is null
            and exists (select 1 from flow_steps s where s.flow_id = f.id and s.state in ('completed', 'failed'))",
    ),
    (
        "the last line of its history says otherwise",
        "select f.id, f.type from flows f where not exists
            (select 1 from flow_events e where e.flow_id = f.id and e.number = f.version and e.state = f.state)",
    ),
    (
        "its history goes on behind it",
        "select f.id, f.type from flows f
          where exists (select 1 from flow_events e where e.flow_id = f.id and e.number > f.version)",
    ),
    (
        "something happened to it before it was started",
        "select id, type from flows where updated_at < started_at or progressed_at < started_at or finished_at < started_at",
    ),
];

const ORPHANS: [(&str, &str); 2] = [
    (
        "a step of it is there and the flow is gone",
        "select flow_id, name from flow_steps s where not exists (select 1 from flows f where f.id = s.flow_id)",
    ),
    (
        "its history is there and the flow is gone",
        "select flow_id, event from flow_events e where not exists (select 1 from flows f where f.id = e.flow_id)",
    ),
];

pub fn check(scene: &Scene, report: &mut Report) -> Result<()> {
    for (problem, text) in WRONG {
        scene.each(&format!("{text} order by 1, 2"), |row| told(report, "F1", row, problem))?;
    }
    for (problem, text) in ORPHANS {
        scene.each(&format!("{text} order by 1, 2"), |row| told(report, "I38", row, problem))?;
    }
    sizes(scene, report)
}

fn told(report: &mut Report, invariant: &'static str, row: &Row, problem: &str) -> Result<()> {
    let entity = format!("flow {} ({})", FlowId::from_bytes(row.get(0)?), row.text(1)?);
    report.add(invariant, entity, problem);
    Ok(())
}

fn sizes(scene: &Scene, report: &mut Report) -> Result<()> {
    let (name, words) = (limits::NAME_BYTES_MAX, limits::FLOW_MESSAGE_BYTES_MAX);
    let long = |column: &str, max: usize| format!("coalesce(octet_length({column}), 0) > {max}");
    let of_flow: Vec<String> = ["type", "key", "entity_type", "entity_id", "user_id", "started_by"]
        .map(|column| long(column, name))
        .into_iter()
        .chain(["message", "error"].map(|column| long(column, words)))
        .collect();
    let of_steps = format!("{} or {}", long("name", name), long("message", words));
    let text = format!(
        "select id, type from flows where {}
         union all select flow_id, name from flow_steps where {of_steps}
         union all select flow_id, 'steps' from flow_steps group by flow_id having count(*) > {}
         union all select flow_id, 'history' from flow_events group by flow_id having count(*) > {}",
        of_flow.join(" or "),
        limits::FLOW_STEPS_MAX,
        limits::FLOW_EVENTS_KEPT
    );
    scene.each(&text, |row| told(report, "I37", row, "something of it is more than may be"))
}
