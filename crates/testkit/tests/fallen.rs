//! An engine that falls over by a fault of ours: it says so, and nobody is left waiting.
//!
//! Why    a node whose decider was gone called itself ready for ever, and held its groups for as long.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use engine::{Config, Engine};
use model::NewStep;
use std::time::Duration;
use stepfast_testkit::{Doubt, DoubtfulStore};
use store::Database;
use store::sqlite::Holder;

#[tokio::test]
async fn an_engine_that_falls_is_not_healthy_and_is_known_to_be_gone() {
    let dir = tempfile::tempdir().unwrap();
    let store = Database::Sqlite(dir.path().join("steps.db")).open(None, Holder::default()).unwrap();
    let doubt = Doubt::default();
    let store = Box::new(DoubtfulStore { store, doubt: doubt.clone() });
    let (engine, thread) = Engine::start(store, Config::default()).unwrap();
    engine.create(vec![NewStep::of("noop")]).await.unwrap();
    assert!(engine.is_healthy());
    doubt.fall();
    engine.create(vec![NewStep::of("noop")]).await.unwrap_err();
    tokio::time::timeout(Duration::from_secs(60), engine.gone()).await.unwrap();
    assert!(!engine.is_healthy());
    thread.join();
}
