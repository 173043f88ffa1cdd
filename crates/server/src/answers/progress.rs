//! How far workflows, trees of steps and flows are, and which of them are half done.

use super::workflows::{in_order, runs};
use crate::convert;
use crate::secrets::{Known, Secrets};
use engine::account::{Account, Course, Items, Part, PartStanding, account};
use model::definition::{Definition, FailurePolicy, StepDef};
use model::{
    Block, Flow, FlowId, FlowState, FlowStep, FlowStepState, Pause, State, StepId, Timestamp, Workflow,
    WorkflowId, WorkflowState, limits,
};
use std::collections::BTreeMap;
use store::{Browse, Circumstances, Result, StepRow, WorkflowCourse};

/// Live steps of which it is told why they do not move.
const ASKED_MAX: usize = 5;

type Runs = BTreeMap<u32, Vec<StepRow>>;

/// How far something is, as it is shown and as it was found.
pub(super) type Far = (wire::ProgressShow, Account);

/// Something with its parts, before it is shown.
struct Whole {
    parts: Vec<Part>,
    /// What is known of each part.
    notes: Vec<Vec<String>>,
    account: Account,
    waits_for: Vec<String>,
}

/// How far a workflow is, over the steps of the definition it is pinned to.
pub fn workflow_progress(
    browse: &Browse,
    id: WorkflowId,
    now: Timestamp,
) -> Result<Option<wire::ProgressShow>> {
    browse.at_one_moment(|| {
        let Some(workflow) = browse.workflow(id)? else { return Ok(None) };
        let around = browse.circumstances(now)?;
        let course = browse.workflow_courses(&[id])?.remove(&id).unwrap_or_default();
        Ok(Some(of_workflow(browse, (&workflow, course), (&mut Known::default(), &around))?.0))
    })
}

/// The same in one number, for a page that shows the rest.
pub(super) fn percent(
    browse: &Browse,
    (workflow, definition): (&Workflow, &Definition),
    runs: &Runs,
) -> Result<u8> {
    let parts = workflow_parts(browse, &listed(definition), runs)?;
    Ok(account(&parts, standing_of(workflow.state), None).percent.floor() as u8)
}

pub(super) fn of_workflow(
    browse: &Browse,
    (workflow, course): (&Workflow, WorkflowCourse),
    (known, around): (&mut Known, &Circumstances),
) -> Result<Far> {
    let (secrets, definition) =
        (known.secrets(browse, workflow)?, known.definition(browse, &workflow.definition)?);
    let runs = runs(course.steps);
    let listed = listed(&definition);
    let parts = workflow_parts(browse, &listed, &runs)?;
    let account = account(&parts, standing_of(workflow.state), None);
    let rows: Vec<Option<&StepRow>> =
        listed.iter().map(|(n, _)| runs.get(n).and_then(|runs| runs.last())).collect();
    let mut waits_for = awaited(workflow, &course.pauses);
    let notes = notes(browse, &rows, (&secrets, around), &mut waits_for)?;
    let whole = Whole { parts, notes, account, waits_for };
    let mut view = view("workflow", workflow.id.to_string(), &workflow.definition.key, &whole);
    let begun = workflow.started_at.unwrap_or(workflow.created_at);
    view.started_at = Some(convert::instant(begun));
    view.since = convert::instant(whole.account.since.unwrap_or(begun).max(begun));
    view.expected_at = workflow.expected_at.map(convert::instant);
    Ok((view, whole.account))
}

fn standing_of(state: WorkflowState) -> Course {
    match state {
        WorkflowState::Pending | WorkflowState::Running | WorkflowState::Paused => Course::GoingOn,
        WorkflowState::Succeeded => Course::Completed,
        WorkflowState::Failed | WorkflowState::Compensating | WorkflowState::CompensationFailed => {
            Course::Failed
        }
        WorkflowState::Cancelled | WorkflowState::Compensated => Course::Cancelled,
    }
}

/// The steps as they are written, with their numbers, and what polls behind one just after it: that is told in the words of its step.
fn listed(definition: &Definition) -> Vec<(u32, StepDef)> {
    let (whole, polls) = definition.clone().expanded();
    let written = definition.steps.len();
    let of = |n: usize| {
        let mut def = whole.steps[n].clone();
        if let Some(before) = n.checked_sub(written).and_then(|poll| polls.get(poll)) {
            def.status_message = whole.steps[*before as usize].status_message.clone();
        }
        (n as u32, def)
    };
    in_order(written, &polls).map(of).collect()
}

fn workflow_parts(browse: &Browse, listed: &[(u32, StepDef)], runs: &Runs) -> Result<Vec<Part>> {
    let mut parts = Vec::with_capacity(listed.len());
    for (n, def) in listed {
        let row = runs.get(n).and_then(|runs| runs.last());
        // A row of a workflow is made when its turn has come.
        let standing = row.map_or(PartStanding::Pending, |row| match row.step.state {
            State::Pending => PartStanding::Running,
            other => standing(other),
        });
        let lenient = matches!(def.on_failure, FailurePolicy::SkipStep | FailurePolicy::ContinueWithPartial);
        parts.push(Part {
            optional: lenient && standing == PartStanding::Failed,
            status_message: def.status_message.clone(),
            ..timed(Part::new(def.key.as_str(), standing), browse, row)?
        });
    }
    Ok(parts)
}

