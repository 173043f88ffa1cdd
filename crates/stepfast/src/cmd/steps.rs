//! `steps`: create, list, show and move them.

use super::{BY_HAND, output, whoever};
use crate::Refused;
use crate::cli::{Common, Create, List, Operate, Steps};
use crate::config::{Settings, suggest};
use crate::door::{self, Door};
use anyhow::{Context, Result, bail};
use engine::{Operation, Verb};
use model::{NewStep, State, Status, StepId};
use serde::Deserialize;
use server::{answers, convert};
use std::io::Read;
use std::process::ExitCode;
use std::time::Duration;
use store::Browse;
use store::{ATTEMPTS_PAGE_MAX, Attempt, AttemptKey, Clock, Filter, StepRow, SystemClock};
use wire::{ProgressView, StepShow};

/// Of a message in a table; `--json` has all of it.
const MESSAGE_CHARS: usize = 100;

pub async fn run(settings: &Settings, common: &Common, verb: Steps) -> Result<ExitCode> {
    match verb {
        Steps::Create(args) => create(settings, common, *args).await,
        Steps::List(args) => list(settings, &args, common.json),
        Steps::Show { id } => show(settings, common, &id).await,
        Steps::Attempts { id } => attempts(settings, &id, common.json),
        Steps::Complete(args) => operate(settings, common, args.into(), Some(Verb::Complete)).await,
        Steps::Fail(args) => operate(settings, common, args.into(), Some(Verb::Fail)).await,
        Steps::Stop(args) => operate(settings, common, args.into(), Some(Verb::Stop)).await,
        Steps::Skip(args) => operate(settings, common, args.into(), Some(Verb::Skip)).await,
        Steps::Cancel(args) => operate(settings, common, args.into(), Some(Verb::Cancel)).await,
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

fn step_id(text: &str) -> Result<StepId> {
    Ok(text.parse().map_err(|_| not_an_id(text))?)
}

async fn create(settings: &Settings, common: &Common, mut args: Create) -> Result<ExitCode> {
    let key = args.idempotency_key.take();
    let steps = requested(args)?;
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
        after: None,
        ascending: args.all,
        limit: if args.all { model::limits::PAGE_ROWS_MAX } else { args.limit },
    })
}

fn list(settings: &Settings, args: &List, json: bool) -> Result<ExitCode> {
    let browse = settings.database.browse()?;
    let mut filter = filter(args)?;
    if json {
        return list_json(&browse, filter, args.all);
    }
    let mut rows = Vec::new();
    loop {
        let page = browse.steps(&filter)?;
        rows.extend(page.iter().map(cells));
        match page.last() {
            Some(last) if args.all && page.len() == filter.limit => filter.after = Some(last.step.id),
            _ => break,
        }
    }
    output::table(&["id", "key", "action", "state", "reason", "group", "attempt", "created"], rows);
    Ok(ExitCode::SUCCESS)
}

/// As the API shows them, without what a workflow calls secret.
fn list_json(browse: &Browse, mut filter: Filter, all: bool) -> Result<ExitCode> {
    loop {
        let page = answers::steps(browse, &filter)?;
        page.steps.iter().for_each(output::line);
        match page.next.filter(|_| all) {
            Some(next) => filter.after = Some(step_id(&next)?),
            None => return Ok(ExitCode::SUCCESS),
        }
    }
}

fn cells(row: &StepRow) -> Vec<String> {
    let StepRow { step, detail, .. } = row;
    vec![
        step.id.to_string(),
        detail.step_key.clone().or_else(|| detail.label.clone()).unwrap_or_else(|| "-".into()),
        step.action.to_string(),
        if step.parked { format!("{} (waits for children)", step.state) } else { step.state.to_string() },
        step.reason.map_or_else(|| "-".into(), |r| r.to_string()),
        step.dispatch_group.to_string(),
        format!("{}/{}", step.attempt, step.max_attempts),
        output::time(Some(step.created_at)),
    ]
}

/// How far its job says it is: the node that its worker speaks to knows, if it answers.
async fn progress(
    settings: &Settings,
    common: &Common,
    browse: &Browse,
    row: &StepRow,
) -> Option<ProgressView> {
    let session = browse.session(row.step.session.filter(|_| row.step.is_held())?).ok()??;
    let node = || browse.nodes().ok()?.into_iter().find(|node| node.id == session.node)?.url;
    let url = common.server.clone().or_else(node)?;
    door::shown(settings, &url, row.step.id).await.ok()?.progress
}

