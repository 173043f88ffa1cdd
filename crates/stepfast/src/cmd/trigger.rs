//! `trigger`: let a workflow go on that waits for somebody.

use super::{output, whoever};
use crate::cli::{Common, Trigger};
use crate::config::Settings;
use crate::door::Door;
use crate::named::{payload, workflow_id};
use crate::screen::plain;
use anyhow::Result;
use engine::{TokenOrder, TriggerOrder};
use std::process::ExitCode;
use wire::TriggeredView;

pub async fn run(settings: &Settings, common: &Common, args: Trigger) -> Result<ExitCode> {
    if args.token {
        return token(settings, common, args).await;
    }
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

/// Somebody else may answer with it, and needs no key.
async fn token(settings: &Settings, common: &Common, args: Trigger) -> Result<ExitCode> {
    let order =
        TokenOrder { workflow: workflow_id(&args.workflow)?, trigger: args.trigger, by: whoever(args.by) };
    let door = Door::open(settings, common.server.as_deref(), "trigger --token")?;
    let made = door.pause_token(order).await;
    door.close().await?;
    let made = made?;
    if common.json {
        output::line(&made);
    } else {
        output::note(format_args!(
            "whoever has this token may answer once, also at {}; it is not shown again:",
            made.page
        ));
        output::text(&made.token);
    }
    Ok(ExitCode::SUCCESS)
}

fn told(triggered: &TriggeredView) -> String {
    let TriggeredView { workflow_id, trigger, verdict, why, state } = triggered;
    let why = why.as_ref().map(|why| format!(": {}", plain(why))).unwrap_or_default();
    format!("{trigger} {verdict}{why} (workflow {workflow_id} {})", model::said(state))
}
