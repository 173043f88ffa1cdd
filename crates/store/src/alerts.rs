//! Alerts on record: how they are read, what people do to them, and the figures about them.

use crate::sql::{Param, Row, Sql};
use crate::statements::INSERT_ALERT_EVENT;
use crate::{AuditEntry, Browse, Result, StoreError, params, rows, writes};
use model::{Alert, AlertEvent, Severity, StepId, Timestamp, limits};
use std::collections::BTreeMap;
use std::time::Duration;

/// In the order `read` reads them.
const COLUMNS: &str = "id, entity, entity_id, reason, severity, message, opened_at, updated_at, closed_at, closed_by, rule, \
    user_id, labels, data, since, seen, remedy, auto_resolvable, auto_resolved, attempts, action_taken, last_remedy_at, \
    status_text, admin_notified_at, user_notified_at, escalated_at, acknowledged_at, acknowledged_by, assigned_to, \
    reviewed_at, reviewed_by, resolution_notes, reopened_at, version";

/// Which alerts; everything that is said must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlertFilter {
    /// Open ones, closed ones, or all.
    pub open: Option<bool>,
    /// Those that a person is asked for.
    pub in_review: bool,
    pub severity: Option<Severity>,
    /// An empty text stands for nobody.
    pub assigned_to: Option<String>,
    pub entity: Option<String>,
    pub entity_id: Option<String>,
    pub rule: Option<String>,
    /// Older than this one.
    pub before: Option<u64>,
    pub limit: usize,
}

impl AlertFilter {
    pub fn open() -> AlertFilter {
        AlertFilter { open: Some(true), limit: limits::PAGE_ROWS_MAX, ..AlertFilter::default() }
    }
    pub fn queue() -> AlertFilter {
        AlertFilter { in_review: true, ..AlertFilter::open() }
    }

    /// Open ones have an index of their own, in the order of their opening.
    fn is_of_open(&self) -> bool {
        self.open == Some(true) || self.in_review
    }

    fn conditions(&self) -> (String, Vec<Param<'_>>) {
        let mut all = Vec::new();
        let mut values: Vec<Param> = Vec::new();
        match self.open {
            Some(true) => all.push("closed_at is null".to_string()),
            Some(false) => all.push("closed_at is not null".to_string()),
            None => {}
        }
        if self.in_review {
            all.push("closed_at is null and escalated_at is not null".into());
        }
        match self.assigned_to.as_deref() {
            Some("") => all.push("assigned_to is null".into()),
            Some(name) => {
                values.push(name.into());
                all.push(format!("assigned_to = ${}", values.len()));
            }
            None => {}
        }
        let equal = [
            ("severity", self.severity.map(|severity| severity.word())),
            ("entity", self.entity.as_deref()),
            ("entity_id", self.entity_id.as_deref()),
            ("rule", self.rule.as_deref()),
        ];
        for (column, value) in equal.into_iter().filter_map(|(column, value)| Some((column, value?))) {
            values.push(value.into());
            all.push(format!("{column} = ${}", values.len()));
        }
        let n = values.len() + 1;
        match (self.before, self.is_of_open()) {
            (None, true) => {}
            (Some(before), true) => {
                values.push(before.into());
                all.push(format!(
                    "(opened_at, id) < (select b.opened_at, b.id from alerts b where b.id = ${n})"
                ));
            }
            // From the newest on, along their numbers.
            (before, false) => {
                values.push(before.unwrap_or(i64::MAX as u64).into());
                all.push(format!("id < ${n}"));
            }
        }
        let condition = if all.is_empty() { String::new() } else { format!("where {}", all.join(" and ")) };
        (condition, values)
    }
}

/// A page, the newest first.
pub fn page(sql: &dyn Sql, filter: &AlertFilter) -> Result<Vec<Alert>> {
    let (condition, values) = filter.conditions();
    let limit = filter.limit.clamp(1, limits::ALERTS_OPEN_MAX);
    let order = if filter.is_of_open() { "opened_at desc, id desc" } else { "id desc" };
    let text = format!("select {COLUMNS} from alerts {condition} order by {order} limit {limit}");
    sql.rows(&text, &values, read)
}

