//! Deliveries: every one is on record, waiting for a target costs no attempt, and no step's record grows without end.
#![allow(clippy::unwrap_used)]

use engine::Config;
use model::{
    Claim, Delivery, DeliveryError, DeliveryStatus, Failure, Outcome, Report, SessionId, State, StepId,
    Timestamp, limits,
};
use rules::settle::Mode;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use stepfast_testkit::Stage;
use store::{Attempt, AttemptKey};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use worker::{HttpAllow, Registry, Runner, RunnerConfig, Signing, register_deliver};

async fn handed(stage: &mut Stage) -> Claim {
    stage.decide(Mode::FixedPoint).await;
    stage.handed().pop().unwrap()
}

fn delivery(stage: &Stage, status: DeliveryStatus, http_code: u16, body: &str) -> Delivery {
    let error_type = (http_code >= 300).then_some(DeliveryError::HttpError);
    let (started_at, response_body) = (stage.clock_now(), Some(body.into()));
    Delivery { status, http_code: Some(http_code), error_type, response_body, started_at, duration_ms: 12 }
}

async fn told(stage: &Stage, claim: &Claim, outcome: Outcome, delivery: Delivery) {
    let (session, step, attempt) = (stage.session.id, claim.step, claim.attempt);
    let report = Report { session, step, attempt, outcome, log: Vec::new(), delivery: Some(delivery) };
    stage.engine.report(vec![report]).await.unwrap();
}

fn words(attempt: &Attempt) -> String {
    let Attempt { attempt: n, outcome, .. } = attempt;
    let Some(d) = &attempt.delivery else { return format!("{n} {outcome}") };
    let code = d.http_code.map_or("-".into(), |code| code.to_string());
    let error = d.error_type.map_or("-", |error| error.word());
    format!("{n} {outcome} {} {code} {error} {:?}", d.status, d.response_body.as_deref().unwrap_or("-"))
}

fn attempts(stage: &Stage, step: StepId) -> Vec<String> {
    stage.browse().attempts(step).unwrap().iter().map(words).collect()
}

#[tokio::test]
async fn every_delivery_is_on_record_and_only_failures_count() {
    let mut stage = Stage::new().await;
    let step =
        stage.create(json!([{"action": "hold", "message_group": "customer-1", "max_attempts": 3}])).await[0];
    let first = handed(&mut stage).await;
    assert_eq!(first.message_group.as_deref(), Some("customer-1"));
    let started_at = stage.clock_now();
    let failure = Some(Failure { message: "it answered 500".into(), trace: None });
    let failed = delivery(&stage, DeliveryStatus::Failure, 500, "oh\0");
    told(&stage, &first, Outcome::Retry { after: Some(Duration::from_secs(1)), failure }, failed).await;
    stage.advance(Duration::from_secs(1)).await;
    let deferred = delivery(&stage, DeliveryStatus::Deferred, 429, "later");
    let second = handed(&mut stage).await;
    told(&stage, &second, Outcome::Throttle { after: Duration::from_secs(30) }, deferred).await;
    stage.advance(Duration::from_secs(30)).await;
    let third = handed(&mut stage).await;
    let done = delivery(&stage, DeliveryStatus::Success, 200, "");
    told(&stage, &third, Outcome::Complete { response: Some("{}".into()) }, done.clone()).await;
    told(&stage, &third, Outcome::Complete { response: None }, done).await;
    assert_eq!(
        attempts(&stage, step),
        [
            "1 retried FAILURE 500 HTTP_ERROR \"oh\u{fffd}\"",
            "2 throttled DEFERRED 429 HTTP_ERROR \"later\"",
            "3 completed SUCCESS 200 - \"\"",
            "3 late SUCCESS 200 - \"\"",
        ]
    );
    let rows = stage.browse().attempts(step).unwrap();
    assert_eq!((rows[0].started_at, rows[0].message.as_deref()), (Some(started_at), Some("it answered 500")));
    assert_eq!(rows[0].delivery.as_ref().map(|d| (d.started_at, d.duration_ms)), Some((started_at, 12)));
    let row = stage.step(step);
    assert_eq!((row.step.state, row.step.attempt, row.step.failed_attempts), (State::Completed, 3, 1));
}

#[tokio::test]
async fn a_target_that_asks_for_patience_for_ever_gets_it_and_a_bounded_record() {
    let mut stage = Stage::new().await;
    let step = stage.create(json!([{"action": "hold", "max_attempts": 1}])).await[0];
    let rounds = limits::ATTEMPTS_KEPT + 5;
    for _ in 0..rounds {
        let claim = handed(&mut stage).await;
        let deferred = delivery(&stage, DeliveryStatus::Deferred, 429, "later");
        told(&stage, &claim, Outcome::Throttle { after: Duration::from_secs(1) }, deferred).await;
        stage.clock.advance(Duration::from_secs(1));
        stage.engine.heartbeat(stage.session.id, 0, Vec::new()).await.unwrap();
    }
    let row = stage.step(step);
    assert_eq!((row.step.state, row.step.attempt, row.step.failed_attempts), (State::Pending, rounds, 0));
    let kept = stage.browse().attempts(step).unwrap();
    assert_eq!((kept.len(), kept[0].attempt), (limits::ATTEMPTS_KEPT as usize, 6));
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let page = stage.browse().attempts_after(step, after.as_ref(), 30).unwrap();
        listed.extend(page.iter().map(|attempt| attempt.attempt));
        let Some(last) = page.last() else { break };
        after = Some(AttemptKey::of(last));
    }
    assert_eq!(listed, (6..=rounds).collect::<Vec<_>>());
    let claim = handed(&mut stage).await;
    let done = delivery(&stage, DeliveryStatus::Success, 204, "");
    told(&stage, &claim, Outcome::Complete { response: None }, done).await;
    assert_eq!(stage.step(step).step.state, State::Completed);
}

