//! What becomes of a flow, in text: where it is, what is said, where it is then.

use super::*;
use model::{FlowId, FlowName, NewFlowStep};

const NOW: Timestamp = Timestamp(1_000);

/// `running open | debited completed, credited pending, ?mailed pending`; one that somebody gave up is `failed given-up`
fn read(text: &str) -> (Flow, Vec<FlowStep>) {
    let (head, list) = text.split_once('|').unwrap_or((text, ""));
    let mut words = head.split_whitespace();
    let state: FlowState = words.next().unwrap().parse().unwrap();
    let (mut flow, _) = first(&ask(&[], FlowAgain::Resume, 1), 1, Timestamp(1));
    flow.state = state;
    let more = words.next();
    flow.open = more == Some("open");
    flow.given_up_at = (more == Some("given-up")).then_some(Timestamp(7));
    flow.error = (state == FlowState::Failed).then(|| "broke".into());
    let steps = list.split(',').map(str::trim).filter(|line| !line.is_empty()).enumerate();
    let step = |(position, line): (usize, &str)| {
        let (name, state) = line.split_once(' ').unwrap();
        FlowStep {
            name: name.trim_start_matches('?').into(),
            position: position as u32,
            optional: name.starts_with('?'),
            state: state.parse().unwrap(),
            at: None,
            message: None,
        }
    };
    (flow, steps.map(step).collect())
}

fn ask(steps: &[&str], again: FlowAgain, id: u64) -> FlowAsk {
    let name = FlowName {
        kind: "payment".into(),
        key: "7".into(),
        entity_type: String::new(),
        entity_id: String::new(),
    };
    let step = |name: &&str| NewFlowStep { name: (*name).into(), optional: false };
    FlowAsk {
        id: FlowId::of(id),
        name,
        user: None,
        steps: steps.iter().map(step).collect(),
        open: false,
        timeout: limits::FLOW_TIMEOUT_DEFAULT,
        message: None,
        retry: None,
        cancel: None,
        again,
        by: "shop".into(),
    }
}

fn told(decided: Decided) -> String {
    match decided {
        Err(refusal) => refusal.to_string(),
        Ok(None) => "as it is".into(),
        Ok(Some(Changed { flow, steps, event, .. })) => {
            let steps: Vec<String> = steps.iter().map(|s| format!("{} {}", s.name, s.state)).collect();
            assert_eq!(flow.finished_at.is_some(), flow.state.is_over(), "{flow:?}");
            assert_eq!(flow.error.is_some(), flow.state == FlowState::Failed, "{flow:?}");
            assert!(flow.given_up_at.is_none() || flow.state == FlowState::Failed, "{flow:?}");
            assert_eq!((flow.version, flow.updated_at), (2, NOW));
            format!("{event}: {} [{}]", flow.state, steps.join(", "))
        }
    }
}

fn check(text: &str, says: &str, expected: &str) {
    let (flow, steps) = read(text);
    let words: Vec<&str> = says.split_whitespace().collect();
    let decided = match words[..] {
        ["complete", name] => mark(&flow, &steps, (name, FlowStepState::Completed), None, NOW),
        ["fail", name] => mark(&flow, &steps, (name, FlowStepState::Failed), Some("no money"), NOW),
        ["skip", name] => mark(&flow, &steps, (name, FlowStepState::Skipped), None, NOW),
        ["update", to] => update(&flow, &steps, Some(to.parse().unwrap()), None, NOW),
        ["finish", to] => finish(&flow, &steps, to.parse().unwrap(), None, NOW),
        ["retry"] => asked(&flow, Wish::Retry, Doing::default(), None, NOW),
        ["cancel"] => asked(&flow, Wish::Cancel, Doing::default(), None, NOW),
        _ => panic!("{says}"),
    };
    assert_eq!(told(decided), expected, "{text} / {says}");
}

