//! `resolve --filter`: one decision about all workflows for which something holds, however many.

use super::steer::{Consent, Order, said, told};
use super::whoever;
use crate::bulk::{self, Pace, Tally};
use crate::cli::{Common, Resolve, Steer};
use crate::config::Settings;
use crate::door::Door;
use crate::named::workflow_id;
use crate::window::Window;
use crate::{Refused, Unavailable};
use anyhow::{Error, Result, bail};
use engine::{WorkflowOperation, WorkflowVerb};
use indicatif::{ProgressBar, ProgressStyle};
use model::{Decision, WorkflowId, WorkflowState, limits};
use std::process::ExitCode;
use store::{Database, WorkflowFilter};
use wire::WorkflowOperatedView;

pub async fn run(
    settings: &Settings,
    common: &Common,
    args: Resolve,
    decision: Decision,
) -> Result<ExitCode> {
    let ids = found(settings, common, &filter(&args.filter, &decision)?).await?;
    let order = Order { verb: WorkflowVerb::Resolve(decision), ids, force: None, steer: args.steer };
    let why = said(&order.verb, &order.steer)?;
    if !order.is_agreed(settings, common, Consent::of(args.yes)).await? {
        return Ok(ExitCode::FAILURE);
    }
    if order.ids.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let door = Door::open(settings, common.server.as_deref(), order.verb.word())?;
    let (outcome, tallies) = decide(&door, &order, &why, common.json).await;
    door.close().await?;
    tallies.tell(&order.steer, common.json);
    outcome?;
    Ok(if tallies.refused.len() == 0 { ExitCode::SUCCESS } else { ExitCode::from(3) })
}

/// What people write, as it is asked for; what a decision is about says in which state they are.
fn filter(parts: &[String], decision: &Decision) -> Result<WorkflowFilter> {
    let state = match decision {
        Decision::RetryCompensation | Decision::SkipCompensation { .. } => WorkflowState::CompensationFailed,
        _ => WorkflowState::Failed,
    };
    let limit = limits::PAGE_ROWS_MAX;
    let mut wanted = WorkflowFilter { states: vec![state], limit, ..WorkflowFilter::default() };
    for part in parts {
        match part.split_once('=') {
            Some(("definition", key)) => wanted.definition = Some(key.into()),
            Some(("version", version)) => wanted.version = Some(version.into()),
            Some((name, value)) if name.starts_with("label.") => {
                wanted.labels.push((name["label.".len()..].into(), value.into()));
            }
            _ => bail!(Refused(format!(
                "--filter: `{part}` is none; write definition=KEY, version=V or label.NAME=VALUE"
            ))),
        }
    }
    Ok(wanted)
}

/// Page by page; those that come later are not meant. One that was marked as resolved is decided about already.
async fn found(settings: &Settings, common: &Common, filter: &WorkflowFilter) -> Result<Vec<WorkflowId>> {
    let window = Window::open(settings, common)?;
    let (mut filter, mut ids) = (filter.clone(), Vec::new());
    loop {
        let page = window.workflow_page(&filter).await?;
        let open = page.workflows.iter().filter(|view| view.resolved_at.is_none());
        ids.extend(open.map(|view| workflow_id(&view.id)).collect::<Result<Vec<_>>>()?);
        match page.next {
            Some(next) => filter.after = Some(workflow_id(&next)?),
            None => return Ok(ids),
        }
    }
}

/// What came of it.
#[derive(Default)]
struct Tallies {
    done: Tally,
    refused: Tally,
}

impl Tallies {
    fn tell(&self, steer: &Steer, json: bool) {
        let went = if steer.dry_run { "would go" } else { "went" };
        if !json {
            self.done.lines(went).iter().for_each(super::output::text);
        }
        self.refused.lines("refused").iter().for_each(super::output::note);
    }
}

async fn decide(door: &Door, order: &Order, why: &str, json: bool) -> (Result<()>, Tallies) {
    let Order { verb, ids, steer, .. } = order;
    let (by, mut tallies) = (whoever(steer.by.clone()), Tallies::default());
    let ask = async |workflow: WorkflowId| {
        let (verb, by, why, dry_run) = (verb.clone(), by.clone(), why.to_string(), steer.dry_run);
        let operation = WorkflowOperation { workflow, verb, by, why, dry_run, expected: None, force: None };
        door.operate_workflow(operation).await
    };
    let bar = bar(ids.len());
    let outcome = bulk::each(ids, pace(door), ask, |id, answer| {
        bar.inc(1);
        note(&mut tallies, id, answer, json)
    })
    .await;
    bar.finish_and_clear();
    (outcome, tallies)
}

/// One that is refused does not hold up the others; a server that is gone does.
fn note(
    tallies: &mut Tallies,
    id: WorkflowId,
    answer: Result<WorkflowOperatedView, Error>,
    json: bool,
) -> Result<()> {
    match answer {
        Ok(done) => {
            if json {
                told(&done, true);
            }
            let lines = [format!("{} -> {}", done.from, done.to)].into_iter().chain(done.effects);
            tallies.done.note(id, &lines.collect::<Vec<_>>().join("\n"));
        }
        Err(problem) if problem.is::<Unavailable>() => return Err(problem),
        Err(problem) => tallies.refused.note(id, &format!("{problem:#}")),
    }
    Ok(())
}

/// A file that this process alone has open is nobody else's.
fn pace(door: &Door) -> Pace {
    match door {
        Door::Local { database: Database::Sqlite(_), .. } => Pace::FREE,
        Door::Local { .. } | Door::Remote { .. } => Pace::GENTLE,
    }
}

fn bar(n: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {per_sec} {eta}");
    ProgressBar::new(n as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
