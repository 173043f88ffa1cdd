//! What is done for each kind of step when its turn has come, and what follows when it has ended, in words.

use super::*;
use model::Pinned;
use serde_json::json;

fn plan(steps: Value) -> Plan {
    let text = json!({"workflow": "w", "version": "1.0.0", "concurrency": {"key": "input.key", "limit": 1}, "steps": steps});
    let pinned = Pinned { key: "w".into(), version: "1.0.0".into(), hash: "h".into() };
    Plan::compile(serde_json::from_value(text).expect("a definition"), Arc::new(pinned)).expect("it is sound")
}

/// What is to be done for the first step, and what was told of it.
fn todo_of(step: Value, input: Value) -> String {
    let (plan, answers) =
        (plan(json!([step, {"key": "x"}, {"key": "y"}])), Answers::of(input.to_string().into()));
    let mut told = Vec::new();
    let next = Next { step: 0, reached: true };
    let todo = todo(&plan, next, &Data::new(&plan, &answers), Timestamp(0), &mut told);
    let told: String =
        told.iter().map(|one| format!(" [{} {} {}]", one.kind, one.result, one.inputs)).collect();
    format!("{}{told}", words(&todo))
}

fn words(todo: &Todo) -> String {
    let given = |new: &NewStep| new.arguments.as_ref().map_or("-".into(), ToString::to_string);
    match todo {
        Todo::Run(new) => format!("run {} {} {:?}", new.action, given(new), new.max_attempts),
        Todo::RunInLine(new) => format!("in line {:?} {}", new.message_group, given(new)),
        Todo::RunEach(items) => format!("each of {}", items.text()),
        Todo::WaitUntil(at) => format!("wait until {}", at.0),
        Todo::Skip(reason) => format!("skip {reason}"),
        Todo::Choose(keys) => format!("choose {}", keys.join(" ")),
        Todo::Start(sub, input) => format!("start {} {input}", sub.workflow),
        Todo::Fail(why) => format!("fail: {why}"),
    }
}

fn action(more: Value) -> Value {
    let mut action = json!({"action": "go"});
    action.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    json!({"key": "a", "work": {"action": action}})
}

