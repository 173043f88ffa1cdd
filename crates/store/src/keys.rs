//! API keys on record, and the small changes that are not of a turn.
//!
//! Why    keys change a few times a year and are asked for all the time; they go around the turn, so that they work while
//!        nothing is decided here.

use crate::alerts::{self, AlertChange};
use crate::audit;
use crate::browsers::{self, Browser, BrowserHash};
use crate::channels;
use crate::sql::{Access, Row, Sql};
use crate::stuck::{self, StoredRule};
use crate::subscriptions::{self, Stored};
use crate::workflows::Definition;
use crate::{AuditEntry, Result, StoreError, params, pools, rows, statements, workflows};
use model::{Key, KeyId, Pool, Role, SubscriptionId, Timestamp, limits};
use std::fmt;

/// What is kept of a key's secret.
#[derive(Clone, Copy)]
pub struct KeyHash(pub [u8; 32]);

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(..)")
    }
}

#[derive(Clone, Debug)]
pub enum Change {
    AddKey {
        key: Key,
        hash: KeyHash,
    },
    RevokeKey {
        key: KeyId,
        at: Timestamp,
    },
    UseKey {
        key: KeyId,
        at: Timestamp,
    },
    PutPool {
        pool: Pool,
    },
    /// If it still is as it was seen.
    SetPool {
        pool: Pool,
        seen: Pool,
    },
    /// If it still is as it was seen, unless it is used or waited for.
    RemovePool {
        seen: Pool,
    },
    /// Unless this version is on record.
    PutDefinition {
        definition: Definition,
        at: Timestamp,
        by: String,
    },
    AddSubscription(Stored),
    /// If it still is as it was seen.
    ChangeSubscription(Stored),
    /// If it still is as it was seen.
    RemoveSubscription {
        id: SubscriptionId,
        revision: u64,
    },
    AddChannel(channels::Stored),
    /// If it still is as it was seen.
    ChangeChannel(channels::Stored),
    /// If it still is as it was seen.
    RemoveChannel {
        name: String,
        revision: u64,
    },
    /// If it still is as it was seen; with what is told of it.
    ChangeAlert(Box<AlertChange>),
    /// If nobody changed it since; version 0 is a rule that is not on record.
    PutStuckRule(Box<StoredRule>),
    /// If it still is as it was seen.
    RemoveStuckRule {
        name: String,
        version: u64,
    },
    /// A value that everybody shares.
    PutSetting {
        name: &'static str,
        value: String,
    },
    /// A browser that is signed in from now on.
    SignIn(Browser),
    UseBrowser {
        browser: BrowserHash,
        at: Timestamp,
    },
    SignOut {
        browser: BrowserHash,
    },
    /// Who did what, unless one of the changes with it found nothing.
    Audit {
        at: Timestamp,
        entry: AuditEntry,
    },
}

/// All or nothing; how many rows each change found.
pub fn apply(sql: &dyn Sql, changes: &[Change]) -> Result<Vec<u64>> {
    sql.transaction(Access::Write, |sql| {
        let found: Vec<u64> = changes.iter().map(|change| one(sql, change)).collect::<Result<_>>()?;
        if !found.contains(&0) {
            audit::append(sql, changes.iter().filter_map(told))?;
        }
        Ok(found)
    })
}

/// What is put on record of it.
fn told(change: &Change) -> Option<(Timestamp, &AuditEntry)> {
    match change {
        Change::Audit { at, entry } => Some((*at, entry)),
        Change::ChangeAlert(change) => Some((change.event.at, &change.audit)),
        _ => None,
    }
}