#[test]
fn a_step_is_completed_once_and_the_last_one_ends_the_flow() {
    check("pending | a pending, b pending", "complete a", "step_completed: running [a completed]");
    check("running | a completed, b pending", "complete a", "as it is");
    check("running | a completed, b pending", "complete b", "step_completed: completed [b completed]");
    check("completed | a completed", "complete a", "as it is");
    check("running | a skipped, b pending", "skip b", "step_skipped: completed [b skipped]");
    check("running | a skipped, b pending", "complete a", "step_completed: running [a completed]");
}

#[test]
fn a_flow_in_which_something_failed_is_failed_even_if_nothing_pends() {
    check("running | a completed, b pending", "fail b", "step_failed: failed [b failed]");
    check("failed | a pending, b failed", "complete a", "step_completed: failed [a completed]");
    check("failed | a completed, b failed", "complete b", "step_completed: completed [b completed]");
    check("failed | a completed, b failed", "skip b", "step_skipped: completed [b skipped]");
    check(
        "running | a completed, b pending",
        "fail a",
        "step `a` is completed, so it cannot be failed any more",
    );
    check("running | a skipped", "skip a", "as it is");
    check(
        "running | a completed, b pending",
        "skip a",
        "step `a` is completed, so it cannot be skipped any more",
    );
}

#[test]
fn an_optional_step_holds_nothing_up_by_failing() {
    check("running | a completed, ?m pending", "fail m", "step_failed: completed [m failed]");
    check("running | a pending, ?m pending", "fail m", "step_failed: running [m failed]");
    check("running | a pending, ?m pending", "complete a", "step_completed: running [a completed]");
    check("running | a completed, ?m pending", "finish completed", "finished: completed [m skipped]");
}

#[test]
fn a_step_that_was_not_declared_is_refused_unless_the_flow_is_open() {
    check("running | a pending, b pending", "complete c", "it has no step `c`; it has `a`, `b`");
    check("running", "complete c", "it has no step `c`; it has none");
    check("running open | a completed", "complete c", "step_completed: running [c completed]");
    check("running open | a completed", "finish completed", "finished: completed []");
}

#[test]
fn an_end_is_not_left() {
    let said =
        [("completed", "is completed"), ("cancelled", "was cancelled"), ("superseded", "was superseded")];
    for (end, said) in said {
        let over = format!("it {said} and takes nothing more; start another run with `again: new`");
        let flow = format!("{end} | a pending");
        for says in ["complete a", "fail a", "skip a", "update running", "finish failed", "retry", "cancel"] {
            check(&flow, says, &over);
        }
        check(&flow, &format!("finish {end}"), "as it is");
    }
}

#[test]
fn it_is_finished_when_it_is_whole_or_given_up() {
    let missing =
        "it is not whole: `b`, `c` are not done; complete or skip them, or finish it as failed or cancelled";
    check("failed | a completed, b failed, c pending", "finish completed", missing);
    check("running | a completed, b pending", "finish failed", "finished: failed []");
    check("running | a completed, b pending", "finish cancelled", "finished: cancelled []");
    check("pending", "finish completed", "finished: completed []");
    check("failed | a failed", "finish failed", "finished: failed []");
    check("failed given-up | a failed", "finish failed", "as it is");
}

/// A report that came late completed a flow that somebody had finished as failed.
#[test]
fn what_is_said_late_is_on_record_and_brings_nothing_back() {
    let late = "failed given-up | a completed, b pending";
    check(late, "complete b", "step_completed: failed [b completed]");
    check(late, "skip b", "step_skipped: failed [b skipped]");
    check(late, "fail b", "step_failed: failed [b failed]");
    let (flow, steps) = read(late);
    let next = mark(&flow, &steps, ("b", FlowStepState::Failed), Some("no money"), NOW).unwrap().unwrap();
    assert_eq!(next.flow.error.as_deref(), Some("broke"), "why it was given up stays");
    assert_eq!(next.flow.given_up_at, Some(Timestamp(7)));
    check(late, "update running", "state_updated: running []");
    check("failed given-up | a completed, b failed", "update running", "state_updated: running [b pending]");
    check("failed given-up | a completed, b completed", "update running", "state_updated: completed []");
    check("failed given-up | a completed, b completed", "finish completed", "finished: completed []");
    check("failed given-up", "update running", "state_updated: running []");
    let (flow, steps) = read("failed | a completed, b failed");
    let next = finish(&flow, &steps, FlowState::Failed, None, NOW).unwrap().unwrap().flow;
    assert_eq!(
        (next.given_up_at, next.error.as_deref()),
        (Some(NOW), Some("broke")),
        "what went wrong stays"
    );
}

