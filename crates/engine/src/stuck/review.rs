//! The review queue: what people do to alerts, fenced, audited, and told in the history of the alert.

use crate::{Engine, EngineError};
use model::{Alert, AlertEvent, AlertMoment, Fault, StepId, limits};
use rules::stuck::{Review, review};
use store::{AlertChange, AuditEntry, Change, Store, alerts};

type Result<T> = std::result::Result<T, EngineError>;

impl Engine {
    /// Do something to an alert; what it is from then on.
    pub async fn review(&self, id: u64, wanted: Review, by: String) -> Result<Alert> {
        self.review_seen((id, None), wanted, by).await
    }

    /// The same to an alert as it was looked at; if its version is another by now, nothing is done.
    pub async fn review_seen(
        &self,
        (id, expected): (u64, Option<u64>),
        wanted: Review,
        by: String,
    ) -> Result<Alert> {
        crate::handle::storable([("by", &*by), ("text", text(&wanted))])?;
        if text(&wanted).len() > limits::ALERT_TEXT_BYTES_MAX {
            let problem = format!("is longer than {} bytes", limits::ALERT_TEXT_BYTES_MAX);
            let fix = "say it shorter, and where the rest is".into();
            return Err(EngineError::Invalid(vec![Fault { field: "text".into(), problem, fix }]));
        }
        self.with_store(move |store| carry_out(store, (id, expected), &wanted, by)).await?
    }
}

fn text(wanted: &Review) -> &str {
    match wanted {
        Review::Acknowledge => "",
        Review::Assign { to } => to.as_deref().unwrap_or_default(),
        Review::Note { text } => text,
        Review::Resolve { notes } => notes,
        Review::Reopen { why } => why,
    }
}

fn carry_out(
    store: &mut dyn Store,
    (id, expected): (u64, Option<u64>),
    wanted: &Review,
    by: String,
) -> Result<Alert> {
    let before = alerts::find(store.reader(), id)?.ok_or(EngineError::NoAlert(id))?;
    if expected.is_some_and(|expected| expected != before.version) {
        return Err(EngineError::changed(format!("alert {id}"), before.version));
    }
    if let Review::Reopen { .. } = wanted
        && let Some(other) =
            alerts::open_one(store.reader(), &before.entity, &before.entity_id, &before.reason)?
        && other.id != id
    {
        let why = format!("alert {} about the same thing is open", other.id);
        return Err(EngineError::AlertRefused { alert: id, why });
    }
    let at = store.now();
    let (alert, moment, text) =
        review(&before, wanted, &by, at).map_err(|why| EngineError::AlertRefused { alert: id, why })?;
    let Alert { entity, entity_id, reason, .. } = before.clone();
    let event =
        AlertEvent { entity, entity_id, reason, at, moment, who: by.clone(), text: text.clone(), step: None };
    let instead = if moment == AlertMoment::Resolved { now_done_by(store, &before)? } else { None };
    let also = instead.map(|entity_id| AlertEvent { entity_id, ..event.clone() });
    let audit = AuditEntry {
        who: by,
        verb: format!("alert {}", wanted.word()),
        target: format!("alert {id}"),
        why: (!text.is_empty()).then_some(text),
        before: Some(told(&before)),
        after: Some(told(&alert)),
    };
    let change = AlertChange { alert, event, also, audit };
    if store.change(vec![Change::ChangeAlert(Box::new(change))])? == [0] {
        let why = "it has changed since; look at it again".into();
        return Err(EngineError::AlertRefused { alert: id, why });
    }
    alerts::find(store.reader(), id)?.ok_or(EngineError::NoAlert(id))
}

/// The step that took the place of one that was done again, if it is about one.
fn now_done_by(store: &mut dyn Store, alert: &Alert) -> Result<Option<String>> {
    let Some(mut id) = alert.entity_id.parse::<StepId>().ok().filter(|_| alert.entity == "step") else {
        return Ok(None);
    };
    let mut instead = None;
    for _ in 0..limits::REMEDY_ATTEMPTS_MAX {
        let Some(next) = store.detail(id)?.and_then(|detail| detail.superseded_by) else { break };
        id = next;
        instead = Some(next.to_string());
    }
    Ok(instead)
}

/// What people may change of it, for the audit.
fn told(alert: &Alert) -> String {
    let state = if alert.is_open() { "open" } else { "closed" };
    let review = if alert.is_in_review() { ", in review" } else { "" };
    let seen = alert.acknowledged_by.as_ref().map(|who| format!(", acknowledged by {who}"));
    let whose = alert.assigned_to.as_ref().map(|who| format!(", assigned to {who}"));
    format!("{state}{review}{}{}", seen.unwrap_or_default(), whose.unwrap_or_default())
}
