//! What can be done about a workflow now: only what would not be refused, each with what it does.

use engine::WorkflowVerb;
use maud::{Markup, html};
use model::{Decision, State, WorkflowState};
use wire::{WorkflowShow, WorkflowStepView, WorkflowView};

/// Steps that one can go back to, in a list that is read.
const STEPS_OFFERED: usize = 200;

/// What would not be refused as things stand; the node decides.
pub fn possible(workflow: &WorkflowView) -> Vec<WorkflowVerb> {
    let Ok(state) = workflow.state.parse::<WorkflowState>() else { return Vec::new() };
    if workflow.resolved_at.is_some() {
        return Vec::new();
    }
    let (fails, stuck) = (state == WorkflowState::Failed, state == WorkflowState::CompensationFailed);
    let undoes = stuck || state == WorkflowState::Compensating;
    let is_possible = |verb: &WorkflowVerb| match verb {
        WorkflowVerb::Pause => state == WorkflowState::Running || is_awaiting(workflow),
        WorkflowVerb::Resume => state == WorkflowState::Paused,
        WorkflowVerb::Cancel => fails || !state.is_over() && !undoes,
        WorkflowVerb::Resolve(
            Decision::Retry { .. } | Decision::Compensate { .. } | Decision::MarkResolved,
        ) => fails,
        WorkflowVerb::Resolve(Decision::RetryCompensation | Decision::SkipCompensation { .. }) => stuck,
        WorkflowVerb::Resolve(Decision::RetryFromStep { .. } | Decision::Cancel { .. }) => false,
    };
    WorkflowVerb::plain().into_iter().filter(is_possible).collect()
}

/// It waits for triggers, and nobody holds it.
fn is_awaiting(workflow: &WorkflowView) -> bool {
    workflow.paused_by.as_deref() == Some("trigger")
}

/// What a verb is called and does; one that cannot be taken back is told before it is done.
fn about(verb: &WorkflowVerb, workflow: &WorkflowView) -> (&'static str, &'static str, bool) {
    match verb {
        WorkflowVerb::Resume if is_awaiting(workflow) => {
            ("Go on without", "Go on as if somebody had sent nothing to what it waits for.", true)
        }
        WorkflowVerb::Resolve(decision) => about_decision(decision),
        WorkflowVerb::Pause => {
            ("Pause", "Start nothing of it until it is resumed; what runs goes on.", false)
        }
        WorkflowVerb::Resume => {
            ("Resume", "Go on where it was held; a step that failed is done again.", false)
        }
        WorkflowVerb::Cancel => ("Cancel", "End it, with everything of it that is not over.", true),
    }
}

fn about_decision(decision: &Decision) -> (&'static str, &'static str, bool) {
    match decision {
        Decision::Retry { .. } => ("Retry", "Do again what failed; what succeeded stays as it is.", false),
        Decision::Compensate { .. } => {
            ("Compensate", "Undo what was done, the last first, and end it.", true)
        }
        Decision::MarkResolved => ("Mark as resolved", "Leave it as it is; nobody is asked any more.", true),
        Decision::RetryCompensation => {
            ("Try to undo again", "What could not be undone is tried once more.", false)
        }
        Decision::SkipCompensation { .. } => {
            ("Skip", "Leave what could not be undone, and undo the rest.", true)
        }
        Decision::RetryFromStep { .. } => ("Retry from a step", "Do a step and all behind it again.", true),
        Decision::Cancel { .. } => ("Cancel", "End it, with everything of it that is not over.", true),
    }
}