#[test]
fn a_step_is_run_with_what_it_is_given() {
    assert_eq!(todo_of(action(json!({})), json!({"n": 1})), r#"run go {"n":1} None"#);
    let given = json!({"arguments": {"m": "${input.n + 1}"}, "retry": {"attempts": 4}});
    assert_eq!(todo_of(action(given), json!({"n": 1})), r#"run go {"m":2} Some(4)"#);
    let poll = json!({"key": "a", "work": {"poll": {"run": {"action": "ask"}}}});
    assert_eq!(todo_of(poll, json!(7)), "run ask 7 None");
    let lined = json!({"message_group": "input.g", "mode": "next_on_error"});
    assert_eq!(todo_of(action(lined.clone()), json!({"g": 7})), r#"in line Some("7") {"g":7}"#);
    assert_eq!(todo_of(action(lined), json!({"g": [7]})), "fail: [7] is not a key");
    let wrong = todo_of(action(json!({"arguments": "${input.none.more}"})), json!({}));
    assert!(wrong.starts_with("fail: "), "{wrong}");
}

#[test]
fn a_step_is_run_for_each_item() {
    let each = |retry: Value| action(json!({"each": {"items": "input.items"}, "retry": retry}));
    assert_eq!(todo_of(each(json!({})), json!({"items": [1, 2]})), "each of [1,2]");
    let wrong = todo_of(each(json!({"attempts": 3, "scope": "all"})), json!({"items": "none"}));
    assert_eq!(wrong, "fail: `input.items` is \"none\"; write a list, or how many");
}

#[test]
fn a_step_whose_condition_does_not_hold_is_skipped_and_that_is_told() {
    let step = |when: &str| json!({"key": "a", "when": when});
    assert_eq!(
        todo_of(step("input.n > 1"), json!({"n": 1})),
        r#"skip condition_false [when false {"input.n":1}]"#
    );
    let runs = todo_of(step("input.n > 1"), json!({"n": 2}));
    assert!(runs.starts_with("run ") && runs.contains("[when true"), "{runs}");
    assert!(todo_of(step("input.n > 1"), json!({})).starts_with("fail: "));
    assert!(todo_of(step("input.n"), json!({"n": 2})).starts_with("fail: "), "a number is no condition");
}

#[test]
fn what_no_way_leads_to_is_left_out() {
    let (plan, answers) = (plan(json!([{"key": "a"}])), Answers::of("{}".into()));
    let next = Next { step: 0, reached: false };
    let todo = todo(&plan, next, &Data::new(&plan, &answers), Timestamp(0), &mut Vec::new());
    assert_eq!(words(&todo), "skip not_on_active_branch");
}

#[test]
fn a_wait_is_until_a_time() {
    let wait = |until: Value| json!({"key": "a", "work": {"wait": until}});
    assert_eq!(todo_of(wait(json!({"for": 5_000})), json!({})), "wait until 5000000");
    let until = |at: Value| todo_of(wait(json!({"until": "input.at"})), json!({"at": at}));
    assert_eq!(until(json!(12.5)), "wait until 12500000");
    assert_eq!(until(json!("1970-01-01T00:01:00Z")), "wait until 60000000");
    for wrong in [json!("soon"), json!(-1), json!(1e12), json!(null)] {
        let told = until(wrong.clone());
        assert_eq!(
            told,
            format!("fail: {wrong} is not a time; write it as 2026-11-16T20:00:00Z or in seconds")
        );
    }
}

/// What a choice comes to, of `x` and `y`.
fn chosen_by(kind: &str, otherwise: Option<&str>, value: Value) -> String {
    let branch = json!({"kind": kind, "choose": "input.way", "branches": {"x": ["x"], "y": ["y"]}, "otherwise": otherwise});
    let told = todo_of(json!({"key": "a", "work": {"branch": branch}}), json!({"way": value}));
    told.split(" [").next().unwrap_or_default().into()
}

#[test]
fn exactly_one_branch_is_chosen_or_some_or_the_choice_fails() {
    let one = |value: Value| chosen_by("exclusive", None, value);
    assert_eq!(one(json!("x")), "choose x");
    assert_eq!(one(json!(["y", "y"])), "choose y", "twice the same is once");
    assert_eq!(one(json!(["x", "y"])), "fail: 2 branches were chosen where exactly one is to be");
    assert_eq!(one(json!("z")), "fail: there is no branch `z`; there are x, y");
    assert_eq!(one(json!(true)), "fail: there is no branch `true`; there are x, y");
    assert_eq!(one(json!({})), "fail: {} is not a key");
    let none = "fail: no branch was chosen, and there is no `otherwise`";
    assert_eq!((one(json!(null)).as_str(), one(json!([])).as_str()), (none, none));
    assert_eq!(chosen_by("inclusive", None, json!(["y", "x"])), "choose y x");
    for value in [json!(null), json!([]), json!("z"), json!(["z"])] {
        assert_eq!(chosen_by("exclusive", Some("y"), value), "choose y");
    }
    let told = todo_of(
        json!({"key": "a", "work": {"branch": {"choose": "input.way", "branches": {"x": ["x"], "y": ["y"]}}}}),
        json!({"way": "x"}),
    );
    assert_eq!(told, r#"choose x [branch ["x"] {"input.way":"x"}]"#);
}

#[test]
fn a_workflow_is_started_with_its_input() {
    let step =
        |input: Value| json!({"key": "a", "work": {"workflow": {"workflow": "other", "input": input}}});
    assert_eq!(todo_of(step(json!({"m": "${input.n}"})), json!({"n": 3})), r#"start other {"m":3}"#);
    assert_eq!(todo_of(step(json!(null)), json!({"n": 3})), r#"start other {"n":3}"#, "that of the whole");
}

/// What the end of the first step means.
fn then(step: Value, state: State, reason: Option<Reason>) -> String {
    let plan = plan(json!([step, {"key": "x"}, {"key": "y"}]));
    let mut answers = Answers::of("{}".into());
    answers.put(0, r#"["x"]"#);
    let mut told = Vec::new();
    let (end, data) = (End { state, reason, error: Some("broke") }, Data::new(&plan, &answers));
    let then = after(&plan, 0, end, &data, &mut told);
    let passes = passed_on(&plan, 0, end, &data).is_some();
    let told: String = told.iter().map(|one| format!(" [{} {}]", one.kind, one.result)).collect();
    let shown = match then {
        Then::GoOn(passed) => format!("go on {passed:?}"),
        Then::End { state, message } => format!("end {state}: {message}"),
        Then::Fail(why) => format!("fail: {why}"),
        Then::Pause(why) => format!("pause: {why}"),
    };
    format!("{shown}{told}{}", if passes { " +" } else { "" })
}

fn branch() -> Value {
    json!({"branch": {"choose": "input.way", "branches": {"x": ["x"], "y": ["y"]}}})
}

#[test]
fn those_behind_a_step_go_on() {
    assert_eq!(then(json!({"key": "a"}), State::Completed, None), "go on On +");
    assert_eq!(
        then(json!({"key": "a", "work": branch()}), State::Completed, None),
        r#"go on Chose(["x"]) +"#
    );
    let skipped = |step: Value, reason| then(step, State::Skipped, Some(reason));
    assert_eq!(skipped(json!({"key": "a"}), Reason::ConditionFalse), "go on On +");
    assert_eq!(skipped(json!({"key": "a"}), Reason::NotOnActiveBranch), "go on Aside +");
    assert_eq!(skipped(json!({"key": "a", "work": branch()}), Reason::ConditionFalse), "go on Past +");
    let superseded = then(json!({"key": "a"}), State::Superseded, None);
    assert!(!superseded.ends_with('+'), "what is done again passes nothing on: {superseded}");
}

#[test]
fn the_whole_ends_where_a_step_says_so() {
    let step = |state: &str, condition: &str| json!({"key": "a", "terminate_when": {"if": condition, "state": state, "reason": "enough"}});
    let holds = "outputs.a[0] == 'x'";
    assert_eq!(
        then(step("failed", holds), State::Completed, None),
        "end failed: enough [terminate_when true] +"
    );
    assert_eq!(
        then(step("succeeded", holds), State::Completed, None),
        "end succeeded: enough [terminate_when true] +"
    );
    assert_eq!(
        then(step("failed", "outputs.a[0] == 'y'"), State::Completed, None),
        "go on On [terminate_when false] +"
    );
    let wrong = then(step("failed", "outputs.a.b.c"), State::Completed, None);
    assert!(wrong.starts_with("fail: step `a`: "), "{wrong}");
}

#[test]
fn a_failure_means_what_the_step_says() {
    let step = |policy: &str| json!({"key": "a", "on_failure": policy});
    let failed = |step: Value| then(step, State::Failed, None);
    assert_eq!(failed(step("fail_workflow")), "fail: step `a` failed: broke");
    assert_eq!(failed(step("pause_workflow")), "pause: step `a` failed: broke");
    assert_eq!(failed(step("skip_step")), "go on On +");
    assert_eq!(failed(step("continue_with_partial")), "go on On +");
    assert_eq!(failed(json!({"key": "a", "work": branch(), "on_failure": "skip_step"})), "go on Past +");
    let poll = |policy: &str| json!({"key": "a", "work": {"poll": {"run": {"action": "ask"}, "on_timeout": "pause"}}, "on_failure": policy});
    let over = |step: Value| then(step, State::TimedOut, Some(Reason::PollTimedOut));
    assert_eq!(over(poll("fail_workflow")), "pause: step `a` timed out: broke");
    assert_eq!(failed(poll("fail_workflow")), "fail: step `a` failed: broke", "only for want of an answer");
}

#[test]
fn what_was_taken_back_with_the_whole_has_not_failed() {
    let step = json!({"key": "a", "on_failure": "skip_step"});
    for reason in [Reason::WorkflowCompensating, Reason::TerminatedEarly] {
        let told = then(step.clone(), State::Cancelled, Some(reason));
        assert_eq!(told, "fail: step `a` was cancelled: broke", "so it is done again if the whole goes on");
    }
    assert_eq!(then(step, State::Cancelled, Some(Reason::ParentCancelled)), "go on On +");
}

#[test]
fn the_whole_comes_to_what_its_last_steps_answered() {
    let two = plan(json!([{"key": "a", "after": []}, {"key": "b", "after": []}]));
    let mut answers = Answers::of("{}".into());
    assert_eq!(output(&two, &answers), None);
    answers.put(1, "7");
    assert_eq!(output(&two, &answers).as_deref(), Some(r#"{"b":7}"#));
    answers.put(0, "[]");
    assert_eq!(output(&two, &answers).as_deref(), Some(r#"{"a":[],"b":7}"#));
    let half = format!("\"{}\"", "x".repeat(limits::PAYLOAD_BYTES_MAX / 2));
    answers.put(0, half.as_str());
    answers.put(1, half.as_str());
    assert_eq!(output(&two, &answers), None, "more than can be kept is found with the steps");
    let one = plan(json!([{"key": "a"}, {"key": "b"}]));
    assert_eq!(output(&one, &answers), Some(half));
}

#[test]
fn a_key_is_of_its_definition() {
    let keyed = plan(json!([{"key": "a"}]));
    let key =
        |input: &str| concurrency_key(&keyed, &Data::new(&keyed, &Answers::of(input.into()))).map_err(drop);
    assert_eq!(key(r#"{"key": 7}"#), Ok(Some("w:7".into())));
    assert_eq!(key(r#"{"key": {}}"#), Err(()));
    assert_eq!(key("{}"), Err(()));
    let text = json!({"workflow": "w", "version": "1.0.0", "steps": [{"key": "a"}]});
    let pinned = Pinned { key: "w".into(), version: "1.0.0".into(), hash: "h".into() };
    let free = Plan::compile(serde_json::from_value(text).expect("a definition"), Arc::new(pinned))
        .expect("it is sound");
    assert_eq!(concurrency_key(&free, &Data::new(&free, &Answers::of("{}".into()))).map_err(drop), Ok(None));
}
