//! `status`: the whole at a glance, as the step dispatcher's page has it.

use super::output;
use crate::cli::Common;
use crate::config::Settings;
use crate::door::ask_with;
use crate::host_name;
use crate::screen::{Paint, plain};
use anyhow::{Context, Result};
use serde_json::json;
use server::answers;
use std::process::ExitCode;
use store::{Clock, SystemClock};
use wire::{DashboardView, Figures};

pub async fn run(settings: &Settings, common: &Common) -> Result<ExitCode> {
    let view = look(settings, common).await?;
    if common.json {
        output::line(&brief(&view));
        return Ok(ExitCode::SUCCESS);
    }
    let paint = Paint::stdout();
    let dispatching = match view.can_dispatch_steps {
        true => paint.green("on"),
        false => paint.yellow(&plain(view.words.breaker.as_deref().unwrap_or("off"))),
    };
    let alerts =
        view.words.alerts.as_ref().map_or_else(|| "none is open".into(), |text| paint.red(&plain(text)));
    let lines = [
        ("dispatching", dispatching),
        ("restart", plain(&view.words.restart)),
        ("alerts", alerts),
        (
            "oldest",
            view.words
                .oldest
                .as_deref()
                .map_or("nothing waits to start".into(), |words| plain(&words.replacen("oldest ", "", 1))),
        ),
        ("steps", counts(&view.global, paint)),
    ];
    lines.iter().for_each(|(name, words)| output::text(format_args!("{name:<12} {words}")));
    tables(&view);
    Ok(ExitCode::SUCCESS)
}

/// From the server that is named, or from the database itself.
async fn look(settings: &Settings, common: &Common) -> Result<DashboardView> {
    match common.server.as_deref() {
        Some(server) => {
            let found = ask_with(settings, server, &["step-dispatcher", "api"], &[]).await?;
            serde_json::from_value(found).context("the server answers in another language")
        }
        None => {
            let (browse, now) = (settings.database.browse()?, SystemClock::default().now());
            Ok(answers::dashboard(&browse, &host_name(), env!("CARGO_PKG_VERSION"), now)?)
        }
    }
}

fn states(f: &Figures) -> [(&'static str, i64); 12] {
    [
        ("pending", f.pending),
        ("dispatched", f.dispatched),
        ("running", f.running),
        ("polling", f.polling),
        ("not_runnable", f.not_runnable),
        ("completed", f.completed),
        ("skipped", f.skipped),
        ("cancelled", f.cancelled),
        ("failed", f.failed),
        ("stopped", f.stopped),
        ("timed_out", f.timed_out),
        ("superseded", f.superseded),
    ]
}

fn counts(figures: &Figures, paint: Paint) -> String {
    let some = states(figures).into_iter().filter(|(_, n)| *n > 0);
    let words: Vec<String> = some.map(|(state, n)| paint.state(state, &format!("{n} {state}"))).collect();
    if words.is_empty() { "none yet".into() } else { words.join(" · ") }
}

/// What a program asks for.
fn brief(view: &DashboardView) -> serde_json::Value {
    let steps: serde_json::Map<String, serde_json::Value> =
        states(&view.global).into_iter().map(|(state, n)| (state.to_string(), n.into())).collect();
    json!({
        "version": view.version, "now": view.now, "can_dispatch_steps": view.can_dispatch_steps,
        "safe_to_restart": view.safe_to_restart, "in_flight": view.in_flight, "open_alerts": view.open_alerts,
        "oldest_pending_at": view.oldest_pending_at, "throttled": view.global.throttled, "steps": steps,
    })
}

/// Where the work is: what has none is left out.
fn tables(view: &DashboardView) {
    let busy = |f: &Figures| f.pending + f.dispatched + f.running + f.polling + f.failed > 0;
    let numbers = |f: &Figures| {
        [f.pending, f.dispatched + f.running, f.polling, f.failed].map(|n| n.to_string()).to_vec()
    };
    let groups = view.dispatch_groups.iter().filter(|group| busy(&group.figures));
    let rows: Vec<Vec<String>> =
        groups.map(|g| [vec![g.dispatch_group.clone()], numbers(&g.figures)].concat()).collect();
    if !rows.is_empty() {
        output::text("");
        output::table(&["dispatch group", "pending", "running", "polling", "failed"], rows);
    }
    let rows: Vec<Vec<String>> = view.hostnames.iter().map(host).collect();
    if !rows.is_empty() {
        output::text("");
        output::table(&["host", "workers", "jobs at once", "running"], rows);
    }
}

fn host(host: &wire::HostFigures) -> Vec<String> {
    let workers = if host.online { host.sessions.to_string() } else { "gone".into() };
    vec![host.hostname.clone(), workers, host.capacity.to_string(), host.figures.child_running.to_string()]
}
