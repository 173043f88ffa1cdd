//! A workflow as a tree: its steps in the order of the definition, each with a mark, what it did and how long it took.

use super::length::{length, took};
use super::paint::{Paint, plain};
use model::Timestamp;
use std::collections::HashMap;
use wire::{CompensationView, ItemCounts, WorkflowShow, WorkflowStepView};

/// A workflow, and those that its steps started, by the keys of these steps.
#[derive(Debug)]
pub struct Shown {
    pub workflow: WorkflowShow,
    pub below: HashMap<String, Shown>,
}

/// How much of it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    Whole,
    /// Of a large one only what is being done or has failed.
    Live,
}

/// Steps that fit on a screen.
const SCREEN_STEPS_MAX: usize = 30;
const KEY_CHARS_MAX: usize = 32;
const BAR_CHARS: usize = 20;
/// Of an error or an answer in the tree; `--json` has all of it.
const TEXT_CHARS_MAX: usize = 200;

pub fn lines(shown: &Shown, detail: Detail, now: Timestamp, paint: Paint) -> Vec<String> {
    let mut lines = vec![head(&shown.workflow, now, paint)];
    if let Some(message) = &shown.workflow.workflow.message {
        lines.push(format!("  {}", paint.state(&shown.workflow.workflow.state, &cut(message))));
    }
    steps(shown, detail, &mut |line| lines.push(format!("  {line}")), &Pen { now, paint });
    lines
}

struct Pen {
    now: Timestamp,
    paint: Paint,
}

fn head(show: &WorkflowShow, now: Timestamp, paint: Paint) -> String {
    let row = &show.workflow;
    let took = took(row.started_at.as_ref(), row.completed_at.as_ref(), now).map(length);
    let took = took.map_or_else(String::new, |took| format!(" · {took}"));
    let (name, state) = (paint.bold(&row.workflow), paint.state(&row.state, &row.state));
    let again = row.auto_retry_at.as_ref().map(|at| format!(" · tries again by itself {}", plain(at)));
    let again = again.unwrap_or_default();
    let doing = show.status_message.as_ref().map(|text| format!(" · {}", cut(text))).unwrap_or_default();
    let (version, percent, id) = (&row.version, show.percent, paint.dim(&row.id));
    format!("{name} {version} · {state}{again} · {percent} %{took}{doing} · {id}")
}

fn steps(shown: &Shown, detail: Detail, put: &mut dyn FnMut(String), pen: &Pen) {
    let all = &shown.workflow.steps;
    let is_cut = detail == Detail::Live && all.len() > SCREEN_STEPS_MAX;
    let picked = all.iter().filter(|step| !is_cut || is_of_interest(step));
    let picked: Vec<&WorkflowStepView> =
        picked.take(if is_cut { SCREEN_STEPS_MAX } else { usize::MAX }).collect();
    let width = picked.iter().map(|step| step.key.chars().count()).max().unwrap_or(0).min(KEY_CHARS_MAX);
    for step in &picked {
        put(row(step, width, pen));
        let undone = shown
            .workflow
            .compensations
            .iter()
            .filter(|line| Some(&line.undoes) == step.step_id.as_ref())
            .map(undone);
        let told = beneath(step).into_iter().chain(undone);
        told.for_each(|text| put(format!("    {}", pen.paint.dim(&text))));
        if let Some(inner) = shown.below.get(&step.key) {
            put(format!("  └ {}", head(&inner.workflow, pen.now, pen.paint)));
            steps(inner, detail, &mut |line| put(format!("    {line}")), pen);
        }
    }
    if picked.len() < all.len() {
        let over = all.iter().filter(|step| matches!(&*step.state, "completed" | "skipped")).count();
        put(pen.paint.dim(&format!("… {} steps in all, {over} of them done", all.len())));
    }
}

fn is_of_interest(step: &WorkflowStepView) -> bool {
    !matches!(&*step.state, "ahead" | "completed" | "skipped" | "superseded")
}

