//! What can be done about a step now: only what would not be refused, each with what it does.

use super::workflow_verbs::question;
use engine::Verb;
use maud::{Markup, html};
use wire::StepView;

/// A verb, what it is called, and what it does.
fn about(verb: Option<Verb>) -> (&'static str, &'static str, &'static str) {
    let Some(verb) = verb else {
        return ("retry", "Retry", "Make it anew in its place, with what was cut off behind it.");
    };
    let (title, does) = match verb {
        Verb::Complete => ("Complete", "End it as if it had succeeded; what waits for it goes on."),
        Verb::Skip => ("Skip", "Pass over it; what waits for it goes on."),
        Verb::Fail => ("Fail", "End it as failed; what follows from a failure follows."),
        Verb::Stop => ("Stop", "End it as stopped; nothing tries it again."),
        Verb::Cancel => ("Cancel", "Call it off, with everything below it."),
    };
    (verb.word(), title, does)
}

pub fn section(step: &StepView, doable: &[Option<Verb>]) -> Markup {
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
                        @for (verb, title, does) in doable.iter().map(|verb| about(*verb)) {
                            li { button.button type="button" data-verb=(verb) data-asks data-needs-why[verb != "retry"] { (title) } span.aside { (does) } }
                        }
                    }
                }
            }
            (question())
        }
    }
}
