//! `show`: a workflow with its steps, and what happened to it.

use super::output;
use crate::cli::{Common, ShowWorkflow};
use crate::config::Settings;
use crate::named::workflow_id;
use crate::screen::{Detail, Paint, lines, plain, timeline};
use crate::window::Window;
use anyhow::Result;
use std::process::ExitCode;
use store::{Clock, SystemClock};

pub async fn run(settings: &Settings, common: &Common, args: &ShowWorkflow) -> Result<ExitCode> {
    let (window, id) = (Window::open(settings, common)?, workflow_id(&args.id)?);
    let shown = window.tree(id).await?;
    let moments = match args.timeline {
        true => timeline(&shown.workflow, &window.events(id).await?),
        false => Vec::new(),
    };
    if common.json {
        let mut value = serde_json::to_value(&shown.workflow)?;
        if args.timeline {
            value["timeline"] = serde_json::to_value(&moments)?;
        }
        output::line(&value);
        return Ok(ExitCode::SUCCESS);
    }
    let paint = Paint::stdout();
    lines(&shown, Detail::Whole, SystemClock::default().now(), paint).iter().for_each(output::text);
    let (input, output) = (&shown.workflow.input, &shown.workflow.output);
    output::text(format_args!("input   {}", plain(input.get())));
    if let Some(answer) = output {
        output::text(format_args!("output  {}", plain(answer.get())));
    }
    output::text(format_args!("revision {}", shown.workflow.workflow.revision));
    moments.iter().for_each(|moment| output::text(moment.line(paint)));
    Ok(ExitCode::SUCCESS)
}
