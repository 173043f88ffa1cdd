//! Tells whoever a definition names that a pause waits: a delivery like any other, made in the same commit.

use super::super::node::{Node, Turn};
use super::Entry;
use crate::triggers::PauseToken;
use model::{NewStep, Timestamp};
use serde_json::{Value, json};
use store::{Result, StoreError};

impl Node {
    /// The token is told here and never again.
    pub(super) fn notify_begun(
        &mut self,
        turn: &mut Turn,
        entry: &Entry,
        def: u32,
        token: Option<PauseToken>,
        now: Timestamp,
    ) -> Result<()> {
        let mut body = self.notice(entry, def, "pause.begun");
        if let (Some(token), Some(link)) = (token, body["page"].as_str().map(String::from)) {
            body["page"] = format!("{link}?token={}", token.reveal()).into();
            body["token"] = token.reveal().into();
        }
        self.notify(turn, entry, def, body, now)
    }

    pub(super) fn notify_again(
        &mut self,
        turn: &mut Turn,
        entry: &Entry,
        def: u32,
        now: Timestamp,
    ) -> Result<()> {
        let body = self.notice(entry, def, "pause.reminded");
        self.notify(turn, entry, def, body, now)
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
        body: Value,
        now: Timestamp,
    ) -> Result<()> {
        let plan = entry.plan.clone();
        let Some(notify) = plan.pause(def).and_then(|pause| pause.notify.as_ref()) else { return Ok(()) };
        let label = body["type"].as_str().map(String::from);
        let arguments = json!({"url": notify.url(), "body": body, "signing": notify.signing()});
        let unwritable = |problem: serde_json::Error| StoreError::Lost { what: problem.to_string() };
        let step = NewStep {
            label,
            dispatch_group: Some(entry.workflow.dispatch_group.to_string()),
            relatable_type: Some("workflow".into()),
            relatable_id: Some(entry.workflow.id.to_string()),
            ..NewStep::of("deliver").with(&arguments).map_err(unwritable)?
        };
        let rows = self.sound_plan(turn, step, now)?;
        self.carry_out(turn, rows)
    }
}