fn row(step: &WorkflowStepView, width: usize, pen: &Pen) -> String {
    let key = short(&step.key, KEY_CHARS_MAX);
    let space = " ".repeat(width.saturating_sub(key.chars().count()));
    let mut parts = vec![what(step)];
    parts.extend(step.items.as_ref().map(bar));
    let state = match (&*step.state, &step.reason) {
        ("completed" | "ahead", _) => None,
        (state, Some(reason)) if !matches!(state, "pending" | "running") => {
            Some(format!("{state}: {reason}"))
        }
        (state, _) => Some(state.into()),
    };
    parts.extend(state.map(|words| pen.paint.state(&step.state, &words)));
    parts.extend(step.polls.as_ref().map(|polls| match polls.made {
        1 => "polled once".into(),
        made => format!("polled {made} times"),
    }));
    parts.extend(step.attempt.filter(|n| *n > 1).map(|n| format!("attempt {n}")));
    parts.extend((step.run > 1).then(|| format!("run {}", step.run)));
    let took = took(step.started_at.as_ref(), step.completed_at.as_ref(), pen.now).map(length);
    parts.extend(took.map(|took| pen.paint.dim(&took)));
    let mark = pen.paint.state(&step.state, mark(&step.state));
    format!("{mark} {key}{space}  {}", parts.join("  "))
}

/// What the step does, in a few words.
fn what(step: &WorkflowStepView) -> String {
    let words = match (&*step.kind, &step.action, &step.output) {
        ("branch", _, Some(chosen)) => format!("branch → {}", chosen.get()),
        ("fan_out", Some(action), _) => format!("{action} ×n"),
        ("poll", Some(action), _) => format!("{action} ↻"),
        (_, Some(action), _) => action.clone(),
        (kind, None, _) => kind.into(),
    };
    match &step.branch {
        Some(branch) => format!("{} ({})", cut(&words), plain(branch)),
        None => cut(&words),
    }
}

fn bar(items: &ItemCounts) -> String {
    let ItemCounts { total, completed, failed, .. } = *items;
    let share = |n: u32| (n as usize * BAR_CHARS).checked_div(total as usize).unwrap_or(0);
    let (done, bad) = (share(completed), share(completed + failed) - share(completed));
    let rest = BAR_CHARS - done - bad;
    let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    format!("[{}{}{}] {completed}/{total}{failed}", "█".repeat(done), "▒".repeat(bad), "·".repeat(rest))
}

/// What is told about it on lines of their own: its error, and why it does not go on.
fn beneath(step: &WorkflowStepView) -> Vec<String> {
    let error = step.error.as_ref().map(|error| cut(error));
    // Whoever runs is on its way; its items or the workflow below it tell the rest.
    let waits = !matches!(&*step.state, "running" | "dispatched");
    let why = step.why.iter().flatten().filter(|_| waits).map(|why| format!("because {}", cut(why)));
    error.into_iter().chain(why).collect()
}

/// What became of undoing it.
fn undone(line: &CompensationView) -> String {
    let action = cut(&line.action);
    let why = line.error.as_ref().map(|error| format!(": {}", cut(error))).unwrap_or_default();
    match &*line.state {
        "pending" => format!("↩ to be undone by {action}"),
        "running" => format!("↩ being undone by {action}"),
        "succeeded" => format!("↩ undone by {action}"),
        "skipped" => format!("↩ left as it is, without {action}{why}"),
        _ => format!("↩ not undone, {action} failed{why}"),
    }
}

fn mark(state: &str) -> &'static str {
    match state {
        "completed" => "✔",
        "failed" | "timed_out" => "✖",
        "skipped" => "–",
        "cancelled" | "superseded" => "⊘",
        "stopped" => "■",
        "running" | "dispatched" => "▶",
        "pending" | "polling" | "not_runnable" => "○",
        _ => "·",
    }
}

fn cut(text: &str) -> String {
    short(&plain(text), TEXT_CHARS_MAX)
}

fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use serde_json::json;

    /// A workflow with these steps, each `key kind state`.
    pub fn shown(state: &str, steps: &[&str]) -> Shown {
        let step = |text: &&str| {
            let [key, kind, state] = text.split(' ').collect::<Vec<_>>()[..] else { panic!("{text}") };
            json!({"key": key, "kind": kind, "state": state, "run": 1})
        };
        let steps: Vec<_> = steps.iter().map(step).collect();
        let whole = json!({
            "id": "7", "workflow": "order", "version": "1.0.0", "state": state, "labels": {}, "dispatch_group": "alpha",
            "created_at": "1970-01-01T00:00:00Z", "started_at": "1970-01-01T00:00:01Z", "revision": 1,
            "input": {}, "percent": 50, "steps": steps,
        });
        Shown { workflow: serde_json::from_value(whole).unwrap(), below: HashMap::new() }
    }

    fn drawn(shown: &Shown, detail: Detail) -> String {
        lines(shown, detail, Timestamp(3_000_000), Paint::Plain).join("\n")
    }

    #[test]
    fn steps_stand_in_order_with_what_is_known_of_them() {
        let mut order = shown(
            "running",
            &[
                "pay action failed",
                "pack fan_out running",
                "ship workflow pending",
                "paid poll ahead",
                "end wait ahead",
            ],
        );
        let steps = &mut order.workflow.steps;
        (steps[0].action, steps[0].attempt, steps[0].reason) =
            (Some("charge".into()), Some(3), Some("retries_exhausted".into()));
        steps[0].error = Some("card\u{1b} declined".into());
        steps[1].items = Some(ItemCounts { total: 40, to_come: 10, live: 8, completed: 20, failed: 2 });
        steps[1].started_at = Some("1970-01-01T00:00:02Z".into());
        steps[2].why = Some(vec!["it waits for workflow 8".into()]);
        (steps[3].action, steps[3].state) = (Some("status".into()), "polling".into());
        let at = "1970-01-01T00:00:02Z";
        steps[3].polls = serde_json::from_value(json!({"made": 3, "started_at": at, "last": []})).unwrap();
        let inner = shown("running", &["label action running"]);
        order.below.insert("ship".into(), inner);
        assert_eq!(
            drawn(&order, Detail::Whole),
            "order 1.0.0 · running · 50 % · 2.0 s · 7
  ✖ pay   action  failed: retries_exhausted  attempt 3
      card  declined
  ▶ pack  fan_out  [██████████▒·········] 20/40, 2 failed  running  1.0 s
  ○ ship  workflow  pending
      because it waits for workflow 8
    └ order 1.0.0 · running · 50 % · 2.0 s · 7
      ▶ label  action  running
  ○ paid  status ↻  polling  polled 3 times
  · end   wait"
                .replace("pay   action", "pay   charge")
        );
    }

    #[test]
    fn what_failed_and_is_tried_again_by_itself_says_when() {
        let mut order = shown("failed", &["pay action failed"]);
        order.workflow.workflow.auto_retry_at = Some("1970-01-01T01:00:00Z".into());
        let drawn = drawn(&order, Detail::Whole);
        let head = drawn.lines().next().unwrap();
        assert_eq!(
            head,
            "order 1.0.0 · failed · tries again by itself 1970-01-01T01:00:00Z · 50 % · 2.0 s · 7"
        );
    }

    #[test]
    fn a_step_that_is_undone_says_by_what() {
        let mut order = shown("compensation_failed", &["pay action completed", "pack action completed"]);
        (order.workflow.steps[0].step_id, order.workflow.steps[1].step_id) =
            (Some("8".into()), Some("9".into()));
        let line = |undoes, action, state, error: Option<&str>| {
            serde_json::from_value(json!({
                "compensation": 1, "step_key": "any", "action": action, "state": state, "undoes": undoes, "items_done": 0,
                "items_skipped": 0, "error": error,
            }))
            .unwrap()
        };
        order.workflow.compensations = vec![
            line("8", "refund", "failed", Some("bank is closed")),
            line("9", "unpack", "succeeded", None),
        ];
        let drawn = drawn(&order, Detail::Whole);
        let lines: Vec<&str> = drawn.lines().skip(1).map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "✔ pay   action",
                "↩ not undone, refund failed: bank is closed",
                "✔ pack  action",
                "↩ undone by unpack"
            ]
        );
    }

    #[test]
    fn of_a_large_one_the_screen_shows_what_goes_on() {
        let many: Vec<String> = (0..100)
            .map(|n| format!("s{n} action {}", if n == 40 { "running" } else { "completed" }))
            .collect();
        let many = shown("running", &many.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(
            drawn(&many, Detail::Live).lines().skip(1).collect::<Vec<_>>(),
            ["  ▶ s40  action  running", "  … 100 steps in all, 99 of them done"]
        );
        assert_eq!(drawn(&many, Detail::Whole).lines().count(), 101);
    }

    #[test]
    fn a_bar_is_never_longer_than_it_is() {
        for (completed, failed, total) in [(0, 0, 0), (1, 2, 3), (3, 0, 3), (0, 7, 7), (333, 333, 1_000)] {
            let counts = ItemCounts { total, to_come: 0, live: 0, completed, failed };
            let drawn: String =
                bar(&counts).chars().skip_while(|c| *c != '[').take_while(|c| *c != ']').collect();
            assert_eq!(drawn.chars().count(), BAR_CHARS + 1, "{counts:?}");
        }
    }
}
