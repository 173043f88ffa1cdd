//! `groups`: who decides for each dispatch group, and what waits in it.

use super::output;
use anyhow::Result;
use model::State;
use serde_json::json;
use std::process::ExitCode;
use store::Browse;

pub fn run(browse: &Browse, json: bool) -> Result<ExitCode> {
    let totals = browse.totals()?.tallies;
    let mut rows = Vec::new();
    for group in browse.groups()? {
        let count = |states: &[State]| -> i64 {
            let mine = totals
                .iter()
                .filter(|(k, _)| k.dispatch_group == group.dispatch_group && states.contains(&k.state));
            mine.map(|(_, n)| n).sum()
        };
        let (pending, running) = (count(&[State::Pending]), count(&[State::Dispatched, State::Running]));
        let failed = count(&[State::Failed, State::Stopped, State::TimedOut]);
        let ticks = browse.ticks(Some(group.dispatch_group.as_str()), 60)?;
        let capped: u64 = ticks.iter().map(|t| t.capped).sum();
        let left_over: u64 = ticks.iter().map(|t| t.left_over).sum();
        if json {
            output::line(&json!({
                "dispatch_group": group.dispatch_group, "owner": group.owner.map(|o| o.to_string()), "epoch": group.epoch,
                "pending": pending, "running": running, "failed": failed,
                "breaker": {"off": group.breaker.off, "why": group.breaker.why, "by": group.breaker.by,
                    "since": output::at(group.breaker.since), "until": output::at(group.breaker.until)},
                "current_tick_id": group.current_tick, "last_tick_completed": output::at(group.last_tick_completed_at),
                "last_selected_at": output::at(group.last_selected_at), "capped": capped, "capped_with_left_over": left_over,
            }));
            continue;
        }
        rows.push(vec![
            group.dispatch_group.to_string(),
            pending.to_string(),
            running.to_string(),
            failed.to_string(),
            if group.breaker.off { "off".into() } else { "on".into() },
            group.owner.map_or_else(|| "-".into(), |o| o.to_string()),
            group.epoch.to_string(),
            output::time(group.last_tick_completed_at),
            format!("{capped}/{left_over}"),
        ]);
    }
    if !json {
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
