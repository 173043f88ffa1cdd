//! Workflows for people: lists, and one with its steps in the order of its definition.

use super::{PAGE_BYTES_MAX, ROWS_AT_ONCE};
use crate::access::Scope;
use crate::convert;
use crate::secrets::{Known, Secrets};
use model::definition::{Definition, StepDef, Work};
use model::{Timestamp, Workflow, WorkflowId};
use std::collections::{BTreeMap, HashMap};
use store::{Browse, Circumstances, Result, StepRow, WorkflowFilter};

/// Polls that are shown beside a step; the step itself shows all that are on record.
const POLLS_SHOWN: usize = 5;

/// Steps of which it is asked why they do not move; of more than a few nobody reads it.
const ASKED_MAX: usize = 50;

/// Up to `filter.limit` workflows, newest first, and the cursor of the next page when there is one.
pub fn workflows(browse: &Browse, filter: &WorkflowFilter) -> Result<wire::WorkflowPage> {
    workflows_down_to(browse, filter, None, None)
}

pub(super) fn workflows_down_to(
    browse: &Browse,
    filter: &WorkflowFilter,
    oldest: Option<WorkflowId>,
    scope: Option<&Scope>,
) -> Result<wire::WorkflowPage> {
    let mut filter = filter.clone();
    let limit = filter.limit.max(1);
    let (mut workflows, mut known) = (Vec::new(), Known::default());
    loop {
        // One row more than wanted tells whether there is a next page.
        filter.limit = (limit + 1 - workflows.len()).min(ROWS_AT_ONCE);
        let rows = browse.workflows_down_to(&filter, oldest)?;
        for row in &rows {
            if workflows.len() == limit {
                return Ok(wire::WorkflowPage { workflows, next: filter.after.map(|id| id.to_string()) });
            }
            filter.after = Some(row.id);
            if let Some(scope) = scope
                && !scope.pinned(browse, &row.definition, &mut known)?
            {
                continue;
            }
            let secrets = known.secrets(browse, row)?;
            workflows.push(view(row, &secrets));
        }
        if rows.len() < filter.limit {
            return Ok(wire::WorkflowPage { workflows, next: None });
        }
    }
}

fn view(workflow: &Workflow, secrets: &Secrets) -> wire::WorkflowView {
    let mut view = convert::workflow_view(workflow);
    view.message = view.message.map(|text| secrets.hide_text(text));
    view
}

/// One workflow with its steps.
pub fn workflow(browse: &Browse, id: WorkflowId, now: Timestamp) -> Result<Option<wire::WorkflowShow>> {
    browse.at_one_moment(|| shown(browse, id, now))
}

fn shown(browse: &Browse, id: WorkflowId, now: Timestamp) -> Result<Option<wire::WorkflowShow>> {
    let Some(workflow) = browse.workflow(id)? else { return Ok(None) };
    let mut known = Known::default();
    let (secrets, definition) =
        (known.secrets(browse, &workflow)?, known.definition(browse, &workflow.definition)?);
    let runs = runs(browse.workflow_steps(id)?);
    let percent = super::progress::percent(browse, (&workflow, &definition), &runs)?;
    let branches = branches(&definition);
    let mut looking = Looking { browse, secrets: &secrets, now, around: None, asked: 0, polled: 0, bytes: 0 };
    let (whole, polls) = (*definition).clone().expanded();
    let mut steps = Vec::with_capacity(whole.steps.len());
    for n in in_order(definition.steps.len(), &polls) {
        let def = &whole.steps[n];
        let branch = branches.get(def.key.as_str()).map(ToString::to_string);
        let of_def = runs.get(&(n as u32)).map(Vec::as_slice).unwrap_or_default();
        steps.push(wire::WorkflowStepView { branch, ..looking.step(def, of_def)? });
    }
    let live = if workflow.state.is_over() { None } else { steps.iter().find(|step| is_live(&step.state)) };
    let status_message = live.and_then(|step| step.status_message.clone());
    Ok(Some(wire::WorkflowShow {
        percent,
        status_message,
        input: secrets.hide_input(convert::raw(&workflow.input)),
        output: workflow.output.as_deref().map(|text| secrets.hide(convert::raw(text))),
        workflow: view(&workflow, &secrets),
        pauses: super::pauses::of_workflow(browse, &workflow)?,
        steps,
        resolutions: browse.resolution_decisions(id)?.iter().map(convert::resolution_view).collect(),
        compensations: browse.compensation_runs(id)?.iter().map(|run| compensation(run, &secrets)).collect(),
    }))
}

fn compensation(run: &model::CompensationRun, secrets: &Secrets) -> wire::CompensationView {
    let mut view = convert::compensation_view(run);
    view.error = view.error.map(|text| secrets.hide_text(text));
    view
}

/// The steps as they are written, and what polls behind one just after it.
pub(super) fn in_order(written: usize, polls: &[u32]) -> impl Iterator<Item = usize> {
    let behind = move |n: usize| polls.iter().position(|before| *before as usize == n).map(|i| written + i);
    (0..written).flat_map(move |n| [Some(n), behind(n)].into_iter().flatten())
}

/// The runs of each step of the definition, the last one last.
pub(super) fn runs(rows: Vec<StepRow>) -> BTreeMap<u32, Vec<StepRow>> {
    let mut runs: BTreeMap<u32, Vec<StepRow>> = BTreeMap::new();
    for row in rows {
        if let Some(part) = row.step.in_workflow {
            runs.entry(part.def).or_default().push(row);
        }
    }
    runs
}

