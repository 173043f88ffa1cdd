//! What is told about alerts, and in which words.

use model::{Alert, Audience, Notice, Severity, Timestamp};
use std::collections::BTreeMap;

fn about(alert: &Alert, kind: &str, now: Timestamp) -> Notice {
    let Alert { entity, entity_id, reason, severity, user, labels, .. } = alert.clone();
    Notice {
        kind: kind.into(),
        audience: Audience::Admin,
        severity,
        title: format!("{entity} {entity_id}: {reason}"),
        text: alert.message.clone(),
        key: format!("{kind}/{entity}/{entity_id}/{reason}/{}", alert.since.0),
        entity_type: entity,
        entity_id,
        user,
        labels,
        at: now,
        data: serde_json::json!({
            "reason": reason,
            "rule": alert.rule,
            "since_us": alert.since.0,
            "remedy": alert.remedy,
            "attempts": alert.attempts,
            "details": alert.data,
        }),
    }
}

pub fn opened(alert: &Alert, now: Timestamp) -> Notice {
    about(alert, "alert.opened", now)
}

/// Nobody has acknowledged it.
pub fn reminded(alert: &Alert, now: Timestamp) -> Notice {
    let notice = about(alert, "alert.reminded", now);
    let text = format!("{}; nobody has acknowledged it: `stepfast alerts ack {}`", notice.text, alert.id);
    Notice { key: format!("{}/{}", notice.key, now.0), text, ..notice }
}

pub fn escalated(alert: &Alert, why: &str, now: Timestamp) -> Notice {
    let notice = about(alert, "alert.escalated", now);
    let text = format!("{}; a person is asked for: {why}. See `stepfast alerts list --queue`", notice.text);
    Notice { text, ..notice }
}

pub fn closed(alert: &Alert, how: &str, now: Timestamp) -> Notice {
    let notice = about(alert, "alert.closed", now);
    Notice { text: format!("{}: {how}", notice.title), ..notice }
}

/// One sentence for whoever the work is done for.
pub fn user(alert: &Alert, sentence: &str, now: Timestamp) -> Notice {
    let notice = about(alert, "alert.user", now);
    Notice {
        audience: Audience::User,
        title: sentence.into(),
        text: sentence.into(),
        data: serde_json::Value::Null,
        ..notice
    }
}

/// What a node tells of itself.
pub fn own(entity: &str, entity_id: &str, reason: &str, message: &str, now: Timestamp) -> Notice {
    Notice {
        kind: "alert.opened".into(),
        audience: Audience::Admin,
        severity: Severity::Critical,
        entity_type: entity.into(),
        entity_id: entity_id.into(),
        user: None,
        labels: BTreeMap::new(),
        title: format!("{entity} {entity_id}: {reason}"),
        text: message.into(),
        key: format!("alert.opened/{entity}/{entity_id}/{reason}/{}", now.0),
        at: now,
        data: serde_json::Value::Null,
    }
}
