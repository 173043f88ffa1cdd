//! `diff`: what one definition says differently from another.

use super::graph::definition_of;
use super::output;
use crate::cli::{Common, Diff};
use crate::config::Settings;
use crate::screen::{Paint, plain};
use anyhow::Result;
use definition::Change;
use serde_json::{Value, json};
use std::process::ExitCode;

pub async fn run(settings: &Settings, common: &Common, args: &Diff) -> Result<ExitCode> {
    let from = definition_of(settings, common, &args.from).await?;
    let to = definition_of(settings, common, &args.to).await?;
    let changes = definition::diff(&from, &to);
    for change in &changes {
        if common.json { output::line(&entry(change)) } else { output::text(shown(change, Paint::stdout())) }
    }
    if changes.is_empty() {
        output::note("they say the same");
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

fn shown(change: &Change, paint: Paint) -> String {
    let text = plain(&change.to_string());
    match change {
        Change::Added { .. } => paint.green(&text),
        Change::Removed { .. } => paint.red(&text),
        _ => text,
    }
}

fn entry(change: &Change) -> Value {
    match change {
        Change::Added { step, kind } => json!({"change": "added", "step": step, "kind": kind}),
        Change::Removed { step, kind } => json!({"change": "removed", "step": step, "kind": kind}),
        Change::Moved { step, behind } => json!({"change": "moved", "step": step, "behind": behind}),
        Change::Option { step, option, from, to } => {
            json!({"change": "option", "step": step, "option": option, "from": from, "to": to})
        }
    }
}
