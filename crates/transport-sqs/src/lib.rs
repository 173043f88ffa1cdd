//! Message pointers over an Amazon SQS FIFO queue.
//!
//! Why    apart from the other transports because the client of the service is as heavy as all of them together.

mod address;
mod client;
mod fault;
mod names;
mod pack;

use address::Address;
use async_trait::async_trait;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::ProvideCredentials;
use aws_sdk_sqs::operation::send_message_batch::SendMessageBatchOutput;
use aws_sdk_sqs::types::{
    MessageAttributeValue, MessageSystemAttributeName, QueueAttributeName, SendMessageBatchRequestEntry,
};
use fault::{gone_or_unavailable, refused_or_unavailable, unavailable};
use futures_util::StreamExt;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use transport::{
    AddressFault, Capabilities, Message, MessagePointer, Published, Receipt, Received, Transport,
    TransportError,
};

/// The service's own limits.
const BATCH_MAX: usize = 10;
const WAIT_MAX: Duration = Duration::from_secs(20);
const HIDDEN_MAX: Duration = Duration::from_secs(12 * 60 * 60);
const DEDUP_WINDOW: Duration = Duration::from_secs(5 * 60);
/// Of one message and of a batch: what every queue takes, whatever it was set up for.
const BYTES_MAX: usize = 256 << 10;

/// Batches that are on their way at once.
const BATCHES_MAX: usize = 4;
const PROBE: Duration = Duration::from_secs(3);
const ATTEMPT: &str = "stepfast_attempt";

pub struct Sqs {
    client: Client,
    queue_url: String,
    visibility: Duration,
    capabilities: Capabilities,
    closed: watch::Sender<bool>,
}

impl Sqs {
    /// With the credentials of the environment: variables, profiles, a process, a web identity, the container or the machine.
    pub async fn new(url: &str) -> Result<Sqs, AddressFault> {
        let address = Address::parse(url)?;
        let client = client::with_environment(&address).await;
        Ok(Sqs::over(client, address))
    }

    /// With credentials that the caller has.
    pub async fn with_credentials(
        url: &str,
        credentials: impl ProvideCredentials + 'static,
    ) -> Result<Sqs, AddressFault> {
        let address = Address::parse(url)?;
        let client = client::with_credentials(&address, credentials).await;
        Ok(Sqs::over(client, address))
    }

    fn over(client: Client, address: Address) -> Sqs {
        let capabilities = Capabilities {
            name: "sqs",
            publish_batch_max: BATCH_MAX,
            receive_batch_max: BATCH_MAX,
            body_bytes_max: BYTES_MAX,
            dedup_window: Some(DEDUP_WINDOW),
            hides: true,
            durable: true,
            visibility: Some(address.visibility),
            groups_in_broker: true,
        };
        let (queue_url, visibility) = (address.queue_url, address.visibility);
        Sqs { client, queue_url, visibility, capabilities, closed: watch::Sender::new(false) }
    }

    fn open(&self) -> Result<(), TransportError> {
        if *self.closed.borrow() {
            return Err(TransportError::Unavailable("the transport is closed".into()));
        }
        Ok(())
    }

    async fn send(&self, batch: &[(Message, String)]) -> Vec<Result<Published, TransportError>> {
        let sent = self.send_batch(batch).await;
        (0..batch.len()).map(|at| answer_for(at, &sent)).collect()
    }

    async fn send_batch(
        &self,
        batch: &[(Message, String)],
    ) -> Result<SendMessageBatchOutput, TransportError> {
        self.open()?;
        let entries = batch.iter().enumerate().map(|(at, (message, body))| entry(at, message, body));
        let entries = entries.collect::<Result<Vec<_>, _>>()?;
        let request = self.client.send_message_batch().queue_url(&self.queue_url).set_entries(Some(entries));
        request.send().await.map_err(|error| unavailable(&error))
    }

    async fn poll(&self, max: usize, wait: Duration) -> Result<Vec<Received>, TransportError> {
        let answer = self
            .client
            .receive_message()
            .queue_url(&self.queue_url)
            .max_number_of_messages(max.clamp(1, BATCH_MAX) as i32)
            .wait_time_seconds(whole_seconds(wait.min(WAIT_MAX)))
            .visibility_timeout(whole_seconds(self.visibility))
            .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount)
            .message_attribute_names(ATTEMPT)
            .customize()
            .config_override(client::patient(WAIT_MAX))
            .send()
            .await
            .map_err(|error| unavailable(&error))?;
        Ok(answer.messages.unwrap_or_default().into_iter().filter_map(received).collect())
    }

    async fn hide(&self, receipt: &Receipt, span: Duration) -> Result<(), TransportError> {
        self.open()?;
        self.client
            .change_message_visibility()
            .queue_url(&self.queue_url)
            .receipt_handle(receipt.as_str())
            .visibility_timeout(whole_seconds(span.min(HIDDEN_MAX)))
            .send()
            .await
            .map(|_| ())
            .map_err(|error| gone_or_unavailable(&error))
    }
}

