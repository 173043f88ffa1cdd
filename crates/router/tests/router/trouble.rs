//! Brokers that go away, polls that stall, panics, and ends with and without a farewell.

use crate::support::{
    Event, SECOND, Spy, Stage, VISIBILITY, config, lasts, message, ok, pool, publish, queue, start,
};
use router::{Category, Router, Severity};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use transport::embedded::EmbeddedQueue;

#[tokio::test(start_paused = true)]
async fn a_broker_that_is_away_is_waited_for_without_spinning() {
    let (queue, stage) = (queue(), Stage::taking(Duration::ZERO));
    publish(&queue, vec![message("a", None)]).await;
    queue.stop();
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 10)], &spy, &stage);
    lasts(SECOND * 300).await;
    let polls = spy.events.borrow().len();
    assert!((5..50).contains(&polls), "{polls} polls in five minutes");
    let status = running.status();
    assert_eq!((status.consumer.last_poll_ms_ago, status.consumer.polls), (None, 0));
    assert!(status.warnings.iter().any(|warning| warning.category == Category::ConsumerHealth));
    queue.start();
    spy.until_acked(1).await;
    let consumer = running.status().consumer;
    assert!(consumer.last_poll_ms_ago.is_some() && consumer.failures_in_a_row == 0, "{consumer:?}");
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_stalls_is_begun_anew() {
    let (queue, stage) = (queue(), Stage::taking(Duration::ZERO));
    publish(&queue, vec![message("a", None)]).await;
    let spy = Spy::on(&queue);
    *spy.stalls.lock().unwrap() = true;
    let running = start(&[pool("p", 10)], &spy, &stage);
    lasts(SECOND * 1_200).await;
    let status = running.status();
    assert!(status.consumer.restarts >= 10, "{:?}", status.consumer);
    assert!(status.warnings.iter().any(|warning| warning.severity == Severity::Critical));
    *spy.stalls.lock().unwrap() = false;
    spy.until_acked(1).await;
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_acknowledged_is_not_called_again() {
    let (queue, stage) = (queue(), Stage::taking(SECOND));
    publish(&queue, vec![message("a", None)]).await;
    let spy = Spy::on(&queue);
    *spy.fails_to_ack.lock().unwrap() = true;
    let running = start(&[pool("p", 10)], &spy, &stage);
    stage.until("it is called", |seen| seen.ended.len() == 1).await;
    lasts(SECOND * 3).await;
    *spy.fails_to_ack.lock().unwrap() = false;
    spy.until_acked(1).await;
    assert_eq!((stage.seen.borrow().began.len(), queue.depth()), (1, 0));
    assert!(running.status().warnings.iter().any(|warning| warning.category == Category::QueueHealth));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_panics_frees_its_line() {
    let stage = Stage::new(|pointer| {
        let id = pointer.id.clone();
        async move {
            assert!(id != "a", "as the test wants it");
            ok()
        }
    });
    let queue = queue();
    publish(&queue, vec![message("a", Some("g")), message("b", Some("h"))]).await;
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 1)], &spy, &stage);
    spy.until_acked(1).await;
    spy.until("it is deferred", |_| spy.deferred("a") == [30]).await;
    assert_eq!(running.status().counters.failed, 1);
}

#[tokio::test(start_paused = true)]
async fn a_target_that_does_not_answer_is_given_up_once() {
    let (queue, stage) = (queue(), Stage::taking(SECOND * 3_600));
    publish(&queue, vec![message("a", None)]).await;
    let spy = Spy::on(&queue);
    let started_at = tokio::time::Instant::now();
    let _running = start(&[pool("p", 1)], &spy, &stage);
    spy.until("it is deferred", |_| spy.deferred("a") == [30]).await;
    assert_eq!((started_at.elapsed().as_secs(), stage.seen.borrow().began.len()), (900, 1));
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_calls_end_and_gives_the_rest_back() {
    let (queue, stage) = (queue(), Stage::taking(SECOND * 5));
    publish(&queue, (0..20).map(|n| message(&format!("m{n}"), None)).collect()).await;
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 3)], &spy, &stage);
    let received = |events: &Vec<Event>| events.iter().filter(|e| matches!(e, Event::Received(_))).count();
    spy.until("all are received", |events| received(events) == 20).await;
    stage.until("three are called", |seen| seen.began.len() == 3).await;
    let stopped = running.stop(SECOND * 30).await;
    assert_eq!((stopped.given_back, spy.acked().len(), queue.depth()), (17, 3, 17));
    assert!((3..20).all(|n| spy.deferred(&format!("m{n}")) == [1]));
    assert_eq!(spy.events.borrow().last(), Some(&Event::Closed));
    assert_eq!(running.stop(SECOND).await.given_back, 0);
    let again = Spy::on(&queue);
    let _running = start(&[pool("p", 10)], &again, &stage);
    again.until_acked(17).await;
    assert_eq!(stage.seen.borrow().began.len(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_outlasts_the_grace_is_given_back() {
    let (queue, stage) = (queue(), Stage::taking(SECOND * 60));
    publish(&queue, vec![message("a", None)]).await;
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 3)], &spy, &stage);
    stage.until("it is called", |seen| seen.began.len() == 1).await;
    assert_eq!(running.stop(SECOND * 10).await.given_back, 1);
    assert_eq!((spy.deferred("a"), stage.seen.borrow().at_once), (vec![1], 0));
}

#[tokio::test(start_paused = true)]
async fn a_router_that_dies_loses_nothing_and_acknowledges_nothing_that_was_not_called() {
    let (queue, stage) = (queue(), Stage::taking(SECOND));
    publish(&queue, (0..100).map(|n| message(&format!("m{n}"), Some(&format!("g{}", n % 7)))).collect())
        .await;
    let spy = Spy::on(&queue);
    let running = Router::start_with(config(&[pool("p", 5)]), spy.clone(), stage.clone());
    stage.until("twenty are done", |seen| seen.ended.len() >= 20).await;
    drop(running);
    stage.until("nothing is called", |seen| seen.at_once == 0).await;
    let processed: HashSet<String> = stage.seen.borrow().ended.iter().cloned().collect();
    let acked = spy.acked();
    assert!(acked.iter().all(|id| processed.contains(id)) && acked.len() >= 15, "{acked:?}");
    assert_eq!(queue.depth() + acked.len(), 100);
    let events = spy.events.borrow().len();
    lasts(VISIBILITY).await;
    assert_eq!(spy.events.borrow().len(), events, "nobody is left who does anything");
    let again = Spy::on(&queue);
    let _running = Router::start_with(config(&[pool("p", 5)]), again.clone(), stage.clone());
    again.until_acked(100 - acked.len()).await;
    let processed: HashSet<String> = stage.seen.borrow().ended.iter().cloned().collect();
    assert_eq!((processed.len(), queue.depth()), (100, 0));
}

/// Issue 5: the poll that was under way found that the queue had been closed, and that was told as trouble with it.
#[tokio::test(start_paused = true)]
async fn a_router_that_is_told_to_stop_warns_of_nothing() {
    for _ in 0..64 {
        let (queue, stage) = (EmbeddedQueue::default(), Stage::taking(Duration::ZERO));
        let running = Router::start_with(config(&[pool("p", 10)]), Arc::new(queue.connect()), stage);
        lasts(SECOND).await;
        running.stop(Duration::ZERO).await;
        assert_eq!(running.status().warnings, []);
    }
}
