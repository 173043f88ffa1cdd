//! `breaker` and `drain`: stop handing out work, and know when it is safe to restart.

use super::storage::tell_restored;
use super::{output, whoever};
use crate::Refused;
use crate::cli::{Breaker as Verb, Common, Drain, Switch, SwitchOff};
use crate::config::Settings;
use crate::door::Door;
use crate::screen::plain;
use crate::window::Window;
use anyhow::Result;
use engine::Stopwatch;
use model::{Breaker, Count, DispatchGroup};
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;
use store::{Clock, SystemClock};
use wire::{BreakerView, DrainView};

/// Between two looks while waiting.
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub async fn run(settings: &Settings, common: &Common, verb: Verb) -> Result<ExitCode> {
    match verb {
        Verb::On(args) => switch(settings, common, args, To::On).await,
        Verb::Off(SwitchOff { switch: args, ttl }) => {
            switch(settings, common, args, To::Off { seconds: ttl }).await
        }
        Verb::Status => status(settings, common).await,
    }
}

/// A server that is named knows its own groups.
fn group(settings: &Settings, common: &Common, name: Option<&String>) -> Result<Option<DispatchGroup>> {
    let Some(name) = name else { return Ok(None) };
    let group = DispatchGroup::new(name);
    if common.server.is_none() && !settings.engine.groups.contains(&group) {
        let known: Vec<&str> = settings.engine.groups.iter().map(DispatchGroup::as_str).collect();
        return Err(Refused(format!(
            "`{name}` is not a dispatch group; {}",
            crate::config::suggest(name, &known)
        ))
        .into());
    }
    Ok(Some(group))
}

/// Which way it is switched; off for good, or for so long.
#[derive(Clone, Copy)]
enum To {
    On,
    Off { seconds: Option<u64> },
}

async fn switch(settings: &Settings, common: &Common, args: Switch, to: To) -> Result<ExitCode> {
    let now = SystemClock::default().now();
    let by = whoever(args.by);
    let (off, seconds) = match to {
        To::On => (false, None),
        To::Off { seconds } => (true, seconds),
    };
    let until = seconds.map(|seconds| now + Duration::from_secs(seconds));
    let breaker = Breaker { off, why: args.why, by: Some(by.clone()), since: Some(now), until };
    let scope = group(settings, common, args.group.as_ref())?;
    let door = Door::open(settings, common.server.as_deref(), "breaker")?;
    let done = door.set_breaker(scope, breaker, &by, seconds).await;
    door.close().await?;
    tell(&done?, common.json);
    Ok(ExitCode::SUCCESS)
}

async fn status(settings: &Settings, common: &Common) -> Result<ExitCode> {
    let window = Window::open(settings, common)?;
    tell_restored(&window)?;
    let found = window.breakers().await?;
    tell(&found.everywhere, common.json);
    found.groups.iter().filter(|group| group.off).for_each(|group| tell(group, common.json));
    Ok(ExitCode::SUCCESS)
}

fn tell(breaker: &BreakerView, json: bool) {
    let BreakerView { dispatch_group, off, why, by, since, until, .. } = breaker;
    let scope = dispatch_group.as_deref().unwrap_or("everywhere");
    if json {
        return output::line(
            &json!({"scope": scope, "off": off, "why": why, "by": by, "since": since, "until": until}),
        );
    }
    if !off {
        return output::text(format_args!("{scope}: on"));
    }
    let since = output::instant(since.as_ref());
    let by = by.as_ref().map(|by| format!(", by {by}")).unwrap_or_default();
    let why = why.as_ref().map(|why| format!(", because {why}")).unwrap_or_default();
    let until = until.as_ref().map(|at| format!(", until {}", output::instant(Some(at)))).unwrap_or_default();
    output::text(plain(&format!("{scope}: off since {since}{by}{why}{until}")));
}

pub async fn drain(settings: &Settings, common: &Common, args: Drain) -> Result<ExitCode> {
    let scope = group(settings, common, args.group.as_ref())?;
    let window = Window::open(settings, common)?;
    if !args.dry_run && !is_off(&window, scope.as_ref()).await? {
        if args.why.is_none() {
            let problem = "dispatching is on, and switching it off goes on record; say why with --why";
            return Err(Refused(problem.into()).into());
        }
        let off = Switch { group: args.group.clone(), why: args.why, by: args.by };
        switch(settings, common, off, To::Off { seconds: args.ttl }).await?;
    }
    let name = scope.as_ref().map(DispatchGroup::as_str);
    let watch = Stopwatch::start();
    let bar = (args.wait && !common.json).then(indicatif::ProgressBar::new_spinner);
    let found = loop {
        let found = window.drain(name).await?;
        if let Some(bar) = &bar {
            bar.set_message(format!("{} in flight", Count(found.in_flight, "step")));
            bar.tick();
        }
        if found.safe || !args.wait || watch.elapsed() > Duration::from_secs(args.timeout) {
            break found;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let DrainView { safe, in_flight, .. } = found;
    if common.json {
        output::line(&json!({"safe": safe, "in_flight": in_flight}));
    } else {
        output::text(told(&found));
    }
    Ok(if safe { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn told(found: &DrainView) -> String {
    let flying = Count(found.in_flight, "step");
    match (found.safe, found.breaker.off) {
        (true, _) => "safe to restart: nothing is dispatched or running".into(),
        (_, true) => format!("not safe: {flying} dispatched or running"),
        (_, false) => format!("not safe: work is dispatched, and {flying} dispatched or running"),
    }
}

async fn is_off(window: &Window, scope: Option<&DispatchGroup>) -> Result<bool> {
    let found = window.breakers().await?;
    let name = scope.map(DispatchGroup::as_str);
    let is_named = |group: &BreakerView| name.is_some() && group.dispatch_group.as_deref() == name;
    Ok(found.everywhere.off || found.groups.iter().any(|group| group.off && is_named(group)))
}
