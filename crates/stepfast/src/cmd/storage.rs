//! `migrate` and `backup`: the database as a whole, and whether it is a copy.

use super::output;
use crate::cli::{Backup, Migrate};
use crate::config::Settings;
use crate::window::Window;
use anyhow::Result;
use serde_json::json;
use std::process::ExitCode;
use store::{Clock, Database, SystemClock, sqlite};

pub fn migrate(settings: &Settings, args: &Migrate, json: bool) -> Result<ExitCode> {
    let state = settings.database.migrate(SystemClock::default().now(), !args.check)?;
    let current = state.applied == state.known;
    if json {
        output::line(&json!({"applied": state.applied, "known": state.known, "current": current}));
    } else if current {
        output::text(format_args!("the database is current ({} migrations)", state.applied));
    } else {
        output::text(format_args!(
            "{} of {} migrations are applied; run `stepfast migrate`",
            state.applied, state.known
        ));
    }
    Ok(if current { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

pub fn backup(settings: &Settings, args: &Backup, json: bool) -> Result<ExitCode> {
    let Database::Sqlite(file) = &settings.database else {
        let fix = "use pg_dump or the backups of the server";
        return Err(crate::Refused(format!("`backup` copies a SQLite file; for PostgreSQL {fix}")).into());
    };
    let bar = indicatif::ProgressBar::new(0);
    sqlite::backup(file, &args.to, SystemClock::default().now(), |done, all| {
        bar.set_length(all);
        bar.set_position(done);
    })?;
    bar.finish_and_clear();
    let bytes = std::fs::metadata(&args.to)?.len();
    if json {
        output::line(&json!({"file": args.to, "bytes": bytes}));
    } else {
        output::text(format_args!("copied to {} ({bytes} bytes), and the copy is sound", args.to.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Say that this is a copy, as long as nobody has confirmed it.
pub fn tell_restored(window: &Window) -> Result<()> {
    // A server says it in its breaker.
    let Window::Database(browse) = window else { return Ok(()) };
    let Some(restored) = browse.restored()? else { return Ok(()) };
    output::note(format_args!(
        "this database is a copy of {}, and nothing of it is dispatched until `stepfast breaker on` confirms it",
        output::time(Some(restored.taken_at))
    ));
    Ok(())
}
