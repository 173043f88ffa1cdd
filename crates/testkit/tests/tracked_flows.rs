//! Tracked flows, on whichever database: what is said about them, by how many at once, and what is left on record.

use engine::{Engine, FlowError, FlowNow, FlowRefusal, FlowWish, Saying, StartFlow};
use model::{FlowAction, FlowAgain, FlowId, FlowName, FlowState, FlowStepState, NewFlowStep, State, limits};
use std::time::Duration;
use stepfast_testkit::Stage;
use store::flows::FlowFilter;
use store::{Asked, Retaining, Retention};

fn payment(id: &str, steps: &[&str]) -> StartFlow {
    let name = FlowName {
        kind: "payment".into(),
        key: String::new(),
        entity_type: "payment".into(),
        entity_id: id.into(),
    };
    let step =
        |text: &&str| NewFlowStep { name: text.trim_end_matches('?').into(), optional: text.ends_with('?') };
    StartFlow { steps: steps.iter().map(step).collect(), ..StartFlow::new(name, "shop") }
}

fn of(flow: FlowId) -> Saying {
    Saying { flow, message: None, by: "shop".into() }
}

fn because(flow: FlowId, message: &str) -> Saying {
    Saying { message: Some(message.into()), ..of(flow) }
}

async fn start(engine: &Engine, start: StartFlow) -> FlowNow {
    engine.flows().start(start).await.expect("it starts")
}

/// `running: debited completed, credited pending`
fn told(now: &FlowNow) -> String {
    let steps: Vec<String> = now.steps.iter().map(|step| format!("{} {}", step.name, step.state)).collect();
    format!("{}: {}", now.flow.state, steps.join(", "))
}

