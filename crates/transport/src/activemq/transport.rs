//! One connection publishes, another receives.
//!
//! Why    a broker that is full stops reading from whoever publishes, and acknowledgements must still get through. Each
//!        consumer is sent one message at a time, so that what this process does not work on others can have; a message is
//!        never given back with NACK, which lets others overtake it and ends in the dead-letter queue.

use super::address::Address;
use super::decode::{BODY_BYTES_MAX, HEAD_BYTES_MAX};
use super::frame::Frame;
use super::inbox::ATTEMPT_HEADER;
use super::line::Line;
use super::link::{Link, Pending};
use crate::{AddressFault, Capabilities, Message, Published, Receipt, Received, Transport, TransportError};

use async_trait::async_trait;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Frames that are on their way at once.
const PUBLISH_BATCH_MAX: usize = 256;
/// Names travel in headers too, and have to come back through our own reader.
const NAME_BYTES_MAX: usize = 16 << 10;
const _: () = assert!(NAME_BYTES_MAX * 8 < HEAD_BYTES_MAX);
/// How long a broker may take to say that it is there.
const PROBE: Duration = Duration::from_secs(3);
/// How long it may take to hear goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

pub struct ActiveMq {
    capabilities: Capabilities,
    destination: String,
    consumers_max: usize,
    publishing: Line,
    receiving: Line,
}

impl ActiveMq {
    /// Nobody is called yet: a broker that is away is found out by the first call, and again by each one after.
    pub fn new(url: &str) -> Result<ActiveMq, AddressFault> {
        let address = Arc::new(Address::parse(url)?);
        let capabilities = Capabilities {
            name: "activemq",
            publish_batch_max: PUBLISH_BATCH_MAX,
            receive_batch_max: address.consumers_max,
            body_bytes_max: BODY_BYTES_MAX,
            dedup_window: None,
            hides: false,
            durable: true,
            visibility: None,
            groups_in_broker: false,
        };
        Ok(ActiveMq {
            capabilities,
            destination: format!("/queue/{}", address.queue),
            consumers_max: address.consumers_max,
            publishing: Line::new(address.clone(), "publishing"),
            receiving: Line::new(address, "receiving"),
        })
    }

    /// Each message is the first of its group. Otherwise the broker would keep a group's later messages for the consumer
    /// that had the one before, also while that one is busy or holds a deferred message.
    fn send_frame(&self, message: &Message) -> Result<Frame, TransportError> {
        let body = message.pointer.to_json().into_bytes();
        let (bytes, most) = (body.len(), self.capabilities.body_bytes_max);
        if bytes > most {
            return Err(TransportError::Refused(format!("it has {bytes} bytes, at most {most} are taken")));
        }
        let dedup_id = message.dedup_id();
        for name in [Some(&dedup_id), message.pointer.message_group_id.as_ref()].into_iter().flatten() {
            if name.len() > NAME_BYTES_MAX || name.contains('\0') {
                let why = format!("a name is longer than {NAME_BYTES_MAX} bytes, or has a zero in it");
                return Err(TransportError::Refused(why));
            }
        }
        let mut frame = Frame::new("SEND")
            .with("destination", &self.destination)
            .with("persistent", "true")
            .with("content-type", "application/json")
            .with("amq-msg-type", "text")
            .with("correlation-id", dedup_id)
            .with(ATTEMPT_HEADER, message.attempt.to_string());
        if let Some(group) = &message.pointer.message_group_id {
            frame = frame.with("JMSXGroupID", group).with("JMSXGroupSeq", "1").with("stepfast_group", group);
        }
        Ok(frame.carrying(body))
    }

    async fn send(&self, link: &Link, message: &Message) -> Result<Pending, TransportError> {
        let frame = self.send_frame(message)?;
        Ok(link.room().await?.send(frame))
    }

    /// So many consumers that `max` messages can come; each that is handed out takes one.
    async fn subscribe(&self, link: &Link, max: usize) -> Result<(), TransportError> {
        while link.inbox.wants_consumer(max, self.consumers_max) {
            let room = link.room().await?;
            let Some(number) = link.inbox.add_consumer(max, self.consumers_max) else { break };
            let subscribe = Frame::new("SUBSCRIBE")
                .with("id", number.to_string())
                .with("destination", &self.destination)
                .with("ack", "client-individual")
                .with("activemq.prefetchSize", "1");
            room.tell(&subscribe);
        }
        Ok(())
    }

    /// Of the living connection; the receipts of any other are gone.
    async fn holder(&self) -> Result<Arc<Link>, TransportError> {
        let link = self.receiving.present().await.ok_or(TransportError::Gone)?;
        if link.end().is_some() { Err(TransportError::Gone) } else { Ok(link) }
    }
}

