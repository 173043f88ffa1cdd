//! What becomes of a tracked flow when something is said about it: one decision for each thing that can be said.
//!
//! Takes   the flow and its steps as they are on record.
//! Gives   the flow and the steps as they are next, or why not; nothing when it is as was said already.
//! Why     what is said may be said twice, late, and by several at once. A step counts once however often it is completed, a flow in
//!         which something failed is failed even if nothing pends, and only what leads out of a run ends it. One that somebody gave up
//!         is not brought back by what is said of its steps late.

use model::{
    Flow, FlowAction, FlowAgain, FlowAsk, FlowEvent, FlowState, FlowStep, FlowStepState, StepId, Timestamp,
    limits,
};
use thiserror::Error;

/// Steps that a refusal names.
const NAMED_MAX: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FlowRefusal {
    #[error("there is no such flow; `GET /v1/flows` lists them")]
    NotThere,
    #[error("it {} and takes nothing more; start another run with `again: new`", .0.said())]
    Over(FlowState),
    #[error("it has no step `{name}`; it has {}", named(.known))]
    UnknownStep { name: String, known: Vec<String> },
    #[error("it has {} steps already; a flow has no more", limits::FLOW_STEPS_MAX)]
    TooManySteps,
    #[error("step `{name}` {}, so it cannot be {wanted} any more", .is.said())]
    StepEnded { name: String, is: FlowStepState, wanted: FlowStepState },
    #[error("it is not whole: {} {} not done; complete or skip them, or finish it as failed or cancelled", named(.0), if .0.len() == 1 { "is" } else { "are" })]
    Unfinished(Vec<String>),
    #[error("a flow is not put back to pending once something of it has happened; write `running`")]
    Begun,
    #[error("`{0}` is how a flow ends; use `finish` for that")]
    AnEnd(FlowState),
    #[error("nothing is declared that would retry it; start it with `retry: {{\"action\": …}}`")]
    NoRetry,
}

fn named(names: &[String]) -> String {
    if names.is_empty() {
        return "none".into();
    }
    let shown: Vec<String> = names.iter().take(NAMED_MAX).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(NAMED_MAX);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// A flow as it is next.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    pub flow: Flow,
    /// Those that changed.
    pub steps: Vec<FlowStep>,
    pub event: FlowEvent,
    /// The step that it was said of.
    pub step: Option<String>,
    pub said: Option<String>,
}

/// None when nothing changes.
pub type Decided = Result<Option<Changed>, FlowRefusal>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starting {
    /// The run that is there is meant.
    Resume,
    /// A run of its own, with this number; the one before goes on no more if it was not over.
    New { run: u32 },
}

pub fn start(ask: &FlowAsk, last: Option<&Flow>) -> Starting {
    match last {
        None => Starting::New { run: 1 },
        // Whoever asks again after a lost answer finds what it made.
        Some(flow) if flow.id == ask.id => Starting::Resume,
        Some(flow) if !flow.state.is_over() && ask.again == FlowAgain::Resume => Starting::Resume,
        Some(flow) => Starting::New { run: flow.run + 1 },
    }
}

/// A run as it begins.
pub fn first(ask: &FlowAsk, run: u32, now: Timestamp) -> (Flow, Vec<FlowStep>) {
    let flow = Flow {
        id: ask.id,
        name: ask.name.clone(),
        run,
        user: ask.user.clone(),
        state: FlowState::Pending,
        previous_state: None,
        message: ask.message.clone(),
        error: None,
        open: ask.open,
        retry: ask.retry.clone(),
        cancel: ask.cancel.clone(),
        started_at: now,
        started_by: ask.by.clone(),
        updated_at: now,
        progressed_at: None,
        timeout_at: now + ask.timeout,
        finished_at: None,
        given_up_at: None,
        version: 1,
    };
    let step = |(position, step): (usize, &model::NewFlowStep)| FlowStep {
        name: step.name.clone(),
        position: position as u32,
        optional: step.optional,
        state: FlowStepState::Pending,
        at: None,
        message: None,
    };
    (flow, ask.steps.iter().enumerate().map(step).collect())
}

/// What makes room for another run.
pub fn supersede(flow: &Flow, now: Timestamp) -> Changed {
    let flow = moved(flow, FlowState::Superseded, now);
    Changed { flow, steps: Vec::new(), event: FlowEvent::Superseded, step: None, said: None }
}

