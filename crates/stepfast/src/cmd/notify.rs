//! `notify`: the channels that are told when something fails or waits, and a test that says what the receiver answered.

use super::{output, whoever};
use crate::cli::{ChannelSet, Common, Notify, NotifyTest};
use crate::config::Settings;
use crate::door::Door;
use crate::named::labels;
use crate::screen::plain;
use crate::{Refused, Unavailable};
use anyhow::{Result, bail};
use server::answers;
use std::process::ExitCode;
use std::time::Duration;
use stepfast::Registry;
use wire::{AttemptView, ChannelBody, ChannelPage, ChannelTestBody, ChannelView, TellingView};

/// How long an answer is waited for; a delivery itself gives up sooner.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Deliveries at once.
const WORKERS: usize = 8;
/// Letters of an answer that are shown.
const SHOWN: usize = 200;
/// Columns of the names of facts.
const NAME: usize = 18;

pub async fn run(settings: &Settings, common: &Common, verb: Notify) -> Result<ExitCode> {
    match verb {
        Notify::List => list(settings, common).await,
        Notify::Show { channel } => show(settings, common, &channel).await,
        Notify::Set(args) => set(settings, common, *args).await,
        Notify::Test(args) => test(settings, common, args).await,
        Notify::Remove { channel, by } => {
            let door = Door::open(settings, common.server.as_deref(), "notify remove")?;
            let removed = door.remove_channel(&channel, whoever(by)).await;
            door.close().await?;
            removed?;
            match common.json {
                true => output::line(&serde_json::json!({ "removed": channel })),
                false => output::text(format_args!("channel {channel} is removed")),
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn channels(settings: &Settings, common: &Common) -> Result<ChannelPage> {
    match common.server.as_deref() {
        Some(_) => Door::open(settings, common.server.as_deref(), "notify list")?.channels().await,
        None => Ok(answers::channels(&settings.database.browse()?)?),
    }
}

async fn show(settings: &Settings, common: &Common, name: &str) -> Result<ExitCode> {
    let all = channels(settings, common).await?.channels;
    let found = all.into_iter().find(|channel| channel.name == name);
    let view = found.ok_or_else(|| Refused(format!("there is no channel `{name}`")))?;
    if common.json {
        output::line(&view);
        return Ok(ExitCode::SUCCESS);
    }
    output::facts(NAME, &view);
    Ok(ExitCode::SUCCESS)
}

async fn set(settings: &Settings, common: &Common, args: ChannelSet) -> Result<ExitCode> {
    let body = ChannelBody {
        name: args.channel,
        kind: args.kind,
        url: args.url,
        audience: args.audience,
        min_severity: args.min_severity,
        kinds: args.kinds,
        labels: labels(&args.labels)?,
        per_minute: args.per_minute,
        quiet: args.quiet,
        active: Some(!args.inactive),
        secrets: None,
        by: Some(whoever(args.by)),
    };
    let door = Door::open(settings, common.server.as_deref(), "notify set")?;
    let put = door.put_channel(body).await;
    door.close().await?;
    let put = put?;
    match (common.json, &put.secret) {
        (true, _) => output::line(&put),
        (_, Some(secret)) => {
            output::note(format_args!(
                "channel {}; keep its secret now, it is not shown again:",
                put.about.name
            ));
            output::text(secret);
        }
        (_, None) => output::text(format_args!("channel {} is set", put.about.name)),
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(settings: &Settings, common: &Common) -> Result<ExitCode> {
    let page = channels(settings, common).await?;
    if common.json {
        page.channels.iter().for_each(output::line);
        return Ok(ExitCode::SUCCESS);
    }
    let head = ["channel", "kind", "for", "from", "kinds", "url", "active", "sent", "gathered", "waiting"];
    output::table(&head, page.channels.into_iter().map(row).collect());
    Ok(ExitCode::SUCCESS)
}

fn row(view: ChannelView) -> Vec<String> {
    let labels = view.labels.iter().map(|(name, value)| format!("{name}={value}"));
    let kinds: Vec<String> = view.kinds.iter().cloned().chain(labels).collect();
    vec![
        view.name,
        view.kind,
        view.audience,
        view.min_severity,
        if kinds.is_empty() { "all".into() } else { kinds.join(" ") },
        view.url,
        if view.active { "yes" } else { "no" }.into(),
        view.told.to_string(),
        view.gathered.to_string(),
        view.waiting.to_string(),
    ]
}

async fn test(settings: &Settings, common: &Common, args: NotifyTest) -> Result<ExitCode> {
    let mut door = Door::open(settings, common.server.as_deref(), "notify test")?;
    let done = all(&mut door, settings, (args, common.json)).await;
    door.close().await?;
    done
}

/// What came of one test.
#[derive(serde::Serialize)]
struct Answered {
    #[serde(flatten)]
    telling: TellingView,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<AttemptView>,
    arrived: bool,
}

async fn all(door: &mut Door, settings: &Settings, (args, json): (NotifyTest, bool)) -> Result<ExitCode> {
    if let Door::Local { local, .. } = door {
        let mut registry = Registry::default();
        settings.actions.register(&mut registry)?;
        local.run(registry, WORKERS).await?;
    }
    let names: Vec<String> = match args.channel {
        Some(name) => vec![name],
        None => door.channels().await?.channels.into_iter().map(|channel| channel.name).collect(),
    };
    if names.is_empty() {
        bail!(Refused("there is no channel; write [[notify.channel]] into the configuration".into()));
    }
    let body = ChannelTestBody { severity: args.severity, by: Some(whoever(args.by)) };
    let mut arrived = true;
    for name in names {
        let telling = door.test_channel(&name, &body).await?;
        let answered = answered(door, telling).await?;
        arrived &= answered.arrived;
        if json { output::line(&answered) } else { output::text(words(&answered)) }
    }
    Ok(if arrived { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn answered(door: &Door, telling: TellingView) -> Result<Answered> {
    // One that waits for its minute is not waited for here.
    let Some(step) = telling.step_id.clone().filter(|_| telling.became != "delayed") else {
        return Ok(Answered { telling, attempt: None, arrived: false });
    };
    let mut look = tokio::time::interval(LOOK_EVERY);
    let waited = tokio::time::timeout(PATIENCE, async {
        loop {
            look.tick().await;
            if let Some(attempt) = door.step(&step).await?.and_then(|shown| shown.attempts.into_iter().last())
            {
                return anyhow::Ok(attempt);
            }
        }
    });
    let Ok(attempt) = waited.await else {
        let problem =
            format!("nobody has delivered step {step} within {} s; does a worker run?", PATIENCE.as_secs());
        bail!(Unavailable(problem));
    };
    let attempt = attempt?;
    let arrived = attempt.delivery.as_ref().is_some_and(|delivery| delivery.status == "SUCCESS");
    Ok(Answered { telling, attempt: Some(attempt), arrived })
}

fn words(answered: &Answered) -> String {
    let Answered { telling, attempt, arrived } = answered;
    let name = &telling.channel;
    let Some(attempt) = attempt else {
        let why = plain(telling.why.as_deref().unwrap_or_default());
        return format!("{name}: {}: {why}", telling.became);
    };
    let delivery = attempt.delivery.as_ref();
    let code = delivery.and_then(|d| d.http_code).map(|code| format!(" {code}")).unwrap_or_default();
    let millis = delivery.map(|d| format!(" in {} ms", d.duration_ms)).unwrap_or_default();
    let body = delivery.and_then(|d| d.response_body.as_deref()).unwrap_or_default();
    let body: String = plain(body).chars().take(SHOWN).collect();
    let body = if body.is_empty() { body } else { format!(": {body}") };
    if *arrived {
        return format!("{name}: the receiver answered{code}{millis}{body}");
    }
    let why = plain(attempt.message.as_deref().unwrap_or("it did not arrive"));
    let step = telling.step_id.as_deref().unwrap_or_default();
    format!("{name}: {why}{code}{millis}; `stepfast steps attempts {step}` shows what follows")
}
