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
    let rows = nodes.into_iter().map(|node| cells(node, groups)).collect();
    output::table(&["node", "host", "address", "started", "state", "decides for", "since", "sessions"], rows);
    Ok(ExitCode::SUCCESS)
}

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

fn cells(node: NodeView, groups: usize) -> Vec<String> {
    let (sessions, capacity) = (node.sessions.len(), capacity(&node));
    let owns = &node.dispatch_groups;
    let ended = |at| format!("ended {}", output::instant(Some(at)));
    vec![
        node.id.clone(),
        format!("{} ({})", node.host, node.pid),
        node.url.clone().unwrap_or_else(|| "-".into()),
        output::instant(Some(&node.started_at)),
        node.ended_at.as_ref().map_or_else(|| "lives".into(), ended),
        if owns.len() == groups && groups > 0 { "all".into() } else { owns.join(" ") },
        output::instant(node.owned_since.values().flatten().max()),
        format!("{sessions} ({capacity} jobs)"),
    ]
}
