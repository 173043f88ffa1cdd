//! Order within groups, concurrency across them, fairness, duplicates.

use crate::support::{
    Event, SECOND, Seen, Spy, Stage, VISIBILITY, lasts, message, ok, pool, publish, queue, start, wait,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use transport::memory::Fate;

#[tokio::test(start_paused = true)]
async fn a_group_goes_in_order_and_groups_go_beside_each_other() {
    let (queue, stage) = (queue(), Stage::taking(SECOND));
    let messages = (0..5).flat_map(|n| ["a", "b", "c"].map(|g| message(&format!("{g}{n}"), Some(g))));
    publish(&queue, messages.collect()).await;
    let spy = Spy::on(&queue);
    let started_at = tokio::time::Instant::now();
    let running = start(&[pool("p", 10)], &spy, &stage);
    spy.until_acked(15).await;
    let took = started_at.elapsed();
    assert!(took >= SECOND * 5 && took < SECOND * 6, "five each, three at a time: {took:?}");
    let seen = stage.seen.borrow();
    assert_eq!(seen.at_once_max, 3);
    for group in ["a", "b", "c"] {
        let of_group: Vec<_> = seen.ids().into_iter().filter(|id| id.starts_with(group)).collect();
        assert_eq!(of_group, (0..5).map(|n| format!("{group}{n}")).collect::<Vec<_>>());
    }
    assert_eq!((running.status().counters.processed, queue.depth()), (15, 0));
}

#[tokio::test(start_paused = true)]
async fn a_hot_group_does_not_starve_others() {
    let (queue, stage) = (queue(), Stage::taking(SECOND));
    let hot = (0..500).map(|n| message(&format!("hot{n}"), Some("hot")));
    let cold = (0..20).map(|n| message(&format!("cold{n}"), Some(&format!("cold{n}"))));
    publish(&queue, hot.chain(cold).collect()).await;
    let spy = Spy::on(&queue);
    let _running = start(&[pool("p", 4)], &spy, &stage);
    let cold = |seen: &Seen| seen.ended.iter().filter(|id| id.starts_with("cold")).count();
    stage.until("all cold ones are done", |seen| cold(seen) == 20).await;
    let seen = stage.seen.borrow();
    let hot = seen.ids().into_iter().filter(|id| id.starts_with("hot")).count();
    assert!(hot < 25, "{hot} hot ones went before the last cold one");
}

#[tokio::test(start_paused = true)]
async fn a_deferred_message_goes_before_those_behind_it() {
    let calls = AtomicUsize::new(0);
    let stage = Stage::new(move |pointer| {
        let put_off = pointer.id == "a0" && calls.fetch_add(1, Ordering::SeqCst) < 3;
        async move { if put_off { wait(7) } else { ok() } }
    });
    let queue = queue();
    publish(&queue, (0..30).map(|n| message(&format!("a{n}"), Some("a"))).collect()).await;
    let spy = Spy::on(&queue);
    let _running = start(&[pool("p", 4)], &spy, &stage);
    spy.until_acked(30).await;
    let seen = stage.seen.borrow();
    let wanted: Vec<String> =
        ["a0"; 3].map(String::from).into_iter().chain((0..30).map(|n| format!("a{n}"))).collect();
    assert_eq!(seen.ids(), wanted);
}

#[tokio::test(start_paused = true)]
async fn a_second_delivery_of_what_is_held_is_not_called_and_both_are_acknowledged() {
    let (queue, stage) = (queue(), Stage::taking(SECOND * 100));
    queue.on_publish(|_| Fate::Doubled);
    publish(&queue, vec![message("a", None), message("b", Some("g"))]).await;
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 10)], &spy, &stage);
    spy.until_acked(4).await;
    assert_eq!(stage.seen.borrow().began.len(), 2);
    assert_eq!((queue.depth(), running.status().counters.duplicates), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn another_attempt_of_the_same_step_is_another_message() {
    let (queue, stage) = (queue(), Stage::taking(SECOND));
    let mut second = message("a", None);
    second.attempt = 2;
    publish(&queue, vec![message("a", None), second]).await;
    let spy = Spy::on(&queue);
    let _running = start(&[pool("p", 10)], &spy, &stage);
    spy.until_acked(2).await;
    let seen = stage.seen.borrow();
    assert_eq!((seen.began.len(), seen.at_once_max), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn what_waits_and_what_is_called_stays_hidden() {
    let (queue, stage) = (queue(), Stage::taking(VISIBILITY * 10));
    publish(&queue, vec![message("a", Some("g")), message("b", Some("g"))]).await;
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 10)], &spy, &stage);
    spy.until_acked(2).await;
    assert_eq!(stage.seen.borrow().ids(), ["a", "b"]);
    let extended =
        |id: &str| spy.events.borrow().iter().filter(|event| **event == Event::Extended(id.into())).count();
    assert!(extended("a") >= 19 && extended("b") >= 38, "{} {}", extended("a"), extended("b"));
    assert_eq!(running.status().counters.duplicates, 0);
}

#[tokio::test(start_paused = true)]
async fn a_lost_receipt_is_seen_and_the_next_delivery_replaces_it() {
    let (queue, stage) = (queue(), Stage::taking(VISIBILITY * 3));
    publish(&queue, vec![message("a", None)]).await;
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 10)], &spy, &stage);
    stage.until("it is called", |seen| seen.began.len() == 1).await;
    queue.stop();
    lasts(VISIBILITY * 2).await;
    assert!(running.status().consumer.failures_in_a_row > 0);
    queue.start();
    spy.until_acked(1).await;
    assert_eq!((stage.seen.borrow().began.len(), queue.depth()), (1, 0));
    assert_eq!(running.status().counters.duplicates, 1);
}

#[tokio::test(start_paused = true)]
async fn the_eldest_are_listed_first() {
    let (queue, stage) = (queue(), Stage::taking(SECOND * 60));
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 10)], &spy, &stage);
    for n in 0..3 {
        publish(&queue, vec![message(&format!("m{n}"), None)]).await;
        stage.until("it is called", |seen| seen.began.len() == n + 1).await;
        lasts(Duration::from_millis(700)).await;
    }
    let status = running.status();
    let ids: Vec<&str> = status.in_flight.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["m0", "m1", "m2"]);
    assert!(status.in_flight[0].elapsed_ms >= 2_100, "{:?}", status.in_flight[0]);
    assert_eq!((status.pools.len(), status.held), (2, 3));
}
