//! Secret values on their way: opened for whoever runs a step here, and covered in what a run reports.
//!
//! Why    rows, signals and answers to other nodes hold sealed values only. They are opened last, when a session of this node is
//!        handed its work, and a report is covered first, before anything is made of it.

use super::node::Node;
use crate::delivery::{DELIVER, bound_to};
use crate::request::{Reply, Request};
use crate::seal::{Keyring, SealError, Values, Veil, opened};
use model::{Claim, Failure, Outcome, Report, Sealed, SessionId, Step, StepId, WorkflowId, limits};
use std::sync::Arc;
use store::Result;
use store::workflows as record;
use tokio::sync::oneshot;
use tracing::error;
use uuid::Uuid;

/// What a run was told in clear.
#[derive(Clone, Default)]
pub enum Veiled {
    /// Nothing.
    #[default]
    Bare,
    Under(Arc<Veil>),
    /// Somebody else handed it out: its arguments tell.
    Unknown,
}

/// Levels between a step and the workflow at the top of it all.
const LINEAGE_MAX: u32 = limits::NESTING_MAX * limits::WORKFLOW_NESTING_MAX;

impl Node {
    /// What whoever runs a step is told beside the step itself.
    pub(super) fn dress(&mut self, claim: &mut Claim) -> Result<()> {
        claim.workflow = self.workflow_of(claim.step)?;
        claim.poll = self.poll_claimed(claim.step)?;
        let look = claim.look.as_ref().and_then(|look| look.response.as_deref());
        let previous = claim.poll.as_ref().and_then(|poll| poll.previous.as_deref());
        if [Some(&*claim.arguments), look, previous].into_iter().flatten().any(Sealed::is_in) {
            let lineage = self.lineage(claim.step)?;
            claim.opens = lineage.into_iter().chain(delivery_of(claim)).collect();
        }
        Ok(())
    }

    /// Open what a session of this node is about to be given. What does not open is reported as failed, and not given.
    pub(super) fn open_claim(&mut self, session: SessionId, claim: &mut Claim) -> Option<Veiled> {
        if claim.opens.is_empty() {
            return Some(Veiled::Bare);
        }
        match open(claim, &self.config.secrets) {
            Ok(values) if values.is_empty() => Some(Veiled::Bare),
            Ok(values) => Some(Veiled::Under(Arc::new(Veil::of(values, &self.config.secrets)))),
            Err(problem) => {
                error!(step = %claim.step, %problem, "a step cannot be given its secret values");
                let report = failed(session, claim.step, claim.attempt, problem.to_string());
                let (reply, _) = oneshot::channel();
                self.hear_later(Request::Reports { reports: vec![report], reply: Reply::Caller(reply) });
                None
            }
        }
    }

    /// The workflows that a step is part of: its own, and those above.
    pub(super) fn lineage(&mut self, step: StepId) -> Result<Vec<Uuid>> {
        let (mut found, mut next) = (Vec::new(), Some(step));
        for _ in 0..LINEAGE_MAX {
            let Some(id) = next else { break };
            let Some(step) = self.known_step(id)? else { break };
            next = match (step.in_workflow, step.block()) {
                (Some(part), _) => {
                    found.push(part.workflow.0);
                    self.step_above(part.workflow)?
                }
                (None, Some(block)) => match self.board.block(block) {
                    Some(block) => block.owner,
                    None => self.store.block(block)?.and_then(|block| block.owner),
                },
                (None, None) => None,
            };
        }
        Ok(found)
    }

    fn known_step(&mut self, id: StepId) -> Result<Option<Step>> {
        match self.board.step(id) {
            Some(step) => Ok(Some(step.clone())),
            None => self.store.step(id),
        }
    }

    /// The step that waits for a workflow.
    fn step_above(&mut self, workflow: WorkflowId) -> Result<Option<StepId>> {
        match self.workflows.parent_of(workflow) {
            Some(parent) => Ok(parent),
            None => Ok(record::workflow(self.store.reader(), workflow)?.and_then(|workflow| workflow.parent)),
        }
    }

    /// A report as it may be stored. What cannot be covered is not kept.
    pub(super) fn cover_report(&mut self, report: &mut Report) -> Result<()> {
        let covered = match self.veil_of(report)? {
            Ok(None) => return Ok(()),
            Ok(Some(veil)) => veil.report(report),
            Err(problem) => Err(problem),
        };
        if let Err(problem) = covered {
            error!(step = %report.step, %problem, "what a run reported cannot be kept");
            let message = format!("what the run reported is not kept: {problem}");
            *report = failed(report.session, report.step, report.attempt, message);
        }
        Ok(())
    }

    fn veil_of(&mut self, report: &Report) -> Result<std::result::Result<Option<Arc<Veil>>, SealError>> {
        let live = self.sessions.get(report.session);
        let hold = live.and_then(|live| live.held.get(&report.step));
        match hold.filter(|hold| hold.attempt == report.attempt).map(|hold| &hold.veil) {
            Some(Veiled::Bare) => return Ok(Ok(None)),
            Some(Veiled::Under(veil)) => return Ok(Ok(Some(veil.clone()))),
            Some(Veiled::Unknown) | None => {}
        }
        let Some(step) = self.known_step(report.step)? else { return Ok(Ok(None)) };
        let mut values = Values::new();
        // What the poll before it said was given to the run too.
        let said = step.polled.as_ref().and_then(|polled| polled.data.as_deref());
        for given in [Some(&*step.arguments), said].into_iter().flatten() {
            match self.in_clear(step.id, given)? {
                Ok(opened) => values.extend(opened.into_iter().flat_map(|(_, found)| found)),
                Err(problem) => return Ok(Err(problem)),
            }
        }
        if values.is_empty() {
            return Ok(Ok(None));
        }
        Ok(Ok(Some(Arc::new(Veil::of(values, &self.config.secrets)))))
    }

    /// What a step was given or answered, as whoever runs it knows it; none if there is nothing secret in it.
    pub(super) fn in_clear(
        &mut self,
        step: StepId,
        json: &str,
    ) -> Result<std::result::Result<Option<(String, Values)>, SealError>> {
        if !Sealed::is_in(json) {
            return Ok(Ok(None));
        }
        let owners: Vec<Uuid> = self.lineage(step)?.into_iter().chain(bound_to(json)).collect();
        Ok(opened(json, &owners, &self.config.secrets))
    }
}

/// What signs a delivery to a subscriber is its own.
fn delivery_of(claim: &Claim) -> Option<Uuid> {
    bound_to(&claim.arguments).filter(|_| &*claim.action == DELIVER)
}

fn open(claim: &mut Claim, keys: &Keyring) -> std::result::Result<Values, SealError> {
    let mut values = Values::new();
    if let Some((arguments, found)) = opened(&claim.arguments, &claim.opens, keys)? {
        claim.arguments = arguments.into();
        values.extend(found);
    }
    if let Some(response) = claim.look.as_mut().and_then(|look| look.response.as_mut())
        && let Some((clear, found)) = opened(response, &claim.opens, keys)?
    {
        *response = clear.into();
        values.extend(found);
    }
    if let Some(previous) = claim.poll.as_mut().and_then(|poll| poll.previous.as_mut())
        && let Some((clear, found)) = opened(previous, &claim.opens, keys)?
    {
        *previous = clear.into();
        values.extend(found);
    }
    Ok(values)
}

fn failed(session: SessionId, step: StepId, attempt: u32, message: String) -> Report {
    let outcome = Outcome::Fail { failure: Failure { message, trace: None }, notify: true };
    Report { session, step, attempt, outcome, log: Vec::new(), delivery: None }
}
