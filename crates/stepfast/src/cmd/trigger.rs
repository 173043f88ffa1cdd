//! `trigger`: let a workflow go on that waits for somebody.

use super::{output, whoever};
use crate::cli::{Common, Trigger};
use crate::config::Settings;
use crate::door::Door;
use crate::named::{payload, workflow_id};
use anyhow::Result;
use engine::TriggerOrder;
use std::process::ExitCode;
use wire::TriggeredView;

pub async fn run(settings: &Settings, common: &Common, args: Trigger) -> Result<ExitCode> {
    let sent = payload(args.payload.as_deref())?.map_or_else(|| "null".into(), |raw| raw.get().to_string());
    let order = TriggerOrder {
        webhook_id: args.id,
        ..TriggerOrder::of(workflow_id(&args.workflow)?, &args.trigger, sent, &whoever(args.by))
    };
    let door = Door::open(settings, common.server.as_deref(), "trigger")?;
    let triggered = door.trigger(order).await;
    door.close().await?;
    let triggered = triggered?;
    match common.json {
        true => output::line(&triggered),
        false => output::text(told(&triggered)),
    }
    // It was looked at, and the workflow waits on.
    Ok(if triggered.verdict == "rejected" { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn told(triggered: &TriggeredView) -> String {
    let TriggeredView { workflow_id, trigger, verdict, why, state } = triggered;
    let why = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("{trigger} {verdict}{why} (workflow {workflow_id} is {state})")
}
