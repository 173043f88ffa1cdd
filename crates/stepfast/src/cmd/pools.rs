//! `pools`: named limits that steps share.

use super::{output, whoever};
use crate::cli::{Common, PoolSet, Pools};
use crate::config::Settings;
use crate::door::Door;
use anyhow::Result;
use server::convert::pool_view;
use std::process::ExitCode;
use store::{Asked, Clock, SystemClock};
use wire::{PoolBody, PoolView};

pub async fn run(settings: &Settings, common: &Common, verb: Pools) -> Result<ExitCode> {
    match verb {
        Pools::List => list(settings, common.json),
        Pools::Set(args) => set(settings, common, args).await,
        Pools::Remove { name, why, by } => {
            remove(settings, common, name, Asked { who: whoever(by), why: Some(why) }).await
        }
    }
}

fn list(settings: &Settings, json: bool) -> Result<ExitCode> {
    let now = SystemClock::default().now();
    let pools = settings.database.browse()?.pools()?;
    let views = pools.iter().map(|pool| pool_view(pool, now));
    if json {
        views.for_each(|view| output::line(&view));
        return Ok(ExitCode::SUCCESS);
    }
    output::table(&["pool", "running", "of", "rate", "burst", "next start"], views.map(row).collect());
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