/// A step was completed, skipped, or failed.
pub fn mark(
    flow: &Flow,
    steps: &[FlowStep],
    (name, to): (&str, FlowStepState),
    said: Option<&str>,
    now: Timestamp,
) -> Decided {
    let is = step_of(flow, steps, name)?;
    if is.state == to && (to != FlowStepState::Failed || is.message.as_deref() == said) {
        return Ok(None);
    }
    if flow.state.is_over() {
        return Err(FlowRefusal::Over(flow.state));
    }
    let is_possible = match to {
        FlowStepState::Completed => true,
        FlowStepState::Failed | FlowStepState::Skipped => {
            matches!(is.state, FlowStepState::Pending | FlowStepState::Failed)
        }
        FlowStepState::Pending => false,
    };
    if !is_possible {
        return Err(FlowRefusal::StepEnded { name: name.into(), is: is.state, wanted: to });
    }
    let step = FlowStep { state: to, at: Some(now), message: said.map(Into::into), ..is };
    let mut all: Vec<FlowStep> = steps.iter().filter(|other| other.name != name).cloned().collect();
    all.push(step.clone());
    let is_late = flow.given_up_at.is_some();
    let mut next = moved(flow, if is_late { flow.state } else { standing(flow, &all) }, now);
    next.progressed_at = Some(now);
    if to == FlowStepState::Failed && !step.optional && !is_late {
        next.error = Some(said.map_or_else(|| format!("step `{name}` failed"), Into::into));
    }
    Ok(Some(Changed {
        flow: next,
        steps: vec![step],
        event: event_of(to),
        step: Some(name.into()),
        said: said.map(Into::into),
    }))
}

fn event_of(to: FlowStepState) -> FlowEvent {
    match to {
        FlowStepState::Failed => FlowEvent::StepFailed,
        FlowStepState::Skipped => FlowEvent::StepSkipped,
        FlowStepState::Completed | FlowStepState::Pending => FlowEvent::StepCompleted,
    }
}

/// The step of that name; one that is not declared is new, where the flow takes such.
fn step_of(flow: &Flow, steps: &[FlowStep], name: &str) -> Result<FlowStep, FlowRefusal> {
    if let Some(step) = steps.iter().find(|step| step.name == name) {
        return Ok(step.clone());
    }
    if !flow.open {
        let known = steps.iter().map(|step| step.name.clone()).collect();
        return Err(FlowRefusal::UnknownStep { name: name.into(), known });
    }
    if steps.len() >= limits::FLOW_STEPS_MAX {
        return Err(FlowRefusal::TooManySteps);
    }
    Ok(FlowStep {
        name: name.into(),
        position: steps.iter().map(|step| step.position + 1).max().unwrap_or(0),
        optional: false,
        state: FlowStepState::Pending,
        at: None,
        message: None,
    })
}

/// What the steps make of it: failed where one that it needs failed, whole where none is left. An open flow may get more of them, so
/// somebody has to say when it is whole.
fn standing(flow: &Flow, steps: &[FlowStep]) -> FlowState {
    let mut needed = steps.iter().filter(|step| !step.optional);
    if needed.any(|step| step.state == FlowStepState::Failed) {
        return FlowState::Failed;
    }
    let pends = steps.iter().any(|step| step.state == FlowStepState::Pending);
    if pends || flow.open { FlowState::Running } else { FlowState::Completed }
}

/// The flow in another state, or written again in the same.
fn moved(flow: &Flow, to: FlowState, now: Timestamp) -> Flow {
    let mut next = Flow { updated_at: now, version: flow.version + 1, ..flow.clone() };
    if to != flow.state {
        next.previous_state = Some(flow.state);
        next.state = to;
    }
    if to != FlowState::Failed {
        (next.error, next.given_up_at) = (None, None);
    }
    next.finished_at = to.is_over().then_some(now);
    next
}

/// Somebody says where it is, or what people may read of it. One that failed and runs again has what failed before it again; if all of it
/// was done late, it is whole.
pub fn update(
    flow: &Flow,
    steps: &[FlowStep],
    to: Option<FlowState>,
    said: Option<&str>,
    now: Timestamp,
) -> Decided {
    let to = to.unwrap_or(flow.state);
    let says_the_same = said.is_none() || said == flow.message.as_deref();
    if to == flow.state && says_the_same {
        return Ok(None);
    }
    match (flow.state, to) {
        (is, _) if is.is_over() => return Err(FlowRefusal::Over(is)),
        (is, to) if is == to => {}
        (_, FlowState::Running) => {}
        (_, FlowState::Pending) => return Err(FlowRefusal::Begun),
        (_, end) => return Err(FlowRefusal::AnEnd(end)),
    }
    let again = |step: &&FlowStep| !step.optional && step.state == FlowStepState::Failed;
    let (to, steps) = match (flow.state, to) {
        (FlowState::Failed, FlowState::Running) => {
            let again: Vec<FlowStep> = steps.iter().filter(again).map(pending).collect();
            let is_whole = again.is_empty() && !steps.is_empty();
            (if is_whole { standing(flow, steps) } else { to }, again)
        }
        _ => (to, Vec::new()),
    };
    let mut next = moved(flow, to, now);
    next.message = said.map(Into::into).or(next.message);
    let said = said.map(Into::into);
    Ok(Some(Changed { flow: next, steps, event: FlowEvent::StateUpdated, step: None, said }))
}

