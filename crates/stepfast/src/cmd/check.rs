//! `check`: looks for anything that must not be.

use super::output;
use super::storage::tell_restored;
use crate::cli::Check;
use crate::config::Settings;
use anyhow::Result;
use serde_json::json;
use std::process::ExitCode;
use store::{Clock, SystemClock};

pub fn run(settings: &Settings, args: &Check, json: bool) -> Result<ExitCode> {
    let browse = settings.database.browse()?;
    let offline = settings.database.decider()?.is_none();
    let bar = indicatif::ProgressBar::new(0);
    let checked = browse.check(SystemClock::default().now(), offline, |done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    tell_restored(&browse)?;
    if args.verbose && !json {
        for (id, title, note) in &checked.looked_at {
            output::text(format_args!(
                "{id:<6} {title}{}",
                note.as_ref().map(|n| format!(" ({n})")).unwrap_or_default()
            ));
        }
    }
    for finding in &checked.findings {
        if json {
            output::line(
                &json!({"invariant": finding.invariant, "title": finding.title, "entity": finding.entity,
                "problem": finding.problem}),
            );
        } else {
            output::text(format_args!(
                "{}: {} ({}; {})",
                finding.invariant, finding.problem, finding.entity, finding.title
            ));
        }
    }
    if checked.findings.is_empty() {
        if !json {
            output::text(format_args!("clean: {} invariants hold", checked.looked_at.len()));
        }
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::from(1))
}
