//! An engine in this process on a database: the smallest whole thing.

mod workflows;

use engine::{Config, Engine, EngineError, EngineThread, Keyring};
use model::{State, StepId};
use std::sync::Arc;
use std::time::Duration;
use store::sqlite::Holder;
use store::{Clock, Database, StoreError, SystemClock};
use worker::{Grace, Registry, Runner, RunnerConfig};

/// How often a step that is waited for is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub struct LocalConfig {
    pub engine: Config,
    /// Time, when it is not that of the machine or of the database server.
    pub clock: Option<Arc<dyn Clock>>,
    /// What this process does with the file, for whoever finds it taken.
    pub doing: String,
    pub url: Option<String>,
}

impl Default for LocalConfig {
    fn default() -> Self {
        let engine = Config { host: host_name().into(), ..Config::default() };
        LocalConfig { engine, clock: None, doing: "embed".into(), url: None }
    }
}

pub struct Local {
    pub engine: Engine,
    thread: EngineThread,
    runners: Vec<Runner>,
    host: model::Name,
    queues: Vec<model::Name>,
    clock: Arc<dyn Clock>,
}

impl Local {
    /// On a database, as `sqlite:PATH` or `postgres://…`.
    pub fn at(database: &str, config: LocalConfig) -> Result<Local, EngineError> {
        let database: Database = database.parse().map_err(StoreError::Refused)?;
        Local::open(&database, config)
    }

    pub fn open(database: &Database, config: LocalConfig) -> Result<Local, EngineError> {
        let LocalConfig { mut engine, clock, doing, url } = config;
        let holder =
            Holder { pid: std::process::id(), host: engine.host.to_string(), url: url.clone(), doing };
        let shown = clock.clone().unwrap_or_else(|| Arc::new(SystemClock::default()));
        let store = database.open(clock, holder)?;
        engine.url = url;
        if let (true, Some(file)) = (engine.secrets.is_unset(), database.key_file()) {
            engine.secrets = Keyring::at(&file);
        }
        let (host, queues) = (engine.host.clone(), engine.known_queues());
        let (engine, thread) = Engine::start(store, engine)?;
        Ok(Local { engine, thread, runners: Vec::new(), host, queues, clock: shown })
    }

    /// Run jobs in this process, `concurrency` at once.
    pub async fn run(&mut self, registry: Registry, concurrency: usize) -> Result<(), EngineError> {
        let config = self.runner(concurrency);
        self.run_as(registry, config).await
    }

    /// How `run` runs them: all queues of this engine, `concurrency` at once. A start for `run_as`.
    pub fn runner(&self, concurrency: usize) -> RunnerConfig {
        let (host, queues, clock) = (self.host.clone(), self.queues.clone(), self.clock.clone());
        RunnerConfig { host, queues, concurrency, clock, ..RunnerConfig::default() }
    }

    /// Run jobs in this process, with limits for some queues or steps held ahead.
    ///
    /// ```
    /// # use stepfast::{Config, Local, LocalConfig, Registry};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), stepfast::EngineError> {
    /// # let file = std::env::temp_dir().join(format!("run-as-{}.db", std::process::id()));
    /// # let database = format!("sqlite:{}", file.display());
    /// let engine = Config { queues: vec!["email".into()], ..Config::default() };
    /// let mut local = Local::at(&database, LocalConfig { engine, ..LocalConfig::default() })?;
    /// // 16 at once of all other queues, and 4 of this one.
    /// let config = local.runner(16).queue("email", 4);
    /// local.run_as(Registry::new(), config).await?;
    /// # local.stop(std::time::Duration::ZERO).await
    /// # }
    /// ```
    pub async fn run_as(&mut self, registry: Registry, config: RunnerConfig) -> Result<(), EngineError> {
        self.runners.push(Runner::start(self.engine.clone(), registry, config).await?);
        Ok(())
    }

    /// Wait until a step has ended.
    pub async fn ended(&self, step: StepId) -> Result<State, EngineError> {
        let mut look = tokio::time::interval(LOOK_EVERY);
        loop {
            look.tick().await;
            let row = self.engine.with_store(move |store| store.step(step)).await??;
            match row {
                None => return Err(EngineError::NoStep(step)),
                Some(row) if row.state.is_terminal() => return Ok(row.state),
                Some(_) => {}
            }
        }
    }

    /// Let jobs finish, give back the rest, and give the file free.
    pub async fn stop(self, grace: impl Into<Grace>) -> Result<(), EngineError> {
        let grace = grace.into();
        for runner in self.runners {
            runner.stop(grace.clone()).await;
        }
        let stopped = self.engine.stop().await;
        let thread = self.thread;
        let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        stopped
    }
}

/// The machine's own name, in lower case.
pub fn host_name() -> String {
    let name =
        std::fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
    name.map(|n| n.trim().to_lowercase()).filter(|n| !n.is_empty()).unwrap_or_else(|| "localhost".into())
}
