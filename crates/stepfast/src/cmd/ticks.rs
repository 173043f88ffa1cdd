//! `ticks`: what the dispatch groups did, newest first.

use super::output;
use crate::cli::{Common, Ticks};
use crate::config::Settings;
use crate::window::Window;
use anyhow::Result;
use serde_json::json;
use std::process::ExitCode;
use wire::TickView;

pub async fn run(settings: &Settings, common: &Common, args: &Ticks) -> Result<ExitCode> {
    let ticks = Window::open(settings, common)?.ticks(args.group.as_deref(), args.limit).await?;
    if common.json {
        ticks.iter().for_each(|tick| output::line(&whole(tick)));
        return Ok(ExitCode::SUCCESS);
    }
    let head = ["tick", "group", "started", "turns", "deciding", "dispatched", "phases that acted"];
    output::table(&head, ticks.into_iter().map(cells).collect());
    Ok(ExitCode::SUCCESS)
}

fn whole(tick: &TickView) -> serde_json::Value {
    let micros = |ms: f64| (ms * 1e3).round() as u64;
    let phases: Vec<_> = tick
        .phases
        .iter()
        .map(|phase| json!({"phase": phase.phase, "rows": phase.rows, "us": micros(phase.duration_ms)}))
        .collect();
    json!({
        "id": tick.id, "dispatch_group": tick.dispatch_group, "started_at": tick.started_at,
        "completed_at": tick.completed_at, "duration_ms": tick.duration_ms, "turns": tick.turns,
        "progress": tick.progress, "steps_dispatched": tick.steps_dispatched, "capped": tick.capped,
        "left_over": tick.left_over, "phases": phases,
    })
}

fn cells(tick: TickView) -> Vec<String> {
    let phases = tick
        .phases
        .iter()
        .map(|phase| format!("{} {} ({:.1} ms)", phase.phase, phase.rows, phase.duration_ms));
    let phases: Vec<String> = phases.collect();
    vec![
        tick.id.to_string(),
        tick.dispatch_group,
        output::instant(Some(&tick.started_at)),
        tick.turns.to_string(),
        format!("{:.1} ms", tick.duration_ms),
        tick.steps_dispatched.to_string(),
        phases.join(", "),
    ]
}
