//! Alerts as the API speaks of them.

use super::{instant, maybe};
use model::{Alert, AlertEvent, Timestamp};
use store::AlertFigures;

pub fn alert_view(alert: &Alert, now: Timestamp) -> wire::AlertView {
    let Alert { id, entity, entity_id, reason, message, closed_by, rule, user, labels, data, .. } =
        alert.clone();
    wire::AlertView {
        id,
        entity,
        entity_id,
        reason,
        severity: alert.severity.to_string(),
        message,
        state: if alert.is_open() { "open" } else { "closed" }.into(),
        in_review: alert.is_in_review(),
        opened_at: instant(alert.opened_at),
        updated_at: instant(alert.updated_at),
        closed_at: maybe(alert.closed_at),
        closed_by,
        rule,
        user,
        labels,
        data,
        since: instant(alert.since),
        duration_seconds: alert.duration(now).as_secs(),
        seen: alert.seen,
        remedy: alert.remedy.to_string(),
        auto_resolvable: alert.auto_resolvable,
        auto_resolved: alert.auto_resolved,
        attempts: alert.attempts,
        action_taken: alert.action_taken.clone(),
        last_remedy_at: maybe(alert.last_remedy_at),
        status: alert.status.clone(),
        admin_notified_at: maybe(alert.admin_notified_at),
        user_notified_at: maybe(alert.user_notified_at),
        escalated_at: maybe(alert.escalated_at),
        acknowledged_at: maybe(alert.acknowledged_at),
        acknowledged_by: alert.acknowledged_by.clone(),
        assigned_to: alert.assigned_to.clone(),
        reviewed_at: maybe(alert.reviewed_at),
        reviewed_by: alert.reviewed_by.clone(),
        resolution_notes: alert.resolution_notes.clone(),
        revision: alert.version,
    }
}

pub fn alert_moment_view(event: &AlertEvent) -> wire::AlertMomentView {
    wire::AlertMomentView {
        at: instant(event.at),
        moment: event.moment.to_string(),
        who: event.who.clone(),
        text: event.text.clone(),
    }
}

pub fn alert_figures_view(figures: &AlertFigures, days: u64) -> wire::AlertFiguresView {
    wire::AlertFiguresView {
        open: figures.open,
        in_review: figures.in_review,
        acknowledged: figures.acknowledged,
        days,
        closed: figures.closed,
        auto_resolved: figures.auto_resolved,
        auto_resolved_percent: figures.auto_share().map(|share| (share * 1_000.0).round() / 10.0),
        median_seconds_to_resolve: figures.median_to_resolve.map(|span| span.as_secs()),
        by_severity: figures.by_severity.clone(),
        by_entity: figures.by_entity.clone(),
    }
}
