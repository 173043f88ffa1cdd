//! What changed in a workflow between two looks, for whoever reads line by line.

use super::length::{length, took};
use super::paint::{Paint, plain};
use super::tree::Shown;
use model::Timestamp;
use serde::Serialize;
use std::collections::HashMap;

/// Something that is not as it was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    pub workflow_id: String,
    pub workflow: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    pub state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Items of a fan-out that are done, and all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<(u32, u32)>,
    /// Items of it that failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub items_failed: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip)]
    took: Option<String>,
}

impl Change {
    pub fn line(&self, paint: Paint) -> String {
        let name = match &self.step {
            Some(step) => format!("{} · {step}", self.workflow),
            None => self.workflow.clone(),
        };
        let mut line = format!("{name}: {}", paint.state(&self.state, &self.state));
        line += &self.items.map(|(done, of)| format!(", {done} of {of} items")).unwrap_or_default();
        if self.items_failed > 0 {
            line += &format!(", {} failed", self.items_failed);
        }
        line += &self.attempt.filter(|n| *n > 1).map(|n| format!(", attempt {n}")).unwrap_or_default();
        line += &self.took.as_ref().map(|took| format!(" after {took}")).unwrap_or_default();
        line + &self.message.as_ref().map(|text| format!(": {}", plain(text))).unwrap_or_default()
    }
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What was seen last.
#[derive(Default)]
pub struct Changes {
    seen: HashMap<(String, Option<String>), Seen>,
}

/// A tenth of the items is worth a line.
type Seen = (String, u32, Option<u32>, Option<u32>);

impl Changes {
    /// Everything that differs from what was seen last, and is seen now.
    pub fn since(&mut self, shown: &Shown, now: Timestamp) -> Vec<Change> {
        let mut changes = Vec::new();
        self.gather(shown, now, &mut changes);
        changes
    }

    fn gather(&mut self, shown: &Shown, now: Timestamp, changes: &mut Vec<Change>) {
        let row = &shown.workflow.workflow;
        let change = |step: Option<String>, state: &str| Change {
            workflow_id: row.id.clone(),
            workflow: row.workflow.clone(),
            step,
            state: state.into(),
            attempt: None,
            items: None,
            items_failed: 0,
            message: None,
            took: None,
        };
        let is_over = matches!(&*row.state, "succeeded" | "failed" | "cancelled" | "compensated");
        // Failed, it may be tried again by itself.
        let begun = !is_over || row.auto_retry_at.is_some();
        let took_all = || took(row.started_at.as_ref(), row.completed_at.as_ref(), now).map(length);
        let whole = Change {
            message: row.message.clone(),
            took: (!begun).then(took_all).flatten(),
            ..change(None, &row.state)
        };
        if begun {
            self.put(whole.clone(), 0, changes);
        }
        for step in shown.workflow.steps.iter().filter(|step| step.state != "ahead") {
            if let Some(inner) = shown.below.get(&step.key) {
                self.gather(inner, now, changes);
            }
            let done = step.items.as_ref().map(|items| (items.completed, items.total));
            let items_failed = step.items.as_ref().map_or(0, |items| items.failed);
            let ended =
                step.completed_at.as_ref().and_then(|to| took(step.started_at.as_ref(), Some(to), now));
            let message =
                step.error.clone().or_else(|| step.reason.clone().filter(|_| step.completed_at.is_some()));
            let (attempt, took) = (step.attempt, ended.map(length));
            let one = change(Some(step.key.clone()), &step.state);
            self.put(Change { attempt, items: done, items_failed, message, took, ..one }, step.run, changes);
        }
        if !begun {
            self.put(whole, 0, changes);
        }
    }

    fn put(&mut self, change: Change, run: u32, changes: &mut Vec<Change>) {
        let tenth =
            change.items.map(|(done, of)| ((done + change.items_failed) * 10).checked_div(of).unwrap_or(0));
        let seen = (change.state.clone(), run, change.attempt, tenth);
        let key = (change.workflow_id.clone(), change.step.clone());
        if self.seen.insert(key, seen.clone()) != Some(seen) {
            changes.push(change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::shown;
    use super::*;
    use wire::ItemCounts;

    fn told(changes: &mut Changes, shown: &Shown) -> Vec<String> {
        changes.since(shown, Timestamp(5_000_000)).iter().map(|change| change.line(Paint::Plain)).collect()
    }

    #[test]
    fn only_what_changed_is_told() {
        let mut changes = Changes::default();
        let first = shown("running", &["pay action running", "ship action ahead"]);
        assert_eq!(told(&mut changes, &first), ["order: running", "order · pay: running"]);
        assert_eq!(told(&mut changes, &first), [] as [&str; 0]);
        let mut last = shown("failed", &["pay action failed", "ship action ahead"]);
        last.workflow.steps[0].error = Some("card declined".into());
        assert_eq!(
            told(&mut changes, &last),
            ["order · pay: failed: card declined", "order: failed after 4.0 s"]
        );
    }

    #[test]
    fn an_item_that_failed_is_not_told_as_done() {
        let mut each = shown("failed", &["pack fan_out failed"]);
        each.workflow.steps[0].items =
            Some(ItemCounts { total: 3, to_come: 0, live: 0, completed: 2, failed: 1 });
        assert_eq!(told(&mut Changes::default(), &each)[0], "order · pack: failed, 2 of 3 items, 1 failed");
    }

    #[test]
    fn items_are_told_by_tenths() {
        let mut changes = Changes::default();
        let mut each = shown("running", &["pack fan_out running"]);
        let mut at = |completed| {
            each.workflow.steps[0].items =
                Some(ItemCounts { total: 1_000, to_come: 0, live: 9, completed, failed: 0 });
            told(&mut changes, &each).len()
        };
        assert_eq!([at(0), at(50), at(99), at(100), at(150), at(999)], [2, 0, 0, 1, 0, 1]);
    }
}