#[tokio::test]
async fn what_a_worker_sends_is_bounded_and_a_late_one_takes_nothing_away() {
    let mut stage = Stage::new().await;
    let step = stage.create(json!([{"action": "hold"}])).await[0];
    let claim = handed(&mut stage).await;
    let endless = Delivery {
        response_body: Some("ż".repeat(1_000_000)),
        started_at: Timestamp(i64::MAX),
        duration_ms: u64::MAX,
        ..delivery(&stage, DeliveryStatus::Failure, 500, "")
    };
    told(&stage, &claim, Outcome::Retry { after: None, failure: None }, endless.clone()).await;
    let (session, outcome) = (SessionId::of(9), Outcome::Complete { response: None });
    let (log, delivery) = (Vec::new(), Some(endless));
    let stranger = Report { session, step, attempt: u32::MAX, outcome, log, delivery };
    stage.engine.report(vec![stranger]).await.unwrap();
    let glance = stage.browse().attempts(step).unwrap();
    let beginnings: Vec<(u32, usize)> = glance
        .iter()
        .map(|a| (a.attempt, a.delivery.as_ref().unwrap().response_body.as_ref().unwrap().chars().count()))
        .collect();
    assert_eq!(beginnings, [(1, 1_000), (u32::MAX, 1_000)], "seen at a glance");
    let whole = stage.browse().attempts_after(step, None, 10).unwrap();
    let first = whole[0].delivery.clone().unwrap();
    assert_eq!(first.response_body.unwrap().len(), limits::DELIVERY_BODY_BYTES_MAX);
    assert!(first.started_at <= stage.clock_now());
}

/// Gives each connection its answer in turn, and the last one for ever.
async fn target(answers: &'static [&'static str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        for n in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            // One read takes a request as small as these.
            let _ = stream.read(&mut [0; 8_192]).await;
            let answer = answers[n.min(answers.len() - 1)];
            let _ = stream.write_all(format!("HTTP/1.1 {answer}").as_bytes()).await;
        }
    });
    place
}

#[tokio::test]
async fn a_step_is_delivered_through_patience_and_failure() {
    const END: &str = "200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let place = target(&[
        "429 Slow Down\r\nRetry-After: 2\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "200 OK\r\nContent-Length: 13\r\nConnection: close\r\n\r\n{\"ack\":false}",
        "500 Oh\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno",
        END,
    ])
    .await;
    let stage = Stage::with(Config { host: "stage".into(), ..Config::default() }).await;
    let mut registry = Registry::default();
    let allow = HttpAllow::read(std::slice::from_ref(&place)).unwrap();
    register_deliver(&mut registry, &allow, &Signing::default()).unwrap();
    let config = RunnerConfig { clock: Arc::new(stage.clock.clone()), ..RunnerConfig::default() };
    let runner = Runner::start(stage.engine.clone(), registry, config).await.unwrap();
    let arguments = json!({"url": format!("http://{place}/hook"), "body": {"order": 7}});
    let unsigned = json!({"url": format!("http://{place}/hook"), "signing": "orders"});
    let made = stage
        .create(json!([
            {"action": "deliver", "arguments": arguments, "message_group": "a", "mode": "block_on_error", "max_attempts": 2},
            {"action": "deliver", "arguments": unsigned, "max_attempts": 5},
        ]))
        .await;
    let mut look = tokio::time::interval(Duration::from_millis(20));
    loop {
        let states: Vec<State> = made.iter().map(|step| stage.step(*step).step.state).collect();
        if states.iter().all(|state| state.is_terminal()) {
            break;
        }
        look.tick().await;
        // What is on its way is waited for: on a busy machine it would lose its lease to a clock that ran ahead.
        if !states.contains(&State::Running) {
            stage.advance(Duration::from_secs(1)).await;
        }
    }
    assert_eq!(
        attempts(&stage, made[0]),
        [
            "1 throttled DEFERRED 429 HTTP_ERROR \"\"",
            "2 throttled DEFERRED 200 - \"{\\\"ack\\\":false}\"",
            "3 retried FAILURE 500 HTTP_ERROR \"no\"",
            "4 completed SUCCESS 200 - \"\"",
        ]
    );
    let row = stage.step(made[0]);
    assert_eq!((row.step.state, row.step.failed_attempts), (State::Completed, 1));
    assert_eq!(attempts(&stage, made[1]), ["1 failed FAILURE - VALIDATION \"-\""]);
    let refused = stage.step(made[1]);
    assert_eq!(refused.step.state, State::Failed);
    assert!(refused.detail.error_message.unwrap().contains("[signing.orders]"));
    runner.stop(Duration::from_secs(5)).await;
}
