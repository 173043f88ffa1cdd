//! What can be done about a workflow now: only what would not be refused, each with what it does.

use engine::WorkflowVerb;
use engine::possible::{Offer, Offers};
use maud::{Markup, html};
use model::{Decision, WorkflowState};
use wire::{WorkflowShow, WorkflowStepView};

/// What a verb is called and does; one that cannot be taken back is told before it is done.
fn about(offer: &Offer) -> (&'static str, &'static str, bool) {
    match &offer.verb {
        WorkflowVerb::Resume if offer.forced => {
            ("Go on without", "Go on as if somebody had sent nothing to what it waits for.", true)
        }
        WorkflowVerb::Resolve(decision) => about_decision(decision),
        WorkflowVerb::Pause => {
            ("Pause", "Start nothing of it until it is resumed; what runs goes on.", false)
        }
        WorkflowVerb::Resume => {
            ("Resume", "Go on where it was held; a step that failed is done again.", false)
        }
        WorkflowVerb::Cancel => about_cancel(offer.to),
    }
}

/// What becomes of what was done, the definition says.
fn about_cancel(to: WorkflowState) -> (&'static str, &'static str, bool) {
    let does = match to {
        WorkflowState::Compensating => "Wait for what runs, undo what was done, the last first, and end it.",
        _ => "End it, with everything of it that is not over; what was done stays done.",
    };
    ("Cancel", does, true)
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
        Decision::Cancel { .. } => about_cancel(WorkflowState::Cancelled),
    }
}

pub fn section(shown: &WorkflowShow, offers: &Offers) -> Markup {
    let is_empty = offers.verbs.is_empty() && offers.from.is_empty();
    html! {
        section #verbs aria-label="What can be done" data-at={ "/v1/workflows/" (shown.workflow.id) } hidden[is_empty] {
            h2 { "What can be done" }
            noscript { p.notice { "Without JavaScript nothing can be done here; use " code { "stepfast show" } " and " code { "stepfast resolve" } "." } }
            div.because {
                label for="why" { "Why, for the record" }
                input #why type="text" maxlength="1000" autocomplete="off";
            }
            div data-live="verbs" {
                @if !is_empty {
                    ul.rows.verbs {
                        @for offer in &offers.verbs { (offered(offer)) }
                        @if !offers.from.is_empty() { (retry_from(shown, offers)) }
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

fn offered(offer: &Offer) -> Markup {
    let (title, does, asks) = about(offer);
    let needs_why = asks && offer.verb != WorkflowVerb::Resume;
    html! { li { button.button type="button" data-verb=(offer.verb.word()) data-asks[asks] data-needs-why[needs_why] data-force[offer.forced] { (title) } span.aside { (does) } } }
}

fn retry_from(shown: &WorkflowShow, offers: &Offers) -> Markup {
    let steps = shown.steps.iter().filter(|step: &&WorkflowStepView| offers.from.contains(&step.key));
    html! {
        li {
            button.button type="button" data-verb="retry_from_step" data-resolve data-asks { "Retry from a step" }
            span.aside {
                label for="from-step" { "Do a step and all behind it again:" } " "
                select #from-step { @for step in steps { option value=(step.key) { (step.key) " (" (step.state.replace('_', " ")) ")" } } }
                " " label for="from-mode" { "What was done behind it" } " "
                select #from-mode {
                    option value="retry_only" { "stays" }
                    @if offers.undoes_behind { option value="compensate_then_retry" { "is undone first" } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = r#"{"id":"1","workflow":"order","version":"1.0.0","state":"failed","labels":{},
        "dispatch_group":"alpha","created_at":"2027-01-15T08:00:00.000000Z","revision":3,"input":{},"percent":50,
        "steps":[{"key":"<pay>","kind":"action","state":"completed","run":1,"earlier":[]},{"key":"ship","kind":"wait","state":"ahead","run":0,"earlier":[]}]}"#;

    fn offer(verb: WorkflowVerb, to: WorkflowState) -> Offer {
        Offer { verb, to, forced: false }
    }

    fn shown(offers: &Offers) -> String {
        section(&serde_json::from_str(SHOWN).unwrap(), offers).into_string()
    }

    #[test]
    fn what_is_possible_is_offered_and_nothing_else() {
        let forced = Offer { forced: true, ..offer(WorkflowVerb::Resume, WorkflowState::Running) };
        let verbs = vec![offer(WorkflowVerb::Pause, WorkflowState::Paused), forced];
        let html = shown(&Offers { verbs, from: vec!["<pay>".into()], undoes_behind: false });
        let offered: Vec<&str> =
            html.split("data-verb=\"").skip(1).filter_map(|part| part.split('"').next()).collect();
        assert_eq!(offered, ["pause", "resume", "retry_from_step"]);
        assert!(html.contains("data-force") && html.contains("Go on without"), "{html}");
        assert!(!html.contains("<pay>") && !html.contains("value=\"ship\""), "{html}");
        assert!(!html.contains("compensate_then_retry"), "there is nothing to undo: {html}");
        assert!(shown(&Offers::default()).contains(" hidden"), "there is nothing to do");
    }

    #[test]
    fn what_cancelling_does_is_what_the_definition_says() {
        let does = |to| shown(&Offers { verbs: vec![offer(WorkflowVerb::Cancel, to)], ..Offers::default() });
        assert!(does(WorkflowState::Cancelled).contains("what was done stays done"));
        assert!(does(WorkflowState::Compensating).contains("undo what was done, the last first"));
    }
}
