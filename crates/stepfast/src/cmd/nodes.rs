//! `nodes`: the engines that have run on this database, and the worker sessions that live.

use super::output;
use anyhow::Result;
use serde_json::json;
use std::process::ExitCode;
use store::Browse;

pub fn run(browse: &Browse, json: bool) -> Result<ExitCode> {
    let sessions = browse.sessions()?;
    let groups = browse.groups()?;
    let mut rows = Vec::new();
    for node in browse.nodes()? {
        let owns: Vec<String> = groups
            .iter()
            .filter(|g| g.owner == Some(node.id))
            .map(|g| g.dispatch_group.to_string())
            .collect();
        let mine = sessions.iter().filter(|s| s.node == node.id);
        let (count, capacity) = mine.fold((0, 0), |(n, c), s| (n + 1, c + s.offer.capacity));
        if json {
            output::line(&json!({
                "id": node.id.to_string(), "host": node.host, "pid": node.pid, "url": node.url, "version": node.version,
                "started_at": node.started_at, "seen_at": node.seen_at, "ended_at": node.ended_at,
                "dispatch_groups": owns, "sessions": count, "capacity": capacity,
            }));
            continue;
        }
        rows.push(vec![
            node.id.to_string(),
            format!("{} ({})", node.host, node.pid),
            node.url.unwrap_or_else(|| "-".into()),
            output::time(Some(node.started_at)),
            node.ended_at.map_or_else(|| "lives".into(), |at| format!("ended {}", output::time(Some(at)))),
            if owns.len() == groups.len() { "all".into() } else { owns.join(" ") },
            format!("{count} ({capacity} jobs)"),
        ]);
    }
    if !json {
        output::table(&["node", "host", "address", "started", "state", "decides for", "sessions"], rows);
    }
    Ok(ExitCode::SUCCESS)
}
