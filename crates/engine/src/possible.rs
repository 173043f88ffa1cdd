//! What can be done about a workflow, a step or a message group as things stand: the rules that decide are asked over what is on record.
//!
//! Why    whoever offers something and keeps a list of their own offers what is refused. The node still decides: it may know more than
//!        what is on record.

use crate::request::WorkflowVerb;
use model::definition::Work;
use model::{Block, Decision, PauseState, RetryMode, State, Step, StepId, Workflow, WorkflowState};
use rules::board::Held;
use rules::fifo::{self, GroupVerb};
use rules::operator::{self, Verb};
use rules::workflow::compensation::{self, Done};
use rules::workflow::hold::{self, Hold};
use rules::workflow::resolution::{self, Verdict, View};
use rules::workflow::spare::{self, FanOut};
use rules::workflow::traced::{LastRun, Traced};
use rules::workflow::{Answers, Items, Plan};
use std::collections::{BTreeMap, BTreeSet};
use store::message_groups::MessageGroup;
use store::workflows::Ended;
use store::{Browse, Result};

/// Steps that one can go back to, in a list that is read.
const STEPS_OFFERED: usize = 200;

/// A verb that would not be refused.
#[derive(Clone, PartialEq, Debug)]
pub struct Offer {
    pub verb: WorkflowVerb,
    /// Where it leads.
    pub to: WorkflowState,
    /// It goes on without what it waits for.
    pub forced: bool,
}

/// What can be done about a workflow.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Offers {
    pub verbs: Vec<Offer>,
    /// Steps that it can be done again from.
    pub from: Vec<String>,
    /// Behind some of them there is something that can be undone before.
    pub undoes_behind: bool,
}

/// A workflow, looked at.
struct Look<'a> {
    plan: &'a Plan,
    workflow: &'a Workflow,
    traced: Traced,
    done: Vec<Done>,
    /// Fan-outs that have ended.
    fans: BTreeMap<u32, FanOut>,
    /// Whether it may run again: it has a place, and whoever waits for it still does.
    has_place: bool,
}

pub fn for_workflow(browse: &Browse, plan: &Plan, workflow: &Workflow) -> Result<Offers> {
    let is_resolved = workflow.aftermath.as_ref().is_some_and(|after| after.resolved_at.is_some());
    if is_resolved || workflow.state.is_final() || workflow.state == WorkflowState::Compensating {
        return Ok(Offers::default());
    }
    let look = Look::of(browse, plan, workflow)?;
    let verbs = WorkflowVerb::plain().into_iter().filter_map(|verb| look.offer(verb)).collect();
    let keys = plan.definition.steps.iter().map(|def| def.key.clone());
    let from: Vec<String> =
        keys.filter(|key| look.goes_from(key, RetryMode::RetryOnly)).take(STEPS_OFFERED).collect();
    let undoes_behind = from.iter().any(|key| look.goes_from(key, RetryMode::CompensateThenRetry));
    Ok(Offers { verbs, from, undoes_behind })
}

impl Look<'_> {
    fn of<'a>(browse: &Browse, plan: &'a Plan, workflow: &'a Workflow) -> Result<Look<'a>> {
        // Of what was answered only the branches matter.
        let is_branch = |def: u32| matches!(plan.def(def).work, Work::Branch(_));
        let traces = browse.workflow_traces(workflow.id, is_branch)?;
        let mut answers = Answers::of(workflow.input.clone());
        let mut runs: BTreeMap<u32, u32> = BTreeMap::new();
        for trace in traces.iter().filter(|trace| trace.state != State::Superseded) {
            trace.response.iter().for_each(|text| answers.put(trace.def, text.as_str()));
            runs.insert(trace.def, trace.run);
        }
        let pauses = if plan.has_pauses() { browse.workflow_pauses(workflow.id)? } else { Vec::new() };
        let pauses: BTreeMap<u32, PauseState> = pauses
            .into_iter()
            .filter(|pause| runs.get(&pause.def) == Some(&pause.run))
            .map(|pause| (pause.def, pause.state))
            .collect();
        let last = traces.iter().map(|trace| LastRun {
            def: trace.def,
            state: trace.state,
            reason: trace.reason,
            pause: pauses.get(&trace.def).copied(),
        });
        let traced = Traced::of(plan, last, &answers);
        let ended = traces.iter().filter(|trace| trace.state.is_terminal() && runs.contains_key(&trace.def));
        let mut fans = BTreeMap::new();
        for trace in ended.filter(|trace| plan.fans_out(trace.def)) {
            fans.extend(fan(browse, trace.step)?.map(|fan| (trace.def, fan)));
        }
        let done = done(plan, browse.workflow_done(workflow.id)?);
        Ok(Look { plan, workflow, traced, done, fans, has_place: has_place(browse, plan, workflow)? })
    }

    fn offer(&self, verb: WorkflowVerb) -> Option<Offer> {
        let Workflow { state, paused_by, .. } = self.workflow;
        let awaits = hold::awaits(*state, *paused_by);
        let holds = |hold: Hold, forced: bool| {
            (forced || hold.fits(*state, *paused_by)).then(|| (hold.leads_to(), forced))
        };
        let (to, forced) = match &verb {
            WorkflowVerb::Pause => holds(Hold::Pause, false)?,
            WorkflowVerb::Resume if self.spares(&self.traced.broken, None) => holds(Hold::Resume, awaits)?,
            WorkflowVerb::Resume => return None,
            WorkflowVerb::Cancel => (self.verdict(&Decision::Cancel { on_cancel: None })?.leads_to(), false),
            WorkflowVerb::Resolve(decision) => (self.verdict(decision)?.leads_to(), false),
        };
        Some(Offer { verb, to, forced })
    }

    fn goes_from(&self, key: &str, mode: RetryMode) -> bool {
        let step = key.to_string();
        let from = Decision::RetryFromStep { step, mode, include_step: false, force: false, items: None };
        self.verdict(&from).is_some()
    }

    /// What a decision comes to, unless it would be refused.
    fn verdict(&self, decision: &Decision) -> Option<Verdict> {
        let Traced { progress, broken, cut, live } = &self.traced;
        let (plan, state) = (self.plan, self.workflow.state);
        let view = View { plan, state, is_resolved: false, progress, broken, cut };
        let verdict = resolution::judge(&view, decision).ok()?;
        let from = match decision {
            Decision::RetryFromStep { step, .. } => plan.find(step),
            _ => None,
        };
        let can = match &verdict {
            Verdict::Restart { again, .. } => self.has_place && self.spares(again, from),
            Verdict::Undo { .. } if matches!(decision, Decision::Cancel { .. }) => true,
            Verdict::Undo { scope, then_retry_from } => {
                let undoes = *live > 0 || !compensation::order(plan, scope, &self.done).is_empty();
                undoes && (then_retry_from.is_none() || self.has_place)
            }
            Verdict::Cancel | Verdict::Resolve | Verdict::RetryUndo | Verdict::SkipUndo { .. } => true,
        };
        can.then_some(verdict)
    }

    /// Whether it can be said which items of fan-outs are done again.
    fn spares(&self, steps: &BTreeSet<u32>, from: Option<u32>) -> bool {
        spare::spared(self.plan, spare::Again { steps, from, items: None }, &self.fans).is_ok()
    }
}

