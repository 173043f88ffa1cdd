//! `groups`: who decides for each dispatch group, and what waits in it.

use super::output;
use crate::cli::Common;
use crate::config::Settings;
use crate::window::Window;
use anyhow::Result;
use serde_json::json;
use std::process::ExitCode;
use wire::{GroupView, TickView};

/// Seconds that are looked at for what was left over.
const TICKS: usize = 60;

pub async fn run(settings: &Settings, common: &Common) -> Result<ExitCode> {
    let window = Window::open(settings, common)?;
    let mut rows = Vec::new();
    for group in window.groups().await? {
        let ticks = window.ticks(Some(&group.dispatch_group), TICKS).await?;
        let line = Line::of(&group, &ticks);
        match common.json {
            true => output::line(&line.json(&group)),
            false => rows.push(line.cells(&group)),
        }
    }
    if !common.json {
        let head = [
            "group",
            "pending",
            "running",
            "failed",
            "breaker",
            "owner",
            "epoch",
            "last tick",
            "capped/left over",
        ];
        output::table(&head, rows);
    }
    Ok(ExitCode::SUCCESS)
}

/// What is added up for one of them.
struct Line {
    running: i64,
    failed: i64,
    capped: u64,
    left_over: u64,
}

impl Line {
    fn of(group: &GroupView, ticks: &[TickView]) -> Line {
        let steps = &group.steps;
        Line {
            running: steps.dispatched + steps.running,
            failed: steps.failed + steps.stopped + steps.timed_out,
            capped: ticks.iter().map(|tick| tick.capped).sum(),
            left_over: ticks.iter().map(|tick| tick.left_over).sum(),
        }
    }

    fn json(&self, group: &GroupView) -> serde_json::Value {
        let breaker = &group.breaker;
        json!({
            "dispatch_group": group.dispatch_group, "owner": group.owner, "epoch": group.epoch,
            "pending": group.steps.pending, "running": self.running, "failed": self.failed,
            "breaker": {"off": breaker.off, "why": breaker.why, "by": breaker.by, "since": breaker.since, "until": breaker.until},
            "current_tick_id": group.current_tick_id, "last_tick_completed": group.last_tick_completed_at,
            "last_selected_at": group.last_selected_at, "capped": self.capped, "capped_with_left_over": self.left_over,
        })
    }

    fn cells(&self, group: &GroupView) -> Vec<String> {
        vec![
            group.dispatch_group.clone(),
            group.steps.pending.to_string(),
            self.running.to_string(),
            self.failed.to_string(),
            if group.breaker.off { "off".into() } else { "on".into() },
            group.owner.clone().unwrap_or_else(|| "-".into()),
            group.epoch.to_string(),
            output::instant(group.last_tick_completed_at.as_ref()),
            format!("{}/{}", self.capped, self.left_over),
        ]
    }
}
