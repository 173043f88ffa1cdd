//! `router`: receives messages from a broker and calls the processing endpoint for each; and what is asked of one that runs.

use super::serve::Signals;
use super::{output, whoever};
use crate::cli::{Common, Router, RouterVerb};
use crate::config::{self, Settings};
use crate::door;
use crate::scheduler::{Routed, connect};
use crate::{Refused, Unavailable, host_name};
use anyhow::{Result, bail};
use router::{RouterConfig, Targets};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long calls may go on after a stop was asked for.
const GRACE: Duration = Duration::from_secs(20);

pub async fn run(settings: &Settings, common: &Common, args: Router) -> Result<ExitCode> {
    match args.verb {
        Some(verb) => ask(settings, common, verb).await,
        None => route(settings, common, args).await,
    }
}

async fn route(settings: &Settings, common: &Common, args: Router) -> Result<ExitCode> {
    let Some(url) = args.queue_url.or_else(|| settings.router.queue_url.clone()) else {
        bail!(Refused(
            "a router needs to know its queue; write --queue-url, or queue-url under [router]".into()
        ));
    };
    let named = if args.target.is_empty() { &settings.router.targets } else { &args.target };
    if named.is_empty() {
        let how = "name where it may call, as --target http://127.0.0.1:7837, or targets under [router]";
        bail!(Refused(how.into()));
    }
    let targets = Targets::only(named.iter().map(String::as_str)).map_err(|f| Refused(f.join("\n")))?;
    let config = RouterConfig {
        name: host_name(),
        pools: settings.router.pools.clone(),
        mediation_timeout: settings.router.mediation_timeout(),
        ..RouterConfig::new(targets)
    };
    let mut signals = Signals::listen();
    // Before anybody is told that it runs: a hang-up would end it otherwise.
    let hang_up = signal(SignalKind::hangup())?;
    let routed = Arc::new(Routed(router::Router::start(config, connect(&url).await?)?));
    let shown = match &args.bind {
        Some(text) => {
            let address = config::bind(text).map_err(Refused)?;
            if !address.ip().is_loopback() {
                bail!(Refused(
                    "a router shows itself on this machine alone; write --bind 127.0.0.1:7838".into()
                ));
            }
            let listener = TcpListener::bind(address).await;
            let listener = listener
                .map_err(|e| Unavailable(format!("cannot listen on {address}: {e}; try another --bind")))?;
            println!("listening on http://{}", listener.local_addr()?);
            Some(tokio::spawn(server::serve_router(listener, routed.clone(), std::future::pending())))
        }
        None => {
            println!("routing");
            None
        }
    };
    let reload = tokio::spawn(reload_pools(routed.clone(), common.clone(), hang_up));
    signals.next().await;
    let seconds = GRACE.as_secs();
    eprintln!(
        "stopping: calls have {seconds} s to end, the rest goes back to the queue; once more stops at once"
    );
    reload.abort();
    tokio::select! {
        _ = routed.0.stop(GRACE) => {}
        // What it has not answered for, the broker gives to somebody else.
        () = signals.next() => {}
    }
    if let Some(shown) = shown {
        shown.abort();
    }
    Ok(ExitCode::SUCCESS)
}

/// On a hang-up the pools are read again; a file with a fault changes nothing.
async fn reload_pools(routed: Arc<Routed>, common: Common, mut hang_up: Signal) {
    while hang_up.recv().await.is_some() {
        match Settings::load(&common) {
            Ok(settings) => {
                routed.0.set_pools(&settings.router.pools);
                eprintln!("the pools were read again");
            }
            Err(problem) => eprintln!("the pools stay as they are: {problem}"),
        }
    }
}

async fn ask(settings: &Settings, common: &Common, verb: RouterVerb) -> Result<ExitCode> {
    let (path, body): (Vec<&str>, Option<Value>) = match &verb {
        RouterVerb::Status => (vec![], None),
        RouterVerb::ResetBreakers { target, by } => {
            (vec!["breakers", "reset"], Some(json!({ "target": target, "by": whoever(by.clone()) })))
        }
        RouterVerb::Suspend { pool, by } => {
            (vec!["pools", pool, "suspend"], Some(json!({ "by": whoever(by.clone()) })))
        }
        RouterVerb::Activate { pool, by } => {
            (vec!["pools", pool, "activate"], Some(json!({ "by": whoever(by.clone()) })))
        }
    };
    let path: Vec<&str> = ["v1", "router"].into_iter().chain(path).collect();
    let answer = door::ask_server(settings, common.server.as_deref(), &path, body).await?;
    if common.json || matches!(verb, RouterVerb::Status) && answer["pools"].is_null() {
        output::line(&answer);
        return Ok(ExitCode::SUCCESS);
    }
    match verb {
        RouterVerb::Status => show(&answer),
        RouterVerb::ResetBreakers { target, .. } => {
            let which = target.map_or("every breaker".into(), |target| format!("the breaker of {target}"));
            output::text(format_args!("{which} is closed"));
        }
        RouterVerb::Suspend { pool, .. } => output::text(format_args!("pool {pool} is suspended")),
        RouterVerb::Activate { pool, .. } => output::text(format_args!("pool {pool} is active")),
    }
    Ok(ExitCode::SUCCESS)
}

fn show(status: &Value) {
    let list = |name: &str| status[name].as_array().cloned().unwrap_or_default();
    let cell = |row: &Value, key: &str| match &row[key] {
        Value::Null => "-".to_string(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let rows = |name: &str, keys: &[&str]| -> Vec<Vec<String>> {
        list(name).iter().map(|row| keys.iter().map(|key| cell(row, key)).collect()).collect()
    };
    let pools = ["code", "status", "concurrency", "rate_per_minute", "in_flight", "waiting"];
    output::table(&["pool", "status", "of", "a minute", "calling", "waiting"], rows("pools", &pools));
    let breakers = ["target", "state", "calls", "failures", "tries_again_in_ms"];
    output::table(&["target", "breaker", "calls", "failed", "tries in ms"], rows("breakers", &breakers));
    let counters = &status["counters"];
    output::text(format_args!(
        "{} held; processed {}, deferred {}, failed {}, dropped {}, duplicates {}",
        status["held"],
        counters["processed"],
        counters["deferred"],
        counters["failed"],
        counters["dropped"],
        counters["duplicates"]
    ));
}
