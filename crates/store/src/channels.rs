//! Channels on record, with their secrets in sealed form, and what each was sent.

use crate::sql::{Row, Sql};
use crate::{Result, StoreError, params};
use model::{Channel, ChannelSends, Severity, StepId, Timestamp, Waiting, limits};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// A channel as its row has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// With an address that is sealed where it is a secret.
    pub channel: Channel,
    /// What signs, sealed, the newest first.
    pub secrets: Vec<String>,
    pub created_at: Timestamp,
    pub created_by: String,
    /// How often it was changed; every change names the one it saw.
    pub revision: u64,
}

/// Something that a channel was told.
#[derive(Clone, Debug, PartialEq)]
pub struct NoticeRow {
    pub channel: String,
    pub key: String,
    pub told_at: Timestamp,
    /// The step that delivers it; none when that has left.
    pub step: Option<StepId>,
    pub kind: String,
    pub severity: Severity,
    pub entity_type: String,
    pub entity_id: String,
    pub title: String,
}

const COLUMNS: &str = "name, kind, url, audience, min_severity, kinds, labels, per_minute, quiet, active, secrets, \
    created_at, created_by, revision";

/// Every one, by name.
pub fn all(sql: &dyn Sql) -> Result<Vec<Stored>> {
    let text = format!("select {COLUMNS} from channels order by name limit {}", limits::CHANNELS_MAX);
    sql.rows(&text, params![], read)
}

pub fn find(sql: &dyn Sql, name: &str) -> Result<Option<Stored>> {
    sql.first(&format!("select {COLUMNS} from channels where name = $1"), params![name], read)
}

pub fn add(sql: &dyn Sql, new: &Stored) -> Result<u64> {
    let text = "insert into channels (url, audience, min_severity, kinds, labels, per_minute, quiet, active, secrets, name,
                    kind, created_at, created_by, revision)
                values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0)
                on conflict do nothing";
    let more = params![new.created_at, new.created_by.as_str()];
    sql.execute(text, &[&said(new)[..], more].concat())
}

/// What it says from now on, if it still is as it was seen.
pub fn change(sql: &dyn Sql, new: &Stored) -> Result<u64> {
    let text = "update channels
                   set url = $1, audience = $2, min_severity = $3, kinds = $4, labels = $5, per_minute = $6, quiet = $7,
                       active = $8, secrets = $9, revision = revision + 1, kind = $11
                 where name = $10 and revision = $12";
    sql.execute(text, &[&said(new)[..], params![new.revision]].concat())
}

pub fn remove(sql: &dyn Sql, name: &str, revision: u64) -> Result<u64> {
    sql.execute("delete from channels where name = $1 and revision = $2", params![name, revision])
}

/// `$1` to `$11` of what writes a channel.
fn said(stored: &Stored) -> Vec<crate::sql::Param<'_>> {
    let channel = &stored.channel;
    let quiet = i64::try_from(channel.quiet.as_micros()).unwrap_or(i64::MAX);
    params![
        channel.url.as_str(),
        channel.audience.word(),
        channel.min_severity.word(),
        written(&channel.kinds),
        written(&channel.labels),
        channel.per_minute,
        quiet,
        i64::from(channel.active),
        written(&stored.secrets),
        channel.name.as_str(),
        channel.kind.word()
    ]
    .to_vec()
}

fn written(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("names and texts are plain data")
}

fn strange(table: &'static str, column: &'static str, value: &str) -> StoreError {
    StoreError::Corrupt { table, column, value: value.into() }
}

fn listed<T: DeserializeOwned>(row: &Row, i: usize, column: &'static str) -> Result<T> {
    let text = row.text(i)?;
    serde_json::from_str(text).map_err(|_| strange("channels", column, text))
}

fn word<T: std::str::FromStr>(row: &Row, i: usize, of: (&'static str, &'static str)) -> Result<T> {
    let text = row.text(i)?;
    text.parse().map_err(|_| strange(of.0, of.1, text))
}

fn read(row: &Row) -> Result<Stored> {
    let channel = Channel {
        name: row.get(0)?,
        kind: word(row, 1, ("channels", "kind"))?,
        url: row.get(2)?,
        audience: word(row, 3, ("channels", "audience"))?,
        min_severity: word(row, 4, ("channels", "min_severity"))?,
        kinds: listed(row, 5, "kinds")?,
        labels: listed(row, 6, "labels")?,
        per_minute: row.get(7)?,
        quiet: Duration::from_micros(row.get(8)?),
        active: row.get(9)?,
    };
    Ok(Stored {
        channel,
        secrets: listed(row, 10, "secrets")?,
        created_at: Timestamp(row.get(11)?),
        created_by: row.get(12)?,
        revision: row.get(13)?,
    })
}

/// What each channel was sent, by name.
pub fn sends(sql: &dyn Sql) -> Result<Vec<(String, ChannelSends)>> {
    let text =
        "select channel, told, gathered, waiting, version from channel_sends order by channel limit $1";
    // Rows of channels that are gone stay; there are no more than were made.
    sql.rows(text, params![limits::PAGE_ROWS_MAX as i64], sent)
}

pub fn sends_of(sql: &dyn Sql, channel: &str) -> Result<Option<ChannelSends>> {
    let text = "select channel, told, gathered, waiting, version from channel_sends where channel = $1";
    Ok(sql.first(text, params![channel], sent)?.map(|(_, sends)| sends))
}

fn sent(row: &Row) -> Result<(String, ChannelSends)> {
    let waiting: Option<String> = row.get(3)?;
    let waiting: Option<Waiting> = waiting
        .map(|text| serde_json::from_str(&text).map_err(|_| strange("channel_sends", "waiting", &text)))
        .transpose()?;
    let sends = ChannelSends { told: row.get(1)?, gathered: row.get(2)?, waiting, version: row.get(4)? };
    Ok((row.get(0)?, sends))
}

/// When a channel was sent something since, oldest first, but for those before the last so many.
pub fn recent(sql: &dyn Sql, channel: &str, since: Timestamp, most: u32) -> Result<Vec<Timestamp>> {
    let text =
        "select told_at from notices where channel = $1 and told_at > $2 order by told_at desc limit $3";
    let mut found = sql.rows(text, params![channel, since, most], |row| Ok(Timestamp(row.get(0)?)))?;
    found.reverse();
    Ok(found)
}

/// When a channel was told this last.
pub fn told_at(sql: &dyn Sql, channel: &str, key: &str) -> Result<Option<Timestamp>> {
    let text = "select told_at from notices where channel = $1 and notice_key = $2";
    sql.first(text, params![channel, key], |row| Ok(Timestamp(row.get(0)?)))
}

/// Reads a notice: its channel and key, when it was told, by which step, and what it says.
pub(crate) fn notice(row: &Row) -> Result<NoticeRow> {
    let step: Option<[u8; 16]> = row.get(3)?;
    Ok(NoticeRow {
        channel: row.get(0)?,
        key: row.get(1)?,
        told_at: Timestamp(row.get(2)?),
        step: step.map(StepId::from_bytes),
        kind: row.get(4)?,
        severity: word(row, 5, ("notices", "severity"))?,
        entity_type: row.get(6)?,
        entity_id: row.get(7)?,
        title: row.get(8)?,
    })
}
