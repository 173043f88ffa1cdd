//! `pause`, `resume` and `cancel`: what a person does to workflows.

use super::{BY_HAND, output, whoever};
use crate::cli::{Cancel, Common, Pause, Resume, Steer};
use crate::config::Settings;
use crate::door::Door;
use crate::named::{payload, workflow_id};
use crate::screen::plain;
use crate::window::Window;
use crate::{Refused, Unavailable};
use anyhow::{Result, bail};
use engine::{Forced, WorkflowOperation, WorkflowVerb};
use model::{Count, WorkflowId, WorkflowState, limits};
use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;
use store::{Clock, SystemClock, WorkflowFilter};
use wire::{WorkflowOperatedView, WorkflowView};

/// Of those that were found, so many are named before it is asked.
const NAMED_MAX: usize = 20;

/// Whether somebody has agreed beforehand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    Given,
    Ask,
}

impl Consent {
    pub fn of(yes: bool) -> Consent {
        if yes { Consent::Given } else { Consent::Ask }
    }
}

pub async fn pause(settings: &Settings, common: &Common, args: Pause) -> Result<ExitCode> {
    let order = Order { verb: WorkflowVerb::Pause, ids: ids(&args.ids)?, force: None, steer: args.steer };
    order.carry_out(settings, common).await
}

pub async fn resume(settings: &Settings, common: &Common, args: Resume) -> Result<ExitCode> {
    let ids = if args.all { paused(settings, common).await? } else { ids(&args.ids)? };
    let payload = payload(args.payload.as_deref())?.map(|raw| raw.get().to_string());
    let force = args.force.then_some(Forced { payload });
    let order = Order { verb: WorkflowVerb::Resume, ids, force, steer: args.steer };
    if args.all && !order.is_agreed(settings, common, Consent::of(args.yes)).await? {
        return Ok(ExitCode::FAILURE);
    }
    order.carry_out(settings, common).await
}

pub async fn cancel(settings: &Settings, common: &Common, args: Cancel) -> Result<ExitCode> {
    let ids = if args.stuck { quiet(settings, common, args.stuck_hours).await? } else { ids(&args.ids)? };
    let order = Order { verb: WorkflowVerb::Cancel, ids, force: None, steer: args.steer };
    if args.stuck && !order.is_agreed(settings, common, Consent::of(args.yes)).await? {
        return Ok(ExitCode::FAILURE);
    }
    order.carry_out(settings, common).await
}

fn ids(texts: &[String]) -> Result<Vec<WorkflowId>> {
    texts.iter().map(|text| workflow_id(text)).collect()
}

/// A page of those that are paused by a person or by a failure; those that wait for a trigger wait for that.
async fn paused(settings: &Settings, common: &Common) -> Result<Vec<WorkflowId>> {
    let filter = WorkflowFilter {
        states: vec![WorkflowState::Paused],
        limit: limits::PAGE_ROWS_MAX,
        ..WorkflowFilter::default()
    };
    let found = found(settings, common, filter).await?;
    let held = found.iter().filter(|view| view.paused_by.as_deref() != Some("trigger"));
    held.map(|view| workflow_id(&view.id)).collect()
}

/// A page of those of which nothing has happened for so long.
async fn quiet(settings: &Settings, common: &Common, hours: u64) -> Result<Vec<WorkflowId>> {
    let since = SystemClock::default().now() - Duration::from_secs(hours * 3_600);
    let filter = WorkflowFilter {
        quiet_since: Some(since),
        nested: true,
        limit: limits::PAGE_ROWS_MAX,
        ..WorkflowFilter::default()
    };
    let found = found(settings, common, filter).await?;
    found.iter().map(|view| workflow_id(&view.id)).collect()
}

