//! Reads a workflow that is not in hand: its row, its definition, and how far it is by its steps.

use super::super::node::Node;
use super::pauses::Pauses;
use super::{Entry, Fan, Live, Run, polls};
use model::definition::Work;
use model::{
    ForWorkflow, PauseState, Pinned, RetrySource, State, Step, StepId, Timestamp, Workflow, WorkflowId,
    limits,
};
use rules::workflow::progress::Progress;
use rules::workflow::traced::{LastRun, Traced};
use rules::workflow::{Answers, Items, Plan};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::traces::{Trace, traces};
use store::workflows as record;
use store::{Result, StoreError, pauses};

/// Who decides about a workflow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Mine,
    Another,
}

impl Node {
    /// A workflow in hand, read if it was not. Whoever takes it puts it back.
    pub(super) fn entry(&mut self, id: WorkflowId) -> Result<Option<Entry>> {
        if let Some(mut entry) = self.workflows.entries.remove(&id) {
            entry.turn = self.turn_number;
            return Ok(Some(entry));
        }
        let Some(workflow) = record::workflow(self.store.reader(), id)? else { return Ok(None) };
        Ok(self.read_entries(vec![workflow])?.pop())
    }

    /// Those workflows of these steps that are not in hand, read together: a read for each is a journey for each.
    pub(in super::super) fn bring_workflows(
        &mut self,
        steps: impl IntoIterator<Item = StepId>,
    ) -> Result<()> {
        let part = |id| self.board.step(id).and_then(|step| step.in_workflow);
        let mut ids: Vec<WorkflowId> = steps.into_iter().filter_map(part).map(|part| part.workflow).collect();
        ids.retain(|id| !self.workflows.knows(*id));
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return Ok(());
        }
        let mut mine = Vec::new();
        for workflow in record::workflows(self.store.reader(), &ids)? {
            match self.owns(&workflow.dispatch_group) {
                true => mine.push(workflow),
                false => drop(self.remember_elsewhere(&workflow)?),
            }
        }
        for entry in self.read_entries(mine)? {
            self.workflows.put(entry);
        }
        Ok(())
    }

    fn read_entries(&mut self, workflows: Vec<Workflow>) -> Result<Vec<Entry>> {
        let mut plans = BTreeMap::new();
        for workflow in &workflows {
            plans.insert(workflow.id, self.plan_pinned(&workflow.definition)?);
        }
        let ids: Vec<WorkflowId> = workflows.iter().map(|workflow| workflow.id).collect();
        let mut traces = traces(self.store.reader(), &ids, |id, def| plans[&id].reads(def))?;
        let read = |workflow: Workflow| {
            let traces = traces.remove(&workflow.id).unwrap_or_default();
            self.read_entry(plans[&workflow.id].clone(), workflow, traces)
        };
        workflows.into_iter().map(read).collect()
    }

    fn read_entry(&mut self, plan: Arc<Plan>, workflow: Workflow, traces: Vec<Trace>) -> Result<Entry> {
        let (progress, _) = Progress::start(&plan.graph);
        let mut entry = Entry {
            answers: Answers::of(workflow.input.clone()),
            counted: workflow.open_state(),
            workflow,
            plan,
            progress,
            live: BTreeMap::new(),
            broken: BTreeMap::new(),
            runs: BTreeMap::new(),
            pauses: Pauses::default(),
            replaced: BTreeMap::new(),
            spared: BTreeMap::new(),
            cut: Default::default(),
            undoing: Vec::new(),
            ends: None,
            change: None,
            turn: self.turn_number,
        };
        self.trace(&mut entry, traces)?;
        if entry.undo().is_some_and(|undo| undo.planned) {
            let number = entry.aftermath().compensations;
            entry.undoing = record::compensation_runs(self.store.reader(), entry.workflow.id, number)?;
        }
        Ok(entry)
    }

    /// The definition that a workflow runs, and whether it is decided here.
    pub(super) fn plan_of(&mut self, id: WorkflowId) -> Result<Option<(Arc<Plan>, Whose)>> {
        if let Some(entry) = self.workflows.entries.get(&id) {
            return Ok(Some((entry.plan.clone(), Whose::Mine)));
        }
        if let Some(plan) = self.workflows.elsewhere.get(&id) {
            return Ok(Some((plan.clone(), Whose::Another)));
        }
        let Some(workflow) = record::workflow(self.store.reader(), id)? else { return Ok(None) };
        if self.owns(&workflow.dispatch_group) {
            return Ok(Some((self.plan_pinned(&workflow.definition)?, Whose::Mine)));
        }
        Ok(Some((self.remember_elsewhere(&workflow)?, Whose::Another)))
    }

    fn remember_elsewhere(&mut self, workflow: &Workflow) -> Result<Arc<Plan>> {
        let plan = self.plan_pinned(&workflow.definition)?;
        if self.workflows.elsewhere.len() >= limits::CACHED_WORKFLOWS_MAX {
            self.workflows.elsewhere.clear();
        }
        self.workflows.elsewhere.insert(workflow.id, plan.clone());
        Ok(plan)
    }

    fn plan_pinned(&mut self, pinned: &Pinned) -> Result<Arc<Plan>> {
        if let Some(plan) = self.workflows.plans.get(&pinned.hash) {
            return Ok(plan.clone());
        }
        let missing = || StoreError::Lost { what: format!("definition {} {}", pinned.key, pinned.version) };
        let found = record::find(self.store.reader(), &pinned.key, Some(&pinned.version))?;
        self.compile(&found.ok_or_else(missing)?)
    }

    /// What whoever runs a step is told of its workflow.
    pub(in super::super) fn workflow_of(&mut self, step: StepId) -> Result<Option<Arc<ForWorkflow>>> {
        let Some(part) = self.board.step(step).and_then(|step| step.in_workflow) else { return Ok(None) };
        let Some((plan, _)) = self.plan_of(part.workflow)? else { return Ok(None) };
        Ok(Some(Arc::new(ForWorkflow {
            id: part.workflow,
            definition: plan.pinned.key.clone(),
            version: plan.pinned.version.clone(),
            step_key: plan.name(part.def),
            run: part.run,
            item: part.item,
        })))
    }

    /// How far it is follows from the rows of its steps.
    fn trace(&mut self, entry: &mut Entry, traces: Vec<Trace>) -> Result<()> {
        let plan = entry.plan.clone();
        for trace in &traces {
            trace.response.iter().for_each(|text| entry.answers.put(trace.def, text.as_str()));
            entry.runs.insert(trace.def, Run { number: trace.run, step: trace.step });
        }
        self.trace_pauses(entry, &traces)?;
        let last = |trace: &Trace| LastRun {
            def: trace.def,
            state: trace.state,
            reason: trace.reason,
            pause: entry.pauses.behind(trace.def),
        };
        let traced = Traced::of(&plan, traces.iter().map(last), &entry.answers);
        let broken = |def: &u32| Some((*def, entry.runs.get(def)?.step));
        entry.broken = traced.broken.iter().filter_map(broken).collect();
        (entry.progress, entry.cut) = (traced.progress, traced.cut);
        for trace in traces {
            if !trace.state.is_terminal() {
                let live = self.live(&plan, trace.step, trace.def, trace.run)?;
                entry.live.insert(trace.def, live);
            } else if trace.state == State::Superseded && plan.undoes(trace.def).is_none() {
                entry.replaced.insert(trace.def, (trace.step, RetrySource::RetryFromStep));
            }
        }
        Ok(())
    }

    /// The pauses of its current runs, what was sent to them, and what waits for others to begin.
    fn trace_pauses(&mut self, entry: &mut Entry, traces: &[Trace]) -> Result<()> {
        if !entry.plan.has_pauses() {
            return Ok(());
        }
        let (plan, id) = (entry.plan.clone(), entry.workflow.id);
        // What was sent to a run that was superseded counts no more.
        let stands = |trace: &&Trace| trace.state != State::Superseded;
        let runs: BTreeMap<u32, u32> = traces.iter().filter(stands).map(|t| (t.def, t.run)).collect();
        for pause in pauses::of_workflow(self.store.reader(), id)? {
            if runs.get(&pause.def) != Some(&pause.run) {
                continue;
            }
            let output = plan.payload_of(pause.def);
            if let Some(number) = pause.consumed.filter(|_| plan.reads(output)) {
                let sent = pauses::sent(self.store.reader(), id, number)?;
                sent.into_iter().for_each(|text| entry.answers.put(output, text.as_str()));
            }
            match pause.state {
                PauseState::Waiting => drop(entry.pauses.waiting.insert(pause.def, pause)),
                over => drop(entry.pauses.over.insert(pause.def, over)),
            }
        }
        entry.pauses.early = pauses::early(self.store.reader(), id)?;
        Ok(())
    }

    fn live(&mut self, plan: &Arc<Plan>, id: StepId, def: u32, run: u32) -> Result<Live> {
        let missing = || StoreError::Lost { what: format!("step {id}") };
        let step = match self.board.step(id) {
            Some(step) => step.clone(),
            None => self.store.step(id)?.ok_or_else(missing)?,
        };
        let deadline = deadline(plan, def, step.created_at).or_else(|| polls::deadline(plan, def, &step));
        let fan = self.fan(plan, def, &step)?;
        let goes_on = matches!(plan.def(def).work, Work::Wait(_)) || fan.is_some();
        let goes_on_at = step.wake_at.filter(|_| step.state == State::Pending && goes_on);
        let below = match &plan.def(def).work {
            Work::Workflow(_) => record::below(self.store.reader(), id)?,
            _ => None,
        };
        Ok(Live { step: id, run, deadline, goes_on_at, fan, below })
    }

    /// What the items of a fan-out have answered so far.
    fn fan(&mut self, plan: &Plan, def: u32, step: &Step) -> Result<Option<Fan>> {
        let (Some(action), Some(block)) = (plan.def(def).work.action(), step.child_block) else {
            return Ok(None);
        };
        let items = match &action.each {
            None => None,
            Some(_) => {
                let value = step.arguments.to_string();
                let corrupt = StoreError::Corrupt { table: "steps", column: "arguments", value };
                Some(Items::read(&step.arguments).ok_or(corrupt)?)
            }
        };
        let is_made_by_the_job =
            items.is_none() && action.mode.is_none_or(|mode| mode == model::DispatchMode::Immediate);
        if is_made_by_the_job {
            return Ok(None);
        }
        let mut fan = Fan::new(block, items);
        if fan.keeps(plan, def) {
            for (item, answer) in record::answers(self.store.reader(), block)? {
                fan.keep(item, answer.into());
            }
        }
        Ok(Some(fan))
    }
}

pub(super) fn deadline(plan: &Plan, def: u32, from: Timestamp) -> Option<Timestamp> {
    match &plan.def(def).work {
        Work::Action(action) => action.timeout.step.map(|timeout| from + timeout),
        _ => None,
    }
}