pub fn find(sql: &dyn Sql, id: u64) -> Result<Option<Alert>> {
    sql.first(&format!("select {COLUMNS} from alerts where id = $1"), params![id], read)
}

/// The open alert of a thing for a reason.
pub fn open_one(sql: &dyn Sql, entity: &str, entity_id: &str, reason: &str) -> Result<Option<Alert>> {
    let text = format!(
        "select {COLUMNS} from alerts where entity = $1 and entity_id = $2 and reason = $3 and closed_at is null"
    );
    sql.first(&text, params![entity, entity_id, reason], read)
}

/// What happened to the alerts of a thing for a reason, oldest first: the last of it.
pub fn history(sql: &dyn Sql, (entity, id, reason): (&str, &str, &str)) -> Result<Vec<AlertEvent>> {
    let text = format!(
        "select entity, entity_id, reason, at, moment, who, text, step_id from alert_events
          where entity = $1 and entity_id = $2 and reason = $3 order by id desc limit {}",
        limits::PAGE_ROWS_MAX
    );
    let mut all = sql.rows(&text, params![entity, id, reason], |row| {
        let moment = row.text(4)?;
        let strange =
            |_| StoreError::Corrupt { table: "alert_events", column: "moment", value: moment.into() };
        Ok(AlertEvent {
            entity: row.get(0)?,
            entity_id: row.get(1)?,
            reason: row.get(2)?,
            at: Timestamp(row.get(3)?),
            moment: moment.parse().map_err(strange)?,
            who: row.get(5)?,
            text: row.get(6)?,
            step: row.get::<Option<[u8; 16]>>(7)?.map(StepId::from_bytes),
        })
    })?;
    all.reverse();
    Ok(all)
}

/// Remedies since then, by thing.
pub fn remedies(sql: &dyn Sql, since: Timestamp) -> Result<Vec<(Timestamp, String, String)>> {
    let text = format!(
        "select at, entity, entity_id from alert_events where moment = 'remedy' and at > $1 order by at limit {}",
        limits::ALERTS_OPEN_MAX
    );
    sql.rows(&text, params![since], |row| Ok((Timestamp(row.get(0)?), row.get(1)?, row.get(2)?)))
}

/// The step by which the last remedy of a thing is carried out, where it is one.
pub fn remedy_step(sql: &dyn Sql, (entity, id, reason): (&str, &str, &str)) -> Result<Option<StepId>> {
    let text = "select step_id from alert_events
                 where entity = $1 and entity_id = $2 and reason = $3 and moment = 'remedy' order by id desc limit 1";
    let step = sql.first(text, params![entity, id, reason], |row| row.get::<Option<[u8; 16]>>(0))?;
    Ok(step.flatten().map(StepId::from_bytes))
}

/// When somebody last resolved the alert about a thing.
pub fn resolved_at(sql: &dyn Sql, entity: &str, entity_id: &str, reason: &str) -> Result<Option<Timestamp>> {
    let text = "select at from alert_events
                 where entity = $1 and entity_id = $2 and reason = $3 and moment = 'resolved' order by id desc limit 1";
    sql.first(text, params![entity, entity_id, reason], |row| Ok(Timestamp(row.get(0)?)))
}

/// What a person did to an alert: the row as it is from now on, what is told of it, and the audit, all or nothing.
#[derive(Clone, Debug)]
pub struct AlertChange {
    pub alert: Alert,
    pub event: AlertEvent,
    /// The same, told of what took its place.
    pub also: Option<AlertEvent>,
    pub audit: AuditEntry,
}

