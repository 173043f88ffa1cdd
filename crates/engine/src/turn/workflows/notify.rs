//! Tells whoever a definition names that a pause waits: a delivery like any other, made in the same commit.

use super::super::node::{Node, Turn};
use super::Entry;
use crate::delivery::{Address, Parcel};
use crate::triggers::PauseToken;
use model::{NewStep, Severity, Timestamp};
use serde_json::{Value, json};
use store::Result;
use tracing::error;
use uuid::Uuid;

impl Node {
    /// The token is told here and never again: sealed in what is stored, and opened for whoever delivers it.
    pub(super) fn notify_begun(
        &mut self,
        turn: &mut Turn,
        entry: &Entry,
        def: u32,
        token: Option<PauseToken>,
        now: Timestamp,
    ) -> Result<()> {
        let body = self.notice(entry, def, "pause.begun");
        self.tell_pause(entry, def, (&body, Severity::Medium), now);
        self.notify(turn, entry, def, (body, token), now)
    }

    pub(super) fn notify_again(
        &mut self,
        turn: &mut Turn,
        entry: &Entry,
        def: u32,
        now: Timestamp,
    ) -> Result<()> {
        let body = self.notice(entry, def, "pause.reminded");
        self.tell_pause(entry, def, (&body, Severity::High), now);
        self.notify(turn, entry, def, (body, None), now)
    }

    /// What a receiver needs to answer, or to ask somebody to.
    fn notice(&self, entry: &Entry, def: u32, kind: &str) -> Value {
        let Some(pause) = entry.pauses.waiting.get(&def) else { return Value::Null };
        let (id, trigger) = (entry.workflow.id, pause.trigger.as_deref().unwrap_or_default());
        let here = self.row.url.as_deref().unwrap_or_default();
        json!({
            "type": kind,
            "workflow": id,
            "definition": &*entry.plan.pinned.key,
            "version": &*entry.plan.pinned.version,
            "step": &*pause.step_key,
            "trigger": trigger,
            "message": entry.plan.def(def).status_message,
            "registered_at": pause.registered_at,
            "timeout_at": pause.timeout_at,
            "reminders": pause.reminders,
            "answer": format!("{here}/trigger/{id}/{trigger}"),
            "page": format!("{here}/approve/{id}/{trigger}"),
        })
    }

    fn notify(
        &mut self,
        turn: &mut Turn,
        entry: &Entry,
        def: u32,
        (mut body, token): (Value, Option<PauseToken>),
        now: Timestamp,
    ) -> Result<()> {
        let plan = entry.plan.clone();
        let Some(notify) = plan.pause(def).and_then(|pause| pause.notify.as_ref()) else { return Ok(()) };
        let (id, token) = (format!("pause/{}", Uuid::from_bytes(self.ids.row(now))), self.sealable(token));
        if let Some(token) = &token {
            let link = body["page"].as_str().unwrap_or_default();
            body["page"] = format!("{link}?token={}", token.reveal()).into();
            body["token"] = token.reveal().into();
        }
        let parcel = Parcel {
            url: notify.url(),
            address: Address::Open,
            id: &id,
            content_type: None,
            body: &body.to_string(),
            token: token.as_ref().map(PauseToken::reveal),
            secrets: None,
            signing: notify.signing(),
        };
        let step = match parcel.step(&self.config.secrets, None) {
            Ok(step) => step,
            Err(problem) => {
                error!(workflow = %entry.workflow.id, %problem, "a notice of a pause cannot be made");
                return Ok(());
            }
        };
        let step = NewStep {
            label: body["type"].as_str().map(String::from),
            dispatch_group: Some(entry.workflow.dispatch_group.to_string()),
            relatable_type: Some("workflow".into()),
            relatable_id: Some(entry.workflow.id.to_string()),
            ..step
        };
        let rows = self.sound_plan(turn, step, now)?;
        self.carry_out(turn, rows)
    }

    /// A token that cannot be sealed is not stored, and so not told: somebody who may operate can have another made.
    fn sealable(&self, token: Option<PauseToken>) -> Option<PauseToken> {
        if token.is_some() && self.config.secrets.is_unset() {
            error!(
                "the token of a pause is not told: there is no key to seal it with; configure `[secrets] keys`"
            );
            return None;
        }
        token
    }
}