#[test]
fn what_failed_is_before_it_again_when_it_runs_again() {
    check("pending | a pending", "update running", "state_updated: running []");
    check("failed | a completed, b failed", "update running", "state_updated: running [b pending]");
    check("running | a pending", "update running", "as it is");
    check("running | a pending", "update pending", &FlowRefusal::Begun.to_string());
    check("running | a pending", "update completed", "`completed` is how a flow ends; use `finish` for that");
    let (flow, steps) = read("running | a pending");
    let said = update(&flow, &steps, None, Some("almost there"), NOW).unwrap().unwrap().flow;
    assert_eq!(
        (said.state, said.previous_state, said.message.as_deref()),
        (FlowState::Running, None, Some("almost there"))
    );
    let ran =
        update(&Flow { state: FlowState::Pending, ..flow }, &steps, Some(FlowState::Running), None, NOW);
    assert_eq!(ran.unwrap().unwrap().flow.previous_state, Some(FlowState::Pending));
}

#[test]
fn what_is_asked_for_is_done_by_what_was_declared() {
    check("failed | a failed", "retry", &FlowRefusal::NoRetry.to_string());
    check("failed | a failed", "cancel", "cancel_asked: cancelled []");
    let (mut flow, _) = read("failed | a failed");
    let action = FlowAction { action: "pay".into(), queue: None, arguments: None };
    (flow.retry, flow.cancel) = (Some(action.clone()), Some(action));
    for wish in [Wish::Retry, Wish::Cancel] {
        let doing = Doing { step: Some(StepId::of(3)), before: None };
        let next = asked(&flow, wish, doing, None, NOW).unwrap().unwrap();
        assert_eq!(
            (next.flow.state, next.flow.error.as_deref()),
            (FlowState::Failed, Some("broke")),
            "whoever does it says more"
        );
        assert_eq!(next.step, Some(StepId::of(3).to_string()), "its history says which step does it");
        let again = Doing { before: doing.step, ..doing };
        assert_eq!(asked(&flow, wish, again, None, NOW), Ok(None), "the same again is nothing new");
        let other = Doing { step: Some(StepId::of(4)), before: doing.step };
        assert!(asked(&flow, wish, other, None, NOW).unwrap().is_some());
    }
}

#[test]
fn a_second_start_resumes_or_makes_a_run_as_asked() {
    use FlowAgain::{New, Resume};
    let (live, _) = read("running | a pending");
    let over = Flow { state: FlowState::Completed, run: 4, ..live.clone() };
    let start = |again, id, last: Option<&Flow>| super::start(&ask(&[], again, id), last);
    assert_eq!(start(Resume, 2, None), Starting::New { run: 1 });
    assert_eq!(start(Resume, 2, Some(&live)), Starting::Resume);
    assert_eq!(start(New, 2, Some(&live)), Starting::New { run: 2 });
    assert_eq!(start(New, 1, Some(&live)), Starting::Resume, "it is what it made itself");
    assert_eq!(start(Resume, 2, Some(&over)), Starting::New { run: 5 });
    let failed = Flow { state: FlowState::Failed, ..live };
    assert_eq!(start(Resume, 2, Some(&failed)), Starting::Resume, "what failed goes on where it was");
}

