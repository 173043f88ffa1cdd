//! `demo`: a live engine with one of everything and a stream of sample work, to look around.

mod orders;
mod receiver;
mod scene;

use super::serve::{Running, Signals};
use crate::cli::Demo;
use crate::config::{Settings, loopback};
use crate::screen::quoted;
use anyhow::{Context, Result};
use std::process::ExitCode;
use std::time::Duration;
use store::Database;

pub async fn run(mut settings: Settings, args: Demo) -> Result<ExitCode> {
    let keep = args.dir.is_some();
    let dir = args
        .dir
        .unwrap_or_else(|| std::env::temp_dir().join(format!("stepfast-demo-{}", std::process::id())));
    // Whoever looks at it from another terminal stands in another directory.
    let dir = std::path::absolute(&dir).with_context(|| format!("--dir {}", dir.display()))?;
    settings.database = Database::Sqlite(dir.join("demo.db"));
    settings.bind = loopback(args.port.unwrap_or(settings.bind.port()));
    settings.engine.stuck = scene::stuck(&settings.engine.stuck);
    let (receiver, taking) = receiver::start().await?;
    settings.actions.http = settings.actions.http.and(receiver);
    let running = Running::start(settings.clone()).await?;
    let mut signals = Signals::listen();
    scene::set(&running.local, &running.url, receiver).await?;
    tell(&running.url, &settings);
    let engine = running.local.engine.clone();
    let looking = tokio::spawn(async move { scene::look(&engine).await });
    let orders = tokio::spawn(orders::orders(running.local.engine.clone()));
    tokio::select! {
        () = signals.next() => {}
        _ = tokio::time::sleep(Duration::from_secs(args.seconds.unwrap_or(u64::MAX / 4))), if args.seconds.is_some() => {}
    }
    looking.abort();
    orders.abort();
    running.stop(signals.grace()).await?;
    taking.abort();
    if !keep {
        let _ = std::fs::remove_dir_all(&dir);
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(url: &str, settings: &Settings) {
    let db = quoted(&settings.database.to_string());
    println!("Stepfast runs with sample work. Look at it:\n");
    println!("  {url}/step-dispatcher\n");
    println!("Then try, in another terminal:\n");
    println!("  export STEPFAST_DB={db}");
    println!("  stepfast status --watch                   the whole at a glance");
    println!("  stepfast list --state failed,paused       workflows that went wrong or wait for somebody");
    println!("  stepfast show ID                          one of them, step by step");
    println!("  stepfast resolve ID                       decide about one that failed");
    println!("  stepfast pauses                           what is waited for; an approval is one of them");
    println!("  stepfast alerts list                      what is stuck");
    println!("  stepfast message-groups show customer-7   a line that is blocked, and by what");
    println!("  stepfast progress                         what is half done");
    println!("  stepfast steps show ID                    why a step is not running");
    println!("  stepfast drain --wait --why deploy        wait until it is safe to restart");
    println!("  stepfast breaker on                       and go on\n");
    println!("Ctrl-C stops it.");
}
