//! `worker`: runs the built-in actions for a server, in a process of its own.

use super::serve::Signals;
use crate::cli::Worker;
use crate::config::Settings;
use crate::{Refused, Unavailable, host_name};
use anyhow::{Result, bail};
use std::process::ExitCode;
use stepfast::{Registry, Remote, Runner, RunnerConfig};

pub async fn run(settings: &Settings, server: Option<&str>, args: Worker) -> Result<ExitCode> {
    let Some(url) = server else {
        bail!(Refused("a worker needs to know its server; write --server http://127.0.0.1:7837".into()));
    };
    let mut registry = Registry::new();
    settings.actions.register(&mut registry)?;
    let config = settings.worker.runner(&args).map_err(Refused)?;
    let config = RunnerConfig { host: host_name().into(), ..config };
    let mut signals = Signals::listen();
    let remote = Remote::new(url, settings.key.as_ref().map(|key| key.reveal().to_string()))?;
    let runner = match Runner::start(remote, registry, config).await {
        Ok(runner) => runner,
        Err(problem) => bail!(Unavailable(format!("the server at {url} gives no work: {problem}"))),
    };
    println!("working for {url}");
    signals.next().await;
    runner.stop(signals.grace()).await;
    Ok(ExitCode::SUCCESS)
}
