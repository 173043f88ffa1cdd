//! Workflows as callers ask for them: start one, hold it, let it go on, end it.

use crate::request::{PollRecovery, Request, StartWorkflow, Started, WorkflowOperated, WorkflowOperation};
use crate::{Ask, Engine, EngineError, Once, OnceError};
use model::{Fault, StepId, limits};
use store::AuditEntry;

/// Where the keys of starts are on record; those of the `Idempotency-Key` header are of their route.
const NAMESPACE: &str = "workflows.start";

impl Engine {
    /// Start a workflow; it is durable, and its first steps may run, when this returns.
    pub async fn start_workflow(&self, start: StartWorkflow) -> Result<Started, EngineError> {
        self.ask(|reply| Request::StartWorkflow { start, reply }).await
    }
    /// Start it, unless that was done under this key: then the answer is what was answered then. See `create_once`.
    pub async fn start_workflow_once(
        &self,
        key: &str,
        start: StartWorkflow,
    ) -> Result<Once<Started>, OnceError<EngineError>> {
        let ask = Ask::new(NAMESPACE, key).input(&start).max_attempts(limits::ATTEMPTS_MAX);
        self.executions().once(ask, |_| self.start_workflow(start)).await
    }
    /// Put back polls that somebody should have made long ago, of the dispatch groups that are decided here; which they were, or
    /// would be. Finds nothing while all is well.
    pub async fn recover_polls(&self, recovery: PollRecovery) -> Result<Vec<StepId>, EngineError> {
        crate::handle::storable([("by", &*recovery.by)])?;
        if !recovery.dry_run {
            self.put_on_record(AuditEntry {
                who: recovery.by.clone(),
                verb: "recover polls".into(),
                target: format!("polls that are due for more than {} s", recovery.older.as_secs()),
                why: None,
                before: None,
                after: Some("looked for; each that is put back has a row of its own".into()),
            })
            .await?;
        }
        self.ask(|reply| Request::RecoverPolls { recovery, reply }).await
    }
    /// What a person does to a workflow.
    pub async fn operate_workflow(
        &self,
        operation: WorkflowOperation,
    ) -> Result<WorkflowOperated, EngineError> {
        let payload = operation.force.as_ref().and_then(|forced| forced.payload.as_deref());
        let nul = payload.map_or("", |text| if text.contains("\\u0000") { "\0" } else { text });
        crate::handle::storable([("by", &*operation.by), ("why", &*operation.why), ("payload", nul)])?;
        if let Some(fault) = payload.and_then(|text| Fault::json("payload", text)) {
            return Err(EngineError::Invalid(vec![fault]));
        }
        self.ask(|reply| Request::OperateWorkflow { operation, reply }).await
    }
}
