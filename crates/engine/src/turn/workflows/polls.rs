//! Steps that are asked again and again: what whoever asks is told, what an answer means, and the end of their time.
//!
//! Why    a poll is claimed, run, lost and reported as any other run of a step; only what its answer means is its own. Between two polls
//!        the step waits by its due time, in no worker's hands.

use super::super::node::{Node, Turn};
use super::Entry;
use super::load::Whose;
use model::{Failure, InWorkflow, Outcome, Poll, PollVerdict, Report, Step, StepId, Timestamp, limits};
use rules::worker;
use rules::workflow::poll::{self, Polled};
use rules::workflow::{Answers, Data, Plan};
use serde_json::json;
use std::sync::Arc;
use store::traces;
use store::workflows as record;
use store::{Result, StoreError};

/// What the answer of a poll comes to, if it is one.
pub fn polled(plan: &Plan, part: InWorkflow, step: &Step, report: &Report, now: Timestamp) -> Option<Polled> {
    poll::decide(step, plan.def(part.def).work.poll()?, report, now)
}

/// When nobody is waited for any more who could make the last poll.
pub(super) fn deadline(plan: &Plan, def: u32, step: &Step) -> Option<Timestamp> {
    let poll = plan.def(def).work.poll()?;
    let began = step.polled.as_ref()?.started_at;
    Some(began + poll::max_duration(poll) + limits::POLL_LAST_WAIT)
}

impl Node {
    /// The part of a step in a workflow, if it is polled there.
    pub(in super::super) fn poll_of(&mut self, id: StepId) -> Result<Option<(Arc<Plan>, InWorkflow)>> {
        let Some(part) = self.board.step(id).and_then(|step| step.in_workflow) else { return Ok(None) };
        let plan = self.plan_of(part.workflow)?.map(|(plan, _)| plan);
        Ok(plan.filter(|plan| plan.def(part.def).work.poll().is_some()).map(|plan| (plan, part)))
    }

    /// Which poll a run is, and what the one before it said.
    pub(in super::super) fn poll_claimed(&mut self, id: StepId) -> Result<Option<Poll>> {
        if self.poll_of(id)?.is_none() {
            return Ok(None);
        }
        let poll = |step: &Step| Poll {
            number: step.polls + 1,
            previous: step.polled.as_ref().and_then(|polled| polled.data.clone()),
        };
        Ok(self.board.step(id).map(poll))
    }

    /// The answer of a job that knows nothing of polls is made that of a poll.
    pub(in super::super) fn look_at_poll(
        &mut self,
        report: &mut Report,
        plan: &Arc<Plan>,
        part: InWorkflow,
    ) -> Result<()> {
        let step = self.board.step(report.step).filter(|step| worker::is_current(step, report));
        let Some(polls) = step.map(|step| step.polls + 1) else { return Ok(()) };
        let judged = match &report.outcome {
            Outcome::Complete { response } => self.judged(plan, part, response.as_deref(), polls)?,
            Outcome::Children { .. } => {
                Err("a job that is polled cannot have children; let a later step have them".into())
            }
            _ => return Ok(()),
        };
        report.outcome = judged.unwrap_or_else(|message| Outcome::Fail {
            failure: Failure { message, trace: None },
            notify: true,
        });
        Ok(())
    }

    fn judged(
        &mut self,
        plan: &Arc<Plan>,
        part: InWorkflow,
        answer: Option<&str>,
        polls: u32,
    ) -> Result<std::result::Result<Outcome, String>> {
        let compiled = &plan.steps[part.def as usize];
        let programs = (compiled.until.as_ref(), compiled.abort.as_ref());
        let entry = match self.plan_of(part.workflow)? {
            Some((_, Whose::Mine)) => self.entry(part.workflow)?,
            _ => None,
        };
        let looked = match entry {
            Some(entry) => {
                let looked = poll::look(programs, answer, polls, &Data::new(plan, &entry.answers));
                self.workflows.put(entry);
                looked
            }
            None => {
                poll::look(programs, answer, polls, &Data::new(plan, &self.answers_on_record(plan, part)?))
            }
        };
        Ok(looked.map_err(|failure| failure.message))
    }

