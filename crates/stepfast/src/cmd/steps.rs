//! `steps`: create, list, show and move them.

use super::{BY_HAND, CUT, output, whoever, would_create};
use crate::Refused;
use crate::cli::{Common, Create, List, Operate, Steps};
use crate::config::{Settings, suggest};
use crate::door::{self, Door};
use crate::screen::plain;
use crate::window::Window;
use anyhow::{Context, Result};
use engine::{Operation, SeenStep, Verb};
use model::{NewStep, State, Status, StepId};
use serde::Deserialize;
use std::io::Read;
use std::process::ExitCode;
use std::time::Duration;
use store::{Clock, Filter, SystemClock};
use wire::{AttemptView, ProgressView, StepShow, StepView};

/// Of a message in a table; `--json` has all of it.
const MESSAGE_CHARS: usize = 100;
/// Columns of the names of facts.
const NAME: usize = 18;

pub async fn run(settings: &Settings, common: &Common, verb: Steps) -> Result<ExitCode> {
    match verb {
        Steps::Create(args) => create(settings, common, *args).await,
        Steps::List(args) => list(settings, common, &args).await,
        Steps::Show { id } => show(settings, common, &id).await,
        Steps::Attempts { id } => attempts(settings, common, &id).await,
        Steps::Complete(args) => operate(settings, common, args, Some(Verb::Complete)).await,
        Steps::Fail(args) => operate(settings, common, args, Some(Verb::Fail)).await,
        Steps::Stop(args) => operate(settings, common, args, Some(Verb::Stop)).await,
        Steps::Skip(args) => operate(settings, common, args, Some(Verb::Skip)).await,
        Steps::Cancel(args) => operate(settings, common, args, Some(Verb::Cancel)).await,
        Steps::Retry(args) => operate(settings, common, args, None).await,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepFile {
    steps: Vec<NewStep>,
}

fn requested(args: Create) -> Result<Vec<NewStep>> {
    if let Some(path) = args.file {
        let text = if path.as_os_str() == "-" {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        } else {
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?
        };
        let file: StepFile = serde_json::from_str(&text).map_err(|e| {
            Refused(format!(
                "{}:{}:{}: {e}; write {{\"steps\": [{{\"action\": \"echo\"}}]}}",
                path.display(),
                e.line(),
                e.column()
            ))
        })?;
        return Ok(file.steps);
    }
    let arguments = args.arguments.map(serde_json::value::RawValue::from_string).transpose();
    let arguments = arguments
        .map_err(|e| Refused(format!("--arguments is not JSON: {e}; write for example '{{\"ms\": 50}}'")))?;
    Ok(vec![NewStep {
        action: args.action.unwrap_or_default(),
        arguments,
        step_key: args.step_key,
        label: args.label,
        queue: args.queue,
        priority: args.priority,
        dispatch_group: args.dispatch_group,
        pool: args.pool,
        message_group: args.message_group,
        mode: args.mode,
        sequence: args.sequence,
        expires_at: args.expires_ms.map(|ms| (SystemClock::default().now() + Duration::from_millis(ms)).0),
        delay_ms: args.delay_ms,
        max_attempts: args.max_attempts,
        parent_step_id: args.parent.map(|id| step_id(&id)).transpose()?,
        block_id: args.block.map(|id| id.parse().map_err(|_| not_an_id(&id))).transpose()?,
        index: args.index,
        ..NewStep::default()
    }])
}

fn not_an_id(text: &str) -> Refused {
    Refused(format!("`{text}` is not an id; ids look like 0199c0de-0000-7000-8000-000000000000"))
}

pub(super) fn step_id(text: &str) -> Result<StepId> {
    Ok(text.parse().map_err(|_| not_an_id(text))?)
}

async fn create(settings: &Settings, common: &Common, mut args: Create) -> Result<ExitCode> {
    let (key, dry_run) = (args.idempotency_key.take(), args.dry_run);
    let steps = requested(args)?;
    if dry_run {
        return would_create::look(settings, common, steps).await;
    }
    let door = Door::open(settings, common.server.as_deref(), "steps create")?;
    let created = door.create(steps, key.as_deref()).await;
    door.close().await?;
    for step in created? {
        if common.json { output::line(&step) } else { output::text(step.id) }
    }
    Ok(ExitCode::SUCCESS)
}

fn filter(args: &List) -> Result<Filter> {
    let words: Vec<&str> = State::ALL.iter().map(|s| s.word()).collect();
    let states = args.state.iter().map(|word| {
        let unknown = || Refused(format!("`{word}` is not a state; {}", suggest(word, &words)));
        word.parse::<State>().map_err(|_| unknown())
    });
    let unknown = |e: model::UnknownWord| Refused(format!("--status: {e}"));
    let statuses = args.status.iter().map(|word| Status::read(word).map_err(unknown));
    Ok(Filter {
        states: states.collect::<std::result::Result<_, _>>()?,
        statuses: statuses.collect::<std::result::Result<_, _>>()?,
        action: args.action.clone(),
        queue: args.queue.clone(),
        queues: Vec::new(),
        dispatch_group: args.dispatch_group.clone(),
        step_key: args.step_key.clone(),
        relatable_type: args.relatable_type.clone(),
        relatable_id: args.relatable_id.clone(),
        block: args.block.as_ref().map(|id| id.parse().map_err(|_| not_an_id(id))).transpose()?,
        workflow: args.workflow.as_ref().map(|id| id.parse().map_err(|_| not_an_id(id))).transpose()?,
        message_group: args.message_group.clone(),
        pool: args.pool.clone(),
        after: None,
        ascending: args.all,
        limit: model::limits::PAGE_ROWS_MAX,
    })
}

async fn list(settings: &Settings, common: &Common, args: &List) -> Result<ExitCode> {
    let (window, mut filter) = (Window::open(settings, common)?, filter(args)?);
    let mut left = if args.all { usize::MAX } else { args.limit.max(1) };
    let (mut rows, mut is_cut) = (Vec::new(), false);
    while left > 0 {
        filter.limit = left.min(model::limits::PAGE_ROWS_MAX);
        let page = window.steps(&filter).await?;
        left = left.saturating_sub(page.steps.len());
        match common.json {
            true => page.steps.iter().for_each(output::line),
            false => rows.extend(page.steps.iter().map(cells)),
        }
        is_cut = page.next.is_some();
        match page.next {
            Some(next) => filter.after = Some(step_id(&next)?),
            None => break,
        }
    }
    if !common.json {
        output::table(&["id", "key", "action", "state", "reason", "group", "attempt", "created"], rows);
    }
    if is_cut {
        output::note(CUT);
    }
    Ok(ExitCode::SUCCESS)
}

/// A parent whose job returned is nobody's, and runs until its children have ended.
fn is_parked(step: &StepView) -> bool {
    step.state == State::Running.word() && step.session.is_none()
}

fn cells(step: &StepView) -> Vec<String> {
    let or_dash = |text: Option<&String>| text.cloned().unwrap_or_else(|| "-".into());
    vec![
        step.id.clone(),
        or_dash(step.step_key.as_ref().or(step.label.as_ref())),
        step.action.clone(),
        if is_parked(step) { format!("{} (waits for children)", step.state) } else { step.state.clone() },
        or_dash(step.reason.as_ref()),
        step.dispatch_group.clone(),
        format!("{}/{}", step.attempt, step.max_attempts),
        output::instant(Some(&step.created_at)),
    ]
}

/// How far its job says it is: the node that its worker speaks to knows, if it answers. A server that was asked has told it.
async fn progress(settings: &Settings, window: &Window, shown: &StepShow) -> Option<ProgressView> {
    let Window::Database(browse) = window else { return shown.progress.clone() };
    if !shown.step.state.parse::<State>().is_ok_and(State::is_in_flight) {
        return None;
    }
    let session = browse.session(shown.step.session.as_ref()?.parse().ok()?).ok()??;
    let url = browse.nodes().ok()?.into_iter().find(|node| node.id == session.node)?.url?;
    door::shown(settings, &url, shown.step.id.parse().ok()?).await.ok()?.progress
}

async fn show(settings: &Settings, common: &Common, id: &str) -> Result<ExitCode> {
    let window = Window::open(settings, common)?;
    let mut shown = window.step(step_id(id)?).await?;
    shown.progress = progress(settings, &window, &shown).await;
    if common.json {
        output::line(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    output::facts(NAME, &shown.step);
    told_beside(&shown);
    let state = shown.step.state.parse::<State>().ok();
    if state.is_some_and(|state| !state.is_terminal()) {
        let is_held = state.is_some_and(State::is_in_flight) && !is_parked(&shown.step);
        let head = if is_held { "It is running:" } else { "It is not running because:" };
        output::text(head);
        shown.why.iter().for_each(|why| output::text(format_args!("  - {}", plain(why))));
    }
    Ok(ExitCode::SUCCESS)
}

/// What its runs came to and said.
fn told_beside(shown: &StepShow) {
    if let Some(progress) = &shown.progress {
        output::fact(NAME, "progress", progress);
    }
    for attempt in &shown.attempts {
        let message = attempt.message.as_ref().map(|m| format!(": {m}")).unwrap_or_default();
        let at = output::instant(Some(&attempt.at));
        let delivery = attempt.delivery.as_ref().map(|d| format!(" {d}")).unwrap_or_default();
        let head = format!("attempt {}", attempt.attempt);
        output::fact(NAME, &head, format_args!("{at} {}{delivery}{message}", attempt.outcome));
    }
    for poll in shown.polls.iter().flat_map(|polls| &polls.last) {
        let (at, head) = (output::instant(Some(&poll.at)), format!("poll {}", poll.number));
        let data = poll.data.as_ref().map(|data| format!(": {data}")).unwrap_or_default();
        output::fact(NAME, &head, format_args!("{at} {}{data}", poll.verdict));
    }
    for line in &shown.log {
        let at = output::instant(Some(&line.at));
        output::fact(NAME, &format!("log {}", line.attempt), format_args!("{at} {}", line.text));
    }
}

async fn attempts(settings: &Settings, common: &Common, id: &str) -> Result<ExitCode> {
    let (window, id) = (Window::open(settings, common)?, step_id(id)?);
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let page = window.attempts(id, after.as_deref()).await?;
        match common.json {
            true => page.attempts.iter().for_each(output::line),
            false => rows.extend(page.attempts.iter().map(attempt_cells)),
        }
        match page.next {
            None => break,
            next => after = next,
        }
    }
    if !common.json {
        let head = ["attempt", "started", "outcome", "delivery", "code", "error", "ms", "message"];
        output::table(&head, rows);
    }
    Ok(ExitCode::SUCCESS)
}

fn attempt_cells(attempt: &AttemptView) -> Vec<String> {
    let delivery = attempt.delivery.as_ref();
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let line = attempt.message.as_ref().map(|m| m.lines().next().unwrap_or_default());
    vec![
        attempt.attempt.to_string(),
        output::instant(attempt.started_at.as_ref()),
        attempt.outcome.clone(),
        or_dash(delivery.map(|d| d.status.clone())),
        or_dash(delivery.and_then(|d| d.http_code).map(|code| code.to_string())),
        or_dash(delivery.and_then(|d| d.error_type.clone())),
        or_dash(delivery.map(|d| d.duration_ms.to_string())),
        or_dash(line.map(|line| line.chars().take(MESSAGE_CHARS).collect())),
    ]
}

/// A step as somebody saw it.
fn seen(text: &str) -> Result<SeenStep> {
    let read = || {
        let (version, attempt) = text.split_once('-')?;
        Some(SeenStep { version: version.parse().ok()?, attempt: attempt.parse().ok()? })
    };
    let how = "write its `version` and its `attempt` as `steps show` tells them, such as 3-1";
    Ok(read().ok_or_else(|| Refused(format!("--if-revision: `{text}` is not understood; {how}")))?)
}

async fn operate(
    settings: &Settings,
    common: &Common,
    args: Operate,
    verb: Option<Verb>,
) -> Result<ExitCode> {
    let operation = Operation {
        step: step_id(&args.id)?,
        by: whoever(args.by),
        why: args.why.unwrap_or_else(|| BY_HAND.into()),
        verb,
        dry_run: args.dry_run,
        expected: args.if_revision.as_deref().map(seen).transpose()?,
    };
    let door = Door::open(settings, common.server.as_deref(), "steps")?;
    let done = door.operate(operation).await;
    door.close().await?;
    let done = done?;
    if common.json {
        output::line(&done);
        return Ok(ExitCode::SUCCESS);
    }
    let would = if args.dry_run { "would move" } else { "moved" };
    output::text(format_args!("step {} {would}: {} -> {}", done.step_id, done.from, done.to));
    for moved in done.moves.iter().filter(|m| m.step_id != done.step_id) {
        output::text(format_args!(
            "  {} {} -> {}",
            moved.step_id,
            moved.from.as_deref().unwrap_or("new"),
            moved.to
        ));
    }
    if let Some(by) = &done.replaced_by {
        output::text(format_args!("step {by} takes its place"));
    }
    Ok(ExitCode::SUCCESS)
}
