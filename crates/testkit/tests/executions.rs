//! Work that is done once, however often it is asked for, on whichever database.

use engine::{Ask, Begin, Begun, ExecutionError, Executions, Held, Once, OnceError, Refusal, Stopwatch};
use model::{ExecutionName, ExecutionState, limits};
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use stepfast_testkit::Stage;
use store::Asked;
use store::executions::{Beginning, ExecutionFilter, Order, Told};
use tokio::sync::Notify;

fn pay(key: &str) -> Ask {
    Ask::new("payments.credit", key)
}

async fn begin(executions: &Executions, ask: &Ask) -> Begun {
    match executions.begin(ask).await {
        Ok(Begin::Run(begun)) => begun,
        other => panic!("it was not begun: {other:?}"),
    }
}

/// The history in short: `begun 1, failed 1, …`.
async fn history(executions: &Executions, ask: &Ask) -> String {
    let shown = executions.show(&ask.name).await.expect("a read").expect("it is on record");
    let moments = shown.history.iter().map(|m| format!("{} {}", m.event, m.attempt));
    moments.collect::<Vec<_>>().join(", ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_callers_of_one_key_one_runs_and_all_get_its_answer() {
    let stage = Stage::new().await;
    let (runs, all_came, asked) =
        (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let mut callers = Vec::new();
    for _ in 0..64 {
        let executions = stage.engine.executions().clone();
        let (runs, all_came, asked) = (runs.clone(), all_came.clone(), asked.clone());
        callers.push(tokio::spawn(async move {
            if asked.fetch_add(1, Ordering::SeqCst) == 63 {
                all_came.notify_one();
            }
            let answer = executions.once(pay("7").input(&100), |begun| async move {
                all_came.notified().await;
                runs.fetch_add(1, Ordering::SeqCst);
                Ok::<_, Infallible>(format!("receipt of {}", begun.stable_key()))
            });
            answer.await.expect("an answer")
        }));
    }
    let watch = Stopwatch::start();
    let mut replayed = 0;
    for caller in callers {
        let Once { answer, replayed: again } = caller.await.expect("it ends");
        assert_eq!(answer, "receipt of payments.credit:7");
        replayed += usize::from(again);
    }
    assert!(watch.elapsed() < Duration::from_secs(1), "{:?}", watch.elapsed());
    assert_eq!((runs.load(Ordering::SeqCst), replayed), (1, 63));
    assert_eq!(history(stage.engine.executions(), &pay("7")).await, "begun 1, done 1");
}

#[tokio::test]
async fn an_answer_is_replayed_and_another_input_is_refused() {
    let stage = Stage::new().await;
    let executions = stage.engine.executions();
    let ask = pay("7").input(&serde_json::json!({"amount": 100, "to": "ann"}));
    let first = begin(executions, &ask).await;
    assert_eq!(first.attempt, 1);
    executions.complete(&first.held, "{\"id\": 1.50}".into()).await.expect("it is recorded");
    let same = pay("7").input(&serde_json::json!({"to": "ann", "amount": 100}));
    let replay = Begin::Replay { answer: "{\"id\": 1.50}".into() };
    assert_eq!(executions.begin(&same).await, Ok(replay));
    let other = pay("7").input(&serde_json::json!({"to": "ann", "amount": 101}));
    let name = ask.name.clone();
    assert_eq!(executions.begin(&other).await, Err(ExecutionError::Conflict { name }));
    let elsewhere = Ask { name: ExecutionName::new("bonus.credit", "7"), ..ask };
    assert_eq!(begin(executions, &elsewhere).await.attempt, 1, "a key is of its namespace");
}

#[tokio::test]
async fn a_dead_caller_is_taken_over_and_can_end_nothing_any_more() {
    let mut stage = Stage::new().await;
    let ask = pay("7");
    let dead = begin(stage.engine.executions(), &ask).await;
    stage.crash().await;
    let executions = stage.engine.executions().clone();
    if stage.clock_now() < dead.lease_ends_at {
        let waits = executions.begin(&ask).await.expect_err("its lease runs");
        let ExecutionError::InProgress { retry_after, .. } = waits else { panic!("{waits}") };
        assert!(!retry_after.is_zero() && retry_after <= dead.lease, "{retry_after:?}");
        stage.advance(dead.lease).await;
    }
    let second = begin(&executions, &ask).await;
    assert_eq!(second.attempt, 2);
    let name = ask.name.clone();
    let lost = || ExecutionError::Refused { name: name.clone(), why: Refusal::Lost { attempt: 2 } };
    assert_eq!(executions.complete(&dead.held, "1".into()).await, Err(lost()));
    assert_eq!(executions.fail(&dead.held, "no".into()).await, Err(lost()));
    assert_eq!(executions.renew(&dead.held, dead.lease).await, Err(lost()));
    executions.complete(&second.held, "2".into()).await.expect("its owner ends it");
    assert_eq!(executions.begin(&ask).await, Ok(Begin::Replay { answer: "2".into() }));
    assert_eq!(history(&executions, &ask).await, "begun 1, taken_over 2, done 2");
}

#[tokio::test]
async fn failures_are_counted_and_given_up_but_takeovers_are_not() {
    let stage = Stage::new().await;
    let executions = stage.engine.executions();
    let ask = pay("7").max_attempts(2);
    let lost = begin(executions, &ask).await;
    stage.advance(lost.lease).await;
    for attempt in [2, 3] {
        let begun = begin(executions, &ask).await;
        assert_eq!(begun.attempt, attempt);
        executions.fail(&begun.held, format!("declined {attempt}")).await.expect("it is recorded");
    }
    let name = ask.name.clone();
    let given_up = ExecutionError::GivenUp { name, failures: 2, error: "declined 3".into() };
    assert_eq!(executions.begin(&ask).await, Err(given_up));
    let once_more = begin(executions, &ask.clone().max_attempts(3)).await;
    executions.complete(&once_more.held, "null".into()).await.expect("it is recorded");
    assert_eq!(
        history(executions, &ask).await,
        "begun 1, taken_over 2, failed 2, begun 3, failed 3, begun 4, done 4"
    );
}

#[tokio::test]
async fn what_is_said_again_after_a_lost_answer_is_no_mistake() {
    let stage = Stage::new().await;
    let executions = stage.engine.executions();
    let ask = pay("7").owner(executions.new_owner());
    let first = begin(executions, &ask).await;
    assert_eq!(begin(executions, &ask).await, first, "its own beginning");
    executions.complete(&first.held, "1".into()).await.expect("it is recorded");
    executions.complete(&first.held, "1".into()).await.expect("so already");
    let name = ask.name.clone();
    let ended = ExecutionError::Refused { name, why: Refusal::Ended };
    assert_eq!(executions.complete(&first.held, "2".into()).await, Err(ended.clone()));
    assert_eq!(executions.fail(&first.held, "no".into()).await, Err(ended));
    let nobody = Held { name: ExecutionName::new("payments.credit", "8"), owner: first.held.owner };
    let told = executions.complete(&nobody, "1".into()).await.expect_err("there is none");
    assert_eq!(told.to_string(), "execution payments.credit:8: there is no such execution");
    assert_eq!(history(executions, &ask).await, "begun 1, done 1");
}

#[tokio::test]
async fn once_records_an_error_and_tries_again_when_asked_again() {
    let stage = Stage::new().await;
    let executions = stage.engine.executions();
    let declined = executions.once(pay("7"), |_| async { Err::<u32, _>("declined") }).await;
    assert!(matches!(declined, Err(OnceError::Operation("declined"))), "{declined:?}");
    let paid = executions.once(pay("7"), |begun| async move { Ok::<_, &str>(begun.attempt) }).await;
    assert_eq!(paid.expect("an answer"), Once { answer: 2, replayed: false });
    let again = executions.once(pay("7"), |_| async { Ok::<u32, &str>(99) }).await;
    assert_eq!(again.expect("an answer"), Once { answer: 2, replayed: true });
    let other = executions.once(pay("7"), |_| async { Ok::<String, &str>(String::new()) }).await;
    assert!(
        matches!(other, Err(OnceError::Execution(ExecutionError::Unreadable { .. }))),
        "an answer of another kind: {other:?}"
    );
    let large = || async { Ok::<_, &str>("x".repeat(limits::PAYLOAD_BYTES_MAX)) };
    let told = executions.once(pay("8"), |_| large()).await;
    let too_large = matches!(told, Err(OnceError::Execution(ExecutionError::AnswerTooLarge { .. })));
    assert!(too_large, "{told:?}");
    let shown = executions.show(&pay("8").name).await.expect("a read").expect("it is on record");
    assert_eq!(shown.execution.standing.state(), ExecutionState::Done, "it is not done again");
}

#[tokio::test]
async fn a_lease_is_renewed_while_the_operation_runs() {
    let stage = Stage::new().await;
    let executions = stage.engine.executions();
    let ask = pay("7").lease(limits::EXECUTION_LEASE_MIN);
    let (name, clock) = (ask.name.clone(), stage.clock.clone());
    let ran = executions.once(ask, |begun| async move {
        clock.advance(Duration::from_millis(900));
        loop {
            let shown = executions.show(&name).await.expect("a read").expect("it is on record");
            if let model::Standing::InProgress { lease_ends_at } = shown.execution.standing
                && lease_ends_at > begun.lease_ends_at
            {
                return Ok::<_, Infallible>(true);
            }
            tokio::task::yield_now().await;
        }
    });
    assert!(ran.await.expect("an answer").answer);
}

#[tokio::test]
async fn an_operation_whose_lease_was_lost_is_dropped() {
    let stage = Stage::new().await;
    let executions = stage.engine.executions();
    let ask = pay("7").lease(limits::EXECUTION_LEASE_MIN);
    let took = Arc::new(Notify::new());
    let first = executions.once(ask.clone(), |_| async {
        took.notify_one();
        pending::<Result<u32, Infallible>>().await
    });
    let second = async {
        took.notified().await;
        // Nobody renews in this moment.
        stage.clock.advance(limits::EXECUTION_LEASE_MIN);
        begin(executions, &ask).await
    };
    let (first, second) = tokio::join!(first, second);
    let Err(OnceError::Execution(lost)) = first else { panic!("it was not told") };
    assert!(lost.is_lost(), "{lost}");
    executions.complete(&second.held, "2".into()).await.expect("its owner ends it");
}

#[tokio::test]
async fn what_is_wrong_is_told_with_what_to_write_instead() {
    let stage = Stage::new().await;
    let executions = stage.engine.executions();
    let bad = Ask::new(" ", "k".repeat(256)).max_attempts(0).lease(Duration::ZERO).keep(Duration::MAX);
    let told = executions.begin(&bad).await.expect_err("it is refused").to_string();
    let expected = [
        "namespace: is empty; write for example `payments.credit`",
        "key: is 256 bytes long; use at most 255 bytes",
        "max_attempts: is out of range; write a number from 1 to 1000",
        "lease: is out of range; use 1 s to 86400 s, and renew it",
        "keep: is out of range; use one second to 3660 days",
    ];
    assert_eq!(told, expected.join("\n"));
    let begun = begin(executions, &pay("7")).await;
    let large = executions.complete(&begun.held, "x".repeat(limits::PAYLOAD_BYTES_MAX + 1)).await;
    assert!(large.expect_err("too large").to_string().contains("use at most 1048576 bytes"));
}

#[tokio::test]
async fn what_was_kept_long_enough_is_as_good_as_gone_and_then_is() {
    let stage = Stage::new().await;
    let executions = stage.engine.executions();
    let (short, usual) = (pay("short").keep(Duration::from_secs(1800)), pay("usual"));
    for ask in [&short, &usual] {
        let begun = begin(executions, ask).await;
        executions.complete(&begun.held, "1".into()).await.expect("it is recorded");
    }
    stage.advance(Duration::from_secs(1800)).await;
    let anew = begin(executions, &short).await;
    assert_eq!(anew.attempt, 1, "nobody has cleaned up, and it begins anew");
    assert_eq!(history(executions, &short).await, "begun 1");
    executions.complete(&anew.held, "2".into()).await.expect("it is recorded");
    stage.advance(Duration::from_secs(2 * 3600)).await;
    // The node that leads forgets once an hour, in passing.
    stage.engine.tick(rules::settle::Mode::FixedPoint, engine::Dispatch::Yes, None).await.expect("a tick");
    assert_eq!(executions.show(&short.name).await, Ok(None));
    assert!(executions.show(&usual.name).await.expect("a read").is_some());
}

#[tokio::test]
async fn forgetting_goes_by_pages_and_leaves_what_is_held() {
    let stage = Stage::new().await;
    let executions = stage.engine.executions();
    let n = limits::EXECUTIONS_FORGOTTEN_PAGE + 7;
    let mut all = Vec::new();
    for i in 0..n {
        let (executions, ask) = (executions.clone(), pay(&format!("{i:04}")));
        all.push(tokio::spawn(async move {
            let begun = begin(&executions, &ask).await;
            executions.complete(&begun.held, "null".into()).await.expect("it is recorded");
        }));
    }
    for one in all {
        one.await.expect("it ends");
    }
    stage.advance(Duration::from_secs(60)).await;
    let held = begin(executions, &pay("held")).await;
    let before = Some(stage.clock_now());
    let count = executions.count_forgotten(before).await.expect("a count");
    assert_eq!(count.executions, n as u64);
    let first = executions.forget(before, Asked::by("anna")).await.expect("a page");
    assert_eq!((first.executions, first.more), (limits::EXECUTIONS_FORGOTTEN_PAGE as u64, true));
    let second = executions.forget(before, Asked::by("anna")).await.expect("a page");
    assert_eq!((second.executions, second.more), (7, false));
    executions.complete(&held.held, "null".into()).await.expect("it was not forgotten");
}

#[tokio::test]
async fn a_list_is_read_page_by_page_newest_first() {
    let stage = Stage::new().await;
    let executions = stage.engine.executions();
    for key in ["a", "b", "c"] {
        begin(executions, &pay(key)).await;
    }
    stage.advance(Duration::from_secs(1)).await;
    begin(executions, &Ask::new("bonus", "d")).await;
    let keys = |filter: ExecutionFilter| async move {
        let lines = executions.list(ExecutionFilter { limit: 2, ..filter }).await.expect("a read");
        let last = lines.last().map(|line| (line.created_at, line.name.clone()));
        (lines.iter().map(|line| line.name.key.clone()).collect::<String>(), last)
    };
    let (first, after) = keys(ExecutionFilter::default()).await;
    let (second, _) = keys(ExecutionFilter { after, ..ExecutionFilter::default() }).await;
    assert_eq!((first.as_str(), second.as_str()), ("dc", "ba"));
    let namespace = Some("bonus".into());
    assert_eq!(keys(ExecutionFilter { namespace, ..ExecutionFilter::default() }).await.0, "d");
    let state = Some(ExecutionState::Done);
    assert_eq!(keys(ExecutionFilter { state, ..ExecutionFilter::default() }).await.0, "");
}

#[tokio::test]
async fn an_order_that_cannot_be_stored_spoils_no_other() {
    let stage = Stage::new().await;
    let ledger = stage.engine.with_store(|store| store.ledger()).await.expect("the store");
    let owner = stage.engine.executions().new_owner();
    let (tell, told) = std::sync::mpsc::channel();
    for (namespace, key) in [("a", "1"), ("", "2"), ("c", "3")] {
        let tell = tell.clone();
        let order = Order::Begin(Ask::new(namespace, key).by(owner));
        ledger.order(order, Box::new(move |outcome| tell.send((key, outcome)).expect("it is waited for")));
    }
    let mut outcomes: Vec<_> = (0..3).map(|_| told.recv().expect("an answer")).collect();
    outcomes.sort_by_key(|(key, _)| *key);
    let begun =
        |told: &store::Result<Told>| matches!(told, Ok(Told::Beginning(Beginning::Begun { attempt: 1, .. })));
    assert!(begun(&outcomes[0].1) && begun(&outcomes[2].1), "{outcomes:?}");
    assert!(matches!(outcomes[1].1, Err(store::StoreError::Unfit(_))), "{outcomes:?}");
}

#[tokio::test]
async fn an_engine_that_has_ended_answers_so() {
    let stage = Stage::new().await;
    let executions = stage.engine.executions().clone();
    let database = stage.database();
    drop(stage);
    if let store::Database::Sqlite(_) = database {
        let told = executions.begin(&pay("7")).await.expect_err("nobody writes any more");
        assert!(matches!(told, ExecutionError::Unavailable(store::StoreError::Down(_))), "{told}");
    }
}