    /// What the steps of a workflow that another node decides about have answered.
    fn answers_on_record(&self, plan: &Plan, part: InWorkflow) -> Result<Answers> {
        let reader = self.store.reader();
        let missing = || StoreError::Lost { what: format!("workflow {}", part.workflow) };
        let mut answers = Answers::of(record::workflow(reader, part.workflow)?.ok_or_else(missing)?.input);
        let traces = traces::traces(reader, &[part.workflow], |_, def| plan.reads(def))?;
        for trace in traces.into_values().flatten() {
            trace.response.iter().for_each(|text| answers.put(trace.def, text.as_str()));
        }
        Ok(answers)
    }

    /// A poll was answered.
    pub(in super::super) fn polled(
        &mut self,
        turn: &mut Turn,
        plan: &Arc<Plan>,
        part: InWorkflow,
        polled: Polled,
        now: Timestamp,
    ) -> Result<()> {
        let Polled { effects, attempt, event } = polled;
        let id = attempt.step;
        for effect in effects {
            self.board.apply(effect).map_err(|refused| StoreError::Lost { what: refused.to_string() })?;
        }
        let next = self.board.step(id).and_then(|step| step.wake_at);
        next.into_iter().for_each(|at| self.timers.set(now, at, id));
        let kept = plan.def(part.def).work.poll().map_or(0, poll::kept);
        let told = told(attempt.number, attempt.verdict, next);
        turn.polls.push((attempt, kept));
        // Events are numbered by whoever decides about the workflow.
        if !matches!(self.plan_of(part.workflow)?, Some((_, Whose::Mine))) {
            return Ok(());
        }
        let Some(mut entry) = self.entry(part.workflow)? else { return Ok(()) };
        let key = &plan.def(part.def).key;
        for kind in ["poll.attempted"].into_iter().chain(event) {
            self.workflows.tell(&entry.workflow, now, kind, Some(key), Some(told.clone()));
        }
        let waits = self.board.step(id).filter(|step| part.item.is_none() && !step.state.is_terminal());
        if let Some(step) = waits
            && let Some(live) = entry.live.get_mut(&part.def).filter(|live| live.step == id)
        {
            live.deadline = deadline(plan, part.def, step);
            self.reckon(&mut entry, now);
        }
        self.workflows.put(entry);
        Ok(())
    }

    /// The time of a step that is polled is over. What is asked just now may still answer.
    pub(super) fn polls_overdue(
        &mut self,
        entry: &mut Entry,
        def: u32,
        id: StepId,
        now: Timestamp,
    ) -> Result<()> {
        if !self.bring(id)? {
            return Ok(());
        }
        let plan = entry.plan.clone();
        let (Some(step), Some(poll)) = (self.board.step(id).cloned(), plan.def(def).work.poll()) else {
            return Ok(());
        };
        if step.state.is_terminal() {
            return Ok(());
        }
        if step.is_held() {
            let again = Some(now + limits::POLL_LAST_WAIT);
            entry.live.entry(def).and_modify(|live| live.deadline = again);
            return Ok(());
        }
        for effect in poll::overdue(&step, poll) {
            self.board.apply(effect).map_err(|refused| StoreError::Lost { what: refused.to_string() })?;
        }
        let told = json!({"number": step.polls}).to_string();
        self.workflows.tell(&entry.workflow, now, "poll.timed_out", Some(&plan.def(def).key), Some(told));
        Ok(())
    }
}

fn told(number: u32, verdict: PollVerdict, next: Option<Timestamp>) -> String {
    match next {
        Some(at) => json!({"number": number, "verdict": verdict, "next_poll_at": at.0}).to_string(),
        None => json!({"number": number, "verdict": verdict}).to_string(),
    }
}
