//! `check`: looks for anything that must not be.

use super::output;
use super::storage::tell_restored;
use crate::cli::{Check, Common};
use crate::config::Settings;
use crate::screen::plain;
use crate::window::Window;
use anyhow::Result;
use std::process::ExitCode;

pub async fn run(settings: &Settings, common: &Common, args: &Check) -> Result<ExitCode> {
    let window = Window::open(settings, common)?;
    // A server that answers has the database.
    let is_offline = common.server.is_none() && settings.database.decider()?.is_none();
    let bar = indicatif::ProgressBar::new(0);
    let checked = window.check(is_offline, |done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    });
    let checked = checked.await?;
    bar.finish_and_clear();
    tell_restored(&window)?;
    if args.verbose && !common.json {
        for looked in &checked.looked_at {
            let note = looked.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
            output::text(format_args!("{:<6} {}{note}", looked.invariant, looked.title));
        }
    }
    for finding in &checked.findings {
        match common.json {
            true => output::line(finding),
            false => output::text(plain(&format!(
                "{}: {} ({}; {})",
                finding.invariant, finding.problem, finding.entity, finding.title
            ))),
        }
    }
    if !checked.clean {
        return Ok(ExitCode::from(1));
    }
    if !common.json {
        output::text(format_args!("clean: {} invariants hold", checked.invariants));
    }
    Ok(ExitCode::SUCCESS)
}