/// As many as one page holds. What a key may see of a long list comes in pages that may be short, and even empty, and have a next one.
async fn found(
    settings: &Settings,
    common: &Common,
    mut filter: WorkflowFilter,
) -> Result<Vec<WorkflowView>> {
    let window = Window::open(settings, common)?;
    let mut found = Vec::new();
    loop {
        let page = window.workflow_page(&filter).await?;
        found.extend(page.workflows);
        match page.next {
            Some(next) if found.len() < limits::PAGE_ROWS_MAX => filter.after = Some(workflow_id(&next)?),
            _ => break,
        }
    }
    found.truncate(limits::PAGE_ROWS_MAX);
    Ok(found)
}

/// What is to be done to which workflows.
pub(super) struct Order {
    pub verb: WorkflowVerb,
    pub ids: Vec<WorkflowId>,
    pub force: Option<Forced>,
    pub steer: Steer,
}

impl Order {
    /// Name what was found, and ask where somebody can answer.
    pub async fn is_agreed(&self, settings: &Settings, common: &Common, consent: Consent) -> Result<bool> {
        let (n, verb) = (self.ids.len(), self.verb.word());
        if n == 0 {
            output::note(format_args!("there is nothing to {verb}"));
        }
        if n == 0 || self.steer.dry_run || consent == Consent::Given {
            return Ok(true);
        }
        let window = Window::open(settings, common)?;
        for id in self.ids.iter().take(NAMED_MAX) {
            let row = window.workflow(*id).await?.workflow;
            output::note(format_args!("  {} {}@{} {}", row.id, row.workflow, row.version, row.state));
        }
        if n > NAMED_MAX {
            output::note(format_args!("  … and {} more", n - NAMED_MAX));
        }
        let meant = Count(n, "workflow");
        if !std::io::stdin().is_terminal() {
            bail!(Refused(format!("this would {verb} {meant}; write --yes to do it, or --dry-run to look")));
        }
        eprint!("{verb} {meant}? [y/N] ");
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }

    /// One after the other; what is refused for one does not hold up the others.
    pub async fn carry_out(self, settings: &Settings, common: &Common) -> Result<ExitCode> {
        let Order { verb, ids, force, steer } = self;
        if steer.if_revision.is_some() && ids.len() > 1 {
            bail!(Refused("--if-revision is about one workflow; name one".into()));
        }
        let why = said(&verb, &steer)?;
        if ids.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        let door = Door::open(settings, common.server.as_deref(), verb.word())?;
        let (by, mut refused, mut outcome) = (whoever(steer.by), 0, Ok(()));
        for workflow in &ids {
            let (by, why, dry_run) = (by.clone(), why.clone(), steer.dry_run);
            let expected = steer.if_revision;
            let (workflow, verb, force) = (*workflow, verb.clone(), force.clone());
            let operation = WorkflowOperation { workflow, verb, by, why, dry_run, expected, force };
            match door.operate_workflow(operation).await {
                Ok(done) => told(&done, common.json),
                Err(problem) if problem.is::<Unavailable>() || ids.len() == 1 => {
                    outcome = Err(problem);
                    break;
                }
                Err(problem) => {
                    refused += 1;
                    output::note(format_args!("stepfast: {problem:#}"));
                }
            }
        }
        door.close().await?;
        outcome?;
        if ids.len() == limits::PAGE_ROWS_MAX {
            output::note("there may be more; ask again");
        }
        Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::from(3) })
    }
}

/// What throws work away is refused without a reason, also where no server is asked.
pub(super) fn said(verb: &WorkflowVerb, steer: &Steer) -> Result<String> {
    match &steer.why {
        Some(why) if !why.trim().is_empty() => Ok(why.clone()),
        _ if verb.needs_reason() && !steer.dry_run => {
            bail!(Refused(format!("say why with --why; it goes on record with `{}`", verb.word())))
        }
        _ => Ok(BY_HAND.into()),
    }
}

pub(super) fn told(done: &WorkflowOperatedView, json: bool) {
    if json {
        return output::line(done);
    }
    let would = if done.dry_run { "would go" } else { "went" };
    let WorkflowOperatedView { id, from, to, revision, .. } = done;
    output::text(format_args!("workflow {id} {would}: {from} -> {to} (revision {revision})"));
    done.effects.iter().for_each(|effect| output::text(format_args!("  {}", plain(effect))));
}
