//! What is for users is told to each of them by name, later if the channel has had enough; a flood in one turn is counted to the last.

use super::*;
use engine::StartWorkflow;
use model::{Failure, Outcome, Report, Telling};
use rules::settle::Mode;
use std::collections::BTreeSet;
use std::time::Duration;

const ORDER: &str = "workflow: order\nversion: 1.0.0\nsteps:\n  - { key: a, action: fail }\n";

fn people() -> ChannelOrder {
    changed(webhook("people", "https://example.com/u"), |c| {
        c.audience = Audience::User;
        c.per_minute = 2;
    })
}

async fn order_of(stage: &Stage, user: &str) {
    let labels = [("user".to_string(), user.to_string())].into();
    let start = StartWorkflow { labels, ..StartWorkflow::of("order").with(&json!({})).unwrap() };
    stage.engine.start_workflow(start).await.unwrap();
}

/// Whom the letters name, and how many seconds from the first each may go.
fn schedule(stage: &Stage) -> Vec<(String, i64)> {
    let rows = deliveries(stage, "people");
    let first = rows.iter().map(|row| row.step.created_at).min().unwrap();
    let told = rows.iter().map(|row| {
        let letter = serde_json::from_str::<Value>(&row.step.arguments).unwrap()["body"].clone();
        let user = letter["data"]["user"].as_str().expect("each names its user").to_string();
        let after = row.step.wake_at.map_or(0, |at| at.since(first).as_secs().cast_signed());
        (user, after)
    });
    told.collect()
}

/// Beyond the limit of a minute they became one `and 3 more`, and nobody was told by name.
#[tokio::test]
async fn users_are_told_by_name_as_the_channel_takes_more() {
    let ops = changed(ops(), |c| c.per_minute = 2);
    let mut stage = stage(vec![ops, people()]).await;
    stage.define(ORDER).await;
    for user in ["ann", "bob", "cyd", "dan", "eve"] {
        order_of(&stage, user).await;
    }
    stage.settle().await;
    let told = schedule(&stage);
    let users: BTreeSet<&str> = told.iter().map(|(user, _)| user.as_str()).collect();
    assert_eq!(users, BTreeSet::from(["ann", "bob", "cyd", "dan", "eve"]));
    let mut waits: Vec<i64> = told.iter().map(|(_, after)| *after).collect();
    waits.sort_unstable();
    assert_eq!(waits, [0, 0, 60, 60, 120]);
    let sends = |name: &str| {
        let channels = stage.browse().channels().unwrap();
        let (_, sends) = channels.into_iter().find(|(stored, _)| stored.channel.name == name).unwrap();
        (sends.told, sends.gathered)
    };
    assert_eq!((sends("ops"), sends("people")), ((2, 3), (5, 0)), "administrators are told as before");
    // Whoever comes next knows what is to be sent, and goes on behind it.
    stage.crash().await;
    order_of(&stage, "fay").await;
    stage.settle().await;
    assert_eq!(schedule(&stage).last().map(|(user, _)| user.as_str()), Some("fay"));
    let late = deliveries(&stage, "people").into_iter().map(|row| row.step.wake_at).max().flatten();
    assert!(late.is_some_and(|at| at.since(stage.clock_now()).as_secs() > 60), "behind all that wait");
    stage.advance(Duration::from_secs(200)).await;
    stage.settle().await;
    assert!(deliveries(&stage, "people").iter().all(|row| row.step.is_due(stage.clock_now())));
}

#[tokio::test]
async fn one_that_waits_says_so_and_is_not_told_twice() {
    let mut stage = stage(vec![people()]).await;
    let tell = async |stage: &Stage, key: &str| {
        let notice = Notice { audience: Audience::User, ..notice(key, Severity::High) };
        stage.engine.tell_channel("people", notice).await.unwrap()
    };
    for key in ["a", "b"] {
        assert!(matches!(tell(&stage, key).await, Telling::Sent { .. }), "{key}");
    }
    let Telling::Delayed { step, until } = tell(&stage, "c").await else { panic!("it is one too many") };
    assert_eq!(stage.step(step).step.wake_at, Some(until));
    assert_eq!(tell(&stage, "c").await, Telling::Quiet);
    stage.crash().await;
    assert_eq!(tell(&stage, "c").await, Telling::Quiet, "it is on record");
    stage.settle().await;
}

/// One report that ends more workflows than any channel takes in a minute.
#[tokio::test]
async fn of_a_flood_in_one_turn_none_is_lost() {
    let mut stage = stage(vec![changed(ops(), |c| c.per_minute = 3), people()]).await;
    stage.define(&ORDER.replace("fail", "hold")).await;
    let n = usize::try_from(model::limits::NOTICES_PER_MINUTE_MAX).unwrap() + 40;
    for user in 0..n {
        order_of(&stage, &format!("user {user}")).await;
    }
    let mut reports = Vec::new();
    while reports.len() < n {
        stage.decide(Mode::FixedPoint).await;
        let session = stage.session.id;
        reports.extend(stage.handed().into_iter().map(|claim| Report {
            session,
            step: claim.step,
            attempt: claim.attempt,
            outcome: Outcome::Fail { failure: Failure { message: "no".into(), trace: None }, notify: true },
            log: Vec::new(),
            delivery: None,
        }));
    }
    stage.engine.report(reports).await.unwrap();
    let (_, sends) = stage.browse().channels().unwrap().remove(0);
    assert_eq!((sends.told, sends.gathered), (3, n as u64 - 3), "counted to the last");
    let users: BTreeSet<String> = schedule(&stage).into_iter().map(|(user, _)| user).collect();
    assert_eq!(users.len(), n, "and every user is told");
}
