//! Workflows on a stage: definitions as authors write them, and how far a run is, in one line.

use crate::Stage;
use engine::{Applied, EngineError, Forced, StartWorkflow, TriggerOrder, WorkflowOperation, WorkflowVerb};
use model::{Pinned, State, StepId, TriggerAnswer, Workflow, WorkflowId};
use store::workflows::Definition;

/// A definition as `apply` stores it, from what an author writes.
pub fn stored(yaml: &str) -> Definition {
    let definition = definition::read(yaml.as_bytes(), "stage.yaml")
        .map(|read| read.definition)
        .unwrap_or_else(|faults| panic!("{}", faults.iter().map(|f| format!("{f}\n")).collect::<String>()));
    let pinned = Pinned {
        key: definition.workflow.as_str().into(),
        version: definition.version.as_str().into(),
        hash: definition::hash(&definition).into(),
    };
    Definition { pinned, text: definition::canonical(&definition) }
}

impl Stage {
    /// Store a definition, written as YAML.
    pub async fn define(&self, yaml: &str) -> Applied {
        self.engine.apply_definition(stored(yaml), "test".into()).await.expect("it is stored")
    }

    pub async fn try_start(
        &self,
        workflow: &str,
        input: serde_json::Value,
    ) -> Result<WorkflowId, EngineError> {
        let start = StartWorkflow::of(workflow).with(&input).expect("plain data");
        self.engine.start_workflow(start).await.map(|started| started.id)
    }

    pub async fn start(&self, workflow: &str, input: serde_json::Value) -> WorkflowId {
        self.try_start(workflow, input).await.expect("it starts")
    }

    /// Store a definition, start it and let it run as far as it goes.
    pub async fn run(&mut self, yaml: &str, input: serde_json::Value) -> WorkflowId {
        self.define(yaml).await;
        let name =
            yaml.lines().find_map(|line| line.trim().strip_prefix("workflow: ")).expect("it has a name");
        let id = self.start(name, input).await;
        self.settle().await;
        id
    }

    pub fn workflow(&self, id: WorkflowId) -> Workflow {
        self.browse().workflow(id).expect("a read").expect("the workflow exists")
    }

    pub async fn operate_workflow(&self, workflow: WorkflowId, verb: WorkflowVerb) -> Result<(), String> {
        let (by, why) = ("test".into(), "because".into());
        let operation =
            WorkflowOperation { workflow, verb, by, why, dry_run: false, expected: None, force: None };
        self.engine.operate_workflow(operation).await.map(drop).map_err(|e| e.to_string())
    }

    /// Somebody who showed who they are sends this to a trigger.
    pub async fn try_trigger(
        &self,
        workflow: WorkflowId,
        trigger: &str,
        payload: serde_json::Value,
    ) -> Result<TriggerAnswer, EngineError> {
        let order = TriggerOrder::of(workflow, trigger, payload.to_string(), "tester");
        self.engine.trigger(order).await.map(|triggered| triggered.answer)
    }

    pub async fn trigger(
        &self,
        workflow: WorkflowId,
        trigger: &str,
        payload: serde_json::Value,
    ) -> TriggerAnswer {
        self.try_trigger(workflow, trigger, payload).await.expect("it is looked at")
    }

    /// The workflow goes on without what it waits for.
    pub async fn force(&self, workflow: WorkflowId, payload: Option<&str>) -> Result<(), String> {
        let (by, why, verb) = ("test".into(), "because".into(), WorkflowVerb::Resume);
        let force = Some(Forced { payload: payload.map(Into::into) });
        let operation = WorkflowOperation { workflow, verb, by, why, dry_run: false, expected: None, force };
        self.engine.operate_workflow(operation).await.map(drop).map_err(|e| e.to_string())
    }

    /// The pauses of a workflow: `ask 1 waiting`.
    pub fn pauses(&self, id: WorkflowId) -> Vec<String> {
        let pauses = self.browse().workflow_pauses(id).expect("a read");
        pauses.iter().map(|pause| format!("{} {} {}", pause.step_key, pause.run, pause.state)).collect()
    }

    /// What was sent to a workflow, oldest first: `boss accepted tester {"ok":true}`.
    pub fn sent(&self, id: WorkflowId) -> Vec<String> {
        let all = self.browse().trigger_payloads(id, 100).expect("a read");
        let shown = |sent: &model::TriggerPayload| {
            let text = sent.payload.clone().unwrap_or_default();
            format!("{} {} {} {text}", sent.trigger, sent.verdict, sent.identity).trim_end().to_string()
        };
        all.iter().rev().map(shown).collect()
    }

    /// A long time passes in which nobody works.
    pub async fn leap(&mut self, span: std::time::Duration) {
        self.clock.advance(span);
        self.settle().await;
        self.join_again().await;
        self.settle().await;
    }

    /// Where a workflow is, and each of its steps: `running: a C, b K condition_false`.
    pub fn flow(&self, id: WorkflowId) -> String {
        let steps = self.browse().workflow_steps(id).expect("a read");
        let shown = |row: &store::StepRow| {
            let key = row.detail.step_key.clone().unwrap_or_default();
            let reason = match row.step.state {
                State::Skipped | State::Cancelled => row.step.reason.map(|reason| format!(" {reason}")),
                _ => None,
            };
            format!("{key} {}{}", crate::stage::letter(row.step.state), reason.unwrap_or_default())
        };
        let steps: Vec<String> = steps.iter().map(shown).collect();
        format!("{}: {}", self.workflow(id).state, steps.join(", "))
    }

    /// What was told of a workflow, in order.
    pub fn told(&self, id: WorkflowId) -> Vec<String> {
        let events = self.browse().workflow_events(id, 0, 1_000).expect("a read");
        let shown = |event: &store::EventLine| match &event.step_key {
            Some(key) => format!("{} {key}", event.kind),
            None => event.kind.clone(),
        };
        events.iter().map(shown).collect()
    }

    pub fn step_of(&self, id: WorkflowId, key: &str) -> StepId {
        let steps = self.browse().workflow_steps(id).expect("a read").into_iter().rev();
        let found = steps.into_iter().find(|row| row.detail.step_key.as_deref() == Some(key));
        found.expect("a step with this key").step.id
    }
}
