//! What channels are told of workflows: that one failed, waits for somebody, or could not be undone.
//!
//! Why    what fails inside a workflow is told once, as the failure of the whole; of workflows inside others only those that a person has
//!        to decide about. A user is told in one sentence.

use super::super::node::Node;
use super::Entry;
use model::{Audience, Notice, Severity, Timestamp};
use rules::workflow::resolution::Follow;
use serde_json::{Value, json};

/// The label that says for whom a workflow is done.
const USER: &str = "user";
const FAILED: &str = "workflow.failed";
const PAUSED: &str = "workflow.paused";
const NOT_UNDONE: &str = "workflow.compensation_failed";

/// One thing that happened to a workflow, in words.
struct Happening<'h> {
    kind: &'h str,
    severity: Severity,
    title: String,
    text: String,
    /// For a user.
    sentence: String,
    data: Value,
}

impl Node {
    /// It failed, and this follows.
    pub(super) fn tell_failed(&mut self, entry: &Entry, message: &str, follow: &Follow, now: Timestamp) {
        let (severity, then, word) = match follow {
            Follow::Await => (
                Severity::High,
                "It waits for somebody to decide what becomes of it: `stepfast resolve`.",
                "decision",
            ),
            Follow::End => (Severity::Medium, "It has failed for good, as its definition says.", "nothing"),
            Follow::RetryAt(_) => (Severity::Low, "It is tried again by itself.", "retry"),
            Follow::Compensate(_) => (Severity::Medium, "What it did is undone.", "compensation"),
        };
        if entry.workflow.parent.is_some() && !matches!(follow, Follow::Await | Follow::End) {
            return;
        }
        let key = &entry.plan.pinned.key;
        let happened = Happening {
            kind: FAILED,
            severity,
            title: format!("workflow `{key}` failed"),
            text: format!("{message}\n{then}"),
            sentence: match follow {
                Follow::RetryAt(_) => "Something went wrong, and it is tried again by itself.".into(),
                _ => "Something went wrong, and somebody looks at it.".into(),
            },
            data: json!({"message": message, "awaits": word}),
        };
        self.tell_happened(entry, happened, now);
    }

    /// It stands still until somebody lets it go on.
    pub(super) fn tell_held(&mut self, entry: &Entry, message: &str, now: Timestamp) {
        let happened = Happening {
            kind: PAUSED,
            severity: Severity::High,
            title: format!("workflow `{}` is paused: a step failed", entry.plan.pinned.key),
            text: format!("{message}\nIt waits for somebody: `stepfast resume`."),
            sentence: "Something went wrong, and somebody looks at it.".into(),
            data: json!({"message": message, "awaits": "resume"}),
        };
        self.tell_happened(entry, happened, now);
    }

    pub(super) fn tell_not_undone(&mut self, entry: &Entry, message: &str, now: Timestamp) {
        let happened = Happening {
            kind: NOT_UNDONE,
            severity: Severity::High,
            title: format!("workflow `{}` could not be undone", entry.plan.pinned.key),
            text: format!(
                "{message}\nIt waits for somebody: `stepfast retry-compensation`, `stepfast skip-compensation`."
            ),
            sentence: "Something went wrong, and somebody looks at it.".into(),
            data: json!({"message": message, "awaits": "decision"}),
        };
        self.tell_happened(entry, happened, now);
    }

    /// A pause began or is reminded of; what is told to whoever its definition names, without the token.
    pub(super) fn tell_pause(
        &mut self,
        entry: &Entry,
        def: u32,
        (body, severity): (&Value, Severity),
        now: Timestamp,
    ) {
        let Some(pause) = entry.pauses.waiting.get(&def) else { return };
        let kind = body["type"].as_str().unwrap_or_default();
        let message = entry.plan.def(def).status_message.clone();
        let happened = Happening {
            kind,
            severity,
            title: format!("workflow `{}` waits for {}", entry.plan.pinned.key, pause.awaits()),
            text: message
                .clone()
                .unwrap_or_else(|| format!("It waits behind the step `{}`.", pause.step_key)),
            sentence: message.unwrap_or_else(|| "It waits for an answer.".into()),
            data: body.clone(),
        };
        let which = format!("{}/{}/{}/{}", entry.workflow.id, pause.step_key, pause.run, pause.reminders);
        self.owe_both(entry, happened, which, now);
    }

    fn tell_happened(&mut self, entry: &Entry, happened: Happening, now: Timestamp) {
        // Each time it comes there its row is another version.
        let which = format!("{}/{}", entry.workflow.id, entry.version());
        self.owe_both(entry, happened, which, now);
    }

    fn owe_both(&mut self, entry: &Entry, happened: Happening, which: String, now: Timestamp) {
        let labels = entry.workflow.labels.iter().cloned().collect();
        let admin = Notice {
            kind: happened.kind.into(),
            audience: Audience::Admin,
            severity: happened.severity,
            entity_type: "workflow".into(),
            entity_id: entry.workflow.id.to_string(),
            user: entry.workflow.labels.iter().find(|(name, _)| name == USER).map(|(_, user)| user.clone()),
            labels,
            title: happened.title,
            text: happened.text,
            key: format!("{}/{which}", happened.kind),
            at: now,
            data: happened.data,
        };
        let user = Notice {
            audience: Audience::User,
            title: happened.sentence.clone(),
            text: happened.sentence,
            data: Value::Null,
            ..admin.clone()
        };
        for notice in [admin, user] {
            if self.notices.wants(notice.audience, &notice.kind, notice.severity) {
                self.notices.owe(notice);
            }
        }
    }
}