async fn show(settings: &Settings, common: &Common, id: &str) -> Result<ExitCode> {
    let browse = settings.database.browse()?;
    let id = step_id(id)?;
    let Some(row) = browse.step(id)? else { bail!(Refused(format!("there is no step {id}"))) };
    let Some(mut shown) = answers::step(&browse, id, SystemClock::default().now())? else {
        bail!(Refused(format!("there is no step {id}")))
    };
    shown.progress = progress(settings, common, &browse, &row).await;
    if common.json {
        output::line(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    let value = serde_json::to_value(&shown.step)?;
    for (name, value) in value.as_object().into_iter().flatten().filter(|(_, v)| !v.is_null()) {
        let value = value.as_str().map_or_else(|| value.to_string(), String::from);
        output::text(format_args!("{name:<18} {value}"));
    }
    told_beside(&shown);
    if !row.step.state.is_terminal() {
        let head = if row.step.is_held() { "It is running:" } else { "It is not running because:" };
        output::text(head);
        shown.why.iter().for_each(|w| output::text(format_args!("  - {w}")));
    }
    Ok(ExitCode::SUCCESS)
}

/// What its runs came to and said.
fn told_beside(shown: &StepShow) {
    if let Some(progress) = &shown.progress {
        output::text(format_args!("{:<18} {progress}", "progress"));
    }
    for attempt in &shown.attempts {
        let message = attempt.message.as_ref().map(|m| format!(": {m}")).unwrap_or_default();
        let at = output::instant(Some(&attempt.at));
        let delivery = attempt.delivery.as_ref().map(|d| format!(" {d}")).unwrap_or_default();
        let head = format!("attempt {}", attempt.attempt);
        output::text(format_args!("{head:<18} {at} {}{delivery}{message}", attempt.outcome));
    }
    for poll in shown.polls.iter().flat_map(|polls| &polls.last) {
        let (at, head) = (output::instant(Some(&poll.at)), format!("poll {}", poll.number));
        let data = poll.data.as_ref().map(|data| format!(": {data}")).unwrap_or_default();
        output::text(format_args!("{head:<18} {at} {}{data}", poll.verdict));
    }
    for line in &shown.log {
        let at = output::instant(Some(&line.at));
        output::text(format_args!("{:<18} {at} {}", format!("log {}", line.attempt), line.text));
    }
}

fn attempts(settings: &Settings, id: &str, json: bool) -> Result<ExitCode> {
    let (browse, id) = (settings.database.browse()?, step_id(id)?);
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let page = browse.attempts_after(id, after.as_ref(), ATTEMPTS_PAGE_MAX)?;
        if page.is_empty() && after.is_none() && browse.step(id)?.is_none() {
            bail!(Refused(format!("there is no step {id}")));
        }
        if json {
            page.iter().for_each(|attempt| output::line(&convert::attempt_view(attempt)));
        } else {
            rows.extend(page.iter().map(attempt_cells));
        }
        match page.last() {
            Some(last) if page.len() == ATTEMPTS_PAGE_MAX => after = Some(AttemptKey::of(last)),
            _ => break,
        }
    }
    if !json {
        let head = ["attempt", "started", "outcome", "delivery", "code", "error", "ms", "message"];
        output::table(&head, rows);
    }
    Ok(ExitCode::SUCCESS)
}

fn attempt_cells(attempt: &Attempt) -> Vec<String> {
    let delivery = attempt.delivery.as_ref();
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let line = attempt.message.as_ref().map(|m| m.lines().next().unwrap_or_default());
    vec![
        attempt.attempt.to_string(),
        output::time(attempt.started_at),
        attempt.outcome.clone(),
        or_dash(delivery.map(|d| d.status.to_string())),
        or_dash(delivery.and_then(|d| d.http_code).map(|code| code.to_string())),
        or_dash(delivery.and_then(|d| d.error_type).map(|error| error.to_string())),
        or_dash(delivery.map(|d| d.duration_ms.to_string())),
        or_dash(line.map(|line| line.chars().take(MESSAGE_CHARS).collect())),
    ]
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
        expected: None,
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
