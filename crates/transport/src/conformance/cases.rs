//! What every transport does, as small stories.

use super::feed::{DEADLINE, QUIET, drain, message, next, publish, require_quiet};
use super::suite::Scene;
use crate::{Published, TransportError};
use std::time::Duration;
use tokio::time::{Instant, interval};

pub async fn published_is_received_once_and_intact(scene: Scene) {
    let transport = scene.connect().await;
    let sent = message("intact", Some("größe: \"7\"\n"));
    assert_eq!(publish(&*transport, vec![sent.clone()]).await, [Published::New]);
    let received = next(&*transport).await;
    assert_eq!(received.pointer, Ok(sent.pointer));
    assert_eq!((received.attempt_header, received.redelivered), (Some(3), false));
    require_quiet(&*transport, QUIET).await;
    transport.ack(&received.receipt).await.unwrap();
    transport.close().await;
    let closed = transport.receive(1, QUIET).await;
    assert!(matches!(closed, Err(TransportError::Unavailable(_))), "{closed:?}");
}

pub async fn acknowledged_never_comes_back(scene: Scene) {
    let transport = scene.connect().await;
    publish(&*transport, vec![message("acknowledged", None)]).await;
    let received = next(&*transport).await;
    transport.ack(&received.receipt).await.unwrap();
    let hidden_for = transport.capabilities().visibility.unwrap_or_default();
    require_quiet(&*transport, hidden_for + QUIET).await;
    transport.close().await;
    require_quiet(&*scene.connect().await, QUIET).await;
}

/// When its time is over, or when the connection is that it was delivered to.
pub async fn unacknowledged_comes_back(scene: Scene) {
    let transport = scene.connect().await;
    publish(&*transport, vec![message("unacknowledged", Some("line"))]).await;
    let first = next(&*transport).await;
    let transport = match transport.capabilities().visibility {
        Some(_) => transport,
        None => {
            drop(transport);
            scene.connect().await
        }
    };
    let again = next(&*transport).await;
    assert_eq!(again.pointer, first.pointer);
    assert!(again.redelivered, "the broker tells that it was delivered before");
    transport.ack(&again.receipt).await.unwrap();
    require_quiet(&*transport, QUIET).await;
}

pub async fn deferred_comes_back_when_due_and_not_before(scene: Scene) {
    let delay = Duration::from_secs(3);
    let (transport, other) = (scene.connect().await, scene.connect().await);
    publish(&*transport, vec![message("deferred", Some("line"))]).await;
    let first = next(&*transport).await;
    let deferred_at = Instant::now();
    transport.defer(&first.receipt, delay).await.unwrap();
    require_quiet(&*other, QUIET).await;
    let again = next(&*transport).await;
    let waited = deferred_at.elapsed();
    assert!(waited >= delay, "it came back after {waited:?}");
    assert_eq!(again.pointer, first.pointer);
    transport.ack(&again.receipt).await.unwrap();
    require_quiet(&*transport, QUIET).await;
}

pub async fn extended_stays_hidden(scene: Scene) {
    let (transport, other) = (scene.connect().await, scene.connect().await);
    publish(&*transport, vec![message("extended", None)]).await;
    let received = next(&*transport).await;
    let visibility = transport.capabilities().visibility.unwrap_or(QUIET);
    transport.extend(&received.receipt, visibility * 5).await.unwrap();
    require_quiet(&*other, visibility * 2).await;
    transport.ack(&received.receipt).await.expect("it is still ours");
    require_quiet(&*transport, QUIET).await;
}

pub async fn a_duplicate_is_dropped_or_delivered_as_the_capabilities_say(scene: Scene) {
    let transport = scene.connect().await;
    let twice = message("twice", Some("line"));
    publish(&*transport, vec![twice.clone()]).await;
    publish(&*transport, vec![twice.clone()]).await;
    let first = next(&*transport).await;
    transport.ack(&first.receipt).await.unwrap();
    if transport.capabilities().dedup_window.is_none() {
        let second = next(&*transport).await;
        assert_eq!(second.pointer, first.pointer);
        transport.ack(&second.receipt).await.unwrap();
    }
    require_quiet(&*transport, QUIET).await;
    // A later attempt of the same step is another message.
    let mut later = twice;
    later.attempt += 1;
    assert_eq!(publish(&*transport, vec![later]).await, [Published::New]);
    let received = next(&*transport).await;
    assert_eq!(received.attempt_header, Some(4));
    transport.ack(&received.receipt).await.unwrap();
}

pub async fn what_is_no_pointer_can_be_acknowledged(scene: Scene) {
    let transport = scene.connect().await;
    scene.put("{\"id\": 7}").await;
    let received = next(&*transport).await;
    let said = received.pointer.expect_err("this is no pointer");
    assert!(said.contains("no message pointer"), "{said}");
    assert_eq!(received.attempt_header, None);
    transport.ack(&received.receipt).await.unwrap();
    publish(&*transport, vec![message("behind", None)]).await;
    let behind = next(&*transport).await;
    assert_eq!(behind.pointer.as_ref().map(|pointer| pointer.id.as_str()), Ok("behind"));
    transport.ack(&behind.receipt).await.unwrap();
}

