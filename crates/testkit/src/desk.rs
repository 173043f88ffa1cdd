//! What workers answer and people decide about workflows on a stage, one sentence each.

use crate::Stage;
use engine::WorkflowVerb;
use model::{CompensationScope, Decision, Failure, Outcome, ResolutionDecision, RetryMode, WorkflowId};

/// The workflow is done again from a step, as it is.
pub fn from_step(step: &str) -> Decision {
    retry_from(step, RetryMode::RetryOnly)
}

/// What was done behind a step is undone, and then the workflow is done again from it.
pub fn undo_then_from(step: &str) -> Decision {
    retry_from(step, RetryMode::CompensateThenRetry)
}

fn retry_from(step: &str, mode: RetryMode) -> Decision {
    Decision::RetryFromStep { step: step.into(), mode, include_step: false, force: false, items: None }
}

pub fn undo_all() -> Decision {
    Decision::Compensate { scope: CompensationScope::Full }
}

impl Stage {
    /// Whoever runs the last run of a step answers this.
    pub async fn end(&mut self, id: WorkflowId, key: &str, outcome: Outcome) {
        let step = self.step_of(id, key);
        let attempt = self.step(step).step.attempt;
        self.report(self.session.id, step, attempt, outcome).await;
        self.settle().await;
    }

    pub async fn done(&mut self, id: WorkflowId, key: &str) {
        self.done_with(id, key, "{}").await;
    }

    pub async fn done_with(&mut self, id: WorkflowId, key: &str, answer: &str) {
        self.end(id, key, Outcome::Complete { response: Some(answer.into()) }).await;
    }

    pub async fn fail(&mut self, id: WorkflowId, key: &str) {
        let failure = Failure { message: "no".into(), trace: None };
        self.end(id, key, Outcome::Fail { failure, notify: true }).await;
    }

    /// A person decides what becomes of a workflow.
    pub async fn resolve(&mut self, id: WorkflowId, decision: Decision) -> Result<(), String> {
        let decided = self.operate_workflow(id, WorkflowVerb::Resolve(decision)).await;
        self.settle().await;
        decided
    }

    /// What is undone and how far that is, of all times it was: `c running, a pending`.
    pub fn undoing(&self, id: WorkflowId) -> String {
        let runs = self.browse().compensation_runs(id).expect("a read");
        runs.iter().map(|run| format!("{} {}", run.step_key, run.state)).collect::<Vec<_>>().join(", ")
    }

    /// What was decided about a workflow, oldest first: `retry by test`.
    pub fn decided(&self, id: WorkflowId) -> Vec<String> {
        let decisions = self.browse().resolution_decisions(id).expect("a read");
        let shown = |one: &ResolutionDecision| format!("{} by {}", one.decision.word(), one.by);
        decisions.iter().map(shown).collect()
    }
}
