//! `keys`: who may call the server from elsewhere. A key is printed once, when it is made.

use super::{output, whoever};
use crate::Refused;
use crate::cli::{Common, KeyCreate, KeyRevoke, Keys};
use crate::config::Settings;
use crate::door::Door;
use crate::window::Window;
use anyhow::Result;
use model::{KeyId, NewKey};
use std::process::ExitCode;
use wire::KeyView;

pub async fn run(settings: &Settings, common: &Common, verb: Keys) -> Result<ExitCode> {
    match verb {
        Keys::Create(args) => create(settings, common, args).await,
        Keys::List => list(settings, common).await,
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
    output::note(format_args!(
        "key {} of {} ({}); keep it now, it is not shown again:",
        made.about.id, made.about.name, made.about.role
    ));
    output::text(&made.key);
    Ok(ExitCode::SUCCESS)
}

async fn list(settings: &Settings, common: &Common) -> Result<ExitCode> {
    let keys = Window::open(settings, common)?.keys().await?;
    if common.json {
        keys.iter().for_each(output::line);
        return Ok(ExitCode::SUCCESS);
    }
    let head = ["id", "name", "role", "scope", "state", "created", "by", "expires", "last used"];
    output::table(&head, keys.into_iter().map(row).collect());
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
    if args.dry_run {
        return would_revoke(settings, common, id).await;
    }
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

async fn would_revoke(settings: &Settings, common: &Common, id: KeyId) -> Result<ExitCode> {
    let keys = Window::open(settings, common)?.keys().await?;
    let found = keys.into_iter().find(|key| key.id == id.to_string());
    let key = found.ok_or_else(|| Refused(format!("there is no key {id}")))?;
    match common.json {
        true => output::line(&key),
        false => {
            output::text(format_args!("key {} of {} would be revoked; it is {}", key.id, key.name, key.state))
        }
    }
    Ok(ExitCode::SUCCESS)
}