/// Whether it still was as it was seen. Whoever calls puts it on record.
pub fn change(sql: &dyn Sql, change: &AlertChange) -> Result<u64> {
    let text = "update alerts
                   set closed_at = $1, closed_by = $2, acknowledged_at = $3, acknowledged_by = $4, assigned_to = $5,
                       reviewed_at = $6, reviewed_by = $7, resolution_notes = $8, escalated_at = $9, updated_at = $10,
                       reopened_at = $11, version = version + 1
                 where id = $12 and version = $13";
    let a = &change.alert;
    let found = sql.execute(
        text,
        params![
            a.closed_at,
            a.closed_by.as_deref(),
            a.acknowledged_at,
            a.acknowledged_by.as_deref(),
            a.assigned_to.as_deref(),
            a.reviewed_at,
            a.reviewed_by.as_deref(),
            a.resolution_notes.as_deref(),
            a.escalated_at,
            a.updated_at,
            a.reopened_at,
            a.id,
            a.version
        ],
    )?;
    if found == 1 {
        for event in [&change.event].into_iter().chain(&change.also) {
            sql.execute(INSERT_ALERT_EVENT, &writes::alert_event(event))?;
        }
    }
    Ok(found)
}

/// The figures about alerts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlertFigures {
    pub open: usize,
    pub in_review: usize,
    pub acknowledged: usize,
    /// Closed in the span that is looked at, and those of them that a remedy resolved.
    pub closed: usize,
    pub auto_resolved: usize,
    /// From when a thing was stuck until its alert was closed.
    pub median_to_resolve: Option<Duration>,
    /// Of the open ones.
    pub by_severity: BTreeMap<String, usize>,
    pub by_entity: BTreeMap<String, usize>,
}

impl AlertFigures {
    /// Of those that were closed, the part that needed nobody.
    pub fn auto_share(&self) -> Option<f64> {
        (self.closed > 0).then(|| self.auto_resolved as f64 / self.closed as f64)
    }
}

/// Of what is open, and what was closed since then: counted by the database, over as many as there may be.
pub fn figures(sql: &dyn Sql, since: Timestamp) -> Result<AlertFigures> {
    let mut figures = AlertFigures::default();
    let open = format!(
        "select severity, entity, count(*), sum(case when escalated_at is null then 0 else 1 end),
                sum(case when acknowledged_at is null then 0 else 1 end)
           from (select severity, entity, escalated_at, acknowledged_at from alerts
                  where closed_at is null order by opened_at desc, id desc limit {}) as newest
          group by severity, entity",
        limits::ALERTS_OPEN_MAX
    );
    sql.each(&open, params![], &mut |row| {
        let n: usize = row.get(2)?;
        figures.open += n;
        figures.in_review += row.get::<usize>(3)?;
        figures.acknowledged += row.get::<usize>(4)?;
        *figures.by_severity.entry(row.get(0)?).or_default() += n;
        *figures.by_entity.entry(row.get(1)?).or_default() += n;
        Ok(())
    })?;
    let closed = format!(
        "(select closed_at, since, auto_resolved from alerts where closed_at is not null and closed_at >= $1
           order by closed_at desc, id desc limit {}) as closed",
        limits::ALERT_FIGURES_ROWS
    );
    let counted = format!("select count(*), coalesce(sum(auto_resolved), 0) from {closed}");
    let counted = sql.first(&counted, params![since], |row| Ok((row.get(0)?, row.get(1)?)))?;
    (figures.closed, figures.auto_resolved) = counted.unwrap_or_default();
    let median =
        format!("select closed_at, since from {closed} order by closed_at - since limit 1 offset $2");
    figures.median_to_resolve = sql.first(&median, params![since, figures.closed / 2], |row| {
        Ok(Timestamp(row.get(0)?).since(Timestamp(row.get(1)?)))
    })?;
    Ok(figures)
}

