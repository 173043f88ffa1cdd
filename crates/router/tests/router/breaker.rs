//! A target that fails is spared, tried, and used again.

use crate::support::{SECOND, Spy, Stage, message, ok, pool, publish, queue, start, status, to};
use router::{BreakerState, Category};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const BAD: &str = "http://bad.example/run?secret=1";

#[tokio::test(start_paused = true)]
async fn a_breaker_opens_defers_tries_and_closes() {
    let is_well = Arc::new(AtomicBool::new(false));
    let well = is_well.clone();
    let stage = Stage::new(move |pointer| {
        let fails = pointer.mediation_target == BAD && !well.load(Ordering::SeqCst);
        async move { if fails { status(503) } else { ok() } }
    });
    let queue = queue();
    let bad = (0..30).map(|n| to(BAD, message(&format!("bad{n}"), None)));
    publish(&queue, bad.collect()).await;
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 10)], &spy, &stage);
    spy.until("one is spared", |_| (0..30).any(|n| spy.deferred(&format!("bad{n}")).contains(&5))).await;
    let breaker = running.status().breakers.remove(0);
    assert_eq!((breaker.target.as_str(), breaker.state), ("http://bad.example/run", BreakerState::Open));
    assert_eq!(stage.seen.borrow().began.len(), 30, "ten messages, three calls each");
    publish(&queue, vec![message("good", None)]).await;
    spy.until_acked(1).await;
    assert_eq!(spy.acked(), ["good"], "another target is not touched");
    is_well.store(true, Ordering::SeqCst);
    spy.until_acked(31).await;
    let last = running.status();
    assert!(last.breakers.iter().all(|breaker| breaker.state == BreakerState::Closed), "{last:?}");
    assert!(last.counters.circuit_open >= 20 && last.counters.failed == 10, "{:?}", last.counters);
    assert!(
        last.warnings.iter().any(|w| w.category == Category::CircuitBreaker && !w.about.contains("secret"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_breaker_can_be_reset() {
    let stage = Stage::new(|_| async { status(500) });
    let queue = queue();
    publish(&queue, (0..10).map(|n| to(BAD, message(&format!("m{n}"), None))).collect()).await;
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 10)], &spy, &stage);
    spy.until("all are deferred", |_| (0..10).all(|n| spy.deferred(&format!("m{n}")) == [30])).await;
    let state = || running.status().breakers[0].state;
    assert_eq!(state(), BreakerState::Open);
    assert!(running.reset_breaker(BAD) && !running.reset_breaker("http://never.called/"));
    assert_eq!(state(), BreakerState::Closed);
    publish(&queue, vec![to(BAD, message("next", None))]).await;
    stage.until("it is called", |seen| seen.calls_of("next") == 1).await;
    running.reset_breakers();
    assert_eq!(state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_tried_three_times_with_pauses() {
    let stage = Stage::new(|_| async { status(502) });
    let queue = queue();
    publish(&queue, vec![message("a", None)]).await;
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 10)], &spy, &stage);
    spy.until("it is deferred", |_| spy.deferred("a") == [30]).await;
    let seen = stage.seen.borrow();
    let gaps: Vec<_> = seen.began.windows(2).map(|pair| (pair[1].1 - pair[0].1).as_secs()).collect();
    assert_eq!(gaps, [1, 2]);
    assert_eq!(running.status().breakers[0].failures, 1, "one delivery is one failure");
    assert!(seen.began[2].1 - seen.began[0].1 < SECOND * 4);
}
