//! `list`: workflows, newest first.

use super::output;
use crate::Refused;
use crate::cli::{Common, ListWorkflows};
use crate::config::{Settings, suggest};
use crate::named::{Named, label, span, workflow_id};
use crate::screen::{length, plain, took};
use crate::window::Window;
use anyhow::Result;
use model::{Timestamp, WorkflowState, limits};
use std::process::ExitCode;
use store::{Clock, SystemClock, WorkflowFilter};
use wire::{WorkflowPage, WorkflowView};

/// Of a message in a table; `--json` has all of it.
const MESSAGE_CHARS: usize = 60;

pub async fn run(settings: &Settings, common: &Common, args: &ListWorkflows) -> Result<ExitCode> {
    let now = SystemClock::default().now();
    let filter = filter(args, now)?;
    let WorkflowPage { workflows: found, next } =
        Window::open(settings, common)?.workflow_page(&filter).await?;
    if common.json {
        found.iter().for_each(output::line);
        return Ok(ExitCode::SUCCESS);
    }
    let head = ["id", "workflow", "state", "created", "took", "labels", "message"];
    output::table(&head, found.iter().map(|view| cells(view, now)).collect());
    if let Some(next) = next {
        output::note(format_args!("there may be more: --after {next}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn filter(args: &ListWorkflows, now: Timestamp) -> Result<WorkflowFilter> {
    let named = args.workflow.as_deref().map(Named::parse).transpose()?;
    let (definition, version) = named.map_or((None, None), |named| (Some(named.key), named.version));
    let before = |option: &str, text: &Option<String>| {
        text.as_deref().map(|text| span(option, text).map(|span| now - span)).transpose()
    };
    Ok(WorkflowFilter {
        states: args.state.iter().map(|word| state(word)).collect::<Result<_>>()?,
        definition,
        version,
        labels: args.labels.iter().map(|text| label(text)).collect::<Result<_>>()?,
        created_from: before("--since", &args.since)?,
        created_to: None,
        quiet_since: before("--quiet", &args.quiet)?,
        nested: args.nested,
        unresolved: false,
        after: args.after.as_deref().map(workflow_id).transpose()?,
        ascending: false,
        limit: args.limit.clamp(1, limits::PAGE_ROWS_MAX),
    })
}

fn state(word: &str) -> Result<WorkflowState> {
    let words: Vec<&str> = WorkflowState::ALL.iter().map(|state| state.word()).collect();
    let unknown = || Refused(format!("`{word}` is not a state of a workflow; {}", suggest(word, &words)));
    Ok(word.parse().map_err(|_| unknown())?)
}

fn cells(view: &WorkflowView, now: Timestamp) -> Vec<String> {
    let labels: Vec<String> = view.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let took = took(view.started_at.as_ref(), view.completed_at.as_ref(), now);
    let message = view.message.as_ref().map(|text| plain(text).chars().take(MESSAGE_CHARS).collect());
    vec![
        view.id.clone(),
        format!("{}@{}", view.workflow, view.version),
        view.state.clone(),
        output::instant(Some(&view.created_at)),
        took.map_or_else(|| "-".into(), length),
        plain(&labels.join(" ")),
        message.unwrap_or_default(),
    ]
}