fn read(row: &Row) -> Result<Alert> {
    let corrupt = |column, value: &str| StoreError::Corrupt { table: "alerts", column, value: value.into() };
    let (severity, remedy, labels) = (row.text(4)?, row.text(16)?, row.text(12)?);
    let data: Option<String> = row.get(13)?;
    Ok(Alert {
        id: row.get(0)?,
        entity: row.get(1)?,
        entity_id: row.get(2)?,
        reason: row.get(3)?,
        severity: severity.parse().map_err(|_| corrupt("severity", severity))?,
        message: row.get(5)?,
        opened_at: Timestamp(row.get(6)?),
        updated_at: Timestamp(row.get(7)?),
        closed_at: rows::time(row, 8)?,
        closed_by: row.get(9)?,
        rule: row.get(10)?,
        user: row.get(11)?,
        labels: serde_json::from_str(labels).map_err(|_| corrupt("labels", labels))?,
        data: data.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default(),
        since: Timestamp(row.get(14)?),
        seen: row.get(15)?,
        remedy: remedy.parse().map_err(|_| corrupt("remedy", remedy))?,
        auto_resolvable: row.get(17)?,
        auto_resolved: row.get(18)?,
        attempts: row.get(19)?,
        action_taken: row.get(20)?,
        last_remedy_at: rows::time(row, 21)?,
        status: row.get(22)?,
        admin_notified_at: rows::time(row, 23)?,
        user_notified_at: rows::time(row, 24)?,
        escalated_at: rows::time(row, 25)?,
        acknowledged_at: rows::time(row, 26)?,
        acknowledged_by: row.get(27)?,
        assigned_to: row.get(28)?,
        reviewed_at: rows::time(row, 29)?,
        reviewed_by: row.get(30)?,
        resolution_notes: row.get(31)?,
        reopened_at: rows::time(row, 32)?,
        version: row.get(33)?,
    })
}

pub(crate) fn written(labels: &BTreeMap<String, String>) -> String {
    serde_json::to_string(labels).expect("labels are texts")
}

pub(crate) fn data(alert: &Alert) -> Option<String> {
    (!alert.data.is_null()).then(|| alert.data.to_string())
}

impl Browse {
    pub fn alerts(&self, filter: &AlertFilter) -> Result<Vec<Alert>> {
        page(self.sql(), filter)
    }
    /// How many are open, counted up to as many as there may be.
    pub fn open_alerts(&self) -> Result<usize> {
        let text = format!(
            "select count(*) from (select 1 from alerts where closed_at is null limit {}) as open",
            limits::ALERTS_OPEN_MAX
        );
        self.sql().value(&text, params![])
    }
    /// How many of each severity are open, counted up to as many as there may be.
    pub fn open_alerts_by_severity(&self) -> Result<Vec<(Severity, i64)>> {
        let text = format!(
            "select severity, count(*) from (select severity from alerts where closed_at is null limit {}) as open
              group by severity",
            limits::ALERTS_OPEN_MAX
        );
        let counted = self.sql().rows(&text, params![], |row| Ok((row.text(0)?.to_owned(), row.get(1)?)))?;
        let of = |severity: &Severity| counted.iter().find(|(word, _)| word == severity.word());
        Ok(Severity::ALL.iter().map(|one| (*one, of(one).map_or(0, |(_, n)| *n))).collect())
    }
    pub fn alert(&self, id: u64) -> Result<Option<Alert>> {
        find(self.sql(), id)
    }
    pub fn alert_history(&self, alert: &Alert) -> Result<Vec<AlertEvent>> {
        history(self.sql(), (&alert.entity, &alert.entity_id, &alert.reason))
    }
    pub fn alert_figures(&self, since: Timestamp) -> Result<AlertFigures> {
        figures(self.sql(), since)
    }
    pub fn resolved_at(&self, entity: &str, entity_id: &str, reason: &str) -> Result<Option<Timestamp>> {
        resolved_at(self.sql(), entity, entity_id, reason)
    }
    pub fn remedy_step(&self, entity: &str, id: &str, reason: &str) -> Result<Option<StepId>> {
        remedy_step(self.sql(), (entity, id, reason))
    }
    pub fn remedies(&self, since: Timestamp) -> Result<Vec<(Timestamp, String, String)>> {
        remedies(self.sql(), since)
    }
}
