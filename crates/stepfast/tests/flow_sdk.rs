//! A tracked flow as a program uses it: in the process of the engine, against a server, and in a job.
#![allow(clippy::unwrap_used)]

mod common;

use common::Home;
use serde_json::{Value, json};
use std::time::Duration;
use stepfast::{Context, Flow, JobError, Link, Local, LocalConfig, NewStep, Registry, Remote, State, Trial};

/// What is said, whichever way; the id of the flow.
async fn told(link: &Link, payment: u32) -> String {
    let start =
        || Flow::of("payment", link.clone()).entity("payment", payment).steps(["debited", "credited"]);
    let flow = start()
        .user("ann")
        .optional("mailed/sent")
        .retry_with("echo", &payment)
        .by("shop")
        .start()
        .await
        .unwrap();
    flow.complete("debited").await.unwrap();
    flow.complete("debited").await.unwrap();
    let broken = flow.step("credited", async { Err::<(), _>(JobError::msg("no money")) }).await.unwrap_err();
    assert_eq!(broken.to_string(), "no money");
    let again = start().start().await.unwrap();
    assert_eq!(again.id(), flow.id(), "what failed is gone on with");
    again.running().await.unwrap();
    again.message("We try again").await.unwrap();
    assert_eq!(flow.step("credited", async { Ok(7) }).await.unwrap(), 7);
    flow.skip("mailed/sent").await.unwrap();
    let refused = flow.complete("refunded").await.unwrap_err().to_string();
    assert!(refused.contains("it has `debited`, `credited`, `mailed/sent`"), "{refused}");
    let over = flow.finish_cancelled("too late").await.unwrap_err().to_string();
    assert!(over.contains("it is completed"), "{over}");
    let next = start().anew().timeout(Duration::from_secs(60)).start().await.unwrap();
    next.finish_failed("no more").await.unwrap();
    Flow::at(next.id(), link.clone()).finish_cancelled("enough").await.unwrap();
    let open = start().key("open").open().start().await.unwrap();
    for step in ["debited", "credited", "booked"] {
        open.complete(step).await.unwrap();
    }
    open.finish().await.unwrap();
    flow.id().to_string()
}

fn check(home: &Home, id: &str) {
    let shown: Value = home.json(&["flows", "show", id, "--json"]).remove(0);
    let events: Vec<&str> =
        shown["history"].as_array().unwrap().iter().map(|e| e["event"].as_str().unwrap()).collect();
    let expected = [
        "started",
        "step_completed",
        "step_failed",
        "state_updated",
        "state_updated",
        "step_completed",
        "step_skipped",
    ];
    assert_eq!(events, expected);
    assert_eq!((&shown["flow"]["state"], &shown["flow"]["user"]), (&json!("completed"), &json!("ann")));
    assert_eq!(shown["flow"]["started_by"], "shop");
    assert_eq!(shown["history"][2]["message"], "no money");
}

#[tokio::test]
async fn in_the_process_of_the_engine() {
    let home = Home::new();
    let local = Local::at(&home.database(), LocalConfig::default()).unwrap();
    let id = told(&local.engine.clone().into(), 1).await;
    local.stop(Duration::ZERO).await.unwrap();
    check(&home, &id);
    home.ok(&["check"]);
}

#[tokio::test]
async fn against_a_server() {
    let home = Home::new();
    let server = home.serve(&[]);
    let id = told(&Remote::new(&server.url, None).unwrap().into(), 1).await;
    check(&home, &id);
    server.stop();
    home.ok(&["check"]);
}

fn jobs() -> Registry {
    let mut jobs = Registry::new();
    jobs.job("settle", |context: Context, payment: u64| async move {
        let flow = context.flow("payment").entity("payment", payment).steps(["debited"]).start().await?;
        flow.complete("debited").await?;
        Ok(flow.id().to_string())
    });
    jobs
}

#[tokio::test]
async fn in_a_job_and_in_a_trial_of_it() {
    let home = Home::new();
    let mut local = Local::at(&home.database(), LocalConfig::default()).unwrap();
    local.run(jobs(), 1).await.unwrap();
    let made = local.engine.create(vec![NewStep::of("settle").with(&7).unwrap()]).await.unwrap();
    assert_eq!(local.ended(made[0].id).await.unwrap(), State::Completed);
    local.stop(Duration::ZERO).await.unwrap();
    let flows = home.json(&["flows", "list", "--json"]);
    assert_eq!((&flows[0]["state"], &flows[0]["started_by"]), (&json!("completed"), &json!("settle")));
    let tried = Trial::of("settle").arguments(&7).run(&jobs()).await;
    assert!(tried.response().is_some(), "nothing has to be on record for it");
}
