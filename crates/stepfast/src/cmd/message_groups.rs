//! `message-groups`: the lines of steps that are done in order, what holds them back, and what is done about it.

use super::{BY_HAND, output, steps, whoever};
use crate::cli::{Common, GroupOperate, MessageGroups, SkipHead};
use crate::config::Settings;
use crate::door::Door;
use crate::screen::plain;
use crate::window::Window;
use anyhow::Result;
use engine::{GroupOperation, GroupVerb};
use model::{Count, StepId};
use server::answers::GroupFilter;
use std::process::ExitCode;
use store::Held;
use wire::{HoldView, MessageGroupView};

pub async fn run(settings: &Settings, common: &Common, verb: MessageGroups) -> Result<ExitCode> {
    let mut head = None;
    let (args, verb) = match verb {
        MessageGroups::List { name, held, after, limit } => {
            let held = Held::ALL.into_iter().find(|one| held.as_deref() == Some(one.word()));
            return list(settings, common, &GroupFilter { begins: name, held, after, limit }).await;
        }
        MessageGroups::Show { name, limit } => return show(settings, common, &name, limit).await,
        MessageGroups::Pause(args) => (args, GroupVerb::Pause),
        MessageGroups::Resume(args) => (args, GroupVerb::Resume),
        MessageGroups::SkipHead(SkipHead { head: meant, operate }) => {
            head = meant.map(|id| steps::step_id(&id)).transpose()?;
            (operate, GroupVerb::SkipHead)
        }
        MessageGroups::Requeue(args) => (args, GroupVerb::Requeue),
        MessageGroups::Ignore(args) => (args, GroupVerb::Ignore),
        MessageGroups::Cancel(args) => (args, GroupVerb::Cancel),
        MessageGroups::Unblock(args) => (args, GroupVerb::Unblock),
    };
    operate(settings, common, args, verb, head).await
}

async fn list(settings: &Settings, common: &Common, filter: &GroupFilter) -> Result<ExitCode> {
    let page = Window::open(settings, common)?.message_groups(filter).await?;
    if common.json {
        page.message_groups.iter().for_each(output::line);
    } else {
        let rows = page.message_groups.iter().map(row).collect();
        output::table(&["message group", "state", "waiting", "head", "why"], rows);
    }
    if let Some(next) = page.next {
        output::note(format_args!("there are more; see --after {next}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn row(group: &MessageGroupView) -> Vec<String> {
    let waiting = if group.waiting >= 1_000 { "1000+".into() } else { group.waiting.to_string() };
    let why: Vec<String> = group.holds.iter().map(told).collect();
    vec![
        group.message_group.clone(),
        group.state.clone(),
        waiting,
        group.head.clone().unwrap_or_else(|| "-".into()),
        if why.is_empty() { "-".into() } else { why.join("; ") },
    ]
}

fn told(hold: &HoldView) -> String {
    let why = hold.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    match (&hold.blocked_by, &hold.by) {
        (Some(step), _) => format!("step {step} failed{why}"),
        (None, by) => format!("paused by {}{why}", by.as_deref().unwrap_or("somebody")),
    }
}

async fn show(settings: &Settings, common: &Common, name: &str, limit: usize) -> Result<ExitCode> {
    let shown = Window::open(settings, common)?.message_group(name, limit).await?;
    if common.json {
        output::line(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    let group = &shown.group;
    let in_line = Count(group.waiting, "step");
    output::text(format_args!("{} is {}; {in_line} in line", plain(name), group.state));
    group.holds.iter().for_each(|hold| output::text(format_args!("  {}", plain(&told(hold)))));
    let cells = |step: &wire::StepView| {
        let key = step.step_key.clone().unwrap_or_else(|| "-".into());
        let sequence = step.sequence.map_or_else(|| "-".into(), |n| n.to_string());
        vec![step.id.clone(), key, step.action.clone(), step.state.clone(), sequence, step.created_at.clone()]
    };
    let rows = shown.queue.iter().map(cells).collect();
    output::table(&["id", "key", "action", "state", "sequence", "created"], rows);
    Ok(ExitCode::SUCCESS)
}

async fn operate(
    settings: &Settings,
    common: &Common,
    args: GroupOperate,
    verb: GroupVerb,
    head: Option<StepId>,
) -> Result<ExitCode> {
    let GroupOperate { name, why, by, dry_run } = args;
    let (message_group, why) = (name.as_str().into(), why.unwrap_or_else(|| BY_HAND.into()));
    let operation = GroupOperation { message_group, verb, head, by: whoever(by), why, dry_run };
    let door = Door::open(settings, common.server.as_deref(), "message-groups")?;
    let done = door.operate_group(operation).await;
    door.close().await?;
    let done = done?;
    if common.json {
        output::line(&done);
        return Ok(ExitCode::SUCCESS);
    }
    let would = if dry_run { "would " } else { "" };
    output::text(format_args!("message group {name}: {would}{}", done.verb));
    for id in &done.forgiven {
        output::text(format_args!("  step {id} holds nobody back any more"));
    }
    for replaced in &done.replaced {
        let by = replaced.by.as_deref().unwrap_or("a new step");
        output::text(format_args!("  {by} takes the place of step {}", replaced.step_id));
    }
    for moved in &done.moved {
        output::text(format_args!("  step {} -> {}", moved.step_id, moved.to));
    }
    if done.more {
        output::note("there are more steps in this group; run the same again");
    }
    Ok(ExitCode::SUCCESS)
}
