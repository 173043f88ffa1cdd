//! What strategies and people decide about a workflow, in words.

use super::*;
use model::Pinned;
use std::sync::Arc;

/// `a`, `b` and `c` in a row; what undoes them is named behind them.
fn plan(head: &str, steps: &str) -> Plan {
    let step = |text: &str| match text.split_once('/') {
        Some((key, undo)) => {
            format!(r#"{{"key":"{key}","compensation":{{"run":{{"action":"{undo}"}},"when":"completed"}}}}"#)
        }
        None => format!(r#"{{"key":"{text}"}}"#),
    };
    let steps: Vec<String> = steps.split_whitespace().map(step).collect();
    let text = format!(r#"{{"workflow":"w","version":"1.0.0"{head},"steps":[{}]}}"#, steps.join(","));
    let pinned = Pinned { key: "w".into(), version: "1.0.0".into(), hash: "h".into() };
    Plan::compile(serde_json::from_str(&text).expect("a definition"), Arc::new(pinned)).expect("it is sound")
}

/// What is decided about a workflow of which the first steps are over and these are broken.
fn judged(plan: &Plan, state: W, (over, broken, cut): (u32, &[u32], &[u32]), decision: Decision) -> String {
    let (mut progress, _) = Progress::start(&plan.graph);
    for n in 0..over {
        progress.pass(&plan.graph, n, super::super::progress::Passed::On);
    }
    broken.iter().for_each(|n| progress.begin(*n));
    let (broken, cut) = (broken.iter().copied().collect(), cut.iter().copied().collect());
    let view = View { plan, state, is_resolved: false, progress: &progress, broken: &broken, cut: &cut };
    match judge(&view, &decision) {
        Ok(verdict) => format!("{}: {}", verdict.leads_to(), verdict.tell(&view).join("; ")),
        Err(Refused(why)) => format!("no: {why}"),
    }
}

fn from(step: &str) -> Decision {
    let (mode, include_step, force) = (RetryMode::RetryOnly, false, false);
    Decision::RetryFromStep { step: step.into(), mode, include_step, force, items: None }
}

#[test]
fn the_strategy_says_what_follows_a_failure() {
    let (step, now) = (StepId::from_bytes([7; 16]), Timestamp(0));
    let of = |head: &str, retries: u32| {
        let resolution = plan(head, "a/undo b").definition.on_failure;
        on_failure(&resolution, retries, step, now)
    };
    assert_eq!(of("", 0), (Follow::Await, false));
    let auto = r#","on_failure":{"strategy":"auto_compensate"}"#;
    assert_eq!(of(auto, 0), (Follow::Compensate(CompensationScope::Full), false));
    let chosen = r#","on_failure":{"strategy":"auto_compensate","scope":["a"]}"#;
    assert_eq!(of(chosen, 0), (Follow::Compensate(CompensationScope::Partial(vec!["a".into()])), false));
    let retry = r#","on_failure":{"strategy":"auto_retry","max_retries":2,"delay":1000,"backoff":3.0,"max_delay":2000}"#;
    let wait = |retries| match of(retry, retries) {
        (Follow::RetryAt(at), false) => at.0,
        other => panic!("{other:?}"),
    };
    assert!((900_000..=1_000_000).contains(&wait(0)), "a tenth is left to chance");
    assert!((1_800_000..=2_000_000).contains(&wait(1)), "never longer than the longest");
    assert_eq!(of(retry, 2), (Follow::Await, true));
    let usual = r#","on_failure":{"strategy":"auto_retry","fallback":"auto_compensate"}"#;
    assert!(matches!(of(usual, 2), (Follow::RetryAt(_), false)));
    assert_eq!(of(usual, 3), (Follow::Compensate(CompensationScope::Full), true));
}

#[test]
fn what_was_meant_to_fail_is_not_tried_again() {
    let of = |head: &str| on_end(&plan(head, "a/undo").definition.on_failure);
    assert_eq!(of(r#","on_failure":{"strategy":"auto_retry"}"#), Follow::Await);
    let auto = r#","on_failure":{"strategy":"auto_compensate"}"#;
    assert_eq!(of(auto), Follow::Compensate(CompensationScope::Full));
    assert_eq!(on_timeout(OnTimeout::Fail), (Follow::End, true));
    assert_eq!(on_timeout(OnTimeout::AwaitDecision), (Follow::Await, false));
    assert_eq!(on_timeout(OnTimeout::Compensate), (Follow::Compensate(CompensationScope::Full), false));
    assert_eq!(plan(auto, "a/undo").definition.on_timeout(), OnTimeout::Compensate);
    assert_eq!(plan(auto, "a/undo").definition.on_cancel(), OnCancel::Compensate);
}

#[test]
fn a_retry_is_of_what_failed() {
    let plan = plan("", "a b c");
    let again = "step `b` is done again; its last run is kept as superseded";
    assert_eq!(judged(&plan, W::Failed, (1, &[1], &[]), Decision::RETRY), format!("running: {again}"));
    assert_eq!(
        judged(&plan, W::Failed, (3, &[], &[]), Decision::RETRY),
        "no: none of its steps failed; name the step to retry from"
    );
    assert_eq!(
        judged(&plan, W::Running, (1, &[], &[]), Decision::RETRY),
        "no: it is running; only what failed can be retried"
    );
}

#[test]
fn from_a_step_everything_behind_it_is_done_again() {
    let plan = plan("", "a b/undo c");
    assert_eq!(
        judged(&plan, W::Failed, (1, &[1], &[]), from("b")),
        "running: step `b` is done again; its last run is kept as superseded; step `c` is done when its turn comes; \
         step `b` may have been done and is not undone before"
    );
    assert_eq!(judged(&plan, W::Failed, (1, &[1], &[]), from("c")), "no: step `c` has not been done yet");
    assert_eq!(
        judged(&plan, W::Failed, (1, &[1], &[]), from("x")),
        "no: there is no step `x`; there are a, b, c"
    );
    assert_eq!(
        judged(&plan, W::Succeeded, (3, &[], &[]), from("c")),
        "no: it succeeded; say so if it is to be done again all the same"
    );
    assert_eq!(
        judged(&plan, W::Running, (1, &[], &[]), from("a")),
        "no: it is running; it is done again when it has failed or is paused"
    );
    let (mode, force) = (RetryMode::CompensateThenRetry, false);
    let undo =
        |include_step| Decision::RetryFromStep { step: "a".into(), mode, include_step, force, items: None };
    let then = "compensating: then it is done again from step `a`";
    assert_eq!(judged(&plan, W::Failed, (1, &[1], &[]), undo(false)), then);
    assert_eq!(judged(&plan, W::Paused, (1, &[1], &[]), undo(true)), then);
}

#[test]
fn only_what_says_how_is_undone() {
    let scope = |scope| Decision::Compensate { scope };
    let some = plan("", "a/undo b");
    let failed = (1, &[1][..], &[][..]);
    assert_eq!(
        judged(&some, W::Failed, failed, scope(CompensationScope::Full)),
        "compensating: then it is over"
    );
    assert_eq!(
        judged(&some, W::Failed, failed, scope(CompensationScope::Partial(vec!["b".into()]))),
        "no: step `b` says nothing of how it is undone"
    );
    assert_eq!(
        judged(&some, W::Failed, failed, scope(CompensationScope::Partial(vec![]))),
        "no: no step was named"
    );
    let from = scope(CompensationScope::FromStep("x".into()));
    assert_eq!(judged(&some, W::Failed, failed, from), "no: there is no step `x`; there are a, b");
    assert_eq!(
        judged(&some, W::Compensated, failed, scope(CompensationScope::Full)),
        "no: it was compensated, so nothing of it is undone"
    );
    assert_eq!(
        judged(&plan("", "a b"), W::Failed, failed, scope(CompensationScope::Full)),
        "no: none of its steps says how it is undone; write `compensation` in the definition"
    );
}

#[test]
fn a_scope_names_steps_that_are_there() {
    let (plan, failed) = (plan("", "a/undo b"), (1, &[1][..], &[][..]));
    let chosen = |scope| judged(&plan, W::Failed, failed, Decision::Compensate { scope });
    let over = "compensating: then it is over";
    assert_eq!(chosen(CompensationScope::Partial(vec!["a".into()])), over);
    assert_eq!(chosen(CompensationScope::FromStep("b".into())), over);
    assert_eq!(chosen(CompensationScope::AfterStep("a".into())), over);
    let unknown = "no: there is no step `x`; there are a, b";
    assert_eq!(chosen(CompensationScope::Partial(vec!["x".into()])), unknown);
    assert_eq!(chosen(CompensationScope::AfterStep("x".into())), unknown);
}

#[test]
fn what_succeeded_is_done_again_by_force_and_what_is_resolved_by_nobody() {
    let plan = plan("", "a b");
    let (mode, include_step) = (RetryMode::RetryOnly, false);
    let force = Decision::RetryFromStep { step: "b".into(), mode, include_step, force: true, items: None };
    let told = judged(&plan, W::Succeeded, (2, &[], &[]), force.clone());
    assert_eq!(told, "running: step `b` is done again; its last run is kept as superseded");
    let (progress, none) = (Progress::start(&plan.graph).0, BTreeSet::new());
    let view = View {
        plan: &plan,
        state: W::Failed,
        is_resolved: true,
        progress: &progress,
        broken: &none,
        cut: &none,
    };
    let all = [Decision::RETRY, force, Decision::Cancel { on_cancel: None }, Decision::MarkResolved];
    for decision in all {
        let why = judge(&view, &decision).map_err(|refused| refused.0);
        assert_eq!(why, Err("it was marked as resolved: nothing more is decided about it".into()));
    }
}

#[test]
fn what_is_cancelled_is_undone_where_somebody_says_so() {
    let cancel = |on_cancel| Decision::Cancel { on_cancel };
    let plan = plan(r#","on_cancel":"compensate""#, "a/undo b");
    let running = (1, &[][..], &[][..]);
    assert_eq!(judged(&plan, W::Running, running, cancel(None)), "compensating: then it is over");
    assert_eq!(
        judged(&plan, W::Running, running, cancel(Some(OnCancel::Leave))),
        "cancelled: it is over; what was done stays done"
    );
    assert_eq!(
        judged(&plan, W::Pending, running, cancel(None)),
        "cancelled: it is over; what was done stays done"
    );
    assert_eq!(
        judged(&plan, W::Compensating, running, cancel(None)),
        "no: it is compensating, so it cannot be cancelled"
    );
}

#[test]
fn what_cannot_be_undone_is_tried_again_or_left() {
    let (plan, at) = (plan("", "a/undo b"), (1, &[1][..], &[][..]));
    let stuck = W::CompensationFailed;
    assert_eq!(
        judged(&plan, stuck, at, Decision::RetryCompensation),
        "compensating: what could not be undone is tried again"
    );
    assert_eq!(
        judged(&plan, stuck, at, Decision::SkipCompensation { all: false }),
        "compensating: it is left as it is, and the rest is undone"
    );
    assert_eq!(
        judged(&plan, stuck, at, Decision::SkipCompensation { all: true }),
        "compensated: all that is not undone is left as it is"
    );
    assert_eq!(
        judged(&plan, W::Failed, at, Decision::RetryCompensation),
        "no: it failed; nothing of it could not be undone"
    );
    assert_eq!(
        judged(&plan, W::Failed, at, Decision::MarkResolved),
        "failed: it stays failed, and nobody is asked any more"
    );
    assert_eq!(
        judged(&plan, W::Running, at, Decision::MarkResolved),
        "no: it is running; only what failed can be resolved"
    );
}
