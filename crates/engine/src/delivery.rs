//! A step of the action `deliver` that carries what must not be stored in clear: what signs it, a secret address, a token in its body.
//!
//! Why    as a step it is retried, seen and decided about like any other. Its secrets stand sealed in its arguments and open only with
//!        exactly this address, id and body: whoever copies them can at most send the same once more.

use crate::{Keyring, SealError};
use model::{HIDDEN, NewStep, hide_sealed};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The action that hands something to an address.
pub const DELIVER: &str = "deliver";
/// About five hours in which a receiver may be away.
const ATTEMPTS: u32 = 15;
const DELAY_MS: u64 = 5_000;
const FACTOR: f64 = 2.0;
const DELAY_MS_MAX: u64 = 3_600_000;

/// Whether the address of a parcel may be seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Address {
    Open,
    Secret,
}

/// Something to hand to an address.
pub struct Parcel<'p> {
    pub url: &'p str,
    pub address: Address,
    pub id: &'p str,
    pub content_type: Option<&'p str>,
    /// As JSON.
    pub body: &'p str,
    /// What is sealed wherever it stands in the body: plain letters and digits.
    pub token: Option<&'p str>,
    /// What signs it, or the name of a key that does.
    pub secrets: Option<&'p [String]>,
    pub signing: Option<&'p str>,
}

#[derive(Serialize)]
struct Arguments<'a> {
    url: &'a str,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'a str>,
    body: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    secrets: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signing: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

impl Parcel<'_> {
    /// The step that delivers it, given up after this long without an answer.
    pub fn step(&self, keys: &Keyring, timeout_ms: Option<u64>) -> Result<NewStep, SealError> {
        let covered =
            |text: &str| self.token.map_or_else(|| text.into(), |token| text.replace(token, HIDDEN));
        let place = match self.address {
            Address::Open => self.url,
            Address::Secret => HIDDEN,
        };
        let owner = bound(place, self.id, &covered(self.body));
        let seal = |text: &str| keys.seal(owner, &[b"t", text.as_bytes()].concat());
        let url = match self.address {
            Address::Open => self.url.to_string(),
            Address::Secret => seal(self.url)?,
        };
        let body = match self.token {
            Some(token) => self.body.replace(token, &seal(token)?),
            None => self.body.to_string(),
        };
        let body =
            RawValue::from_string(body).expect("a body is JSON, and a token has no sign that JSON escapes");
        let secrets = self.secrets.map(|all| all.iter().map(|secret| seal(secret)).collect::<Result<_, _>>());
        let arguments = Arguments {
            url: &url,
            id: self.id,
            content_type: self.content_type,
            body: &body,
            secrets: secrets.transpose()?,
            signing: self.signing,
            timeout_ms,
        };
        Ok(NewStep { arguments: serde_json::value::to_raw_value(&arguments).ok(), ..NewStep::of(DELIVER) })
    }
}

/// A step that goes on trying while its receiver is away.
pub fn patient(step: NewStep) -> NewStep {
    NewStep {
        max_attempts: Some(ATTEMPTS),
        retry_delay_ms: Some(DELAY_MS),
        retry_factor: Some(FACTOR),
        retry_max_delay_ms: Some(DELAY_MS_MAX),
        ..step
    }
}

/// Whose the secrets of a delivery are: of this delivery and no other. What is sealed in it does not count.
fn bound(url: &str, id: &str, body: &str) -> Uuid {
    let mut hash = Sha256::new();
    for part in [url, id, body] {
        let part = hide_sealed(part).unwrap_or_else(|| part.into());
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let bytes: [u8; 32] = hash.finalize().into();
    Uuid::from_bytes(bytes[..16].try_into().expect("a hash is longer than an id"))
}

#[derive(Deserialize)]
struct Given {
    url: String,
    id: String,
    body: Box<RawValue>,
}

/// The same, of what a step is given; none if it is no such delivery.
pub fn bound_to(arguments: &str) -> Option<Uuid> {
    let given: Given = serde_json::from_str(arguments).ok()?;
    Some(bound(&given.url, &given.id, given.body.get()))
}

/// What its receiver knows a delivery by, if it was given that.
pub fn id_of(arguments: &str) -> Option<String> {
    serde_json::from_str::<Given>(arguments).ok().map(|given| given.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SealKey;

    #[test]
    fn what_is_secret_opens_with_that_delivery_alone() {
        let keys = Keyring::of(vec![SealKey::new("k1", [1; 32])]);
        let secrets = ["whsec_AAAA".to_string()];
        let parcel = Parcel {
            url: "https://chat.example.com/T1/hunter2",
            address: Address::Secret,
            id: "notice/1",
            content_type: None,
            body: r#"{"page":"https://x/approve?token=tok123","token":"tok123","n":"no"}"#,
            token: Some("tok123"),
            secrets: Some(&secrets),
            signing: None,
        };
        let arguments = parcel.step(&keys, None).unwrap().arguments.unwrap().get().to_string();
        for secret in ["whsec_", "hunter2", "tok123"] {
            assert!(!arguments.contains(secret), "{arguments}");
        }
        let open = |text: &str| {
            let owner = bound_to(text).unwrap();
            crate::seal::opened(text, &[owner], &keys).unwrap().map(|(made, _)| made)
        };
        let opened = open(&arguments).unwrap();
        assert!(
            opened.contains(parcel.url)
                && opened.contains(parcel.body)
                && opened.contains("[\"whsec_AAAA\"]")
        );
        for (from, to) in [("notice/1", "notice/2"), ("\"no\"", "\"yes\"")] {
            assert_eq!(open(&arguments.replace(from, to)), None, "{from} was {to}");
        }
        let mut elsewhere: serde_json::Value = serde_json::from_str(&arguments).unwrap();
        elsewhere["url"] = "https://evil.example.com".into();
        assert_eq!(open(&elsewhere.to_string()), None, "to another address");
        assert_eq!(id_of(&arguments).as_deref(), Some("notice/1"));
    }
}
