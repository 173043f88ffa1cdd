//! `keys`: who may call the server from elsewhere. A key is printed once, when it is made.

use super::{output, whoever};
use crate::Refused;
use crate::cli::{Common, KeyCreate, KeyRevoke, Keys};
use crate::config::Settings;
use crate::door::Door;
use anyhow::Result;
use model::{KeyId, NewKey};
use server::convert::key_view;
use std::process::ExitCode;
use store::{Clock, SystemClock};
use wire::KeyView;

pub async fn run(settings: &Settings, common: &Common, verb: Keys) -> Result<ExitCode> {
    match verb {
        Keys::Create(args) => create(settings, common, args).await,
        Keys::List => list(settings, common.json),
        Keys::Revoke(args) => revoke(settings, common, args).await,
    }
}

async fn create(settings: &Settings, common: &Common, args: KeyCreate) -> Result<ExitCode> {
    let KeyCreate { name, role, scope, expires, by } = args;
    let new = NewKey { name, role, scope, expires_days: expires };
    let door = Door::open(settings, common.server.as_deref(), "keys create")?;
    let made = door.create_key(new, whoever(by)).await;
    door.close().await?;
    let made = made?;
    if common.json {
        output::line(&made);
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "key {} of {} ({}); keep it now, it is not shown again:",
        made.about.id, made.about.name, made.about.role
    );
    output::text(&made.key);
    Ok(ExitCode::SUCCESS)
}

fn list(settings: &Settings, json: bool) -> Result<ExitCode> {
    let now = SystemClock::default().now();
    let keys = settings.database.browse()?.keys()?;
    let views = keys.iter().map(|key| key_view(key, now));
    if json {
        views.for_each(|view| output::line(&view));
        return Ok(ExitCode::SUCCESS);
    }
    let head = ["id", "name", "role", "scope", "state", "created", "by", "expires", "last used"];
    output::table(&head, views.map(row).collect());
    Ok(ExitCode::SUCCESS)
}

fn row(key: KeyView) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let scope = if key.scope.is_empty() { "all queues".into() } else { key.scope.join(" ") };
    vec![
        key.id,
        key.name,
        key.role,
        scope,
        key.state,
        key.created_at,
        key.created_by,
        or_dash(key.expires_at),
        or_dash(key.last_used_at),
    ]
}

async fn revoke(settings: &Settings, common: &Common, args: KeyRevoke) -> Result<ExitCode> {
    // What was typed is not repeated: it may be the key itself.
    let id: KeyId = args
        .id
        .parse()
        .map_err(|_| Refused("this is not the id of a key; `stepfast keys list` shows the ids".into()))?;
    let door = Door::open(settings, common.server.as_deref(), "keys revoke")?;
    let revoked = door.revoke_key(id, whoever(args.by)).await;
    door.close().await?;
    let revoked = revoked?;
    if common.json {
        output::line(&revoked);
    } else {
        output::text(format_args!("key {} of {} is revoked", revoked.id, revoked.name));
    }
    Ok(ExitCode::SUCCESS)
}
