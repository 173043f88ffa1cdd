//! Options of polls that contradict each other.

use super::Finding;
use super::relations::beyond_the_whole;
use crate::duration::show;
use model::DispatchMode;
use model::definition::{Definition, PauseDef, PollDef, PollTimeout, StepDef};
use model::limits::{PAUSE_TIMEOUT_DEFAULT, POLL_DURATION_DEFAULT, POLL_INTERVAL_DEFAULT};
use std::time::Duration;

pub(super) fn check(
    definition: &Definition,
    step: &StepDef,
    poll: &PollDef,
    at: &str,
    findings: &mut Vec<Finding>,
) {
    let field = |name: &str| format!("{at}.poll.{name}");
    let whole = poll.max_duration.unwrap_or(POLL_DURATION_DEFAULT);
    check_waits(poll, (whole, "max_duration"), &field, findings);
    beyond_the_whole(definition, poll.max_duration, &field("max_duration"), findings);
    check_timeout(poll, &field, findings);
    if poll.run.timeout.step.is_some() {
        let problem = "how long a step that is polled may take is said twice";
        let fix = "write it as `max_duration` of the `poll`";
        findings.push(Finding::new(format!("{at}.timeout.step"), problem, fix));
    }
    let in_line = poll.run.mode.is_some_and(|mode| mode != DispatchMode::Immediate);
    if in_line && poll.on_timeout == PollTimeout::Pause {
        let problem =
            "a step that keeps its place in a message group holds up those behind it while it is paused";
        let fix = "write `fail` and `on_failure: pause_workflow`, or leave out `mode`";
        findings.push(Finding::new(field("on_timeout"), problem, fix));
    }
    findings
        .extend(unsuitable(step, poll).map(|(problem, fix)| Finding::new(field("default"), problem, fix)));
}

/// A pause that polls: how long it may take is said beside the poll.
pub(super) fn check_behind(pause: &PauseDef, poll: &PollDef, at: &str, findings: &mut Vec<Finding>) {
    let whole = pause.timeout.unwrap_or(PAUSE_TIMEOUT_DEFAULT);
    check_waits(poll, (whole, "timeout"), &|name: &str| format!("{at}.pause_after.poll.{name}"), findings);
}

fn check_waits(
    poll: &PollDef,
    (whole, said): (Duration, &str),
    field: &dyn Fn(&str) -> String,
    findings: &mut Vec<Finding>,
) {
    let interval = poll.interval.unwrap_or(POLL_INTERVAL_DEFAULT);
    if let Some(most) = poll.max_interval.filter(|most| *most < interval) {
        let problem = format!("the longest wait is {}, and the first is {}", show(most), show(interval));
        let fix = format!("write at least {}", show(interval));
        findings.push(Finding::new(field("max_interval"), problem, fix));
    }
    if poll.max_interval.is_some() && poll.backoff.unwrap_or(1.0) <= 1.0 {
        let problem = "the wait does not grow, so it has no longest";
        findings.push(Finding::new(field("max_interval"), problem, "write a `backoff`, or remove it"));
    }
    if interval > whole {
        let problem =
            format!("the wait is {}, and all polls together may take {}", show(interval), show(whole));
        let fix = format!("write at most {}, or a longer `{said}`", show(whole));
        findings.push(Finding::new(field("interval"), problem, fix));
    }
    let waits = poll.interval.is_some() || poll.backoff.is_some();
    if poll.max_attempts == Some(1) && waits {
        let problem = "with one poll there is nothing to wait for";
        findings.push(Finding::new(field("max_attempts"), problem, "write 2 or more, or remove the waits"));
    }
}

fn check_timeout(poll: &PollDef, field: &dyn Fn(&str) -> String, findings: &mut Vec<Finding>) {
    match (poll.on_timeout, &poll.default) {
        (PollTimeout::ContinueWithDefault, None) => {
            let problem = "there is no `default` to go on with";
            findings.push(Finding::new(
                field("on_timeout"),
                problem,
                "write what the step answers as `default`",
            ));
        }
        (PollTimeout::Fail | PollTimeout::Pause, Some(_)) => {
            let problem = "the `default` is never answered";
            let fix = "write `on_timeout: continue_with_default`, or remove it";
            findings.push(Finding::new(field("default"), problem, fix));
        }
        _ => {}
    }
}

/// What is wrong with the answer that stands for one that did not come, and what to write.
fn unsuitable(step: &StepDef, poll: &PollDef) -> Option<(String, String)> {
    let default = poll.default.as_ref()?;
    if default.to_string().contains("${") {
        let problem = "the default is answered as it stands, and `${` says nothing in it";
        return Some((problem.into(), "write the values themselves".into()));
    }
    let schema = step.produces.as_ref()?.schema.as_ref()?;
    let checked = jsonschema::draft202012::new(schema).ok()?;
    let error = checked.validate(default).err()?;
    Some((format!("it is not what the step produces: {error}"), "write what the schema asks for".into()))
}