/// The times of a part, and how far what it consists of is.
fn timed(part: Part, browse: &Browse, row: Option<&StepRow>) -> Result<Part> {
    let Some(StepRow { step, .. }) = row else { return Ok(part) };
    let below = step.child_block.map(|block| browse.block(block)).transpose()?.flatten();
    let began_at = step.polled.as_ref().map(|polled| polled.started_at).or(step.started_at);
    Ok(Part { began_at, ended_at: step.completed_at, items: below.as_ref().map(items), ..part })
}

fn items(block: &Block) -> Items {
    let steps = &block.steps;
    Items {
        done: steps.concluded(),
        failed: steps.failed_set() + steps.cancelled,
        of: steps.counting() + block.to_come,
    }
}

fn standing(state: State) -> PartStanding {
    match state {
        State::NotRunnable | State::Pending | State::Superseded => PartStanding::Pending,
        State::Dispatched | State::Running | State::Polling => PartStanding::Running,
        State::Completed => PartStanding::Completed,
        State::Skipped => PartStanding::Skipped,
        State::Failed | State::Stopped | State::TimedOut => PartStanding::Failed,
        State::Cancelled => PartStanding::Cancelled,
    }
}

/// Triggers and dates that it waits for.
fn awaited(workflow: &Workflow, waiting: &[Pause]) -> Vec<String> {
    let told = waiting.iter().map(|pause| convert::pause_view(pause, workflow)).map(|pause| {
        let until =
            pause.timeout_at.or(pause.resume_at).map(|at| format!(", until {at}")).unwrap_or_default();
        match pause.trigger {
            Some(trigger) => format!("trigger `{trigger}` behind step `{}`{until}", pause.step),
            None => format!("a date behind step `{}`{until}", pause.step),
        }
    });
    told.collect()
}

/// Why the live ones do not move, and what went wrong with those that failed.
fn notes(
    browse: &Browse,
    rows: &[Option<&StepRow>],
    (secrets, around): (&Secrets, &Circumstances),
    waits_for: &mut Vec<String>,
) -> Result<Vec<Vec<String>>> {
    let (mut notes, mut asked) = (Vec::with_capacity(rows.len()), 0);
    for row in rows {
        let told = match row {
            Some(row) if row.step.state.is_hot() && asked < ASKED_MAX => {
                asked += 1;
                let why: Vec<String> = browse.why(row, around)?.iter().map(convert::why_sentence).collect();
                waits_for.extend(why.iter().cloned());
                why
            }
            Some(row) if standing(row.step.state) == PartStanding::Failed => {
                row.detail.error_message.clone().map(|text| secrets.hide_text(text)).into_iter().collect()
            }
            _ => Vec::new(),
        };
        notes.push(told);
    }
    waits_for.dedup();
    Ok(notes)
}

/// How far a step and those below it are.
pub fn step_progress(browse: &Browse, id: StepId, now: Timestamp) -> Result<Option<wire::ProgressShow>> {
    browse.at_one_moment(|| {
        let Some(row) = browse.step(id)? else { return Ok(None) };
        let around = browse.circumstances(now)?;
        Ok(Some(of_step(browse, &row, (&mut Known::default(), &around))?.0))
    })
}

pub(super) fn of_step(
    browse: &Browse,
    row: &StepRow,
    (known, around): (&mut Known, &Circumstances),
) -> Result<Far> {
    let step = &row.step;
    let block = step.child_block.map(|block| browse.block(block)).transpose()?.flatten();
    let children = match &block {
        None => Vec::new(),
        Some(block) => counting(browse.block_steps(block.id, limits::PROGRESS_STEPS_MAX)?),
    };
    let listed: Vec<&StepRow> = if block.is_none() { vec![row] } else { children.iter().collect() };
    let mut parts = Vec::with_capacity(listed.len());
    for row in &listed {
        parts.push(timed(Part::new(called(row), standing(row.step.state)), browse, Some(row))?);
    }
    let whole_course = match standing(step.state) {
        PartStanding::Completed | PartStanding::Skipped => Course::Completed,
        PartStanding::Failed => Course::Failed,
        PartStanding::Cancelled => Course::Cancelled,
        PartStanding::Pending | PartStanding::Running => Course::GoingOn,
    };
    let mut account = account(&parts, whole_course, None);
    let of = block.as_ref().map_or(parts.len() as u32, |block| items(block).of);
    let left_out = of.saturating_sub(parts.len() as u32);
    if let Some(block) = block.as_ref().filter(|_| left_out > 0 && whole_course != Course::Completed) {
        account.percent = by_counts(items(block));
    }
    let secrets = super::secrets_of(browse, row, known)?;
    let rows: Vec<Option<&StepRow>> = listed.into_iter().map(Some).collect();
    let mut waits_for = Vec::new();
    let notes = notes(browse, &rows, (&secrets, around), &mut waits_for)?;
    let whole = Whole { parts, notes, account, waits_for };
    let mut view = view("step", step.id.to_string(), &called(row), &whole);
    let about = row.detail.relatable_type.as_ref().zip(row.detail.relatable_id.as_ref());
    view.entity = about.map(|(kind, id)| format!("{kind} {id}"));
    let begun = step.started_at.unwrap_or(step.created_at);
    view.started_at = Some(convert::instant(begun));
    view.since = convert::instant(whole.account.since.unwrap_or(begun).max(begun));
    view.left_out = left_out;
    Ok((view, whole.account))
}

