//! `nodes`: the engines that have run on a database, and the worker sessions that live.

use super::output;
use crate::cli::Common;
use crate::config::Settings;
use crate::window::Window;
use anyhow::Result;
use serde_json::json;
use std::process::ExitCode;
use wire::NodeView;

pub async fn run(settings: &Settings, common: &Common) -> Result<ExitCode> {
    let window = Window::open(settings, common)?;
    let nodes = window.nodes().await?;
    if common.json {
        nodes.iter().for_each(|node| output::line(&brief(node)));
        return Ok(ExitCode::SUCCESS);
    }
    let groups = window.groups().await?.len();
    let rows = nodes.into_iter().map(|node| cells(node, groups).to_vec()).collect();
    output::table(&HEAD, rows);
    Ok(ExitCode::SUCCESS)
}

/// What an upgrade looks at comes first: where there is no room, the last are left out.
const HEAD: [&str; 10] =
    ["node", "host", "version", "state", "leads", "decides for", "since", "address", "started", "sessions"];

fn capacity(node: &NodeView) -> usize {
    node.sessions.iter().map(|session| session.capacity).sum()
}

/// What a program asks for.
fn brief(node: &NodeView) -> serde_json::Value {
    json!({
        "id": node.id, "host": node.host, "pid": node.pid, "url": node.url, "version": node.version,
        "started_at": node.started_at, "seen_at": node.seen_at, "ended_at": node.ended_at,
        "dispatch_groups": node.dispatch_groups, "owned_since": node.owned_since, "leader": node.leader,
        "standby": node.standby, "sessions": node.sessions.len(), "capacity": capacity(node),
    })
}

fn cells(node: NodeView, groups: usize) -> [String; HEAD.len()] {
    let (sessions, capacity) = (node.sessions.len(), capacity(&node));
    let owns = &node.dispatch_groups;
    let ended = |at| format!("ended {}", output::instant(Some(at)));
    let leads = match (node.leader, node.standby) {
        (true, _) => "yes",
        (_, true) => "stands by",
        _ => "no",
    };
    [
        node.id.clone(),
        format!("{} ({})", node.host, node.pid),
        node.version.clone(),
        node.ended_at.as_ref().map_or_else(|| "lives".into(), ended),
        leads.into(),
        if owns.len() == groups && groups > 0 { "all".into() } else { owns.join(" ") },
        output::instant(node.owned_since.values().flatten().max()),
        node.url.clone().unwrap_or_else(|| "-".into()),
        output::instant(Some(&node.started_at)),
        format!("{sessions} ({capacity} jobs)"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(leader: bool, standby: bool) -> Vec<(&'static str, String)> {
        let node = json!({
            "id": "7", "host": "a", "pid": 1, "url": null, "version": "1.2.3", "live": true,
            "started_at": "1970-01-01T00:00:01Z", "seen_at": "1970-01-01T00:00:02Z", "ended_at": null,
            "dispatch_groups": ["alpha"], "leader": leader, "standby": standby, "sessions": [],
        });
        HEAD.into_iter().zip(cells(serde_json::from_value(node).unwrap(), 2)).collect()
    }

    #[test]
    fn a_node_says_its_version_and_whether_it_leads() {
        let leader = shown(true, false);
        for cell in [("version", "1.2.3"), ("leads", "yes"), ("decides for", "alpha")] {
            assert!(leader.contains(&(cell.0, cell.1.into())), "{leader:?}");
        }
        assert!(shown(false, false).contains(&("leads", "no".into())));
        assert!(shown(false, true).contains(&("leads", "stands by".into())));
    }
}
