//! `dispatch`: decide and run work in this process, for ever or for one tick.

use super::output;
use super::serve::Signals;
use crate::cli::{Common, Dispatch};
use crate::config::Settings;
use crate::{Local, LocalConfig};
use anyhow::Result;
use engine::{Dispatch as Handing, LeftOut};
use model::{Count, DispatchGroup};
use rules::settle::Mode;
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;
use stepfast::Registry;

pub async fn run(mut settings: Settings, common: &Common, args: Dispatch) -> Result<ExitCode> {
    let names: Vec<String> = args.group.iter().cloned().collect();
    if args.once {
        // One tick looks at one group, but the file has one decider, and it decides for all.
        settings.limit_to(&[])?;
    } else {
        settings.limit_to(&names)?;
    }
    let mut engine = settings.engine.clone();
    engine.by_hand = args.once;
    if !args.once {
        engine.stuck.left_out = LeftOut::Remove;
    }
    let only = args.group.as_deref().map(DispatchGroup::new);
    if let Some(group) = &only
        && !engine.groups.contains(group)
    {
        return Err(crate::Refused(format!("`{group}` is not a dispatch group")).into());
    }
    if args.once
        && let Some(holder) = settings.database.decider()?
    {
        let place = holder.url.unwrap_or(holder.host);
        return Err(crate::Refused(format!(
            "{place} decides for this database, and takes its turns by itself"
        ))
        .into());
    }
    let config = LocalConfig { engine, doing: "dispatch".into(), ..LocalConfig::default() };
    let mut local = Local::open(&settings.database, config)?;
    let mut registry = Registry::default();
    settings.actions.register(&mut registry)?;
    local.run(registry, args.workers).await?;
    if !args.once {
        let mut signals = Signals::listen();
        eprintln!("dispatching; Ctrl-C stops");
        signals.next().await;
        local.stop(signals.grace()).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let mode = if args.early_return { Mode::EarlyReturn } else { Mode::FixedPoint };
    let tick = local.engine.tick(mode, Handing::Yes, only).await?;
    // Stopping waits for the jobs this tick started and records what came of them.
    local.stop(Duration::from_secs(3600)).await?;
    if common.json {
        output::line(&json!({"dispatched": tick.dispatched, "ended_by": tick.stopped_at}));
    } else {
        match tick.stopped_at {
            Some(phase) => output::text(format_args!("the tick ended with `{phase}`")),
            None => output::text(format_args!("dispatched {}", Count(tick.dispatched, "step"))),
        }
    }
    Ok(ExitCode::SUCCESS)
}