/// Whatever is said in whatever order: parts stay disjoint, and an end stays.
#[test]
fn every_word_in_every_state_leaves_a_sound_flow() {
    let says = |n: usize| FlowStepState::ALL[n % 4];
    for seed in 0..4_000_usize {
        let (mut flow, mut steps) = first(&ask(&["a", "b", "c"], FlowAgain::Resume, 1), 1, Timestamp(1));
        let mut dice = seed;
        for _ in 0..8 {
            let name = ["a", "b", "c"][dice % 3];
            let decided = match dice % 5 {
                0..3 => mark(&flow, &steps, (name, says(dice / 5)), None, NOW),
                3 => update(&flow, &steps, Some(FlowState::ALL[dice / 5 % 6]), None, NOW),
                _ => finish(&flow, &steps, FlowState::ALL[2 + dice / 5 % 3], None, NOW),
            };
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 7;
            let Ok(Some(next)) = decided else { continue };
            assert!(!flow.state.is_over(), "seed {seed}: {flow:?} was left");
            flow = next.flow;
            for step in next.steps {
                steps.retain(|other| other.name != step.name);
                steps.push(step);
            }
            assert_eq!(steps.len(), 3, "seed {seed}");
            let failed = steps.iter().any(|step| step.state == FlowStepState::Failed);
            assert!(
                !failed || matches!(flow.state, FlowState::Failed | FlowState::Cancelled),
                "seed {seed}: {flow:?} {steps:?}"
            );
            let done =
                |step: &FlowStep| matches!(step.state, FlowStepState::Completed | FlowStepState::Skipped);
            assert_eq!(
                flow.state == FlowState::Completed,
                flow.state != FlowState::Cancelled
                    && flow.state != FlowState::Failed
                    && steps.iter().all(done),
                "seed {seed}"
            );
        }
    }
}

/// A flow where it can be, with two steps that it needs and one that it does not.
fn scene(at: &str) -> String {
    let steps = match at {
        "pending" => "a pending, b pending, ?m pending",
        "failed" => "a completed, b failed, ?m pending",
        "completed" => "a completed, b completed, ?m skipped",
        _ => "a completed, b pending, ?m pending",
    };
    format!("{at} | {steps}")
}

/// Where it is after this was said, `·` where that is refused and `=` where nothing changes.
fn cell(at: &str, says: &str) -> String {
    let (flow, steps) = read(&scene(at));
    let decided = match says.split_once(' ') {
        Some(("update", to)) => update(&flow, &steps, Some(to.parse().unwrap()), None, NOW),
        Some(("finish", to)) => finish(&flow, &steps, to.parse().unwrap(), None, NOW),
        Some((verb, name)) => {
            let to = ["complete", "fail", "skip"].iter().position(|known| *known == verb).unwrap();
            mark(&flow, &steps, (name, FlowStepState::ALL[to + 1]), Some("said"), NOW)
        }
        None => asked(&flow, Wish::Cancel, Doing::default(), None, NOW),
    };
    match decided {
        Err(_) => "·".into(),
        Ok(None) => "=".into(),
        Ok(Some(next)) => next.flow.state.to_string(),
    }
}

#[test]
fn the_whole_matrix_is_the_one_in_the_document() {
    let says = [
        "complete a",
        "complete b",
        "fail a",
        "fail b",
        "skip b",
        "complete m",
        "fail m",
        "skip m",
        "update pending",
        "update running",
        "finish completed",
        "finish failed",
        "finish cancelled",
        "cancel",
    ];
    let states: Vec<&str> =
        FlowState::ALL.iter().map(|state| state.word()).chain(["failed given-up"]).collect();
    let mut table = format!("| said | {} |\n|---|{}\n", states.join(" | "), "---|".repeat(states.len()));
    for said in says {
        let cells: Vec<String> = states.iter().map(|at| cell(at, said)).collect();
        table += &format!("| {said} | {} |\n", cells.join(" | "));
    }
    let document = include_str!("../../../../docs/machines/flow.md");
    assert!(document.contains(&table), "the document says otherwise; the rule says\n{table}");
}