fn refusal(told: Result<FlowNow, FlowError>) -> FlowRefusal {
    match told {
        Err(FlowError::Refused { why, .. }) => why,
        other => panic!("it was not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_flow_is_whole_when_its_steps_are_and_its_history_tells_how() {
    let stage = Stage::new().await;
    let flows = stage.engine.flows();
    let flow = start(&stage.engine, payment("1", &["debited", "credited", "mailed?"])).await.flow;
    assert_eq!((flow.state, flow.run, flow.version), (FlowState::Pending, 1, 1));
    assert_eq!(flow.timeout_at, flow.started_at + limits::FLOW_TIMEOUT_DEFAULT);
    let now = flows.complete(of(flow.id), "debited").await.expect("it is done");
    assert_eq!(told(&now), "running: debited completed, credited pending, mailed pending");
    assert_eq!(now.flow.previous_state, Some(FlowState::Pending));
    let again = flows.complete(of(flow.id), "debited").await.expect("to say so twice is no mistake");
    assert_eq!((again.changed, again.flow.version), (false, now.flow.version));
    let now = flows.fail(because(flow.id, "no money"), "credited").await.expect("it failed");
    assert_eq!((now.flow.state, now.flow.error.as_deref()), (FlowState::Failed, Some("no money")));
    stage.advance(Duration::from_secs(60)).await;
    let now = flows.complete(of(flow.id), "credited").await.expect("it was tried again");
    assert_eq!((now.flow.state, now.flow.error), (FlowState::Running, None));
    let now = flows.finish(of(flow.id), FlowState::Completed).await.expect("it is whole");
    assert_eq!(told(&now), "completed: debited completed, credited completed, mailed skipped");
    assert!(now.flow.finished_at.expect("it is over") > flow.started_at);
    let shown = stage.browse().flow(flow.id).expect("a read").expect("it is on record");
    let history: Vec<String> =
        shown.history.iter().map(|line| format!("{} {} {}", line.number, line.event, line.state)).collect();
    assert_eq!(
        history,
        [
            "1 started pending",
            "2 step_completed running",
            "3 step_failed failed",
            "4 step_completed running",
            "5 finished completed"
        ]
    );
    stage.check();
}

#[tokio::test]
async fn what_cannot_be_said_is_refused_in_words() {
    let stage = Stage::new().await;
    let flows = stage.engine.flows();
    let flow = start(&stage.engine, payment("1", &["debited", "credited"])).await.flow.id;
    let unknown = refusal(flows.complete(of(flow), "refunded").await);
    assert_eq!(unknown.to_string(), "it has no step `refunded`; it has `debited`, `credited`");
    assert_eq!(refusal(flows.complete(of(FlowId::of(9)), "debited").await), FlowRefusal::NotThere);
    let missing = refusal(flows.finish(of(flow), FlowState::Completed).await);
    assert!(missing.to_string().contains("`debited`, `credited` are not done"), "{missing}");
    flows.complete(of(flow), "debited").await.expect("it is done");
    assert!(matches!(refusal(flows.fail(of(flow), "debited").await), FlowRefusal::StepEnded { .. }));
    flows.finish(of(flow), FlowState::Cancelled).await.expect("it is called off");
    assert_eq!(refusal(flows.complete(of(flow), "credited").await), FlowRefusal::Over(FlowState::Cancelled));
    for wrong in [
        flows.complete(of(flow), " ").await,
        flows.complete(because(flow, &"x".repeat(limits::FLOW_MESSAGE_BYTES_MAX + 1)), "credited").await,
        flows.complete(because(flow, "a\0b"), "credited").await,
        flows.finish(of(flow), FlowState::Running).await,
        flows.update(of(flow), None).await,
        flows.start(payment("", &[])).await,
        flows.start(payment("2", &["a", "a"])).await,
    ] {
        assert!(matches!(wrong, Err(FlowError::Invalid(_))), "{wrong:?}");
    }
    stage.check();
}

#[tokio::test]
async fn a_flow_without_steps_is_whole_when_it_is_said_to_be_and_an_open_one_learns_its_steps() {
    let stage = Stage::new().await;
    let flows = stage.engine.flows();
    let bare = start(&stage.engine, payment("1", &[])).await.flow.id;
    assert_eq!(told(&flows.finish(of(bare), FlowState::Completed).await.expect("it ends")), "completed: ");
    let open = start(&stage.engine, StartFlow { open: true, ..payment("2", &["a"]) }).await.flow.id;
    flows.complete(of(open), "b").await.expect("it is new");
    let now = flows.complete(of(open), "a").await.expect("it is done");
    assert_eq!(told(&now), "running: a completed, b completed", "somebody has to say that it is all");
    for n in 0..limits::FLOW_STEPS_MAX - 2 {
        flows.complete(of(open), &format!("s{n}")).await.expect("there is room");
    }
    assert_eq!(refusal(flows.complete(of(open), "one more").await), FlowRefusal::TooManySteps);
    let now = flows.finish(of(open), FlowState::Completed).await.expect("it is whole");
    assert_eq!((now.flow.state, now.steps.len()), (FlowState::Completed, limits::FLOW_STEPS_MAX));
    stage.check();
}

#[tokio::test]
async fn a_second_start_resumes_or_makes_a_run_as_asked() {
    let stage = Stage::new().await;
    let flows = stage.engine.flows();
    let first = start(&stage.engine, payment("1", &["a", "b"])).await.flow;
    flows.complete(of(first.id), "a").await.expect("it is done");
    let resumed = start(&stage.engine, payment("1", &["a", "b"])).await;
    assert_eq!((resumed.flow.id, resumed.changed), (first.id, false));
    assert_eq!(told(&resumed), "running: a completed, b pending", "it goes on where it was");
    let new = start(&stage.engine, StartFlow { again: FlowAgain::New, ..payment("1", &["a", "b"]) }).await;
    assert_eq!((new.flow.run, told(&new).as_str()), (2, "pending: a pending, b pending"));
    let old = stage.browse().flow(first.id).expect("a read").expect("it is there").flow;
    assert_eq!((old.state, old.finished_at.is_some()), (FlowState::Superseded, true));
    assert_eq!(refusal(flows.complete(of(first.id), "b").await), FlowRefusal::Over(FlowState::Superseded));
    flows.complete(of(new.flow.id), "a").await.expect("it is done");
    flows.complete(of(new.flow.id), "b").await.expect("it is done");
    let third = start(&stage.engine, payment("1", &["a"])).await.flow;
    assert_eq!((third.run, third.state), (3, FlowState::Pending), "what is over is not resumed");
    let other = start(&stage.engine, payment("2", &["a"])).await.flow;
    assert_eq!(other.run, 1, "another payment is another flow");
    let live = FlowFilter { kind: Some("payment".into()), live: true, limit: 10, ..FlowFilter::default() };
    let (live, _) = stage.browse().flows(&live).expect("a read");
    assert_eq!(live.iter().map(|flow| flow.id).collect::<Vec<_>>(), [other.id, third.id]);
    stage.check();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_steps_that_are_completed_at_once_none_is_lost() {
    let stage = Stage::new().await;
    let names: Vec<String> = (0..64).map(|n| format!("step {n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let flow = start(&stage.engine, payment("1", &names)).await.flow.id;
    let mut callers = Vec::new();
    for n in 0..128 {
        let (flows, name) = (stage.engine.flows().clone(), format!("step {}", n % 64));
        callers.push(tokio::spawn(async move {
            flows.complete(of(flow), &name).await.expect("it is heard").changed
        }));
    }
    let mut changed = 0;
    for caller in callers {
        changed += usize::from(caller.await.expect("it ends"));
    }
    assert_eq!(changed, 64, "every step once, though each was said twice");
    let shown = stage.browse().flow(flow).expect("a read").expect("it is there");
    assert_eq!((shown.flow.state, shown.flow.version), (FlowState::Completed, 65));
    assert!(shown.steps.iter().all(|step| step.state == FlowStepState::Completed));
    stage.check();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_32_that_start_one_flow_at_once_all_have_the_same_run() {
    let stage = Stage::new().await;
    let mut callers = Vec::new();
    for _ in 0..32 {
        let engine = stage.engine.clone();
        callers.push(tokio::spawn(async move { start(&engine, payment("1", &["a"])).await.flow.id }));
    }
    let mut ids = Vec::new();
    for caller in callers {
        ids.push(caller.await.expect("it ends"));
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    stage.check();
}

#[tokio::test]
async fn what_is_asked_for_is_enqueued_once_and_told() {
    let mut stage = Stage::new().await;
    let action = |name: &str| {
        let arguments =
            serde_json::value::to_raw_value(&serde_json::json!({"payment": 1})).expect("plain data");
        Some(FlowAction { action: name.into(), queue: None, arguments: Some(arguments) })
    };
    let asked = StartFlow { retry: action("echo"), cancel: action("ok"), ..payment("1", &["a"]) };
    let flow = start(&stage.engine, asked).await.flow.id;
    stage.engine.flows().fail(because(flow, "no"), "a").await.expect("it failed");
    let retried = stage.engine.ask_flow(because(flow, "again"), FlowWish::Retry).await.expect("it is asked");
    let step = retried.step.expect("a step was made");
    stage.settle().await;
    let row = stage.step(step);
    assert_eq!(
        (row.step.state, row.detail.response.as_deref()),
        (State::Completed, Some(r#"{"payment":1}"#))
    );
    let about = (row.detail.relatable_type.as_deref(), row.detail.relatable_id);
    assert_eq!(about, (Some("flow"), Some(flow.to_string())));
    assert_eq!(retried.now.flow.state, FlowState::Failed, "whoever does it says what became of it");
    let cancelled = stage.engine.ask_flow(of(flow), FlowWish::Cancel).await.expect("it is asked");
    assert!(cancelled.step.is_some() && cancelled.now.flow.state == FlowState::Failed);
    let shown = stage.browse().flow(flow).expect("a read").expect("it is there");
    let events: Vec<&str> = shown.history.iter().map(|line| line.event.word()).collect();
    assert_eq!(events, ["started", "step_failed", "retry_asked", "cancel_asked"]);
    let bare = start(&stage.engine, payment("2", &["a"])).await.flow.id;
    let none = stage.engine.ask_flow(of(bare), FlowWish::Retry).await;
    assert!(matches!(none, Err(FlowError::Refused { why: FlowRefusal::NoRetry, .. })), "{none:?}");
    let over = stage.engine.ask_flow(of(bare), FlowWish::Cancel).await.expect("nothing is to be undone");
    assert_eq!((over.step, over.now.flow.state), (None, FlowState::Cancelled));
    stage.check();
}

/// Asked twice, a flow was retried twice: that it was asked made it look another.
#[tokio::test]
async fn what_is_asked_twice_is_done_once_until_it_came_to_nothing() {
    let mut stage = Stage::new().await;
    let action = |name: &str| Some(FlowAction { action: name.into(), queue: None, arguments: None });
    let asked = StartFlow { retry: action("hold"), cancel: action("ok"), ..payment("1", &["a", "b"]) };
    let flow = start(&stage.engine, asked).await.flow.id;
    stage.engine.flows().fail(because(flow, "no"), "a").await.expect("it failed");
    let ask = async |stage: &Stage, wish| stage.engine.ask_flow(of(flow), wish).await.expect("it is asked");
    let (one, two) = tokio::join!(ask(&stage, FlowWish::Retry), ask(&stage, FlowWish::Retry));
    assert!(one.step.is_some() && one.step == two.step, "of two at once: {one:?} {two:?}");
    let cancel = ask(&stage, FlowWish::Cancel).await;
    let again = ask(&stage, FlowWish::Retry).await;
    assert_eq!((again.step, again.now.changed), (one.step, false));
    stage.settle().await;
    assert_eq!(ask(&stage, FlowWish::Cancel).await.step, cancel.step, "it is done, and not done again");
    let history = |stage: &Stage| {
        let shown = stage.browse().flow(flow).expect("a read").expect("it is there");
        let line =
            |line: &model::FlowMoment| format!("{} {}", line.event, line.step.clone().unwrap_or_default());
        shown.history.iter().map(line).collect::<Vec<String>>()
    };
    let of_step = |event: &str, id: Option<model::StepId>| format!("{event} {}", id.expect("a step"));
    assert_eq!(
        history(&stage)[2..],
        [of_step("retry_asked", one.step), of_step("cancel_asked", cancel.step)],
        "its history says which step does it"
    );
    let held = stage.step(one.step.expect("a step")).step;
    let outcome = stepfast_testkit::outcome_of("fail").expect("an answer");
    stage.report(stage.session.id, held.id, held.attempt, outcome).await;
    stage.settle().await;
    let another = ask(&stage, FlowWish::Retry).await;
    assert_ne!(another.step, one.step, "what came to nothing is tried again");
    assert_eq!(ask(&stage, FlowWish::Retry).await.step, another.step);
    stage.engine.flows().complete(of(flow), "b").await.expect("it is done");
    let later = ask(&stage, FlowWish::Retry).await;
    assert_ne!(later.step, another.step, "something was said meanwhile, so it is another wish");
    stage.crash().await;
    assert_eq!(ask(&stage, FlowWish::Retry).await.step, later.step);
    stage.settle().await;
}

/// A late report completed a flow that somebody had finished as failed.
#[tokio::test]
async fn a_flow_that_was_given_up_stays_failed_whatever_is_reported_late() {
    let mut stage = Stage::new().await;
    let flow = start(&stage.engine, payment("1", &["a", "b"])).await.flow.id;
    let flows = stage.engine.flows().clone();
    flows.complete(of(flow), "a").await.expect("it is done");
    flows.finish(because(flow, "the bank is closed"), FlowState::Failed).await.expect("it is given up");
    let late = flows.complete(of(flow), "b").await.expect("that it was done is kept");
    assert_eq!(told(&late), "failed: a completed, b completed");
    assert_eq!((late.changed, late.flow.error.as_deref()), (true, Some("the bank is closed")));
    stage.crash().await;
    let flows = stage.engine.flows();
    let on = flows.update(of(flow), Some(FlowState::Running)).await.expect("somebody goes on with it");
    assert_eq!((on.flow.state, on.flow.given_up_at), (FlowState::Completed, None), "all of it is done");
    let other = start(&stage.engine, payment("2", &["a", "b"])).await.flow.id;
    flows.finish(of(other), FlowState::Failed).await.expect("it is given up");
    flows.complete(of(other), "a").await.expect("late");
    flows.update(of(other), Some(FlowState::Running)).await.expect("somebody goes on with it");
    let now = flows.complete(of(other), "b").await.expect("it is done");
    assert_eq!(told(&now), "completed: a completed, b completed", "and from then on it is as ever");
    stage.check();
}

#[tokio::test]
async fn a_long_history_is_cut_and_old_flows_are_forgotten_unless_they_are_not_over() {
    let stage = Stage::new().await;
    let flows = stage.engine.flows();
    let long = start(&stage.engine, payment("long", &["a"])).await.flow.id;
    for n in 0..limits::FLOW_EVENTS_KEPT + 5 {
        flows.update(because(long, &format!("at {n}")), None).await.expect("it is heard");
    }
    let shown = stage.browse().flow(long).expect("a read").expect("it is there");
    assert_eq!(shown.history.len() as u64, limits::FLOW_EVENTS_KEPT);
    assert_eq!(shown.history.last().map(|line| line.number), Some(shown.flow.version));
    let done = start(&stage.engine, payment("done", &["a"])).await.flow.id;
    flows.complete(of(done), "a").await.expect("it is done");
    let failed = start(&stage.engine, payment("failed", &["a"])).await.flow.id;
    flows.fail(of(failed), "a").await.expect("it failed");
    stage.advance(Duration::from_secs(10)).await;
    let purge = Retention::Purge { before: stage.clock_now(), only_archive: false, ticks: false };
    let would =
        stage.engine.with_store(move |store| store.retain(purge, Retaining::Tried)).await.expect("a store");
    assert_eq!(would.expect("a count").flows, 1);
    let gone = stage
        .engine
        .with_store(move |store| store.retain(purge, Retaining::Done(Asked::by("anna"))))
        .await
        .expect("a store");
    assert_eq!(gone.expect("a page").flows, 1);
    let (left, _) = stage.browse().flows(&FlowFilter { limit: 10, ..FlowFilter::default() }).expect("a read");
    assert_eq!(left.iter().map(|flow| flow.id).collect::<Vec<_>>(), [failed, long]);
    stage.check();
}

#[tokio::test]
async fn what_was_said_is_there_after_a_crash() {
    let mut stage = Stage::new().await;
    let flow = start(&stage.engine, payment("1", &["a", "b"])).await.flow.id;
    stage.engine.flows().complete(of(flow), "a").await.expect("it is durable");
    stage.crash().await;
    let now = stage.engine.flows().complete(of(flow), "a").await.expect("it is heard");
    assert!(!now.changed);
    assert_eq!(told(&now), "running: a completed, b pending");
    stage.check();
}
