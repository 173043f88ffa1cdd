//! Steps that failed and whose jobs asked to tell somebody.

use super::super::node::{Node, Turn};
use super::NOTICE;
use crate::delivery::{DELIVER, id_of};
use model::{Audience, Event, Notice, Severity, State, Step, StepId, Timestamp};
use store::Result;

const FAILED: &str = "step.failed";

impl Node {
    /// Each is told once. Of a workflow the failure of the whole is told; a parent fails because of what was told already.
    pub(super) fn tell_failures(&mut self, turn: &mut Turn, now: Timestamp) -> Result<()> {
        if !self.notices.wants(Audience::Admin, FAILED, Severity::Medium) {
            return Ok(());
        }
        let moves = self.board.moves().iter();
        let failed = moves
            .filter(|m| m.to == State::Failed && matches!(m.event, Some(Event::Failed | Event::Exhausted)));
        for id in failed.map(|m| m.step).collect::<Vec<StepId>>() {
            let Some(step) = self.board.step(id).filter(|step| step.state == State::Failed).cloned() else {
                continue;
            };
            let said = self.board.said(id);
            if said.is_some_and(|said| said.was_notified == Some(false)) || is_notice(&step) {
                continue;
            }
            let message = said.and_then(|said| said.error_message.clone()).unwrap_or_default();
            if self.lineage(id)?.is_empty() {
                let told = self.tell_all(turn, failure(&step, &message, now), now)?;
                if told > 0 {
                    self.board.edit(id, |_, said| said.was_notified = Some(true));
                }
            }
        }
        Ok(())
    }
}

/// A channel that cannot be reached is not told so, neither is another: that would go on for ever.
fn is_notice(step: &Step) -> bool {
    &*step.action == DELIVER && id_of(&step.arguments).is_some_and(|id| id.starts_with(NOTICE))
}

fn failure(step: &Step, message: &str, now: Timestamp) -> Notice {
    let labels = [("action", &step.action), ("queue", &step.queue)];
    Notice {
        kind: FAILED.into(),
        audience: Audience::Admin,
        severity: Severity::Medium,
        entity_type: "step".into(),
        entity_id: step.id.to_string(),
        user: None,
        labels: labels.map(|(name, value)| (name.to_string(), value.to_string())).into(),
        title: format!("a step `{}` failed", step.action),
        text: if message.is_empty() { "It said nothing about why.".into() } else { message.into() },
        key: format!("{FAILED}/{}", step.id),
        at: now,
        data: serde_json::json!({
            "action": &*step.action, "queue": &*step.queue, "dispatch_group": step.dispatch_group.as_str(),
            "attempt": step.attempt, "max_attempts": step.max_attempts,
        }),
    }
}
