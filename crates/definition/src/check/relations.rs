//! Options that contradict each other.

use super::{Finding, polls, resolution};
use crate::duration::show;
use model::definition::{ActionDef, Definition, Retry, RetryScope, StepDef, Wait, Work};
use rules::workflow::pause;
use std::collections::HashSet;
use std::time::Duration;

pub(super) fn check(definition: &Definition) -> Vec<Finding> {
    let mut findings: Vec<Finding> = pause::faults(definition).into_iter().map(Into::into).collect();
    if let (Some(expected), Some(timeout)) = (definition.expected_within, definition.timeout)
        && expected > timeout
    {
        let problem =
            format!("it is expected within {}, and may take only {}", show(expected), show(timeout));
        findings.push(Finding::new("expected_within", problem, format!("write at most {}", show(timeout))));
    }
    findings.extend(resolution::check(definition));
    let starts_itself = !definition.steps.iter().any(|step| step.terminate_when.is_some());
    for (n, step) in definition.steps.iter().enumerate() {
        let at = format!("steps[{n}]");
        twice(step.after.iter().flatten(), &format!("{at}.after"), &mut findings);
        twice(step.requires.iter(), &format!("{at}.requires"), &mut findings);
        if let Some(pause) = &step.pause_after {
            let field = |option| format!("{at}.pause_after.{option}");
            beyond_the_whole(definition, pause.resume_after, &field("resume_after"), &mut findings);
            beyond_the_whole(definition, pause.timeout, &field("timeout"), &mut findings);
            if let Some(poll) = &pause.poll {
                polls::check_behind(pause, poll, &at, &mut findings);
            }
        }
        if let Some(compensation) = &step.compensation {
            // It is done when the time of the whole is over.
            let whole = Definition::default();
            check_action(&whole, &compensation.run, &format!("{at}.compensation"), &mut findings);
        }
        match &step.work {
            Work::Action(action) => check_action(definition, action, &at, &mut findings),
            Work::Poll(poll) => {
                check_action(definition, &poll.run, &at, &mut findings);
                polls::check(definition, step, poll, &at, &mut findings);
            }
            Work::Wait(Wait::For(length)) => {
                beyond_the_whole(definition, Some(*length), &format!("{at}.wait"), &mut findings);
            }
            Work::Workflow(sub) if sub.workflow == definition.workflow && starts_itself => {
                findings.extend(endless(definition, step, &at));
            }
            _ => {}
        }
    }
    findings
}

fn twice<'a>(names: impl Iterator<Item = &'a String>, at: &str, findings: &mut Vec<Finding>) {
    let mut seen = HashSet::new();
    for (i, name) in names.enumerate() {
        if !seen.insert(name) {
            findings.push(Finding::new(
                format!("{at}[{i}]"),
                format!("`{name}` is named twice"),
                "name it once",
            ));
        }
    }
}

fn check_action(definition: &Definition, action: &ActionDef, at: &str, findings: &mut Vec<Finding>) {
    let (attempt, step) = (action.timeout.attempt, action.timeout.step);
    if let (Some(attempt), Some(step)) = (attempt, step)
        && attempt > step
    {
        let problem =
            format!("one attempt may take {}, and the whole step only {}", show(attempt), show(step));
        findings.push(Finding::new(
            format!("{at}.timeout.attempt"),
            problem,
            format!("write at most {}", show(step)),
        ));
    }
    beyond_the_whole(definition, attempt, &format!("{at}.timeout.attempt"), findings);
    beyond_the_whole(definition, step, &format!("{at}.timeout.step"), findings);
    if let Some(retry) = &action.retry {
        check_retry(retry, action.each.is_some().then_some(()), at, findings);
    }
}

fn check_retry(retry: &Retry, fan_out: Option<()>, at: &str, findings: &mut Vec<Finding>) {
    if retry.scope == RetryScope::All && fan_out.is_none() {
        let problem = "`scope: all` is for the items of a fan-out, and this step has no `each`";
        findings.push(Finding::new(format!("{at}.retry.scope"), problem, "remove it"));
    }
    if let (Some(delay), Some(most)) = (retry.delay, retry.max_delay)
        && most < delay
    {
        let problem = format!("the longest wait is {}, and the first is {}", show(most), show(delay));
        findings.push(Finding::new(
            format!("{at}.retry.max_delay"),
            problem,
            format!("write at least {}", show(delay)),
        ));
    }
    let waits = retry.delay.is_some() || retry.backoff.is_some() || retry.max_delay.is_some();
    if retry.attempts == Some(1) && waits {
        let problem = "with one attempt nothing is tried again, so there is nothing to wait for";
        findings.push(Finding::new(
            format!("{at}.retry.attempts"),
            problem,
            "write 2 or more, or remove the delays",
        ));
    }
}

/// What takes longer than the whole may take can never be done.
pub(super) fn beyond_the_whole(
    definition: &Definition,
    length: Option<Duration>,
    field: &str,
    findings: &mut Vec<Finding>,
) {
    if let (Some(length), Some(timeout)) = (length, definition.timeout)
        && length > timeout
    {
        let problem =
            format!("{} is longer than the whole may take, which is {}", show(length), show(timeout));
        findings.push(Finding::new(field, problem, "write less, or a longer `timeout` for the workflow"));
    }
}

/// A workflow that starts itself whatever happens.
fn endless(definition: &Definition, step: &StepDef, at: &str) -> Option<Finding> {
    let on_branch = definition.steps.iter().any(|other| match &other.work {
        Work::Branch(branch) => branch.branches.values().flatten().any(|key| *key == step.key),
        _ => false,
    });
    let problem = format!("`{}` starts itself, whatever happens", definition.workflow);
    let fix = "say with `when` when it does, or put the step on a branch";
    (step.when.is_none() && !on_branch).then(|| Finding::new(format!("{at}.workflow"), problem, fix))
}
