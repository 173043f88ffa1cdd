//! Subscriptions on record, with what their deliveries are signed with in sealed form.

use crate::sql::{Row, Sql};
use crate::{Result, StoreError, params};
use model::{NewSubscription, Subscription, SubscriptionId, Timestamp, limits};
use serde::de::DeserializeOwned;

/// A subscription as its row has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub subscription: Subscription,
    /// Sealed, the newest first.
    pub secrets: Vec<String>,
}

const COLUMNS: &str =
    "id, name, url, types, workflow, labels, active, ordered, secrets, created_at, created_by, revision";

/// Every one, oldest first.
pub fn all(sql: &dyn Sql) -> Result<Vec<Stored>> {
    page(sql, None, limits::SUBSCRIPTIONS_MAX)
}

/// Oldest first, behind one.
pub fn page(sql: &dyn Sql, after: Option<SubscriptionId>, limit: usize) -> Result<Vec<Stored>> {
    let after = after.unwrap_or(SubscriptionId::of(0));
    let text = format!("select {COLUMNS} from subscriptions where id > $1 order by id limit $2");
    sql.rows(&text, params![after, limit as i64], read)
}

pub fn find(sql: &dyn Sql, id: SubscriptionId) -> Result<Option<Stored>> {
    sql.first(&format!("select {COLUMNS} from subscriptions where id = $1"), params![id], read)
}

pub fn add(sql: &dyn Sql, new: &Stored) -> Result<u64> {
    let text = "insert into subscriptions (id, name, url, types, workflow, labels, active, ordered, secrets,
                    created_at, created_by, revision)
                values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0)";
    let Subscription { id, asked, created_at, created_by, .. } = &new.subscription;
    let (types, labels, secrets) = (written(&asked.types), written(&asked.labels), written(&new.secrets));
    let values = params![
        *id,
        asked.name.as_str(),
        asked.url.as_str(),
        types.as_str(),
        asked.workflow.as_deref(),
        labels.as_str(),
        i64::from(asked.active),
        i64::from(asked.ordered),
        secrets.as_str(),
        *created_at,
        created_by.as_str()
    ];
    sql.execute(text, values)
}

/// What it says from now on, if it still is as it was seen.
pub fn change(sql: &dyn Sql, new: &Stored) -> Result<u64> {
    let text = "update subscriptions
                   set name = $3, url = $4, types = $5, workflow = $6, labels = $7, active = $8, ordered = $9,
                       secrets = $10, revision = revision + 1
                 where id = $1 and revision = $2";
    let Subscription { id, asked, revision, .. } = &new.subscription;
    let (types, labels, secrets) = (written(&asked.types), written(&asked.labels), written(&new.secrets));
    let values = params![
        *id,
        *revision as i64,
        asked.name.as_str(),
        asked.url.as_str(),
        types.as_str(),
        asked.workflow.as_deref(),
        labels.as_str(),
        i64::from(asked.active),
        i64::from(asked.ordered),
        secrets.as_str()
    ];
    sql.execute(text, values)
}

pub fn remove(sql: &dyn Sql, id: SubscriptionId, revision: u64) -> Result<u64> {
    sql.execute("delete from subscriptions where id = $1 and revision = $2", params![id, revision])
}

fn written(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("names and texts are plain data")
}

fn listed<T: DeserializeOwned>(row: &Row, i: usize, column: &'static str) -> Result<T> {
    let text = row.text(i)?;
    let strange = |_| StoreError::Corrupt { table: "subscriptions", column, value: text.into() };
    serde_json::from_str(text).map_err(strange)
}

fn read(row: &Row) -> Result<Stored> {
    let asked = NewSubscription {
        name: row.get(1)?,
        url: row.get(2)?,
        types: listed(row, 3, "types")?,
        workflow: row.get(4)?,
        labels: listed(row, 5, "labels")?,
        active: row.get(6)?,
        ordered: row.get(7)?,
    };
    let subscription = Subscription {
        id: SubscriptionId::from_bytes(row.get(0)?),
        asked,
        created_at: Timestamp(row.get(9)?),
        created_by: row.get(10)?,
        revision: row.get(11)?,
    };
    Ok(Stored { subscription, secrets: listed(row, 8, "secrets")? })
}
