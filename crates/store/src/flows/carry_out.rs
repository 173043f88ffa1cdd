//! Carries out one order about a flow inside a transaction: take the row, look, let the rule decide, write what was seen.

use super::read::{self, asked_last, find, last_run, steps};
use super::{FlowNow, FlowOrder, FlowTold, FlowWord};
use crate::sql::Sql;
use crate::statements::{
    FORGET_FLOW_EVENTS, HOLD_FLOW, INSERT_FLOW, INSERT_FLOW_EVENT, INSERT_FLOW_STEP, WRITE_FLOW,
    WRITE_FLOW_STEP,
};
use crate::{AuditEntry, Result, StoreError, params};
use model::{Flow, FlowAsk, FlowEvent, FlowId, FlowState, FlowStep, FlowStepState, Timestamp, limits};
use rules::flow::{self, Changed, Decided, Doing, FlowRefusal, Starting, Wish};

/// A flow that others start this often between a look and an insert is left to the next try.
const LOOKS_MAX: usize = 8;

/// What became of it, and what is put on record: what its own code says is its history, what people ask for goes into the audit too.
pub fn carry_out(sql: &dyn Sql, order: &FlowOrder, now: Timestamp) -> Result<(FlowTold, Option<AuditEntry>)> {
    match order {
        FlowOrder::Start(ask) => start(sql, ask, now).map(|now| (Ok(Box::new(now)), None)),
        FlowOrder::Say { flow, word, message, by } => {
            let said = message.as_deref();
            let (told, before) = change(sql, (*flow, by), |flow, steps| {
                decide(sql, (flow, steps), (word, said), not_before(flow, now))
            })?;
            let entry = match (word, &told) {
                (FlowWord::Asked { wish, step, .. }, Ok(after)) if after.changed => {
                    let doing = step.map(|step| format!(", done by step {step}")).unwrap_or_default();
                    Some(AuditEntry {
                        who: by.clone(),
                        verb: wish.word().into(),
                        target: format!("flow {flow}"),
                        why: message.clone(),
                        before: before.map(|state| state.to_string()),
                        after: Some(format!("{}{doing}", after.flow.state)),
                    })
                }
                _ => None,
            };
            Ok((told, entry))
        }
    }
}

fn decide(
    sql: &dyn Sql,
    (flow, steps): (&Flow, &[FlowStep]),
    (word, said): (&FlowWord, Option<&str>),
    now: Timestamp,
) -> Result<Decided> {
    Ok(match word {
        FlowWord::Mark { step, to } => flow::mark(flow, steps, (step, *to), said, now),
        FlowWord::Update { to } => flow::update(flow, steps, *to, said, now),
        FlowWord::Finish { to } => flow::finish(flow, steps, *to, said, now),
        // The same wish again, after a lost answer: it is over.
        FlowWord::Asked { wish: Wish::Cancel, seen, .. }
            if flow.state == FlowState::Cancelled && flow.version > *seen =>
        {
            Ok(None)
        }
        FlowWord::Asked { wish, step, .. } => {
            let doing = Doing { step: *step, before: asked_last(sql, flow.id, *wish)? };
            flow::asked(flow, *wish, doing, said, now)
        }
    })
}

fn start(sql: &dyn Sql, ask: &FlowAsk, now: Timestamp) -> Result<FlowNow> {
    for _ in 0..LOOKS_MAX {
        let last = last_run(sql, &ask.name)?;
        let run = match (flow::start(ask, last.as_ref()), last) {
            (Starting::Resume, Some(flow)) => {
                return Ok(FlowNow { steps: steps(sql, flow.id)?, flow, changed: false });
            }
            (Starting::New { run }, Some(before)) if !before.state.is_over() => {
                let over = flow::supersede(&before, not_before(&before, now));
                if !write(sql, &before, &[], (&over, &ask.by))? {
                    continue;
                }
                run
            }
            (Starting::New { run }, _) => run,
            (Starting::Resume, None) => continue,
        };
        let (flow, steps) = flow::first(ask, run, now);
        if insert(sql, &flow)? {
            steps.iter().try_for_each(|step| insert_step(sql, flow.id, step))?;
            tell(sql, &flow, (FlowEvent::Started, None, flow.message.as_deref()), &ask.by)?;
            return Ok(FlowNow { flow, steps, changed: true });
        }
    }
    Err(StoreError::Busy(format!("flow {} was started every time it was looked at", ask.name)))
}

