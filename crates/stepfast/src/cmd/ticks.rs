//! `ticks`: what the dispatch groups did, newest first.

use super::output;
use crate::cli::Ticks;
use anyhow::Result;
use serde_json::json;
use std::process::ExitCode;
use store::Browse;

pub fn run(browse: &Browse, args: &Ticks, json: bool) -> Result<ExitCode> {
    let mut rows = Vec::new();
    for tick in browse.ticks(args.group.as_deref(), args.limit)? {
        if json {
            let phases: Vec<_> = tick
                .phases
                .iter()
                .map(|(phase, rows, us)| json!({"phase": phase, "rows": rows, "us": us}))
                .collect();
            output::line(&json!({
                "id": tick.id, "dispatch_group": tick.dispatch_group, "started_at": output::at(Some(tick.started_at)),
                "completed_at": output::at(Some(tick.completed_at)), "duration_ms": tick.duration_us as f64 / 1e3, "turns": tick.turns,
                "progress": tick.progress, "steps_dispatched": tick.steps_dispatched, "capped": tick.capped,
                "left_over": tick.left_over, "phases": phases,
            }));
            continue;
        }
        let phases =
            tick.phases.iter().map(|(p, rows, us)| format!("{p} {rows} ({:.1} ms)", *us as f64 / 1e3));
        rows.push(vec![
            tick.id.to_string(),
            tick.dispatch_group.to_string(),
            output::time(Some(tick.started_at)),
            tick.turns.to_string(),
            format!("{:.1} ms", tick.duration_us as f64 / 1e3),
            tick.steps_dispatched.to_string(),
            phases.collect::<Vec<_>>().join(", "),
        ]);
    }
    if !json {
        output::table(
            &["tick", "group", "started", "turns", "deciding", "dispatched", "phases that acted"],
            rows,
        );
    }
    Ok(ExitCode::SUCCESS)
}
