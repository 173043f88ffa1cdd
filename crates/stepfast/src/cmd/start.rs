//! `start`: one run of a definition.

use super::output;
use crate::cli::{Common, Start};
use crate::config::Settings;
use crate::door::Door;
use crate::named::{Named, input, labels};
use anyhow::Result;
use engine::StartWorkflow;
use std::process::ExitCode;

pub async fn run(settings: &Settings, common: &Common, args: Start) -> Result<ExitCode> {
    let Named { key, version } = Named::parse(&args.workflow)?;
    let start = StartWorkflow {
        workflow: key,
        version,
        input: input(args.input.as_deref())?,
        labels: labels(&args.labels)?,
        // Whoever asks again under the same key asks for the same.
        trace: None,
        by: None,
    };
    let door = Door::open(settings, common.server.as_deref(), "start")?;
    let started = door.start(start, args.idempotency_key.as_deref()).await;
    door.close().await?;
    let started = started?;
    if common.json {
        output::line(&started)
    } else {
        output::text(&started.id)
    }
    Ok(ExitCode::SUCCESS)
}