fn pending(step: &FlowStep) -> FlowStep {
    FlowStep { state: FlowStepState::Pending, at: None, message: None, ..step.clone() }
}

/// It is over, or it failed. What is optional and was not done is skipped; what it needs is not.
pub fn finish(flow: &Flow, steps: &[FlowStep], to: FlowState, said: Option<&str>, now: Timestamp) -> Decided {
    let says_the_same = to != FlowState::Failed
        || flow.given_up_at.is_some() && (said.is_none() || said == flow.error.as_deref());
    if flow.state == to && says_the_same {
        return Ok(None);
    }
    if flow.state.is_over() {
        return Err(FlowRefusal::Over(flow.state));
    }
    let open = |step: &&FlowStep| matches!(step.state, FlowStepState::Pending | FlowStepState::Failed);
    let missing: Vec<String> =
        steps.iter().filter(open).filter(|step| !step.optional).map(|step| step.name.clone()).collect();
    if to == FlowState::Completed && !missing.is_empty() {
        return Err(FlowRefusal::Unfinished(missing));
    }
    let left = steps.iter().filter(|step| to == FlowState::Completed && step.state == FlowStepState::Pending);
    let skipped = |step: &FlowStep| FlowStep { state: FlowStepState::Skipped, at: Some(now), ..step.clone() };
    let steps: Vec<FlowStep> = left.map(skipped).collect();
    let mut next = moved(flow, to, now);
    if to == FlowState::Failed {
        let error = said.or(flow.error.as_deref()).unwrap_or("it was finished as failed");
        (next.error, next.given_up_at) = (Some(error.into()), Some(now));
    }
    let said = said.map(Into::into);
    Ok(Some(Changed { flow: next, steps, event: FlowEvent::Finished, step: None, said }))
}

/// What somebody wants done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Retry,
    Cancel,
}

/// The action that does it; to cancel where nothing is declared for it means only that the flow is over.
pub fn action_for(flow: &Flow, wish: Wish) -> Result<Option<&FlowAction>, FlowRefusal> {
    if flow.state.is_over() {
        return Err(FlowRefusal::Over(flow.state));
    }
    match wish {
        Wish::Retry => flow.retry.as_ref().map(Some).ok_or(FlowRefusal::NoRetry),
        Wish::Cancel => Ok(flow.cancel.as_ref()),
    }
}

impl Wish {
    pub fn word(self) -> &'static str {
        match self {
            Wish::Retry => "retry",
            Wish::Cancel => "cancel",
        }
    }

    /// What its history says when somebody wants it.
    pub fn event(self) -> FlowEvent {
        match self {
            Wish::Retry => FlowEvent::RetryAsked,
            Wish::Cancel => FlowEvent::CancelAsked,
        }
    }
}

/// What does what was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doing {
    /// The step that was made for it; none where the flow is simply over.
    pub step: Option<StepId>,
    /// The one that was made when the same was asked last, with nothing said since but what was asked.
    pub before: Option<StepId>,
}

/// That it was asked for is part of the history, once for each step that does it; where the flow is, is told by whoever does it.
pub fn asked(flow: &Flow, wish: Wish, doing: Doing, said: Option<&str>, now: Timestamp) -> Decided {
    let has_action = action_for(flow, wish)?.is_some();
    if doing.step.is_some() && doing.step == doing.before {
        return Ok(None);
    }
    let to = if has_action { flow.state } else { FlowState::Cancelled };
    let mut next = moved(flow, to, now);
    next.error = flow.error.clone().filter(|_| to == FlowState::Failed);
    let (event, step) = (wish.event(), doing.step.map(|id| id.to_string()));
    Ok(Some(Changed { flow: next, steps: Vec::new(), event, step, said: said.map(Into::into) }))
}

#[cfg(test)]
mod tests;
