//! A pattern on a stage: its definitions run as they are written, and the story says which job answers when.

use super::page::Pattern;
use model::definition::Definition;
use model::{Name, Outcome, SessionOffer, State, StepId, WorkflowId};
use rules::operator::Verb;
use rules::settle::Mode;
use serde_json::Value;
use std::collections::BTreeSet;
use stepfast_testkit::Stage;
use store::{Filter, StepRow};

pub struct Play {
    pub stage: Stage,
    pub id: WorkflowId,
    main: String,
}

fn read(yaml: &str) -> Definition {
    let read = definition::read(yaml.as_bytes(), "patterns.md");
    let told = |faults: Vec<definition::Diagnostic>| faults.iter().map(|f| format!("{f}\n")).collect();
    read.map_err(told).unwrap_or_else(|faults: String| panic!("{faults}")).definition
}

/// A worker for all that the definitions name. It holds every job until the story has it answer.
fn worker(definitions: &[Definition]) -> SessionOffer {
    let steps = definitions.iter().flat_map(|definition| &definition.steps);
    let actions = steps.filter_map(|step| Some(step.work.action()?.action.as_str()));
    let actions: BTreeSet<&str> = actions.collect();
    SessionOffer {
        host: "patterns".into(),
        queues: vec!["default".into()],
        actions: actions.into_iter().map(Name::from).collect(),
        capacity: 100,
        remote: false,
    }
}

impl Play {
    /// Store what the page says and start the first definition; nothing has begun yet.
    pub async fn set(pattern: &Pattern, input: Value) -> Play {
        let definitions: Vec<Definition> = pattern.definitions.iter().map(|yaml| read(yaml)).collect();
        let mut stage = Stage::new().await;
        stage.session = stage.engine.join(worker(&definitions)).await.expect("a session");
        for yaml in &pattern.definitions {
            stage.define(yaml).await;
        }
        let main = definitions[0].workflow.clone();
        let id = stage.start(&main, input).await;
        Play { stage, id, main }
    }

    /// The same, and all that can begin has begun.
    pub async fn begin(pattern: &Pattern, input: Value) -> Play {
        let mut play = Play::set(pattern, input).await;
        play.rest().await;
        play
    }

    /// Another run of the first definition, beside those that there are.
    pub async fn again(&mut self, input: Value) -> WorkflowId {
        let id = self.stage.start(&self.main, input).await;
        self.rest().await;
        id
    }

    /// Until everything waits for a job.
    pub async fn rest(&mut self) {
        // What has joined its line can be read once that is durable.
        self.stage.decide(Mode::FixedPoint).await;
        self.stage.settle().await;
    }

    pub fn flow(&self) -> String {
        self.stage.flow(self.id)
    }

    /// The jobs that are in the hands of the worker, the oldest first.
    fn jobs(&self) -> Vec<StepRow> {
        let filter =
            Filter { states: vec![State::Running], ascending: true, limit: 100, ..Filter::default() };
        let rows = self.stage.browse().steps(&filter).expect("a read");
        rows.into_iter().filter(|row| !row.step.parked).collect()
    }

    /// The keys of the steps that a worker has in hand, in the order of the alphabet.
    pub fn in_hand(&self) -> String {
        let mut keys: Vec<String> =
            self.jobs().into_iter().map(|row| row.detail.step_key.unwrap_or_default()).collect();
        keys.sort();
        keys.join(" ")
    }

    pub fn job(&self, key: &str) -> StepRow {
        let found = self.jobs().into_iter().find(|row| row.detail.step_key.as_deref() == Some(key));
        found.unwrap_or_else(|| panic!("nobody does `{key}`, but: {}", self.in_hand()))
    }

    pub async fn report(&mut self, key: &str, outcome: Outcome) {
        let step = self.job(key).step;
        self.stage.report(self.stage.session.id, step.id, step.attempt, outcome).await;
        self.rest().await;
    }

    /// The oldest job of this step ends well.
    pub async fn done(&mut self, key: &str) {
        self.report(key, Outcome::Complete { response: None }).await;
    }

    pub async fn answers(&mut self, key: &str, answer: Value) {
        self.report(key, Outcome::Complete { response: Some(answer.to_string()) }).await;
    }

    /// What a person does to a step of the run.
    pub async fn operate(&mut self, key: &str, verb: Verb) {
        let step = self.stage.step_of(self.id, key);
        self.stage.operate(step, Some(verb)).await.expect("it may be done");
        self.rest().await;
    }

    /// The run that a step of this one started.
    pub fn below(&self, workflow: WorkflowId, key: &str) -> WorkflowId {
        let step = self.stage.step_of(workflow, key);
        self.stage.browse().workflow_below(step).expect("a read").expect("it started one")
    }

    /// What a step was given.
    pub fn given(&self, key: &str) -> Value {
        serde_json::from_str(&self.job(key).step.arguments).expect("arguments are JSON")
    }

    /// How the items of a fan-out stand.
    pub fn items(&self, fan_out: StepId) -> Vec<State> {
        let block = self.stage.step(fan_out).step.child_block.expect("it has items");
        let items = self.stage.browse().items(block, None, 100).expect("a read");
        items.iter().map(|row| row.step.state).collect()
    }
}