fn one(sql: &dyn Sql, change: &Change) -> Result<u64> {
    match change {
        Change::AddKey { key, hash } => add(sql, key, hash),
        Change::RevokeKey { key, at } => {
            browsers::sign_out_all(sql, *key)?;
            sql.execute(statements::REVOKE_KEY, params![*at, *key])
        }
        Change::UseKey { key, at } => {
            sql.execute(statements::USE_KEY, params![*at, *key, *at - limits::KEY_USE_EVERY])
        }
        Change::PutPool { pool } => pools::put(sql, pool),
        Change::SetPool { pool, seen } => pools::set(sql, pool, seen),
        Change::RemovePool { seen } => pools::remove(sql, seen),
        Change::PutDefinition { definition, at, by } => workflows::put(sql, definition, *at, by),
        Change::AddSubscription(new) => subscriptions::add(sql, new),
        Change::ChangeSubscription(new) => subscriptions::change(sql, new),
        Change::RemoveSubscription { id, revision } => subscriptions::remove(sql, *id, *revision),
        Change::AddChannel(new) => channels::add(sql, new),
        Change::ChangeChannel(new) => channels::change(sql, new),
        Change::RemoveChannel { name, revision } => channels::remove(sql, name, *revision),
        Change::ChangeAlert(change) => alerts::change(sql, change),
        Change::PutStuckRule(rule) => stuck::put_rule(sql, rule),
        Change::RemoveStuckRule { name, version } => stuck::remove_rule(sql, name, *version),
        Change::PutSetting { name, value } => {
            sql.execute(statements::PUT_SETTING, params![*name, value.as_str()])
        }
        Change::SignIn(browser) => browsers::sign_in(sql, browser),
        Change::UseBrowser { browser, at } => browsers::note_use(sql, *browser, *at),
        Change::SignOut { browser } => browsers::sign_out(sql, *browser),
        Change::Audit { .. } => Ok(1),
    }
}

fn add(sql: &dyn Sql, key: &Key, hash: &KeyHash) -> Result<u64> {
    let scope = serde_json::to_string(&key.scope).unwrap_or_default();
    let (name, by) = (key.name.as_str(), key.created_by.as_str());
    sql.execute(
        statements::INSERT_KEY,
        params![key.id, name, hash.0.as_slice(), key.role.word(), scope, key.created_at, by, key.expires_at],
    )
}

const COLUMNS: &str =
    "id, name, role, scope, created_at, created_by, expires_at, revoked_at, last_used_at, hash";

/// The keys that are not revoked, with their hashes.
pub fn kept(sql: &dyn Sql) -> Result<Vec<(Key, KeyHash)>> {
    let text = format!(
        "select {COLUMNS} from api_keys where revoked_at is null order by id limit {}",
        limits::KEYS_MAX
    );
    sql.rows(&text, params![], |row| Ok((key(row)?, hash(row)?)))
}

/// Every key, newest first.
pub fn all(sql: &dyn Sql) -> Result<Vec<Key>> {
    let text = format!("select {COLUMNS} from api_keys order by id desc limit {}", limits::PAGE_ROWS_MAX);
    sql.rows(&text, params![], key)
}

pub fn find(sql: &dyn Sql, id: KeyId) -> Result<Option<Key>> {
    sql.first(&format!("select {COLUMNS} from api_keys where id = $1"), params![id], key)
}

fn key(row: &Row) -> Result<Key> {
    let strange =
        |column, value: &str| StoreError::Corrupt { table: "api_keys", column, value: value.into() };
    let role = row.text(2)?;
    let scope = row.text(3)?;
    Ok(Key {
        id: KeyId::from_bytes(row.get(0)?),
        name: row.get(1)?,
        role: role.parse::<Role>().map_err(|_| strange("role", role))?,
        // A scope that cannot be read must not become all queues.
        scope: serde_json::from_str(scope).map_err(|_| strange("scope", scope))?,
        created_at: Timestamp(row.get(4)?),
        created_by: row.get(5)?,
        expires_at: rows::time(row, 6)?,
        revoked_at: rows::time(row, 7)?,
        last_used_at: rows::time(row, 8)?,
    })
}

fn hash(row: &Row) -> Result<KeyHash> {
    let bytes: Vec<u8> = row.get(9)?;
    let strange = |_| StoreError::Corrupt { table: "api_keys", column: "hash", value: "no hash".into() };
    bytes.try_into().map(KeyHash).map_err(strange)
}
