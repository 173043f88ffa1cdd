//! The payment that must not be credited twice, although its job runs twice.

use engine::{Ask, Begin, Config};
use model::{Failure, NewStep, Outcome, State};
use serde_json::json;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stepfast_testkit::Stage;
use worker::{Claim, Registry, Runner, RunnerConfig};

/// A bank elsewhere, which knows a transfer by the key that comes with it.
#[derive(Default)]
struct Bank {
    transfers: Mutex<HashMap<String, u64>>,
    calls: AtomicUsize,
}

impl Bank {
    fn credit(&self, key: &str, amount: u64) -> Result<u64, String> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let mut transfers = self.transfers.lock().map_err(|e| e.to_string())?;
        Ok(*transfers.entry(key.into()).or_insert(amount))
    }
    fn balance(&self) -> u64 {
        self.transfers.lock().expect("nobody panicked").values().sum()
    }
}

#[tokio::test]
async fn a_payment_is_credited_once_although_its_job_runs_twice() {
    let stage = Stage::with(Config { host: "stage".into(), full_history: true, ..Config::default() }).await;
    let bank = Arc::new(Bank::default());
    let mut registry = Registry::default();
    let (executions, used) = (stage.engine.executions().clone(), bank.clone());
    registry.raw("payments.process", move |claim: Claim| {
        let (executions, bank) = (executions.clone(), used.clone());
        async move {
            let ask = Ask::new("payments.credit", "payment-123").input(&json!({"amount": 10_000}));
            let paid = executions
                .once(ask, |begun| async move { bank.credit(&begun.stable_key(), 10_000) })
                .await
                .expect("it is credited");
            if claim.attempt == 1 {
                let failure = Failure { message: "the network broke".into(), trace: None };
                return Outcome::Retry { after: Some(Duration::ZERO), failure: Some(failure) };
            }
            Outcome::Complete { response: Some(json!({"replayed": paid.replayed}).to_string()) }
        }
    });
    let queues = vec!["default".into()];
    let config = RunnerConfig { host: "worker".into(), queues, concurrency: 4, ..RunnerConfig::default() };
    let runner = Runner::start(stage.engine.clone(), registry, config).await.expect("a worker");
    let made = stage.engine.create(vec![NewStep::of("payments.process")]).await.expect("a step")[0].id;
    let mut look = tokio::time::interval(Duration::from_millis(5));
    while stage.step(made).step.state != State::Completed {
        look.tick().await;
    }
    let row = stage.step(made);
    assert_eq!((row.step.attempt, row.step.failed_attempts), (2, 1), "the job ran twice");
    assert_eq!(row.detail.response.as_deref(), Some("{\"replayed\":true}"));
    assert_eq!((bank.balance(), bank.calls.load(Ordering::SeqCst)), (10_000, 1));
    runner.stop(Duration::ZERO).await;
}

#[tokio::test]
async fn a_crash_between_effect_and_record_is_told_apart_by_the_key_downstream() {
    let mut stage = Stage::new().await;
    let bank = Arc::new(Bank::default());
    let ask = Ask::new("payments.credit", "payment-123").input(&json!({"amount": 10_000}));
    let Ok(Begin::Run(begun)) = stage.engine.executions().begin(&ask).await else { panic!("not begun") };
    bank.credit(&begun.stable_key(), 10_000).expect("it is credited");
    stage.crash().await;
    stage.advance(begun.lease).await;
    let used = bank.clone();
    let paid = stage
        .engine
        .executions()
        .once(ask, |begun| async move {
            assert_eq!(begun.attempt, 2);
            used.credit(&begun.stable_key(), 10_000)
        })
        .await;
    assert_eq!(paid.expect("an answer").answer, 10_000);
    assert_eq!((bank.balance(), bank.calls.load(Ordering::SeqCst)), (10_000, 2));
}
