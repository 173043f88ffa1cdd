//! Messages for the cases, and the loops that receive them.

use crate::{MediationType, Message, MessagePointer, Published, Received, Transport, TransportError};
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// How long anything may take that is expected to happen.
pub const DEADLINE: Duration = Duration::from_secs(60);
/// How long a queue is looked at that is expected to be empty.
pub const QUIET: Duration = Duration::from_secs(1);

pub fn message(id: &str, message_group: Option<&str>) -> Message {
    let pointer = MessagePointer {
        id: id.into(),
        pool_code: "pool: \"ä\\\n".into(),
        auth_token: "1.1800000000.00ff".into(),
        mediation_type: MediationType::Http,
        mediation_target: "http://127.0.0.1:7837/api/dispatch/process?a=1&b=%20".into(),
        message_group_id: message_group.map(Into::into),
    };
    Message { pointer, attempt: 3 }
}

/// Publish and require that all are taken.
pub async fn publish(transport: &dyn Transport, messages: Vec<Message>) -> Vec<Published> {
    let n = messages.len();
    let answers = transport.publish(messages).await;
    assert_eq!(answers.len(), n, "one answer for each message");
    answers.into_iter().map(|answer| answer.expect("a running broker takes a message")).collect()
}

/// The next message, whenever it comes.
pub async fn next(transport: &dyn Transport) -> Received {
    let asked_at = Instant::now();
    while asked_at.elapsed() < DEADLINE {
        let received = transport.receive(1, Duration::from_secs(5)).await.expect("a running broker answers");
        assert!(received.len() <= 1, "no more than was asked for");
        if let Some(received) = received.into_iter().next() {
            return received;
        }
    }
    panic!("no message came within {DEADLINE:?}");
}

pub async fn require_quiet(transport: &dyn Transport, span: Duration) {
    let received = transport.receive(10, span).await.expect("a running broker answers");
    assert!(received.is_empty(), "nothing is expected: {received:?}");
}

/// Receive and acknowledge until there are so many different ones; how often each came.
pub async fn drain(transport: &dyn Transport, n: usize) -> HashMap<String, usize> {
    let (started_at, mut seen) = (Instant::now(), HashMap::new());
    while seen.len() < n {
        assert!(started_at.elapsed() < DEADLINE, "only {} of {n} messages came", seen.len());
        let received = transport.receive(10, Duration::from_secs(2)).await.expect("a running broker answers");
        for one in received {
            // One whose time ran out comes again.
            match transport.ack(&one.receipt).await {
                Ok(()) | Err(TransportError::Gone) => {}
                Err(problem) => panic!("an acknowledgement failed: {problem}"),
            }
            *seen.entry(one.pointer.expect("a pointer comes as a pointer").id).or_default() += 1;
        }
    }
    seen
}
