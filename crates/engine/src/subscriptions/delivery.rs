//! An event on its way to a subscriber: a delivery signed with the subscriber's secrets.

use crate::delivery::{Address, Parcel, patient};
use crate::{Keyring, SealError};
use model::{NewStep, Subscription, Timestamp, limits};
use rules::subscription::{Happened, cloud_event};

const CONTENT_TYPE: &str = "application/cloudevents+json";

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
    fn body(&self, data: Option<&str>) -> String {
        let happened = Happened {
            id: &self.id,
            source: &self.source,
            kind: self.kind,
            subject: self.subject.as_deref(),
            at: self.at,
            data,
        };
        cloud_event(&happened)
    }
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
    if body.len() + asked.url.len() > limits::PAYLOAD_BYTES_MAX / 2 {
        body = event.body(None);
    }
    let parcel = Parcel {
        url: &asked.url,
        address: Address::Open,
        id: &event.id,
        content_type: Some(CONTENT_TYPE),
        body: &body,
        token: None,
        secrets: Some(secrets),
        signing: None,
    };
    Ok(patient(NewStep {
        label: Some(event.kind.into()),
        relatable_type: Some("subscription".into()),
        relatable_id: Some(subscription.id.to_string()),
        ..parcel.step(keys, None)?
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SealKey;
    use crate::delivery::bound_to;
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