/// Without resolvers that sleep, and without what another took the place of.
fn counting(rows: Vec<StepRow>) -> Vec<StepRow> {
    rows.into_iter().filter(|row| !matches!(row.step.state, State::NotRunnable | State::Superseded)).collect()
}

fn called(row: &StepRow) -> String {
    let named = row.detail.step_key.clone().or_else(|| row.detail.label.clone());
    named.unwrap_or_else(|| row.step.action.to_string())
}

/// Where there are too many to list, those that are counted say how far it is.
fn by_counts(items: Items) -> f64 {
    let share = f64::from(items.done) / f64::from(items.of.max(1));
    ((share * 10_000.0).round() / 100.0).clamp(0.0, 99.0)
}

pub fn flow_progress(browse: &Browse, id: FlowId) -> Result<Option<wire::ProgressShow>> {
    let Some(shown) = browse.flow(id)? else { return Ok(None) };
    Ok(Some(of_flow(&shown.flow, &shown.steps).0))
}

/// The same for a flow and its steps, wherever they were read.
pub fn flow_account(flow: &Flow, steps: &[FlowStep]) -> Account {
    account(&flow_parts(steps), flow_course(flow.state), flow.message.as_deref())
}

fn flow_course(state: FlowState) -> Course {
    match state {
        FlowState::Pending | FlowState::Running => Course::GoingOn,
        FlowState::Failed => Course::Failed,
        FlowState::Completed => Course::Completed,
        FlowState::Cancelled | FlowState::Superseded => Course::Cancelled,
    }
}

fn flow_parts(steps: &[FlowStep]) -> Vec<Part> {
    let part = |step: &FlowStep| {
        let standing = match step.state {
            FlowStepState::Pending => PartStanding::Pending,
            FlowStepState::Completed => PartStanding::Completed,
            FlowStepState::Failed => PartStanding::Failed,
            FlowStepState::Skipped => PartStanding::Skipped,
        };
        Part { optional: step.optional, ended_at: step.at, ..Part::new(step.name.as_str(), standing) }
    };
    steps.iter().map(part).collect()
}

pub(super) fn of_flow(flow: &Flow, steps: &[FlowStep]) -> Far {
    let (parts, account) = (flow_parts(steps), flow_account(flow, steps));
    let notes = steps.iter().map(|step| step.message.clone().into_iter().collect()).collect();
    let whole = Whole { parts, notes, account, waits_for: Vec::new() };
    let mut view = view("flow", flow.id.to_string(), &flow.name.kind, &whole);
    let entity = [&flow.name.entity_type, &flow.name.entity_id, &flow.name.key];
    let entity: Vec<&str> = entity.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    view.entity = (!entity.is_empty()).then(|| entity.join(" "));
    view.user = flow.user.clone();
    view.started_at = Some(convert::instant(flow.started_at));
    view.since = convert::instant(flow.updated_at);
    view.expected_at = Some(convert::instant(flow.timeout_at));
    (view, whole.account)
}

fn view(kind: &str, id: String, name: &str, whole: &Whole) -> wire::ProgressShow {
    let Whole { parts, notes, account, waits_for } = whole;
    let listed = |wanted: &[PartStanding]| {
        let of_kind = parts.iter().zip(notes).filter(|(part, _)| wanted.contains(&part.standing));
        of_kind.map(|(part, notes)| part_view(part, notes)).collect()
    };
    wire::ProgressShow {
        kind: kind.into(),
        id,
        name: name.into(),
        entity: None,
        user: None,
        state: account.state.to_string(),
        percent: account.percent,
        sentence: account.sentence.clone(),
        completed: listed(&[PartStanding::Completed]),
        pending: listed(&[PartStanding::Running, PartStanding::Pending]),
        failed: listed(&[PartStanding::Failed]),
        skipped: listed(&[PartStanding::Skipped]),
        cancelled: listed(&[PartStanding::Cancelled]),
        left_out: 0,
        started_at: None,
        since: String::new(),
        current: account.current.map(|i| parts[i].name.clone()),
        waits_for: waits_for.clone(),
        expected_at: None,
    }
}

fn part_view(part: &Part, notes: &[String]) -> wire::PartView {
    wire::PartView {
        name: part.name.clone(),
        optional: part.optional,
        started_at: part.began_at.map(convert::instant),
        at: part.ended_at.map(convert::instant),
        items: part.items.map(|Items { done, failed, of }| wire::PartItems { done, failed, of }),
        notes: notes.to_vec(),
    }
}
