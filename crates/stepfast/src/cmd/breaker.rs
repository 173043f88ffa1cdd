//! `breaker` and `drain`: stop handing out work, and know when it is safe to restart.

use super::storage::tell_restored;
use super::{output, whoever};
use crate::Refused;
use crate::cli::{Breaker as Verb, Common, Drain, Switch};
use crate::config::Settings;
use crate::door::Door;
use anyhow::Result;
use engine::Stopwatch;
use model::{Breaker, DispatchGroup};
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;
use store::Browse;
use store::{Clock, SystemClock};

/// Between two looks while waiting.
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub async fn run(settings: &Settings, common: &Common, verb: Verb) -> Result<ExitCode> {
    match verb {
        Verb::On(args) => switch(settings, common, &args, false).await,
        Verb::Off(args) => switch(settings, common, &args.into(), true).await,
        Verb::Status => status(settings, common.json),
    }
}

fn group(settings: &Settings, name: Option<&String>) -> Result<Option<DispatchGroup>> {
    let Some(name) = name else { return Ok(None) };
    let group = DispatchGroup::new(name);
    if !settings.engine.groups.contains(&group) {
        let known: Vec<&str> = settings.engine.groups.iter().map(DispatchGroup::as_str).collect();
        return Err(Refused(format!(
            "`{name}` is not a dispatch group; {}",
            crate::config::suggest(name, &known)
        ))
        .into());
    }
    Ok(Some(group))
}

async fn switch(settings: &Settings, common: &Common, args: &Switch, off: bool) -> Result<ExitCode> {
    let now = SystemClock::default().now();
    let by = whoever(args.by.clone());
    let breaker = Breaker {
        off,
        why: args.why.clone(),
        by: Some(by.clone()),
        since: Some(now),
        until: args.ttl.filter(|_| off).map(|s| now + Duration::from_secs(s)),
    };
    let scope = group(settings, args.group.as_ref())?;
    let door = Door::open(settings, common.server.as_deref(), "breaker")?;
    let done = door.set_breaker(scope, breaker, &by, args.ttl).await;
    door.close().await?;
    done?;
    status(settings, common.json)
}

fn status(settings: &Settings, json: bool) -> Result<ExitCode> {
    let browse = settings.database.browse()?;
    tell_restored(&browse)?;
    let now = SystemClock::default().now();
    let scopes = std::iter::once(("everywhere".to_string(), browse.breaker()?))
        .chain(browse.groups()?.into_iter().map(|g| (g.dispatch_group.to_string(), g.breaker)));
    for (scope, breaker) in scopes.filter(|(scope, b)| scope == "everywhere" || b.off) {
        let off = breaker.is_off(now);
        if json {
            output::line(&json!({"scope": scope, "off": off, "why": breaker.why, "by": breaker.by,
                "since": output::at(breaker.since), "until": output::at(breaker.until)}));
            continue;
        }
        let why = breaker.why.filter(|_| off).map(|w| format!(", because {w}")).unwrap_or_default();
        let by = breaker.by.filter(|_| off).map(|b| format!(", by {b}")).unwrap_or_default();
        let since = if off { format!(" since {}", output::time(breaker.since)) } else { String::new() };
        let until = breaker
            .until
            .filter(|_| off)
            .map(|u| format!(", until {}", output::time(Some(u))))
            .unwrap_or_default();
        output::text(format_args!("{scope}: {}{since}{by}{why}{until}", if off { "off" } else { "on" }));
    }
    Ok(ExitCode::SUCCESS)
}

pub async fn drain(settings: &Settings, common: &Common, args: Drain) -> Result<ExitCode> {
    let scope = group(settings, args.group.as_ref())?;
    let browse = settings.database.browse()?;
    if !is_off(&browse, scope.as_ref())? {
        if args.why.is_none() {
            let problem = "dispatching is on, and switching it off goes on record; say why with --why";
            return Err(Refused(problem.into()).into());
        }
        let switch_args = Switch { group: args.group.clone(), why: args.why, by: args.by, ttl: args.ttl };
        let quiet = Common { json: common.json, ..common.clone() };
        switch(settings, &quiet, &switch_args, true).await?;
    }
    let name = scope.as_ref().map(DispatchGroup::as_str);
    let watch = Stopwatch::start();
    let bar = (args.wait && !common.json).then(indicatif::ProgressBar::new_spinner);
    loop {
        let in_flight = browse.in_flight(name)?;
        let safe = in_flight == 0 && is_off(&browse, scope.as_ref())?;
        if let Some(bar) = &bar {
            bar.set_message(format!("{in_flight} step(s) in flight"));
            bar.tick();
        }
        if safe || !args.wait || watch.elapsed() > Duration::from_secs(args.timeout) {
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
            if common.json {
                output::line(&json!({"safe": safe, "in_flight": in_flight}));
            } else if safe {
                output::text("safe to restart: nothing is dispatched or running");
            } else {
                output::text(format_args!("not safe: {in_flight} step(s) are dispatched or running"));
            }
            return Ok(if safe { ExitCode::SUCCESS } else { ExitCode::from(1) });
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn is_off(browse: &Browse, scope: Option<&DispatchGroup>) -> Result<bool> {
    let now = SystemClock::default().now();
    let groups = browse.groups()?;
    let group_off =
        scope.is_some_and(|s| groups.iter().any(|g| &g.dispatch_group == s && g.breaker.is_off(now)));
    Ok(browse.breaker()?.is_off(now) || group_off)
}