pub fn section(shown: &WorkflowShow, doable: &[WorkflowVerb]) -> Markup {
    let workflow = &shown.workflow;
    let from = points(shown);
    html! {
        section #verbs aria-label="What can be done" data-at={ "/v1/workflows/" (workflow.id) } hidden[doable.is_empty()] {
            h2 { "What can be done" }
            noscript { p.notice { "Without JavaScript nothing can be done here; use " code { "stepfast workflows" } "." } }
            div.because {
                label for="why" { "Why, for the record" }
                input #why type="text" maxlength="1000" autocomplete="off";
            }
            div data-live="verbs" {
                @if !doable.is_empty() {
                    ul.rows.verbs {
                        @for verb in doable { (offered(verb, workflow)) }
                        @if !from.is_empty() { (retry_from(&from)) }
                    }
                }
            }
            (question())
        }
    }
}

/// What would be done, told before it is.
pub fn question() -> Markup {
    html! {
        div #sure .notice hidden {
            p #would {}
            ul #effects .why {}
            button #do .button.strong type="button" aria-describedby="would" { "Yes" } " "
            button #leave .button type="button" { "Leave it as it is" }
        }
        p #told .notice.lost role="alert" hidden {}
    }
}

fn offered(verb: &WorkflowVerb, workflow: &WorkflowView) -> Markup {
    let (title, does, asks) = about(verb, workflow);
    let forces = *verb == WorkflowVerb::Resume && is_awaiting(workflow);
    let needs_why = asks && *verb != WorkflowVerb::Resume;
    html! { li { button.button type="button" data-verb=(verb.word()) data-asks[asks] data-needs-why[needs_why] data-force[forces] { (title) } span.aside { (does) } } }
}

/// The steps that have ended, from which a workflow that failed or is held can go on anew.
fn points(shown: &WorkflowShow) -> Vec<&WorkflowStepView> {
    let state = shown.workflow.state.parse::<WorkflowState>();
    let can = matches!(state, Ok(WorkflowState::Failed | WorkflowState::Paused))
        && shown.workflow.resolved_at.is_none();
    let ended = |step: &&WorkflowStepView| step.state.parse::<State>().is_ok_and(State::is_terminal);
    shown.steps.iter().filter(|_| can).filter(ended).take(STEPS_OFFERED).collect()
}

fn retry_from(steps: &[&WorkflowStepView]) -> Markup {
    html! {
        li {
            button.button type="button" data-verb="retry_from_step" data-resolve data-asks { "Retry from a step" }
            span.aside {
                label for="from-step" { "Do a step and all behind it again:" } " "
                select #from-step { @for step in steps { option value=(step.key) { (step.key) " (" (step.state.replace('_', " ")) ")" } } }
                " " label for="from-mode" { "What was done behind it" } " "
                select #from-mode {
                    option value="retry_only" { "stays" }
                    option value="compensate_then_retry" { "is undone first" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = r#"{"id":"1","workflow":"order","version":"1.0.0","state":"STATE","labels":{},
        "dispatch_group":"alpha","created_at":"2027-01-15T08:00:00.000000Z","revision":3,"input":{},"percent":50,
        "steps":[{"key":"<pay>","kind":"action","state":"completed","run":1,"earlier":[]},{"key":"ship","kind":"wait","state":"ahead","run":0,"earlier":[]}]}"#;

    fn offered(state: &str) -> Vec<String> {
        let shown: WorkflowShow = serde_json::from_str(&SHOWN.replace("STATE", state)).unwrap();
        let html = section(&shown, &possible(&shown.workflow)).into_string();
        assert!(!html.contains("<pay>") && !html.contains("value=\"ship\""), "{html}");
        html.split("data-verb=\"").skip(1).map(|part| part.split('"').next().unwrap().to_string()).collect()
    }

    #[test]
    fn only_what_would_not_be_refused_is_offered() {
        assert_eq!(offered("running"), ["pause", "cancel"]);
        assert_eq!(offered("paused"), ["resume", "cancel", "retry_from_step"]);
        assert_eq!(offered("failed"), ["retry", "compensate", "mark_resolved", "cancel", "retry_from_step"]);
        assert_eq!(offered("compensation_failed"), ["retry_compensation", "skip_compensation"]);
        assert_eq!(offered("succeeded"), [""; 0]);
    }
}
