//! `pauses`: what workflows wait for.

use super::output;
use crate::cli::{Common, Pauses};
use crate::config::Settings;
use crate::named::{span, workflow_id};
use crate::window::Window;
use anyhow::Result;
use std::process::ExitCode;
use wire::PauseView;

pub async fn run(settings: &Settings, common: &Common, args: &Pauses) -> Result<ExitCode> {
    let within = args.due.as_deref().map(|text| span("--due", text)).transpose()?;
    let of = args.workflow.as_deref().map(workflow_id).transpose()?;
    let page = Window::open(settings, common)?.pauses(of, within, args.limit).await?;
    if common.json {
        page.pauses.iter().for_each(output::line);
    } else {
        let head = ["workflow", "definition", "step", "waits for", "state", "since", "until", "reminders"];
        output::table(&head, page.pauses.into_iter().map(cells).collect());
    }
    if page.next.is_some() {
        output::note("there are more; see --limit");
    }
    Ok(ExitCode::SUCCESS)
}

fn cells(pause: PauseView) -> Vec<String> {
    let until = pause.timeout_at.or(pause.resume_at);
    vec![
        pause.workflow_id,
        pause.workflow,
        pause.step,
        pause.trigger.unwrap_or_else(|| "a date".into()),
        pause.state,
        output::instant(Some(&pause.registered_at)),
        output::instant(until.as_ref()),
        pause.reminders.to_string(),
    ]
}
