//! What a definition says of its failures must be possible.

use super::Finding;
use model::definition::{Definition, Fallback, OnCancel, OnTimeout, Resolution, Strategy};

pub(super) fn check(definition: &Definition) -> Vec<Finding> {
    let mut findings = contradictions(&definition.on_failure);
    findings.extend(scope(definition));
    if definition.on_timeout.is_some() && definition.timeout.is_none() {
        let problem = "it may take as long as it likes, so this never happens";
        findings.push(Finding::new("on_timeout", problem, "write `timeout`, or remove it"));
    }
    if definition.steps.iter().all(|step| step.compensation.is_none()) {
        let resolution = &definition.on_failure;
        let undoes = [
            ("on_failure.strategy", resolution.strategy == Strategy::AutoCompensate),
            ("on_failure.fallback", resolution.fallback == Some(Fallback::AutoCompensate)),
            ("on_cancel", definition.on_cancel == Some(OnCancel::Compensate)),
            ("on_timeout", definition.on_timeout == Some(OnTimeout::Compensate)),
        ];
        for (field, _) in undoes.into_iter().filter(|(_, undoes)| *undoes) {
            let problem = "nothing can be undone: no step says how";
            findings.push(Finding::new(
                field,
                problem,
                "write `compensation: { action: … }` in the steps that can be undone",
            ));
        }
    }
    findings
}

/// Options of one strategy beside another.
fn contradictions(resolution: &Resolution) -> Vec<Finding> {
    let retries = [
        ("max_retries", resolution.max_retries.is_some()),
        ("delay", resolution.delay.is_some()),
        ("backoff", resolution.backoff.is_some()),
        ("max_delay", resolution.max_delay.is_some()),
        ("fallback", resolution.fallback.is_some()),
    ];
    let mut findings = Vec::new();
    if resolution.strategy != Strategy::AutoRetry {
        for (key, _) in retries.into_iter().filter(|(_, is_written)| *is_written) {
            let problem = format!("`{key}` is for retries, and it is not retried by itself");
            findings.push(Finding::new(
                format!("on_failure.{key}"),
                problem,
                "write `strategy: auto_retry`, or remove it",
            ));
        }
    }
    if let (Some(delay), Some(most)) = (resolution.delay, resolution.max_delay)
        && most < delay
    {
        let (most, delay) = (crate::duration::show(most), crate::duration::show(delay));
        let problem = format!("the longest wait is {most}, and the first is {delay}");
        findings.push(Finding::new("on_failure.max_delay", problem, format!("write at least {delay}")));
    }
    let undoes = resolution.strategy == Strategy::AutoCompensate
        || resolution.fallback == Some(Fallback::AutoCompensate);
    if resolution.scope.is_some() && !undoes {
        let problem = "`scope` says what is undone, and nothing is undone by itself";
        findings.push(Finding::new(
            "on_failure.scope",
            problem,
            "write `strategy: auto_compensate`, or remove it",
        ));
    }
    findings
}

/// What is undone by itself must be steps that can be.
fn scope(definition: &Definition) -> Vec<Finding> {
    let keys = definition.on_failure.scope.iter().flatten().enumerate();
    let wrong = |(n, key): (usize, &String)| {
        let field = format!("on_failure.scope[{n}]");
        match definition.steps.iter().find(|step| step.key == *key) {
            None => Some(Finding::new(
                field,
                format!("there is no step `{key}`"),
                "name a step of this definition",
            )),
            Some(step) if step.compensation.is_none() => {
                let problem = format!("step `{key}` says nothing of how it is undone");
                Some(Finding::new(
                    field,
                    problem,
                    format!("write `compensation` in `{key}`, or remove it here"),
                ))
            }
            Some(_) => None,
        }
    };
    keys.filter_map(wrong).collect()
}
