//! `start`: one run of a definition.

use super::output;
use crate::Refused;
use crate::cli::{Common, Start};
use crate::config::Settings;
use crate::door::{Door, listed};
use crate::named::{Named, input, labels};
use crate::window::Window;
use anyhow::{Result, bail};
use engine::StartWorkflow;
use serde_json::json;
use server::answers;
use std::process::ExitCode;
use std::sync::Arc;

pub async fn run(settings: &Settings, common: &Common, args: Start) -> Result<ExitCode> {
    let named = Named::parse(&args.workflow)?;
    let start = StartWorkflow {
        workflow: named.key.clone(),
        version: named.version.clone(),
        input: input(args.input.as_deref())?,
        labels: labels(&args.labels)?,
        // Whoever asks again under the same key asks for the same.
        trace: None,
        by: None,
    };
    if args.dry_run {
        return look(settings, common, &named, &start).await;
    }
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

/// The definition is there, and takes this input.
async fn look(
    settings: &Settings,
    common: &Common,
    named: &Named,
    start: &StartWorkflow,
) -> Result<ExitCode> {
    let definition = Window::open(settings, common)?.definition(named).await?;
    let pinned = answers::stored(&definition).pinned;
    let (workflow, version) = (pinned.key.to_string(), pinned.version.to_string());
    let faults = engine::start_faults(definition, Arc::new(pinned), start);
    if !faults.is_empty() {
        bail!(Refused(listed(&faults)));
    }
    match common.json {
        true => output::line(&json!({ "workflow": workflow, "version": version, "dry_run": true })),
        false => output::text(format_args!("{workflow}@{version} would be started")),
    }
    Ok(ExitCode::SUCCESS)
}
