//! An event on its way to a subscriber: an ordinary step of the action `deliver`.
//!
//! Why    as a step it is retried, seen and decided about like any other. What it is signed with stands sealed in its arguments and opens
//!        only with exactly this address, id and body: whoever copies it can at most send the same once more.

use crate::{Keyring, SealError};
use model::{NewStep, Subscription, Timestamp, limits};
use rules::subscription::{Happened, cloud_event};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The action that hands something to an address.
pub const DELIVER: &str = "deliver";
const CONTENT_TYPE: &str = "application/cloudevents+json";
/// About five hours in which a receiver may be away.
const ATTEMPTS: u32 = 15;
const DELAY_MS: u64 = 5_000;
const FACTOR: f64 = 2.0;
const DELAY_MS_MAX: u64 = 3_600_000;

/// What happened.
#[derive(Clone, Debug)]
pub struct Event {
    pub id: String,
    pub source: String,
    pub kind: &'static str,
    pub subject: Option<String>,
    pub at: Timestamp,
    pub data: Option<String>,
}

impl Event {
    fn body(&self, data: Option<&str>) -> Box<RawValue> {
        let happened = Happened {
            id: &self.id,
            source: &self.source,
            kind: self.kind,
            subject: self.subject.as_deref(),
            at: self.at,
            data,
        };
        RawValue::from_string(cloud_event(&happened)).expect("an event is written as JSON")
    }
}

#[derive(Serialize)]
struct Arguments<'a> {
    url: &'a str,
    id: &'a str,
    content_type: &'a str,
    body: &'a RawValue,
    secrets: Vec<String>,
}

/// The step that delivers an event, signed with all of these.
pub fn step(
    subscription: &Subscription,
    secrets: &[String],
    event: &Event,
    keys: &Keyring,
) -> Result<NewStep, SealError> {
    let asked = &subscription.asked;
    let mut body = event.body(event.data.as_deref());
    // What is too much for one step is told without its data; it can be read where the event is on record.
    if body.get().len() + asked.url.len() > limits::PAYLOAD_BYTES_MAX / 2 {
        body = event.body(None);
    }
    let owner = bound(&asked.url, &event.id, body.get());
    let sealed = secrets.iter().map(|secret| keys.seal(owner, &[b"t", secret.as_bytes()].concat()));
    let arguments = Arguments {
        url: &asked.url,
        id: &event.id,
        content_type: CONTENT_TYPE,
        body: &body,
        secrets: sealed.collect::<Result<_, _>>()?,
    };
    Ok(NewStep {
        arguments: serde_json::value::to_raw_value(&arguments).ok(),
        label: Some(event.kind.into()),
        relatable_type: Some("subscription".into()),
        relatable_id: Some(subscription.id.to_string()),
        max_attempts: Some(ATTEMPTS),
        retry_delay_ms: Some(DELAY_MS),
        retry_factor: Some(FACTOR),
        retry_max_delay_ms: Some(DELAY_MS_MAX),
        ..NewStep::of(DELIVER)
    })
}

/// Whose the secrets of a delivery are: of this delivery and no other.
fn bound(url: &str, id: &str, body: &str) -> Uuid {
    let mut hash = Sha256::new();
    for part in [url, id, body] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let bytes: [u8; 32] = hash.finalize().into();
    Uuid::from_bytes(bytes[..16].try_into().expect("a hash is longer than an id"))
}

/// The same, of what a step is given; none if it is no such delivery.
pub fn bound_to(arguments: &str) -> Option<Uuid> {
    #[derive(Deserialize)]
    struct Given {
        url: String,
        id: String,
        body: Box<RawValue>,
    }
    let given: Given = serde_json::from_str(arguments).ok()?;
    Some(bound(&given.url, &given.id, given.body.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SealKey;
    use model::{NewSubscription, SubscriptionId};

    #[test]
    fn what_signs_a_delivery_opens_with_that_delivery_alone() {
        let keys = Keyring::of(vec![SealKey::new("k1", [1; 32])]);
        let asked = NewSubscription { url: "https://example.com/x".into(), ..NewSubscription::default() };
        let subscription = Subscription {
            id: SubscriptionId::of(7),
            asked,
            created_at: Timestamp(0),
            created_by: "me".into(),
            revision: 0,
        };
        let event = Event {
            id: "alpha/1".into(),
            source: "/v1/workflows/x".into(),
            kind: "workflow.failed",
            subject: None,
            at: Timestamp(0),
            data: Some("{\"message\":\"no\"}".into()),
        };
        let step = step(&subscription, &["whsec_AAAA".into()], &event, &keys).unwrap();
        let arguments = step.arguments.unwrap().get().to_string();
        assert!(!arguments.contains("whsec_"));
        let open = |text: &str| {
            let owner = bound_to(text).unwrap();
            crate::seal::opened(text, &[owner], &keys).unwrap().map(|(made, _)| made)
        };
        assert!(open(&arguments).unwrap().contains("\"secrets\":[\"whsec_AAAA\"]"));
        for (from, to) in [("example.com", "example.org"), ("alpha/1", "alpha/2"), ("\"no\"", "\"yes\"")] {
            assert_eq!(open(&arguments.replace(from, to)), None, "{from} was {to}");
        }
        let long = Event { data: Some(format!("\"{}\"", "x".repeat(1 << 20))), ..event };
        let step = super::step(&subscription, &[], &long, &keys).unwrap();
        assert!(step.arguments.unwrap().get().len() < 1_000, "too much is left out");
    }
}