#[async_trait]
impl Transport for ActiveMq {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn publish(&self, messages: Vec<Message>) -> Vec<Result<Published, TransportError>> {
        let mut answers = Vec::with_capacity(messages.len());
        for batch in messages.chunks(PUBLISH_BATCH_MAX) {
            let link = match self.publishing.link().await {
                Ok(link) => link,
                Err(why) => {
                    answers.extend(batch.iter().map(|_| Err(why.clone())));
                    continue;
                }
            };
            let mut sent = Vec::with_capacity(batch.len());
            for message in batch {
                sent.push(self.send(&link, message).await);
            }
            let confirmed = sent.into_iter().map(async |pending| {
                pending?.confirmed().await?;
                Ok(Published::New)
            });
            answers.extend(join_all(confirmed).await);
        }
        answers
    }

    async fn receive(&self, max: usize, wait: Duration) -> Result<Vec<Received>, TransportError> {
        let deadline = Instant::now() + wait;
        let link = self.receiving.link_by(deadline).await?;
        self.subscribe(&link, max.min(self.consumers_max)).await?;
        loop {
            let arrived = link.inbox.arrived();
            let now = Instant::now();
            let (taken, next_due_at) = link.inbox.take(max, now);
            if !taken.is_empty() || now >= deadline {
                link.inbox.pass_on();
                return Ok(taken);
            }
            let wake_at = next_due_at.map_or(deadline, |due_at| due_at.min(deadline));
            tokio::select! {
                () = arrived => {}
                () = tokio::time::sleep_until(wake_at) => {}
                why = link.ended() => return Err(why),
            }
        }
    }

    async fn ack(&self, receipt: &Receipt) -> Result<(), TransportError> {
        let link = self.holder().await?;
        let room = link.room().await?;
        let name = link.inbox.finish(receipt).ok_or(TransportError::Gone)?;
        room.send(Frame::new("ACK").with("id", name)).confirmed().await
    }

    async fn defer(&self, receipt: &Receipt, delay: Duration) -> Result<(), TransportError> {
        let link = self.holder().await?;
        link.inbox.defer(receipt, delay, Instant::now()).ok_or(TransportError::Gone)
    }

    /// Hidden for as long as the connection lives, so there is nothing to do.
    async fn extend(&self, receipt: &Receipt, _: Duration) -> Result<(), TransportError> {
        let link = self.holder().await?;
        if link.inbox.holds(receipt) { Ok(()) } else { Err(TransportError::Gone) }
    }

    /// A transaction that does nothing, there and back.
    async fn probe(&self) -> Result<(), TransportError> {
        let there_and_back = async {
            let link = self.publishing.link().await?;
            let name = format!("probe-{}", link.number());
            link.ask(Frame::new("BEGIN").with("transaction", &name)).await?;
            link.ask(Frame::new("ABORT").with("transaction", &name)).await
        };
        let silent = TransportError::Unavailable(format!("the broker did not answer within {PROBE:?}"));
        timeout(PROBE, there_and_back).await.unwrap_or(Err(silent))
    }

    async fn close(&self) {
        for line in [&self.receiving, &self.publishing] {
            if let Some(link) = line.close().await {
                // Who does not answer hears it from the closed socket.
                let _ = timeout(GOODBYE, link.ask(Frame::new("DISCONNECT"))).await;
                link.give_up();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ActiveMq;
    use crate::{MediationType, Message, MessagePointer, TransportError};

    fn message(message_group: &str) -> Message {
        let pointer = MessagePointer {
            id: "step".into(),
            pool_code: "pool".into(),
            auth_token: "token".into(),
            mediation_type: MediationType::Http,
            mediation_target: "http://127.0.0.1".into(),
            message_group_id: Some(message_group.into()),
        };
        Message { pointer, attempt: 2 }
    }

    #[test]
    fn a_message_says_what_it_is() {
        let transport = ActiveMq::new("stomp://localhost/steps").unwrap();
        let message = message("customer:7");
        let frame = transport.send_frame(&message).unwrap();
        let head: Vec<String> = frame.headers.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            head,
            [
                "destination=/queue/steps",
                "persistent=true",
                "content-type=application/json",
                "amq-msg-type=text",
                "correlation-id=step-2",
                "stepfast_attempt=2",
                "JMSXGroupID=customer:7",
                "JMSXGroupSeq=1",
                "stepfast_group=customer:7",
            ]
        );
        assert_eq!(frame.body, message.pointer.to_json().into_bytes());
    }

    #[test]
    fn a_name_that_would_break_a_frame_is_refused() {
        let transport = ActiveMq::new("stomp://localhost/steps").unwrap();
        for message_group in ["a\0b", &"x".repeat(20_000)] {
            let refused = transport.send_frame(&message(message_group));
            assert!(matches!(refused, Err(TransportError::Refused(_))), "{refused:?}");
        }
    }
}
