//! `archive` and `purge`: whole settled trees leave, a page at a time.

use super::{output, whoever};
use crate::Refused;
use crate::cli::{Archive, Common, Purge};
use crate::config::Settings;
use crate::door::Door;
use anyhow::Result;
use model::Timestamp;
use std::process::ExitCode;
use std::time::Duration;
use store::{Asked, Clock, Retained, Retaining, Retention, SystemClock};

pub async fn archive(settings: &Settings, common: &Common, args: Archive) -> Result<ExitCode> {
    let what = Retention::Archive { before: before(args.days)? };
    run(settings, common, what, how(args.dry_run, args.why, args.by)).await
}

pub async fn purge(settings: &Settings, common: &Common, args: Purge) -> Result<ExitCode> {
    let before = before(args.days)?;
    let what = Retention::Purge { before, only_archive: args.only_archive, ticks: args.ticks };
    run(settings, common, what, how(args.dry_run, args.why, args.by)).await
}

fn how(dry_run: bool, why: Option<String>, by: Option<String>) -> Retaining {
    if dry_run { Retaining::Tried } else { Retaining::Done(Asked { who: whoever(by), why }) }
}

fn before(days: f64) -> Result<Timestamp> {
    if !(0.0..=36_500.0).contains(&days) {
        return Err(Refused(format!("--days {days} is out of range; write a number from 0 to 36500")).into());
    }
    Ok(SystemClock::default().now() - Duration::from_secs_f64(days * 86_400.0))
}

fn word(what: Retention) -> &'static str {
    match what {
        Retention::Archive { .. } => "archived",
        Retention::Purge { .. } => "purged",
    }
}

async fn run(settings: &Settings, common: &Common, what: Retention, how: Retaining) -> Result<ExitCode> {
    let (dry_run, word) = (how == Retaining::Tried, word(what));
    let door = Door::open(settings, common.server.as_deref(), word)?;
    let bar = indicatif::ProgressBar::new_spinner();
    let mut total = Retained::default();
    let outcome = loop {
        match door.retain(what, how.clone()).await {
            Err(problem) => break Err(problem),
            Ok(page) => {
                total.add(&page);
                bar.set_message(format!("{} trees {word}", total.trees));
                bar.tick();
                if !page.more || dry_run {
                    break Ok(());
                }
            }
        }
    };
    bar.finish_and_clear();
    door.close().await?;
    outcome?;
    if common.json {
        output::line(&total);
    } else {
        let would = if dry_run { "would be " } else { "" };
        let flows = if total.flows > 0 { format!(", and {} flows", total.flows) } else { String::new() };
        output::text(format_args!("{} trees with {} steps {would}{word}{flows}", total.trees, total.steps));
    }
    Ok(ExitCode::SUCCESS)
}
