//! `polls`: steps that wait for their next poll, and those that somebody should have polled.

use super::{output, whoever};
use crate::Refused;
use crate::cli::{Common, Polls, PollsVerb};
use crate::config::Settings;
use crate::door::Door;
use crate::window::Window;
use anyhow::Result;
use engine::PollRecovery;
use std::process::ExitCode;
use std::time::Duration;
use wire::PollingView;

pub async fn run(settings: &Settings, common: &Common, args: Polls) -> Result<ExitCode> {
    match args.verb {
        Some(PollsVerb::Recover { older, dry_run, by }) => {
            let older = Duration::from_secs(older).min(model::limits::WAIT_MAX);
            recover(settings, common, PollRecovery { older, by: whoever(by), dry_run }).await
        }
        None => list(settings, common, &args).await,
    }
}

async fn list(settings: &Settings, common: &Common, args: &Polls) -> Result<ExitCode> {
    if !(1..=model::limits::PAGE_ROWS_MAX).contains(&args.limit) {
        let most = model::limits::PAGE_ROWS_MAX;
        anyhow::bail!(Refused(format!("--limit {} is not between 1 and {most}", args.limit)));
    }
    let page = Window::open(settings, common)?.polls(args).await?;
    if common.json {
        page.polls.iter().for_each(output::line);
    } else {
        let rows = page.polls.iter().map(row).collect();
        output::table(&["next poll", "polls", "workflow", "step", "action", "id"], rows);
    }
    if let Some(next) = page.next {
        output::note(format_args!("there are more; see --after {next}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn row(poll: &PollingView) -> Vec<String> {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
    let next = match &poll.next_poll_at {
        None => "held".into(),
        Some(at) if poll.is_due => format!("{at} (due)"),
        Some(at) => at.clone(),
    };
    let workflow = [&poll.workflow, &poll.workflow_id].map(or_dash).join(" ");
    let (key, action) = (or_dash(&poll.step_key), poll.action.clone());
    vec![next, poll.polls.to_string(), workflow, key, action, poll.step_id.clone()]
}

async fn recover(settings: &Settings, common: &Common, recovery: PollRecovery) -> Result<ExitCode> {
    let door = Door::open(settings, common.server.as_deref(), "polls recover")?;
    let done = door.recover_polls(recovery).await;
    door.close().await?;
    let done = done?;
    if common.json {
        output::line(&done);
        return Ok(ExitCode::SUCCESS);
    }
    let would = if done.dry_run { "would be" } else { "is" };
    done.steps.iter().for_each(|id| output::text(format_args!("the poll of step {id} {would} put back")));
    if done.steps.is_empty() {
        output::text("no poll is astray");
    }
    Ok(ExitCode::SUCCESS)
}