pub async fn a_thousand_messages_of_fifty_groups_all_arrive(scene: Scene) {
    let (transport, other) = (scene.connect().await, scene.connect().await);
    let messages = (0..1000).map(|n| message(&format!("m{n}"), Some(&format!("group {}", n % 50)))).collect();
    publish(&*other, messages).await;
    let seen = drain(&*transport, 1000).await;
    assert_eq!(seen.len(), 1000);
    require_quiet(&*transport, QUIET).await;
}

pub async fn a_large_batch_is_split(scene: Scene) {
    let transport = scene.connect().await;
    let n = transport.capabilities().publish_batch_max * 2 + 1;
    let messages = (0..n).map(|n| message(&format!("m{n}"), None)).collect();
    assert_eq!(publish(&*transport, messages).await.len(), n);
    assert_eq!(drain(&*transport, n).await.len(), n);
}

pub async fn what_is_too_large_is_refused_and_the_others_are_not(scene: Scene) {
    let transport = scene.connect().await;
    let (before, mut large, after) =
        (message("before", None), message("large", None), message("after", None));
    large.pointer.auth_token = "x".repeat(transport.capabilities().body_bytes_max);
    let answers = transport.publish(vec![before, large, after]).await;
    assert_eq!((&answers[0], &answers[2]), (&Ok(Published::New), &Ok(Published::New)));
    assert!(matches!(answers[1], Err(TransportError::Refused(_))), "{:?}", answers[1]);
    assert_eq!(drain(&*transport, 2).await.len(), 2);
}

pub async fn an_empty_queue_is_waited_at(scene: Scene) {
    let transport = scene.connect().await;
    require_quiet(&*transport, QUIET).await;
    let wait = Duration::from_secs(2);
    let asked_at = Instant::now();
    require_quiet(&*transport, wait).await;
    let waited = asked_at.elapsed();
    assert!(waited >= wait.mul_f64(0.9) && waited < wait * 3, "it waited for {waited:?}");
    // What comes while it waits ends the wait.
    let other = scene.connect().await;
    let long = Duration::from_secs(15);
    let asked_at = Instant::now();
    let late = vec![message("late", None)];
    let (received, _) = tokio::join!(transport.receive(1, long), publish(&*other, late));
    let received = received.expect("a running broker answers");
    assert!(asked_at.elapsed() < long, "it was waited for to the end");
    assert_eq!(received.len(), 1);
    transport.ack(&received[0].receipt).await.unwrap();
}

/// A delivery that was given back is over: its receipt ends nothing that came later.
pub async fn an_outdated_receipt_does_no_harm(scene: Scene) {
    let transport = scene.connect().await;
    publish(&*transport, vec![message("outdated", Some("line"))]).await;
    let first = next(&*transport).await;
    transport.defer(&first.receipt, Duration::from_secs(1)).await.unwrap();
    let again = next(&*transport).await;
    assert_eq!(transport.ack(&first.receipt).await, Err(TransportError::Gone));
    assert_eq!(transport.defer(&first.receipt, QUIET).await, Err(TransportError::Gone));
    transport.ack(&again.receipt).await.expect("the outdated receipt did not end it");
    // A second time it is gone already, or it is done already.
    let twice = transport.ack(&again.receipt).await;
    assert!(matches!(twice, Ok(()) | Err(TransportError::Gone)), "{twice:?}");
    require_quiet(&*transport, QUIET).await;
}

pub async fn probe_tells_a_stopped_broker_from_a_running_one(scene: Scene) {
    let transport = scene.connect().await;
    transport.probe().await.expect("a running broker answers");
    publish(&*transport, vec![message("before the stop", None)]).await;
    scene.rig.stop().await;
    let asked_at = Instant::now();
    let probed = transport.probe().await;
    assert!(matches!(probed, Err(TransportError::Unavailable(_))), "{probed:?}");
    let answers = transport.publish(vec![message("while stopped", None)]).await;
    assert!(matches!(answers[..], [Err(TransportError::Unavailable(_))]), "{answers:?}");
    let received = transport.receive(1, QUIET).await;
    assert!(matches!(received, Err(TransportError::Unavailable(_))), "{received:?}");
    assert!(asked_at.elapsed() < Duration::from_secs(15), "a broker that is away is noticed soon");
    scene.rig.start().await;
    let started_at = Instant::now();
    let mut ticks = interval(Duration::from_millis(50));
    while let Err(problem) = transport.probe().await {
        assert!(started_at.elapsed() < DEADLINE, "it is running again: {problem}");
        ticks.tick().await;
    }
    let received = next(&*transport).await;
    assert_eq!(received.pointer.unwrap().id, "before the stop");
    transport.ack(&received.receipt).await.unwrap();
}
