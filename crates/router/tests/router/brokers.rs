//! From real brokers to a real endpoint.

use crate::answers::Endpoint;
use crate::support::{Spy, config, message, pool, to};
use aws_credential_types::Credentials;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{BehaviorVersion, Region};
use aws_sdk_sqs::types::QueueAttributeName;
use router::Router;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use transport::Transport;
use transport::activemq::ActiveMq;
use transport::conformance::activemq::ActiveMqServer;
use transport::conformance::ministack::MiniStack;
use transport_sqs::Sqs;

const MESSAGES: usize = 30;

/// Messages of five groups, one of which is told to come again.
async fn plays(publisher: &dyn Transport, receiver: Arc<dyn Transport>) {
    let endpoint = Endpoint::start().await;
    let messages = (0..MESSAGES).map(|n| {
        let path = if n == 3 { "later-once" } else { "200" };
        to(&format!("{}/{path}", endpoint.url), message(&format!("m{n}"), Some(&format!("g{}", n % 5))))
    });
    for answer in publisher.publish(messages.collect()).await {
        answer.unwrap();
    }
    let spy = Spy::new(receiver);
    let running = Router::start(config(&[pool("p", 10)]), spy.clone()).unwrap();
    spy.until_acked(MESSAGES).await;
    assert_eq!(endpoint.asked("later-once"), 2);
    let acked: HashSet<String> = spy.acked().into_iter().collect();
    assert_eq!(acked.len(), MESSAGES);
    let status = running.status();
    assert_eq!((status.counters.processed, status.counters.failed), (MESSAGES as u64, 0), "{status:?}");
    println!("{}: {:?} in {} polls", status.transport, status.counters, status.consumer.polls);
    assert_eq!(running.stop(Duration::from_secs(10)).await.given_back, 0);
    let left = publisher.receive(10, Duration::from_secs(2)).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn from_activemq() {
    let server = ActiveMqServer::start().await;
    let connect = || ActiveMq::new(&server.url("steps", "")).unwrap();
    let publisher = connect();
    plays(&publisher, Arc::new(connect())).await;
    publisher.close().await;
}

#[tokio::test]
async fn from_ministack() {
    let server = MiniStack::start().await;
    let credentials = Credentials::new("test", "test", None, None, "test");
    let settings = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .region(Region::new("us-east-1"))
        .credentials_provider(credentials.clone())
        .endpoint_url(server.endpoint())
        .build();
    let create = Client::from_conf(settings).create_queue().queue_name("steps.fifo");
    create.attributes(QueueAttributeName::FifoQueue, "true").send().await.unwrap();
    let url =
        format!("sqs+{}/000000000000/steps.fifo?region=us-east-1&visibility-seconds=4", server.endpoint());
    let publisher = Sqs::with_credentials(&url, credentials.clone()).await.unwrap();
    let receiver = Sqs::with_credentials(&url, credentials).await.unwrap();
    plays(&publisher, Arc::new(receiver)).await;
}