/// The branch on which a step stands.
fn branches(definition: &Definition) -> HashMap<&str, &str> {
    let branches = definition.steps.iter().filter_map(|step| match &step.work {
        Work::Branch(branch) => Some(&branch.branches),
        _ => None,
    });
    let of =
        branches.flatten().flat_map(|(branch, keys)| keys.iter().map(|key| (key.as_str(), branch.as_str())));
    of.collect()
}

fn is_live(state: &str) -> bool {
    state.parse::<model::State>().is_ok_and(model::State::is_hot)
}

pub(super) fn kind(def: &StepDef) -> (&'static str, Option<&str>) {
    match &def.work {
        Work::Action(action) if action.each.is_some() => ("fan_out", Some(&action.action)),
        Work::Action(action) => ("action", Some(&action.action)),
        Work::Poll(poll) => ("poll", Some(&poll.run.action)),
        Work::Wait(_) => ("wait", None),
        Work::Branch(_) => ("branch", None),
        Work::Workflow(_) => ("workflow", None),
    }
}

struct Looking<'a> {
    browse: &'a Browse,
    secrets: &'a Secrets,
    now: Timestamp,
    /// Read when the first step is asked about.
    around: Option<Circumstances>,
    asked: usize,
    polled: usize,
    /// Of answers that are shown.
    bytes: usize,
}

impl Looking<'_> {
    fn step(&mut self, def: &StepDef, runs: &[StepRow]) -> Result<wire::WorkflowStepView> {
        let (kind, action) = kind(def);
        let ahead = wire::WorkflowStepView {
            key: def.key.clone(),
            kind: kind.into(),
            action: action.map(Into::into),
            state: "ahead".into(),
            ..wire::WorkflowStepView::default()
        };
        let Some((row, earlier)) = runs.split_last() else { return Ok(ahead) };
        let (step, detail) = (&row.step, &row.detail);
        let is_live = step.state.is_hot();
        let view = wire::WorkflowStepView {
            state: step.state.to_string(),
            reason: step.reason.map(|reason| reason.to_string()),
            run: step.in_workflow.map_or(1, |part| part.run),
            attempt: (kind == "action" && step.attempt > 0).then_some(step.attempt),
            polls: if kind == "poll" { self.polls(row)? } else { None },
            step_id: Some(step.id.to_string()),
            started_at: began(step).map(convert::instant),
            completed_at: step.completed_at.map(convert::instant),
            error: detail.error_message.clone().map(|text| self.secrets.hide_text(text)),
            output: self.output(row),
            status_message: def.status_message.clone().filter(|_| is_live),
            why: if is_live { self.why(row)? } else { None },
            earlier: earlier.iter().map(earlier_run).collect(),
            ..ahead
        };
        self.beneath(row, view)
    }

    /// How far its polls are, or those of the one that stands in a line for it.
    fn polls(&mut self, row: &StepRow) -> Result<Option<wire::PollsView>> {
        let in_line = match row.step.child_block {
            Some(block) => self.browse.items(block, None, 1)?.pop(),
            None => None,
        };
        let step = in_line.as_ref().map_or(&row.step, |row| &row.step);
        self.polled += 1;
        // Of more than a few nobody reads it.
        let mut last = if self.polled > ASKED_MAX { Vec::new() } else { self.browse.polls(step.id)? };
        last.drain(..last.len().saturating_sub(POLLS_SHOWN));
        let mut view = convert::polls_view(step, &last);
        view.iter_mut().for_each(|polls| self.secrets.hide_polls(polls));
        Ok(view)
    }

    /// Its items, or the workflow that it started.
    fn beneath(&self, row: &StepRow, view: wire::WorkflowStepView) -> Result<wire::WorkflowStepView> {
        let block = row.step.child_block.map(|block| self.browse.block(block)).transpose()?.flatten();
        let below = match view.kind.as_str() {
            "workflow" => self.browse.workflow_below(row.step.id)?.map(|id| id.to_string()),
            _ => None,
        };
        let items = block.as_ref().filter(|_| view.kind != "poll");
        let items = items.map(|block| convert::item_counts(block, &row.step.arguments));
        Ok(wire::WorkflowStepView { items, below, ..view })
    }

    fn output(&mut self, row: &StepRow) -> Option<Box<serde_json::value::RawValue>> {
        let text = row.detail.response.as_deref()?;
        self.bytes += text.len();
        (self.bytes <= PAGE_BYTES_MAX).then(|| self.secrets.hide(convert::raw(text)))
    }

    fn why(&mut self, row: &StepRow) -> Result<Option<Vec<String>>> {
        self.asked += 1;
        if self.asked > ASKED_MAX {
            return Ok(None);
        }
        let around = match self.around.take() {
            Some(around) => around,
            None => self.browse.circumstances(self.now)?,
        };
        let why = self.browse.why(row, &around)?;
        self.around = Some(around);
        Ok((!why.is_empty()).then(|| why.iter().map(convert::why_sentence).collect()))
    }
}

fn earlier_run(row: &StepRow) -> wire::EarlierRun {
    wire::EarlierRun {
        run: row.step.in_workflow.map_or(1, |part| part.run),
        step_id: row.step.id.to_string(),
        state: row.step.state.to_string(),
    }
}

/// A step that is polled began with its first poll, not with its last.
fn began(step: &model::Step) -> Option<Timestamp> {
    step.polled.as_ref().map(|polled| polled.started_at).or(step.started_at)
}
