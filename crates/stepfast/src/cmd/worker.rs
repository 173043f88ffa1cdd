//! `worker`: runs the built-in actions for a server, in a process of its own.

use super::serve::stop_signals;
use crate::cli::Worker;
use crate::config::Settings;
use crate::{Refused, Unavailable, host_name};
use anyhow::{Result, bail};
use std::process::ExitCode;
use std::time::Duration;
use stepfast::{Registry, Remote, Runner, RunnerConfig};

/// How long jobs may go on after a stop was asked for.
const GRACE: Duration = Duration::from_secs(20);

pub async fn run(settings: &Settings, server: Option<&str>, args: Worker) -> Result<ExitCode> {
    let Some(url) = server else {
        bail!(Refused("a worker needs to know its server; write --server http://127.0.0.1:7837".into()));
    };
    let mut registry = Registry::new();
    settings.actions.register(&mut registry)?;
    let config = settings.worker.runner(&args).map_err(Refused)?;
    let config = RunnerConfig { host: host_name().into(), ..config };
    let stopped = stop_signals();
    let remote = Remote::new(url, settings.key.as_ref().map(|key| key.reveal().to_string()))?;
    let runner = match Runner::start(remote, registry, config).await {
        Ok(runner) => runner,
        Err(problem) => bail!(Unavailable(format!("the server at {url} gives no work: {problem}"))),
    };
    println!("working for {url}");
    stopped.await;
    eprintln!("stopping: jobs have {} s to finish, the rest is given back", GRACE.as_secs());
    runner.stop(GRACE).await;
    Ok(ExitCode::SUCCESS)
}
