//! `pools`: named limits that steps share.

use super::{output, whoever};
use crate::Refused;
use crate::cli::{Common, PoolSet, Pools};
use crate::config::Settings;
use crate::door::Door;
use crate::window::Window;
use anyhow::{Result, bail};
use std::process::ExitCode;
use store::Asked;
use wire::{PoolBody, PoolView};

pub async fn run(settings: &Settings, common: &Common, verb: Pools) -> Result<ExitCode> {
    match verb {
        Pools::List => list(settings, common).await,
        Pools::Set(args) => set(settings, common, args).await,
        Pools::Remove { name, dry_run: true, .. } => would_remove(settings, common, &name).await,
        Pools::Remove { name, why, by, .. } => {
            remove(settings, common, name, Asked { who: whoever(by), why }).await
        }
    }
}

async fn list(settings: &Settings, common: &Common) -> Result<ExitCode> {
    let pools = Window::open(settings, common)?.pools().await?;
    if common.json {
        pools.iter().for_each(output::line);
        return Ok(ExitCode::SUCCESS);
    }
    let rows = pools.into_iter().map(row).collect();
    output::table(&["pool", "running", "of", "rate", "burst", "next start"], rows);
    Ok(ExitCode::SUCCESS)
}

fn row(pool: PoolView) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    vec![
        pool.name,
        pool.used.to_string(),
        or_dash(pool.concurrency.map(|n| n.to_string())),
        or_dash(pool.rate),
        or_dash(pool.burst.map(|n| n.to_string())),
        pool.next_start_at.unwrap_or_else(|| "now".into()),
    ]
}

async fn set(settings: &Settings, common: &Common, args: PoolSet) -> Result<ExitCode> {
    let PoolSet { name, concurrency, rate, burst, by } = args;
    let body = PoolBody { name, concurrency, rate, burst, by: Some(whoever(by)) };
    let door = Door::open(settings, common.server.as_deref(), "pools set")?;
    let set = door.set_pool(body).await;
    door.close().await?;
    let set = set?;
    if common.json {
        output::line(&set);
    } else {
        let words = [set.concurrency.map(|n| format!("{n} at once")), set.rate];
        let words: Vec<String> = words.into_iter().flatten().collect();
        output::text(format_args!("pool {}: {}", set.name, words.join(", ")));
    }
    Ok(ExitCode::SUCCESS)
}

/// Steps that wait for it, and run nowhere yet, are found by whoever removes it.
async fn would_remove(settings: &Settings, common: &Common, name: &str) -> Result<ExitCode> {
    let pools = Window::open(settings, common)?.pools().await?;
    let found = pools.into_iter().find(|pool| pool.name == name);
    let pool = found.ok_or_else(|| Refused(format!("there is no pool `{name}`")))?;
    if pool.used > 0 {
        bail!(Refused(server::convert::POOL_IN_USE.into()));
    }
    match common.json {
        true => output::line(&serde_json::json!({ "removed": name, "dry_run": true })),
        false => output::text(format_args!("pool {name} would be removed, unless a step waits for it")),
    }
    Ok(ExitCode::SUCCESS)
}

async fn remove(settings: &Settings, common: &Common, name: String, asked: Asked) -> Result<ExitCode> {
    let door = Door::open(settings, common.server.as_deref(), "pools remove")?;
    let removed = door.remove_pool(&name, asked).await;
    door.close().await?;
    removed?;
    if common.json {
        output::line(&serde_json::json!({ "removed": name }));
    } else {
        output::text(format_args!("pool {name} is removed"));
    }
    Ok(ExitCode::SUCCESS)
}