fn fan(browse: &Browse, step: StepId) -> Result<Option<FanOut>> {
    let Some(row) = browse.step(step)? else { return Ok(None) };
    let Some(block) = block(browse, &row.step)? else { return Ok(None) };
    Ok(Items::read(&row.step.arguments).map(|items| FanOut::of(items.len() as u32, &block)))
}

fn has_place(browse: &Browse, plan: &Plan, workflow: &Workflow) -> Result<bool> {
    if let Some(parent) = workflow.parent
        && browse.step(parent)?.is_some_and(|row| row.step.state.is_terminal())
    {
        return Ok(false);
    }
    let tries_again = workflow.aftermath.as_ref().is_some_and(|after| after.auto_retry_at.is_some());
    let is_over = workflow.state.is_over() && !tries_again;
    match (&workflow.concurrency_key, &plan.definition.concurrency) {
        (Some(key), Some(most)) if is_over => Ok(browse.live_of_key(key)? < most.limit as usize),
        _ => Ok(true),
    }
}

/// What was done, as far as it matters to what is undone: the last run of each step.
pub(crate) fn done(plan: &Plan, all: Vec<Ended>) -> Vec<Done> {
    let mut done: Vec<Done> = Vec::new();
    for ended in all.into_iter().filter(|ended| plan.undoes(ended.def).is_none()) {
        let (each, in_line) = (plan.fans_out(ended.def), plan.is_in_line(ended.def));
        done.retain(|one| one.def != ended.def);
        done.push(Done {
            def: ended.def,
            step: ended.step,
            state: ended.state,
            was_started: if in_line { ended.items_started } else { ended.started_at.is_some() },
            ended_at: ended.completed_at,
            items: each.then_some(ended.items),
        });
    }
    done
}

/// What can be done about a step; none is a retry.
pub fn for_step(browse: &Browse, id: StepId) -> Result<Vec<Option<Verb>>> {
    let Some(row) = browse.step(id)? else { return Ok(Vec::new()) };
    let step = &row.step;
    let children = block(browse, step)?;
    let mut verbs: Vec<Option<Verb>> = Verb::ALL.into_iter().map(Some).collect();
    verbs.retain(|verb| verb.is_some_and(|verb| operator::decide(step, children.as_ref(), verb, "").is_ok()));
    let around = step.block().map(|block| browse.block(block)).transpose()?.flatten();
    let owner = around.and_then(|block| block.owner).map(|owner| browse.step(owner)).transpose()?.flatten();
    if operator::may_retry(step, owner.as_ref().map(|row| &row.step), children.as_ref()).is_ok() {
        verbs.push(None);
    }
    Ok(verbs)
}

fn block(browse: &Browse, step: &Step) -> Result<Option<Block>> {
    Ok(step.child_block.map(|block| browse.block(block)).transpose()?.flatten())
}

/// What can be done about a message group; none of that name has nothing to do and is not held back.
pub fn for_message_group(group: Option<&MessageGroup>) -> Vec<GroupVerb> {
    let holds = group.map(|group| group.holds.as_slice()).unwrap_or_default();
    let held = Held {
        paused: holds.iter().any(|hold| hold.blocked_by.is_none()),
        blocked_by: holds.iter().filter_map(|hold| hold.blocked_by).collect(),
    };
    let first: Vec<StepId> = group.and_then(|group| group.head).into_iter().collect();
    GroupVerb::ALL.into_iter().filter(|verb| fifo::decide(*verb, &held, &first).is_ok()).collect()
}
