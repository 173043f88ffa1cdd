//! `nodes`: the engines that have run on this database, and the worker sessions that live.

use super::output;
use anyhow::Result;
use model::GroupStatus;
use serde_json::json;
use std::collections::BTreeMap;
use std::process::ExitCode;
use store::Browse;

pub fn run(browse: &Browse, json: bool) -> Result<ExitCode> {
    let sessions = browse.sessions()?;
    let groups = browse.groups()?;
    let mut rows = Vec::new();
    for node in browse.nodes()? {
        let mine: Vec<&GroupStatus> = groups.iter().filter(|g| g.owner == Some(node.id)).collect();
        let owns: Vec<&str> = mine.iter().map(|g| g.dispatch_group.as_str()).collect();
        let since: BTreeMap<&str, _> =
            mine.iter().map(|g| (g.dispatch_group.as_str(), output::at(g.owned_since))).collect();
        let latest = mine.iter().filter_map(|g| g.owned_since).max();
        let leads = groups.iter().find_map(|g| g.owner) == Some(node.id);
        let mine = sessions.iter().filter(|s| s.node == node.id);
        let (count, capacity) = mine.fold((0, 0), |(n, c), s| (n + 1, c + s.offer.capacity));
        if json {
            output::line(&json!({
                "id": node.id.to_string(), "host": node.host, "pid": node.pid, "url": node.url, "version": node.version,
                "started_at": output::at(Some(node.started_at)), "seen_at": output::at(Some(node.seen_at)),
                "ended_at": output::at(node.ended_at),
                "dispatch_groups": owns, "owned_since": since, "leader": leads, "standby": node.standby,
                "sessions": count, "capacity": capacity,
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
            output::time(latest),
            format!("{count} ({capacity} jobs)"),
        ]);
    }
    if !json {
        output::table(
            &["node", "host", "address", "started", "state", "decides for", "since", "sessions"],
            rows,
        );
    }
    Ok(ExitCode::SUCCESS)
}
