//! Workflows in a service that has the engine in itself: store a definition, start it, wait for its end.

use super::Local;
use definition::Diagnostic;
use engine::{Applied, EngineError, StartWorkflow, Started};
use model::definition::Definition;
use model::{Fault, WorkflowId, WorkflowState};
use serde_json::Value;
use server::answers::stored;
use std::time::Duration;
use store::{StoreError, workflows};

/// How often a workflow that is waited for is looked at, if nobody here tells anything of workflows: another node may.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Who is on record for what a service stores by itself.
const BY: &str = "embedded";

impl Local {
    /// Store a version of a definition, as `read_definition` or the builder made it. The same again changes nothing.
    ///
    /// ```
    /// use stepfast::builder::{Definition, Step};
    /// use stepfast::{Local, LocalConfig, Registry, StartWorkflow, WorkflowState, register_builtin};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let file = std::env::temp_dir().join(format!("greet-{}.db", std::process::id()));
    /// # let database = format!("sqlite:{}", file.display());
    /// let mut local = Local::at(&database, LocalConfig::default())?;
    /// let mut jobs = Registry::new();
    /// register_builtin(&mut jobs);
    /// local.run(jobs, 4).await?;
    ///
    /// let greet = Definition::of("greet", "1.0.0")
    ///     .step(Step::action("hello", "echo").arguments(serde_json::json!("Hello, ${input.name}")))
    ///     .build()
    ///     .expect("it is sound");
    /// local.apply(&greet).await?;
    ///
    /// let started = local.start(StartWorkflow::of("greet").with(&serde_json::json!({"name": "Ada"}))?).await?;
    /// let (state, output) = local.finished(started.id).await?;
    /// assert_eq!((state, output), (WorkflowState::Succeeded, Some("Hello, Ada".into())));
    /// # local.stop(std::time::Duration::ZERO).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn apply(&self, definition: &Definition) -> Result<Applied, EngineError> {
        let faults = definition::check(definition);
        if !faults.is_empty() {
            return Err(EngineError::Invalid(faults));
        }
        self.engine.apply_definition(stored(definition), BY.into()).await
    }

    /// Store what a definition file says, YAML or JSON; `name` is what it is called where something is wrong with it.
    ///
    /// ```
    /// # use stepfast::{Applied, Local, LocalConfig};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), stepfast::EngineError> {
    /// # let file = std::env::temp_dir().join(format!("apply-{}.db", std::process::id()));
    /// # let local = Local::at(&format!("sqlite:{}", file.display()), LocalConfig::default())?;
    /// let greet = "workflow: greet\nversion: 1.0.0\nsteps:\n  - { key: hello, action: greetings.say }\n";
    /// assert_eq!(local.apply_text(greet, "greet.yaml").await?, Applied::Created);
    /// let faults = local.apply_text("workflow: greet\nversion: 1.0.0\n", "greet.yaml").await.unwrap_err();
    /// assert!(faults.to_string().starts_with("greet.yaml:1:1"), "{faults}");
    /// # local.stop(std::time::Duration::ZERO).await
    /// # }
    /// ```
    pub async fn apply_text(&self, text: &str, name: &str) -> Result<Applied, EngineError> {
        let read = definition::read(text.as_bytes(), name)
            .map_err(|found| EngineError::Invalid(found.into_iter().map(fault).collect()))?;
        self.engine.apply_definition(stored(&read.definition), BY.into()).await
    }

    /// Start a workflow; it is durable when this returns.
    pub async fn start(&self, start: StartWorkflow) -> Result<Started, EngineError> {
        self.engine.start_workflow(start).await
    }

    /// Wait until a workflow is over: how it ended, and what it answered. One that is paused is waited for.
    pub async fn finished(&self, id: WorkflowId) -> Result<(WorkflowState, Option<Value>), EngineError> {
        let mut told = self.engine.told();
        loop {
            told.borrow_and_update();
            let row = self.engine.with_store(move |store| workflows::workflow(store.reader(), id)).await??;
            let row = row.ok_or(EngineError::NoWorkflow(id))?;
            if row.completed_at.is_some() || row.state == WorkflowState::CompensationFailed {
                return Ok((row.state, row.output.as_deref().map(answer).transpose()?));
            }
            // Only a hint, and gone with the engine: then the next look says so.
            let _ = tokio::time::timeout(LOOK_AGAIN, told.changed()).await;
        }
    }
}

fn fault(found: Diagnostic) -> Fault {
    let Diagnostic { file, line, column, message, fix, .. } = found;
    Fault { field: format!("{file}:{line}:{column}"), problem: message, fix }
}

fn answer(text: &str) -> Result<Value, StoreError> {
    let corrupt = |_| StoreError::Corrupt { table: "workflows", column: "output", value: text.into() };
    serde_json::from_str(text).map_err(corrupt)
}