/// Orders carry the time at which they were given, on whichever node; what is said of a flow later is not said before.
fn not_before(flow: &Flow, now: Timestamp) -> Timestamp {
    now.max(flow.updated_at)
}

/// Take, look, decide, write what was seen; with the state that it had.
fn change(
    sql: &dyn Sql,
    (id, by): (FlowId, &str),
    decide: impl Fn(&Flow, &[FlowStep]) -> Result<Decided>,
) -> Result<(FlowTold, Option<FlowState>)> {
    sql.execute(HOLD_FLOW, params![id])?;
    let Some(flow) = find(sql, id)? else { return Ok((Err(FlowRefusal::NotThere), None)) };
    let (steps, was) = (steps(sql, id)?, Some(flow.state));
    match decide(&flow, &steps)? {
        Err(refusal) => Ok((Err(refusal), was)),
        Ok(None) => Ok((Ok(Box::new(FlowNow { flow, steps, changed: false })), was)),
        Ok(Some(next)) => {
            if !write(sql, &flow, &steps, (&next, by))? {
                return Err(StoreError::Busy(format!("flow {id} changed while it was looked at")));
            }
            let steps = read::steps(sql, id)?;
            Ok((Ok(Box::new(FlowNow { flow: next.flow, steps, changed: true })), was))
        }
    }
}

fn write(sql: &dyn Sql, seen: &Flow, steps: &[FlowStep], (next, by): (&Changed, &str)) -> Result<bool> {
    let flow = &next.flow;
    let values = params![
        flow.state.word(),
        flow.previous_state.map(|state| state.word()),
        flow.message.as_deref(),
        flow.error.as_deref(),
        flow.updated_at,
        flow.progressed_at,
        flow.finished_at,
        flow.given_up_at,
        seen.id,
        seen.version
    ];
    if sql.execute(WRITE_FLOW, values)? != 1 {
        return Ok(false);
    }
    for step in &next.steps {
        let was = steps.iter().find(|other| other.name == step.name).map(|step| step.state);
        write_step(sql, seen.id, step, was)?;
    }
    tell(sql, flow, (next.event, next.step.as_deref(), next.said.as_deref()), by)?;
    Ok(true)
}

fn write_step(sql: &dyn Sql, flow: FlowId, step: &FlowStep, was: Option<FlowStepState>) -> Result<()> {
    let Some(was) = was else { return insert_step(sql, flow, step) };
    let values = params![step.state.word(), step.at, step.message.as_deref(), flow, &step.name, was.word()];
    match sql.execute(WRITE_FLOW_STEP, values)? {
        1 => Ok(()),
        _ => Err(StoreError::Busy(format!(
            "step `{}` of flow {flow} changed while it was looked at",
            step.name
        ))),
    }
}

fn insert(sql: &dyn Sql, flow: &Flow) -> Result<bool> {
    let text = |action: &Option<model::FlowAction>| {
        action.as_ref().map(|action| serde_json::to_string(action).unwrap_or_default())
    };
    let values = params![
        flow.id,
        &flow.name.kind,
        &flow.name.key,
        &flow.name.entity_type,
        &flow.name.entity_id,
        flow.run,
        flow.user.as_deref(),
        flow.message.as_deref(),
        flow.open,
        text(&flow.retry),
        text(&flow.cancel),
        flow.started_at,
        &flow.started_by,
        flow.timeout_at
    ];
    Ok(sql.execute(INSERT_FLOW, values)? == 1)
}

fn insert_step(sql: &dyn Sql, flow: FlowId, step: &FlowStep) -> Result<()> {
    let (state, message) = (step.state.word(), step.message.as_deref());
    let values = params![flow, &step.name, step.position, step.optional, state, step.at, message];
    sql.execute(INSERT_FLOW_STEP, values)?;
    Ok(())
}

fn tell(
    sql: &dyn Sql,
    flow: &Flow,
    (event, step, said): (FlowEvent, Option<&str>, Option<&str>),
    by: &str,
) -> Result<()> {
    let (id, number, at) = (flow.id, flow.version, flow.updated_at);
    let values = params![id, number, at, event.word(), step, flow.state.word(), by, said];
    sql.execute(INSERT_FLOW_EVENT, values)?;
    if number > limits::FLOW_EVENTS_KEPT {
        sql.execute(FORGET_FLOW_EVENTS, params![id, number - limits::FLOW_EVENTS_KEPT])?;
    }
    Ok(())
}