#[async_trait]
impl Transport for Sqs {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn publish(&self, messages: Vec<Message>) -> Vec<Result<Published, TransportError>> {
        let packed = pack::pack(messages, BATCH_MAX, BYTES_MAX);
        let sent = futures_util::stream::iter(packed).map(|part| async move {
            match part {
                pack::Part::Batch(batch) => self.send(&batch).await,
                pack::Part::TooLarge(bytes) => {
                    let why = format!("it has {bytes} bytes, at most {BYTES_MAX} are taken");
                    vec![Err(TransportError::Refused(why))]
                }
            }
        });
        sent.buffered(BATCHES_MAX).concat().await
    }

    async fn receive(&self, max: usize, wait: Duration) -> Result<Vec<Received>, TransportError> {
        let deadline = Instant::now() + wait;
        let mut closed = self.closed.subscribe();
        loop {
            self.open()?;
            let left = deadline.saturating_duration_since(Instant::now());
            let received = tokio::select! {
                received = self.poll(max, left) => received?,
                _ = closed.wait_for(|closed| *closed) => continue,
            };
            // The service counts in seconds, so less than one is not waited for again.
            if !received.is_empty() || Instant::now() + Duration::from_secs(1) > deadline {
                return Ok(received);
            }
        }
    }

    async fn ack(&self, receipt: &Receipt) -> Result<(), TransportError> {
        self.open()?;
        let delete = self.client.delete_message().queue_url(&self.queue_url).receipt_handle(receipt.as_str());
        delete.send().await.map(|_| ()).map_err(|error| gone_or_unavailable(&error))
    }

    /// Twelve hours are the most; what is deferred for longer comes back then.
    async fn defer(&self, receipt: &Receipt, delay: Duration) -> Result<(), TransportError> {
        self.hide(receipt, delay).await
    }

    async fn extend(&self, receipt: &Receipt, span: Duration) -> Result<(), TransportError> {
        self.hide(receipt, span).await
    }

    async fn probe(&self) -> Result<(), TransportError> {
        self.open()?;
        let ask = self
            .client
            .get_queue_attributes()
            .queue_url(&self.queue_url)
            .attribute_names(QueueAttributeName::QueueArn);
        match timeout(PROBE, ask.send()).await {
            Ok(answer) => answer.map(|_| ()).map_err(|error| unavailable(&error)),
            Err(_) => {
                Err(TransportError::Unavailable(format!("the service did not answer within {PROBE:?}")))
            }
        }
    }

    /// What is not acknowledged comes back when its visibility ends.
    async fn close(&self) {
        self.closed.send_replace(true);
    }
}

fn entry(at: usize, message: &Message, body: &str) -> Result<SendMessageBatchRequestEntry, TransportError> {
    let impossible = |problem| TransportError::Refused(format!("it cannot be put into a request: {problem}"));
    let attempt =
        MessageAttributeValue::builder().data_type("Number").string_value(message.attempt.to_string());
    let message_group = message.pointer.message_group_id.as_ref().unwrap_or(&message.pointer.id);
    SendMessageBatchRequestEntry::builder()
        .id(at.to_string())
        .message_body(body)
        .message_group_id(names::fit(message_group))
        .message_deduplication_id(names::fit(&message.dedup_id()))
        .message_attributes(ATTEMPT, attempt.build().map_err(impossible)?)
        .build()
        .map_err(impossible)
}

/// A duplicate is answered as the first was, so nobody can tell.
fn answer_for(
    at: usize,
    sent: &Result<SendMessageBatchOutput, TransportError>,
) -> Result<Published, TransportError> {
    let (sent, id) = (sent.as_ref().map_err(Clone::clone)?, at.to_string());
    if sent.successful.iter().any(|entry| entry.id == id) {
        return Ok(Published::New);
    }
    match sent.failed.iter().find(|entry| entry.id == id) {
        Some(entry) => Err(refused_or_unavailable(entry)),
        None => Err(TransportError::Unavailable("the service did not say what became of it".into())),
    }
}

/// None for one that cannot be acknowledged, which the service never sends.
fn received(message: aws_sdk_sqs::types::Message) -> Option<Received> {
    let receipt = Receipt::new(message.receipt_handle?);
    let count = message.attributes.and_then(|attributes| {
        attributes.get(&MessageSystemAttributeName::ApproximateReceiveCount)?.parse::<u32>().ok()
    });
    let attempt = message
        .message_attributes
        .and_then(|attributes| attributes.get(ATTEMPT)?.string_value()?.parse().ok());
    let body = message.body.unwrap_or_default();
    Some(Received {
        pointer: MessagePointer::parse(body.as_bytes()).map_err(|fault| fault.to_string()),
        receipt,
        attempt_header: attempt,
        redelivered: count.is_some_and(|count| count > 1),
    })
}

/// Never shorter than asked.
fn whole_seconds(span: Duration) -> i32 {
    let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    i32::try_from(seconds).unwrap_or(i32::MAX)
}
