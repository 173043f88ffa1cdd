//! The suite of all transports on a real server of the protocol, and what happens when it is away.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use async_trait::async_trait;
use aws_credential_types::Credentials;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{BehaviorVersion, Region};
use aws_sdk_sqs::types::QueueAttributeName;
use std::collections::HashSet;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use stepfast_transport_sqs::Sqs;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{Instant, interval, timeout};
use transport::conformance::ministack::MiniStack;
use transport::conformance::{self, Rig};
use transport::{MediationType, Message, MessagePointer, Transport, TransportError};

const ACCOUNT: &str = "000000000000";

fn credentials() -> Credentials {
    Credentials::new("test", "test", None, None, "test")
}

struct Server {
    server: MiniStack,
    client: Client,
}

impl Server {
    async fn start() -> Server {
        let server = MiniStack::start().await;
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .region(Region::new("us-east-1"))
            .credentials_provider(credentials())
            .endpoint_url(server.endpoint())
            .build();
        Server { server, client: Client::from_conf(config) }
    }

    fn url(&self, queue: &str, visibility_seconds: u32) -> String {
        let endpoint = self.server.endpoint();
        let options = format!("region=us-east-1&visibility-seconds={visibility_seconds}");
        format!("sqs+{endpoint}/{ACCOUNT}/{queue}.fifo?{options}")
    }

    async fn transport(&self, queue: &str, visibility_seconds: u32) -> Sqs {
        Sqs::with_credentials(&self.url(queue, visibility_seconds), credentials()).await.unwrap()
    }
}

#[async_trait]
impl Rig for Server {
    async fn make_queue(&self, name: &str) {
        let create = self.client.create_queue().queue_name(format!("{name}.fifo"));
        create.attributes(QueueAttributeName::FifoQueue, "true").send().await.unwrap();
    }
    async fn connect(&self, queue: &str) -> Arc<dyn Transport> {
        Arc::new(self.transport(queue, 4).await)
    }
    async fn put(&self, queue: &str, body: &str) {
        self.client
            .send_message()
            .queue_url(format!("{}/{ACCOUNT}/{queue}.fifo", self.server.endpoint()))
            .message_body(body)
            .message_group_id("strangers")
            .message_deduplication_id("once")
            .send()
            .await
            .unwrap();
    }
    async fn stop(&self) {
        self.server.stop();
    }
    async fn start(&self) {
        self.server.up().await;
    }
}

#[tokio::test]
async fn conformance_on_ministack() {
    conformance::run(Arc::new(Server::start().await)).await;
}

fn message(id: &str) -> Message {
    let pointer = MessagePointer {
        id: id.into(),
        pool_code: "pool".into(),
        auth_token: "token".into(),
        mediation_type: MediationType::Http,
        mediation_target: "http://127.0.0.1".into(),
        message_group_id: None,
    };
    Message { pointer, attempt: 1 }
}

fn why<T: std::fmt::Debug>(answer: Result<T, TransportError>) -> String {
    match answer {
        Err(TransportError::Unavailable(why)) => why,
        other => panic!("unavailable is expected, not {other:?}"),
    }
}

#[tokio::test]
async fn a_service_that_is_away_is_told_soon() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let url = format!("sqs+http://127.0.0.1:{port}/{ACCOUNT}/q.fifo?region=us-east-1");
    let transport = Sqs::with_credentials(&url, credentials()).await.unwrap();
    let asked_at = Instant::now();
    let answers = transport.publish((0..25).map(|n| message(&n.to_string())).collect()).await;
    assert_eq!(answers.len(), 25);
    for answer in answers {
        let said = why(answer);
        assert!(said.to_lowercase().contains("refused"), "{said}");
    }
    why(transport.probe().await);
    why(transport.receive(1, Duration::from_secs(5)).await);
    assert!(asked_at.elapsed() < Duration::from_secs(10), "{:?}", asked_at.elapsed());
}

#[tokio::test]
async fn a_queue_that_is_not_there_is_named() {
    let server = Server::start().await;
    let transport = server.transport("nowhere", 4).await;
    let said = why(transport.probe().await);
    assert!(said.contains("NonExistentQueue") || said.contains("QueueDoesNotExist"), "{said}");
    let said = why(transport.publish(vec![message("a")]).await.remove(0));
    assert!(said.contains("does not exist"), "{said}");
}

/// The environment of a process is set from outside, so this test runs itself.
#[tokio::test]
async fn credentials_come_from_the_environment() {
    const URL: &str = "STEPFAST_TEST_SQS";
    if let Ok(url) = std::env::var(URL) {
        return Sqs::new(&url).await.unwrap().probe().await.unwrap();
    }
    let server = Server::start().await;
    server.make_queue("environment").await;
    let nothing = tempfile::tempdir().unwrap();
    let again = |key: Option<&str>| {
        let mut test = Command::new(std::env::current_exe().unwrap());
        test.args(["--exact", "credentials_come_from_the_environment"])
            .env(URL, server.url("environment", 4));
        let variables = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_"));
        for (name, _) in variables {
            test.env_remove(name);
        }
        test.env("HOME", nothing.path()).env("AWS_EC2_METADATA_DISABLED", "true");
        if let Some(key) = key {
            test.env("AWS_ACCESS_KEY_ID", key).env("AWS_SECRET_ACCESS_KEY", key);
        }
        let output = test.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert!(again(Some("test")).0);
    let (passed, said) = again(None);
    assert!(!passed && said.contains("no credentials found in chain"), "{said}");
}

/// Stopped and started again while messages go in and out; what it confirmed arrives.
#[tokio::test]
async fn a_service_that_was_away_loses_nothing_that_it_confirmed() {
    const MESSAGES: usize = 200;
    let server = Server::start().await;
    server.make_queue("away").await;
    let transport = Arc::new(server.transport("away", 4).await);
    let (confirming, mut confirmed) = watch::channel(0);
    let publisher = transport.clone();
    let publishing = tokio::spawn(async move {
        let mut ticks = interval(Duration::from_millis(20));
        for n in 0..MESSAGES {
            while publisher.publish(vec![message(&n.to_string())]).await.remove(0).is_err() {
                ticks.tick().await;
            }
            confirming.send_modify(|n| *n += 1);
        }
    });
    let receiving = tokio::spawn(async move {
        let (mut seen, mut ticks) = (HashSet::new(), interval(Duration::from_millis(20)));
        while seen.len() < MESSAGES {
            let Ok(received) = transport.receive(10, Duration::from_secs(1)).await else {
                ticks.tick().await;
                continue;
            };
            for one in received {
                // It may be gone although nobody heard so.
                let acknowledged = transport.ack(&one.receipt).await;
                assert!(!matches!(acknowledged, Err(TransportError::Refused(_))), "{acknowledged:?}");
                seen.insert(one.pointer.unwrap().id);
            }
        }
    });
    let story = async {
        confirmed.wait_for(|n| *n >= MESSAGES / 4).await.unwrap();
        server.stop().await;
        server.start().await;
        publishing.await.unwrap();
        receiving.await.unwrap();
    };
    timeout(Duration::from_secs(90), story).await.expect("everything arrives in time");
}
