//! What can be done about a step now: only what would not be refused, each with what it does.

use super::workflow_verbs::question;
use maud::{Markup, html};
use model::State;
use wire::{StepShow, StepView};

/// A verb, what it is called, and what it does.
pub type Doable = (&'static str, &'static str, &'static str);

const LIVE: [Doable; 5] = [
    ("complete", "Complete", "End it as if it had succeeded; what waits for it goes on."),
    ("skip", "Skip", "Pass over it; what waits for it goes on."),
    ("fail", "Fail", "End it as failed; what follows from a failure follows."),
    ("stop", "Stop", "End it as stopped; nothing tries it again."),
    ("cancel", "Cancel", "Call it off, with everything below it."),
];
const RETRY: Doable = ("retry", "Retry", "Make it anew in its place, with what was cut off behind it.");

/// What would not be refused as things stand; the node decides.
pub fn possible(shown: &StepShow) -> Vec<Doable> {
    let Ok(state) = shown.step.state.parse::<State>() else { return Vec::new() };
    if !state.is_terminal() {
        let waits = shown.children.as_ref().is_some_and(|children| children.steps.contains_key("live"));
        return LIVE.into_iter().filter(|(verb, ..)| *verb != "complete" || !waits).collect();
    }
    let failed = matches!(state, State::Failed | State::Stopped | State::TimedOut | State::Cancelled);
    // Its workflow decides what is done again; a tree is made anew as a whole.
    let alone = shown.step.workflow_id.is_none() && shown.step.child_block_id.is_none();
    if failed && alone { vec![RETRY] } else { Vec::new() }
}

pub fn section(step: &StepView, doable: &[Doable]) -> Markup {
    html! {
        section #verbs aria-label="What can be done" data-at={ "/v1/steps/" (step.id) } data-query="" hidden[doable.is_empty()] {
            h2 { "What can be done" }
            noscript { p.notice { "Without JavaScript nothing can be done here; use " code { "stepfast steps" } "." } }
            div.because {
                label for="why" { "Why, for the record" }
                input #why type="text" maxlength="1000" autocomplete="off";
            }
            div data-live="verbs" {
                @if !doable.is_empty() {
                    ul.rows.verbs {
                        @for (verb, title, does) in doable {
                            li { button.button type="button" data-verb=(verb) data-asks data-needs-why[*verb != "retry"] { (title) } span.aside { (does) } }
                        }
                    }
                }
            }
            (question())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: &str = r#"{"id": "1", "step_key": null, "label": null, "action": "a", "queue": "q", "priority": "normal", "kind": "default",
        "dispatch_group": "alpha", "state": "STATE", "reason": null, "block_id": null, "index": 1, "child_block_id": BLOCK,
        "parent_step_id": null, "attempt": 1, "failed_attempts": 0, "lost_attempts": 0, "max_attempts": 1, "late_reports": 0,
        "throttled": false, "was_throttled": false, "dispatch_after": null, "arguments": {}, "response": null, "error_message": null,
        "error_stack_trace": null, "note": null, "relatable_type": null, "relatable_id": null, "pool": null, "message_group": null,
        "sequence": null, "mode": "immediate", "expires_at": null, "block_cleared_at": null, "block_cleared_by": null,
        "block_cleared_why": null, "status": "PENDING", "host": null, "session": null, "tick_id": null, "superseded_by": null,
        "created_at": "2027-01-15T08:00:00.000000Z", "dispatched_at": null, "started_at": null, "completed_at": null,
        "duration_ms": null, "version": 1, "workflow_id": WORKFLOW, "why": [], "attempts": [], "history": [], "log": [],
        "children": CHILDREN}"#;
    const CHILDREN: &str = r#"{"block_id": "2", "success": "all", "current_index": 1, "last_index": 1, "steps": {"live": 2}, "resolvers": {}}"#;

    /// What is offered for a step that is `running with children`, `failed in workflow` or the like.
    fn offered(told: &str) -> Vec<&'static str> {
        let state = told.split(' ').next().unwrap_or_default();
        let (block, children) =
            if told.contains("children") { ("\"2\"", CHILDREN) } else { ("null", "null") };
        let workflow = if told.contains("workflow") { "\"7\"" } else { "null" };
        let text = STEP.replace("STATE", state).replace("BLOCK", block).replace("WORKFLOW", workflow);
        let shown: StepShow = serde_json::from_str(&text.replace("CHILDREN", children)).unwrap();
        possible(&shown).into_iter().map(|(verb, ..)| verb).collect()
    }

    #[test]
    fn only_what_would_not_be_refused_is_offered() {
        let all = ["complete", "skip", "fail", "stop", "cancel"];
        assert_eq!(offered("pending"), all);
        assert_eq!(offered("running with children"), all[1..]);
        assert_eq!(offered("failed"), ["retry"]);
        assert_eq!(offered("failed in workflow"), [""; 0]);
        assert_eq!(offered("failed with children"), [""; 0]);
        assert_eq!(offered("completed"), [""; 0]);
    }
}
