//! ActiveMQ: the suite of all transports on a real broker, and what happens when the broker is not well.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod fake;
mod killed;

use async_trait::async_trait;
use fake::Fake;
use std::sync::Arc;
use std::time::Duration;
use stepfast_transport::activemq::ActiveMq;
use stepfast_transport::conformance::activemq::ActiveMqServer;
use stepfast_transport::conformance::{self, Rig};
use stepfast_transport::{MediationType, Message, MessagePointer, Received, Transport, TransportError};
use tokio::time::{Instant, timeout};

struct Broker(ActiveMqServer);

#[async_trait]
impl Rig for Broker {
    /// A queue is made by whoever uses it first.
    async fn make_queue(&self, _: &str) {}
    async fn connect(&self, queue: &str) -> Arc<dyn Transport> {
        Arc::new(ActiveMq::new(&self.0.url(queue, "")).unwrap())
    }
    async fn put(&self, queue: &str, body: &str) {
        self.0.put(queue, body);
    }
    async fn stop(&self) {
        self.0.kill();
    }
    async fn start(&self) {
        self.0.up().await;
    }
}

#[tokio::test]
async fn conformance_on_activemq() {
    conformance::run(Arc::new(Broker(ActiveMqServer::start().await))).await;
}

fn message(id: &str, message_group: Option<&str>) -> Message {
    let pointer = MessagePointer {
        id: id.into(),
        pool_code: "pool".into(),
        auth_token: "token".into(),
        mediation_type: MediationType::Http,
        mediation_target: "http://127.0.0.1".into(),
        message_group_id: message_group.map(Into::into),
    };
    Message { pointer, attempt: 1 }
}

fn id(received: &Received) -> &str {
    &received.pointer.as_ref().unwrap().id
}

async fn receive_one(transport: &ActiveMq) -> Received {
    let received = transport.receive(1, Duration::from_secs(30)).await.unwrap();
    received.into_iter().next().expect("a message comes")
}

fn why(error: TransportError) -> String {
    match error {
        TransportError::Unavailable(why) => why,
        other => panic!("unavailable is expected, not {other:?}"),
    }
}

/// The broker would keep a group's later messages for the consumer that had its first; but that one is taken.
#[tokio::test]
async fn a_deferred_message_holds_back_no_other_of_any_group() {
    let server = ActiveMqServer::start().await;
    let transport = ActiveMq::new(&server.url("groups", "")).unwrap();
    let groups = ["a", "b", "c", "d"];
    for round in 0..3 {
        let messages = groups.map(|group| message(&format!("{group}{round}"), Some(group))).to_vec();
        assert!(transport.publish(messages).await.iter().all(Result::is_ok));
        let mut held = None;
        for _ in groups {
            let received = receive_one(&transport).await;
            match held {
                None => held = Some(received),
                Some(_) => transport.ack(&received.receipt).await.unwrap(),
            }
        }
        // From here on a consumer is taken, and it may be the one that any group is used to.
        let held = held.unwrap();
        transport.defer(&held.receipt, Duration::from_secs(600)).await.unwrap();
    }
}

#[tokio::test]
async fn a_body_of_megabytes_is_told_and_acknowledged() {
    let server = ActiveMqServer::start().await;
    let transport = ActiveMq::new(&server.url("large", "")).unwrap();
    server.put("large", &"x".repeat(3 << 20));
    let received = receive_one(&transport).await;
    assert_eq!(received.pointer, Err("the body has 3145728 bytes, too many".into()));
    transport.ack(&received.receipt).await.unwrap();
    transport.publish(vec![message("small", None)]).await.remove(0).unwrap();
    assert_eq!(id(&receive_one(&transport).await), "small");
}

#[tokio::test]
async fn a_wrong_password_is_said_and_not_repeated() {
    let server = ActiveMqServer::start().await;
    let url = format!("stomp://tester:guessed@127.0.0.1:{}/steps", server.port());
    let transport = ActiveMq::new(&url).unwrap();
    let said = why(transport.probe().await.unwrap_err());
    assert!(
        said.contains("User name [tester] or password is invalid") && !said.contains("guessed"),
        "{said}"
    );
    let said = why(transport.receive(1, Duration::from_secs(1)).await.unwrap_err());
    assert!(said.contains("password is invalid"), "{said}");
}

#[tokio::test]
async fn a_broker_that_is_away_is_told_at_once() {
    let away = Fake::port_of_nobody().await;
    let transport = ActiveMq::new(&format!("stomp://127.0.0.1:{away}/steps")).unwrap();
    let asked_at = Instant::now();
    let answers = transport.publish((0..600).map(|n| message(&n.to_string(), None)).collect()).await;
    assert_eq!(answers.len(), 600);
    assert!(answers.into_iter().all(|answer| why(answer.unwrap_err()).contains("refused")));
    assert!(why(transport.probe().await.unwrap_err()).contains("refused"));
    assert!(why(transport.receive(1, Duration::from_secs(20)).await.unwrap_err()).contains("refused"));
    assert!(asked_at.elapsed() < Duration::from_secs(2), "{:?}", asked_at.elapsed());
}

#[tokio::test]
async fn a_broker_that_falls_silent_is_given_up() {
    let fake = Fake::start().await;
    let transport = ActiveMq::new(&fake.url("heart-beat-ms=500")).unwrap();
    let waiting = transport.receive(1, Duration::from_secs(60));
    let told = timeout(Duration::from_secs(20), waiting).await.expect("silence is noticed");
    assert!(why(told.unwrap_err()).contains("silent for 1s"));
}

/// The other half of the same promise.
#[tokio::test]
async fn we_say_that_we_live() {
    let fake = Fake::start().await;
    let transport = ActiveMq::new(&fake.url("heart-beat-ms=500")).unwrap();
    let _ = transport.receive(1, Duration::from_secs(60)).await;
    let heard = fake.heard().await;
    assert!(heard.contains("ack:client-individual\nactivemq.prefetchSize:1\n"), "{heard:?}");
}

#[tokio::test]
async fn what_is_no_broker_is_told() {
    let fake = Fake::saying("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n\0").await;
    let transport = ActiveMq::new(&fake.url("")).unwrap();
    let said = why(transport.probe().await.unwrap_err());
    assert!(said.contains("it does not speak STOMP 1.2"), "{said}");
}

#[tokio::test]
async fn a_broker_with_a_certificate_is_believed_only_if_its_authority_is() {
    let fake = Fake::with_tls().await;
    let untrusted = ActiveMq::new(&fake.tls_url("")).unwrap();
    let said = why(untrusted.probe().await.unwrap_err());
    assert!(said.contains("certificate"), "{said}");
    let trusted = ActiveMq::new(&fake.tls_url(&format!("ca-file={}", fake.authority().display()))).unwrap();
    let silent = why(trusted.receive(1, Duration::from_secs(60)).await.unwrap_err());
    assert!(silent.contains("silent"), "it was connected: {silent}");
}
