//! Limits of pools, and how they change while messages wait.

use crate::support::{Event, SECOND, Spy, Stage, in_pool, lasts, message, pool, publish, queue, start};
use router::{Category, PoolConfig, PoolStatus, UnknownPool};
use std::time::Duration;

fn messages(n: usize) -> Vec<transport::Message> {
    (0..n).map(|n| message(&format!("m{n}"), None)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_pool_calls_no_more_at_once_than_it_may_and_can_be_changed() {
    let (queue, stage) = (queue(), Stage::taking(SECOND));
    publish(&queue, messages(100)).await;
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 2)], &spy, &stage);
    stage.until("ten are done", |seen| seen.ended.len() >= 10).await;
    assert_eq!(stage.seen.borrow().at_once_max, 2);
    running.set_pools(&[pool("p", 8)]);
    stage.until("eight are called", |seen| seen.at_once == 8).await;
    running.set_pools(&[pool("p", 1)]);
    stage.until("all but one ended", |seen| seen.at_once <= 1).await;
    stage.seen.send_modify(|seen| seen.at_once_max = 0);
    spy.until_acked(100).await;
    assert_eq!(stage.seen.borrow().at_once_max, 1);
    assert_eq!(stage.seen.borrow().began.len(), 100, "none was called twice");
}

#[tokio::test(start_paused = true)]
async fn it_never_holds_more_than_its_pools_can_queue() {
    let (queue, stage) = (queue(), Stage::taking(SECOND * 60));
    let pools = [PoolConfig { concurrency: Some(1), ..PoolConfig::new("DISPATCH-POOL") }];
    publish(&queue, messages(200)).await;
    let spy = Spy::on(&queue);
    let running = start(&pools, &spy, &stage);
    let received = |events: &Vec<Event>| events.iter().filter(|e| matches!(e, Event::Received(_))).count();
    spy.until("fifty are received", |events| received(events) >= 50).await;
    lasts(SECOND * 30).await;
    assert_eq!((received(&spy.events.borrow()), running.status().held), (50, 50));
    assert!(spy.events.borrow().iter().all(|event| !matches!(event, Event::Deferred(..))));
    stage.until("one is done", |seen| !seen.ended.is_empty()).await;
    spy.until("one more is received", |events| received(events) >= 51).await;
    assert!(running.status().held <= 50);
}

#[tokio::test(start_paused = true)]
async fn what_a_full_pool_cannot_take_is_deferred() {
    let (queue, stage) = (queue(), Stage::taking(SECOND * 60));
    publish(&queue, messages(60)).await;
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 1)], &spy, &stage);
    spy.until("one is deferred", |events| events.contains(&Event::Deferred("m50".into(), 10))).await;
    let warnings = running.status().warnings;
    assert!(warnings.iter().any(|w| w.category == Category::PoolCapacity && w.about == "p"), "{warnings:?}");
}

#[tokio::test(start_paused = true)]
async fn a_rate_is_kept_and_can_be_changed() {
    let (queue, stage) = (queue(), Stage::taking(Duration::ZERO));
    publish(&queue, messages(40)).await;
    let spy = Spy::on(&queue);
    let slow = PoolConfig { rate_per_minute: Some(60), ..pool("p", 20) };
    let running = start(&[slow], &spy, &stage);
    stage.until("ten began", |seen| seen.began.len() == 10).await;
    {
        let seen = stage.seen.borrow();
        let gaps = seen.began.windows(2).map(|pair| pair[1].1 - pair[0].1);
        let (least, most) = (gaps.clone().min().unwrap(), gaps.max().unwrap());
        assert!(least >= SECOND && most < SECOND + Duration::from_millis(50), "{least:?} {most:?}");
    }
    running.set_pools(&[pool("p", 20)]);
    let changed_at = tokio::time::Instant::now();
    spy.until_acked(40).await;
    assert!(changed_at.elapsed() < SECOND, "{:?}", changed_at.elapsed());
    assert_eq!(running.status().counters.rate_limited, 0);
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_for_the_rate_is_deferred() {
    let (queue, stage) = (queue(), Stage::taking(Duration::ZERO));
    publish(&queue, messages(3)).await;
    let spy = Spy::on(&queue);
    let slow = PoolConfig { rate_per_minute: Some(1), ..pool("p", 5) };
    let running = start(&[slow], &spy, &stage);
    spy.until("one is deferred", |events| events.contains(&Event::Deferred("m1".into(), 10))).await;
    assert!(running.status().counters.rate_limited >= 1);
    spy.until_acked(3).await;
    let seen = stage.seen.borrow();
    assert!(seen.began[2].1 - seen.began[0].1 >= SECOND * 120);
    assert!(running.status().warnings.iter().any(|warning| warning.category == Category::RateLimit));
}

#[tokio::test(start_paused = true)]
async fn a_suspended_pool_defers_until_it_is_activated() {
    let (queue, stage) = (queue(), Stage::taking(Duration::ZERO));
    publish(&queue, messages(3)).await;
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 5)], &spy, &stage);
    running.suspend("p").unwrap();
    spy.until("it is deferred twice", |_| spy.deferred("m2") == [10, 10]).await;
    assert_eq!(running.status().pools[1].status, PoolStatus::Suspended);
    assert!(stage.seen.borrow().began.is_empty());
    running.activate("p").unwrap();
    spy.until_acked(3).await;
    assert_eq!(running.suspend("q"), Err(UnknownPool("q".into())));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_pool_is_the_default_one_and_told_once() {
    let (queue, stage) = (queue(), Stage::taking(SECOND));
    publish(&queue, messages(30).into_iter().map(|m| in_pool("nowhere", m)).collect()).await;
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 5)], &spy, &stage);
    spy.until_acked(30).await;
    assert_eq!(stage.seen.borrow().at_once_max, 20);
    let status = running.status();
    let routing: Vec<_> = status.warnings.iter().filter(|w| w.category == Category::Routing).collect();
    assert_eq!((routing.len(), routing[0].times, routing[0].about.as_str()), (1, 1, "nowhere"));
}
