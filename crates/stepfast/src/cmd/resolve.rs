//! `resolve` and what belongs to it: what a person decides about workflows that failed.

use super::output;
use super::steer::Order;
use crate::Refused;
use crate::cli::{Common, Compensate, Resolve, RetryCompensation, RetryFrom, SkipCompensation, Steer};
use crate::config::Settings;
use crate::named::workflow_id;
use crate::screen::plain;
use crate::window::Window;
use anyhow::{Result, bail};
use engine::WorkflowVerb;
use model::{CompensationScope, Decision, RetryMode};
use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;
use wire::{ResolveBody, WorkflowShow};

pub async fn run(settings: &Settings, common: &Common, mut args: Resolve) -> Result<ExitCode> {
    if args.decision.is_none() && !ask(settings, common, &mut args).await? {
        return Ok(ExitCode::FAILURE);
    }
    let decision = decision(&args)?;
    match args.filter.is_empty() {
        true => carry_out(settings, common, (decision, &args.ids), args.steer).await,
        false => super::resolve_many::run(settings, common, args, decision).await,
    }
}

fn decision(args: &Resolve) -> Result<Decision> {
    let body = ResolveBody {
        decision: args.decision.clone().unwrap_or_default().replace('-', "_"),
        step: args.step.clone(),
        mode: args.mode.clone().map(|mode| mode.replace('-', "_")),
        include_step: args.include_step,
        force: args.force,
        items: args.items.clone(),
        steps: args.steps.clone(),
        on_cancel: args.on_cancel.clone().map(|word| word.replace('-', "_")),
        all: args.all,
        ..ResolveBody::default()
    };
    server::convert::decision(&body).map_err(|fault| {
        let flag = fault.field.replace('_', "-");
        anyhow::Error::new(Refused(format!("--{flag}: {}; {}", fault.problem, fault.fix)))
    })
}

/// Show what failed, tell what can be decided and what that would do, and let somebody choose.
async fn ask(settings: &Settings, common: &Common, args: &mut Resolve) -> Result<bool> {
    let [id] = args.ids.as_slice() else {
        bail!(Refused("write --decision; only about one workflow it is asked".into()));
    };
    let shown = Window::open(settings, common)?.workflow(workflow_id(id)?).await?;
    tell(&shown);
    let choices = choices(&shown);
    if choices.is_empty() {
        bail!(Refused(format!("it is {}: there is nothing to decide", shown.workflow.state)));
    }
    for (n, (word, does)) in choices.iter().enumerate() {
        output::note(format_args!("  {}  {word:<20} {does}", n + 1));
    }
    if !std::io::stdin().is_terminal() {
        bail!(Refused("write --decision with one of these; nobody can be asked here".into()));
    }
    let Some(number) = prompt("which? ")?.parse::<usize>().ok().filter(|n| (1..=choices.len()).contains(n))
    else {
        return Ok(false);
    };
    let word = choices[number - 1].0;
    if word == "retry_from_step" {
        args.step = Some(prompt("from which step? ")?);
    }
    args.decision = Some(word.into());
    if args.steer.why.is_none() && !word.starts_with("retry") {
        args.steer.why = Some(prompt("why? ")?).filter(|why| !why.is_empty());
    }
    Ok(true)
}

fn prompt(text: &str) -> Result<String> {
    eprint!("{text}");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().to_string())
}

fn tell(shown: &WorkflowShow) {
    let workflow = &shown.workflow;
    output::text(format_args!(
        "{} {}@{} {}",
        workflow.id,
        workflow.workflow,
        workflow.version,
        model::said(&workflow.state)
    ));
    if let Some(message) = &workflow.message {
        output::text(format_args!("  {}", plain(message)));
    }
    for step in &shown.steps {
        let error = step.error.as_deref().map(|error| format!("  {}", plain(error))).unwrap_or_default();
        output::text(format_args!("  {:<24} {}{error}", step.key, step.state));
    }
}

/// What can be decided about it as it is, and what that does.
fn choices(shown: &WorkflowShow) -> Vec<(&'static str, &'static str)> {
    match shown.workflow.state.as_str() {
        _ if shown.workflow.resolved_at.is_some() => Vec::new(),
        "failed" => vec![
            ("retry", "do again what failed; what succeeded stays as it is"),
            ("retry_from_step", "do a step and everything behind it again"),
            ("compensate", "undo what was done, the last first, and end it"),
            ("cancel", "end it"),
            ("mark_resolved", "leave it as it is; nobody is asked any more"),
        ],
        "compensation_failed" => vec![
            ("retry_compensation", "try again to undo what could not be undone"),
            ("skip_compensation", "leave it as it is, and undo the rest"),
        ],
        _ => Vec::new(),
    }
}

async fn carry_out(
    settings: &Settings,
    common: &Common,
    (decision, ids): (Decision, &[String]),
    steer: Steer,
) -> Result<ExitCode> {
    let ids = ids.iter().map(|text| workflow_id(text)).collect::<Result<_>>()?;
    Order { verb: WorkflowVerb::Resolve(decision), ids, force: None, steer }.carry_out(settings, common).await
}

pub async fn retry_from(settings: &Settings, common: &Common, args: RetryFrom) -> Result<ExitCode> {
    let RetryFrom { id, step, compensate, include_step, force, items, steer } = args;
    let mode = if compensate { RetryMode::CompensateThenRetry } else { RetryMode::RetryOnly };
    let decision = Decision::RetryFromStep { step, mode, include_step, force, items };
    carry_out(settings, common, (decision, &[id]), steer).await
}

pub async fn compensate(settings: &Settings, common: &Common, args: Compensate) -> Result<ExitCode> {
    let scope = match (args.from, args.steps) {
        (Some(step), _) => CompensationScope::FromStep(step),
        (None, steps) if steps.is_empty() => CompensationScope::Full,
        (None, steps) => CompensationScope::Partial(steps),
    };
    carry_out(settings, common, (Decision::Compensate { scope }, &args.ids), args.steer).await
}

pub async fn skip(settings: &Settings, common: &Common, args: SkipCompensation) -> Result<ExitCode> {
    let decision = Decision::SkipCompensation { all: args.all };
    carry_out(settings, common, (decision, &args.ids), args.steer).await
}

pub async fn again(settings: &Settings, common: &Common, args: RetryCompensation) -> Result<ExitCode> {
    carry_out(settings, common, (Decision::RetryCompensation, &args.ids), args.steer).await
}
