//! What a turn writes of alerts: those that a node tells of itself, and those that rules found.

use super::{Plan, Values, values};
use crate::batch::{AlertWrite, AskWrite, LookWrite};
use crate::sql::Param;
use crate::statements as sql;
use crate::{Batch, alerts};
use model::{Alert, AlertEvent, Severity, Timestamp};

impl<'a> Plan<'a> {
    pub(super) fn put_alerts(&mut self, batch: &'a Batch) {
        let (mut new, mut renewed, mut marked) = (vec![], vec![], vec![]);
        for write in &batch.alerts {
            match write {
                AlertWrite::New(alert) => new.push(new_alert(alert)),
                AlertWrite::Renew { id, message, since } => {
                    renewed.push(values![message, batch.now, *since, *id]);
                }
                AlertWrite::Mark(alert) => marked.push(mark(alert)),
                // The same one may be opened and closed in one turn: in the order in which it happened.
                AlertWrite::Open { .. } => self.put(sql::OPEN_ALERT, false, vec![opened(write, batch.now)]),
                AlertWrite::Close { id, version, by, auto_resolved } => {
                    let row = values![batch.now, by, *auto_resolved, *id, *version];
                    self.put(sql::CLOSE_ALERT, true, vec![row]);
                }
                AlertWrite::TakeBack { id, version, by } => {
                    self.put(sql::CLOSE_ALERT, false, vec![values![batch.now, by, false, *id, *version]]);
                }
            }
        }
        self.put(sql::INSERT_ALERT, true, new);
        self.put(sql::RENEW_ALERT, false, renewed);
        self.put(sql::MARK_ALERT, true, marked);
        self.put(sql::INSERT_ALERT_EVENT, true, batch.alert_events.iter().map(event).collect());
        self.put_asks(batch);
        for look in &batch.looks {
            match look {
                LookWrite::Begin { node, ends_at } => {
                    let row = values![node.bytes(), *ends_at, node.bytes(), batch.now];
                    self.put(sql::BEGIN_LOOK, false, vec![row]);
                }
                LookWrite::End { node, version, rounds } => {
                    self.put(sql::END_LOOK, true, vec![values![rounds.as_deref(), node.bytes(), *version]]);
                }
            }
        }
    }

    fn put_asks(&mut self, batch: &'a Batch) {
        for write in &batch.stuck_asks {
            match write {
                AskWrite::Asked { ask, before: None } => {
                    self.put(sql::INSERT_STUCK_ASK, true, vec![values![&ask.rule, ask.step, ask.asked_at]]);
                }
                AskWrite::Asked { ask, before: Some(before) } => {
                    let row = values![ask.step, ask.asked_at, &ask.rule, *before];
                    self.put(sql::WRITE_STUCK_ASK, true, vec![row]);
                }
                // Of a rule that was removed meanwhile nobody waits for it.
                AskWrite::Heard(ask) => {
                    let row = values![ask.heard_at, ask.fault.as_deref(), &ask.rule, ask.step];
                    self.put(sql::HEAR_STUCK_ASK, false, vec![row]);
                }
            }
        }
    }
}

/// For `open_alert.sql`.
fn opened(write: &AlertWrite, now: Timestamp) -> Values<'_> {
    let AlertWrite::Open { entity, entity_id, reason, severity, message } = write else { return Vec::new() };
    let told = (*severity > Severity::Low).then_some(now);
    let escalated = (*severity == Severity::Critical).then_some(now);
    values![*entity, entity_id, *reason, severity.word(), message, now, now, told, escalated]
}

/// For `insert_alert.sql`.
fn new_alert(a: &Alert) -> Values<'_> {
    values![
        &a.entity,
        &a.entity_id,
        &a.reason,
        a.severity.word(),
        &a.message,
        a.opened_at,
        a.updated_at,
        a.rule.as_deref(),
        a.user.as_deref(),
        alerts::written(&a.labels),
        alerts::data(a),
        a.since,
        a.remedy.word(),
        a.auto_resolvable,
        a.attempts,
        a.action_taken.as_deref(),
        a.last_remedy_at,
        a.status.as_deref(),
        a.admin_notified_at,
        a.user_notified_at,
        a.escalated_at,
    ]
}

/// For `mark_alert.sql`.
fn mark(a: &Alert) -> Values<'_> {
    values![
        a.severity.word(),
        &a.message,
        a.updated_at,
        a.since,
        a.attempts,
        a.action_taken.as_deref(),
        a.last_remedy_at,
        a.admin_notified_at,
        a.user_notified_at,
        a.escalated_at,
        a.id,
        a.version,
    ]
}

/// For `insert_alert_event.sql`.
pub fn event(e: &AlertEvent) -> Values<'_> {
    values![&e.entity, &e.entity_id, &e.reason, e.at, e.moment.word(), &e.who, &e.text, e.step]
}
