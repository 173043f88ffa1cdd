//! A broker that is killed while messages go in and out loses nothing that it confirmed.

use super::{id, message, receive_one, why};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use stepfast_transport::activemq::ActiveMq;
use stepfast_transport::conformance::activemq::ActiveMqServer;
use stepfast_transport::{Transport, TransportError};
use tokio::sync::watch;
use tokio::time::{interval, timeout};

const MESSAGES: usize = 600;
const LIMIT: Duration = Duration::from_secs(100);

/// Publish every message until it is confirmed.
async fn publish_all(transport: Arc<ActiveMq>, confirmed: watch::Sender<usize>) {
    let mut ticks = interval(Duration::from_millis(20));
    for first in (0..MESSAGES).step_by(10) {
        let mut batch: Vec<_> = (first..first + 10).map(|n| message(&format!("m{n}"), None)).collect();
        while !batch.is_empty() {
            ticks.tick().await;
            let answers = transport.publish(batch.clone()).await;
            let before = batch.len();
            let mut answers = answers.into_iter();
            batch.retain(|_| match answers.next().unwrap() {
                Ok(_) => false,
                Err(TransportError::Unavailable(_)) => true,
                Err(other) => panic!("{other}"),
            });
            confirmed.send_modify(|n| *n += before - batch.len());
        }
    }
}

/// Receive and acknowledge until every message was seen. What is acknowledged may be gone although nobody heard so.
async fn receive_all(transport: Arc<ActiveMq>, n_seen: watch::Sender<usize>) -> usize {
    let (mut seen, mut deliveries) = (HashSet::new(), 0);
    let mut ticks = interval(Duration::from_millis(20));
    while seen.len() < MESSAGES {
        let Ok(received) = transport.receive(10, Duration::from_secs(1)).await else {
            ticks.tick().await;
            continue;
        };
        for one in received {
            deliveries += 1;
            seen.insert(id(&one).to_string());
            match transport.ack(&one.receipt).await {
                Ok(()) | Err(TransportError::Unavailable(_) | TransportError::Gone) => {}
                Err(other) => panic!("{other}"),
            }
        }
        n_seen.send_replace(seen.len());
    }
    deliveries
}

async fn reached(count: &mut watch::Receiver<usize>, n: usize) {
    count.wait_for(|reached| *reached >= n).await.unwrap();
}

#[tokio::test]
async fn a_killed_broker_loses_nothing_that_it_confirmed() {
    let server = ActiveMqServer::start().await;
    let transport = Arc::new(ActiveMq::new(&server.url("killed", "")).unwrap());
    let (confirming, mut confirmed) = watch::channel(0);
    let (seeing, mut seen) = watch::channel(0);
    let publishing = tokio::spawn(publish_all(transport.clone(), confirming));
    let receiving = tokio::spawn(receive_all(transport.clone(), seeing));
    let story = async {
        reached(&mut confirmed, 100).await;
        server.kill();
        server.up().await;
        reached(&mut seen, 250).await;
        server.kill();
        server.up().await;
        publishing.await.unwrap();
        receiving.await.unwrap()
    };
    let deliveries = timeout(LIMIT, story).await.expect("everything arrives in time");
    println!("{MESSAGES} messages confirmed through two kills, {deliveries} deliveries");
}

#[tokio::test]
async fn receipts_of_a_lost_connection_are_gone() {
    let server = ActiveMqServer::start().await;
    let transport = ActiveMq::new(&server.url("receipts", "")).unwrap();
    transport.publish(vec![message("one", None)]).await.remove(0).unwrap();
    let first = receive_one(&transport).await;
    server.kill();
    server.up().await;
    assert_eq!(transport.ack(&first.receipt).await, Err(TransportError::Gone));
    assert_eq!(transport.extend(&first.receipt, Duration::from_secs(1)).await, Err(TransportError::Gone));
    let again = timeout(LIMIT, async {
        loop {
            match transport.receive(1, Duration::from_secs(5)).await {
                Ok(received) if received.is_empty() => {}
                Ok(mut received) => return received.remove(0),
                Err(error) => drop(why(error)),
            }
        }
    });
    let again = again.await.expect("it comes back");
    assert_eq!(id(&again), "one");
    assert_eq!(transport.ack(&first.receipt).await, Err(TransportError::Gone));
    transport.ack(&again.receipt).await.unwrap();
}
