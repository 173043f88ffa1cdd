//! Tracked flows between the API and the engine.

use super::{instant, maybe};
use crate::answers;
use engine::{FlowNow, StartFlow};
use model::{
    Fault, Flow, FlowAction, FlowAgain, FlowMoment, FlowName, FlowStep, NewFlowStep, StepId, limits,
};
use std::time::Duration;
use store::flows::FlowShown;

/// What a body asks to be started; `by` is who asks.
pub fn start_flow(body: wire::FlowBody, by: String) -> Result<StartFlow, Fault> {
    let word = body.again.as_deref().map_or(Ok(FlowAgain::Resume), str::parse);
    let again = word.map_err(|problem: model::UnknownWord| Fault {
        field: "again".into(),
        problem: problem.to_string(),
        fix: "write resume or new".into(),
    })?;
    let (kind, key) = (body.kind, body.key);
    let name = FlowName { kind, key, entity_type: body.entity_type, entity_id: body.entity_id };
    let step = |step: wire::FlowStepBody| match step {
        wire::FlowStepBody::Name(name) => NewFlowStep { name, optional: false },
        wire::FlowStepBody::Said { name, optional } => NewFlowStep { name, optional },
    };
    Ok(StartFlow {
        user: body.user,
        steps: body.steps.into_iter().map(step).collect(),
        open: body.open,
        timeout: body.timeout_seconds.map_or(limits::FLOW_TIMEOUT_DEFAULT, Duration::from_secs),
        message: body.message,
        retry: body.retry.map(action),
        cancel: body.cancel.map(action),
        again,
        ..StartFlow::new(name, by)
    })
}

fn action(body: wire::FlowActionBody) -> FlowAction {
    let wire::FlowActionBody { action, queue, arguments } = body;
    FlowAction { action, queue, arguments }
}

pub fn flow_view(flow: &Flow) -> wire::FlowView {
    wire::FlowView {
        id: flow.id.to_string(),
        kind: flow.name.kind.clone(),
        key: flow.name.key.clone(),
        entity_type: flow.name.entity_type.clone(),
        entity_id: flow.name.entity_id.clone(),
        run: flow.run,
        user: flow.user.clone(),
        state: flow.state.to_string(),
        previous_state: flow.previous_state.map(|state| state.to_string()),
        message: flow.message.clone(),
        error: flow.error.clone(),
        open: flow.open,
        started_at: instant(flow.started_at),
        started_by: flow.started_by.clone(),
        updated_at: instant(flow.updated_at),
        progressed_at: maybe(flow.progressed_at),
        timeout_at: instant(flow.timeout_at),
        finished_at: maybe(flow.finished_at),
        can_retry: flow.retry.is_some(),
        can_cancel: flow.cancel.is_some(),
        revision: flow.version,
    }
}

fn step_view(step: &FlowStep) -> wire::FlowStepView {
    wire::FlowStepView {
        name: step.name.clone(),
        state: step.state.to_string(),
        optional: step.optional,
        at: maybe(step.at),
        message: step.message.clone(),
    }
}

fn moment_view(moment: &FlowMoment) -> wire::FlowMomentView {
    wire::FlowMomentView {
        number: moment.number,
        at: instant(moment.at),
        event: moment.event.to_string(),
        step: moment.step.clone(),
        state: moment.state.to_string(),
        by: moment.by.clone(),
        message: moment.message.clone(),
    }
}

/// A flow as an order left it; `made` is the step that does what was asked.
pub fn flow_now_view(now: &FlowNow, made: Option<StepId>) -> wire::FlowNowView {
    let account = answers::flow_account(&now.flow, &now.steps);
    wire::FlowNowView {
        flow: flow_view(&now.flow),
        steps: now.steps.iter().map(step_view).collect(),
        percent: account.percent,
        sentence: account.sentence,
        changed: now.changed,
        step_id: made.map(|id| id.to_string()),
    }
}

pub fn flow_show(shown: &FlowShown) -> wire::FlowShow {
    let account = answers::flow_account(&shown.flow, &shown.steps);
    wire::FlowShow {
        flow: flow_view(&shown.flow),
        steps: shown.steps.iter().map(step_view).collect(),
        percent: account.percent,
        sentence: account.sentence,
        history: shown.history.iter().map(moment_view).collect(),
    }
}
