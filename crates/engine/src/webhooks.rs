//! Standard Webhooks: the headers, the secrets, and the signature over the id, the time and the very bytes of the body.
//!
//! Why    what signs and what verifies must agree to the letter. A secret is turned into the state of its hash at once, and is
//!        printed by nothing; while one is changed the old one and the new one sign, and both are taken.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

pub const WEBHOOK_ID: &str = "webhook-id";
pub const WEBHOOK_TIMESTAMP: &str = "webhook-timestamp";
pub const WEBHOOK_SIGNATURE: &str = "webhook-signature";

const PREFIX: &str = "whsec_";
const VERSION: &str = "v1,";
const SECRET_BYTES_MIN: usize = 24;
const SECRET_BYTES_MAX: usize = 1_024;
const SECRETS_MAX: usize = 8;
/// Signatures of one message that are looked at.
const SIGNATURES_MAX: usize = 16;
/// People leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Secrets that all sign, and of which any is taken.
#[derive(Clone)]
pub struct WebhookSecrets(Vec<Hmac<Sha256>>);

impl fmt::Debug for WebhookSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebhookSecrets({})", self.0.len())
    }
}

impl WebhookSecrets {
    /// A fault tells nothing of a secret.
    pub fn of<S: AsRef<str>>(secrets: &[S]) -> Result<WebhookSecrets, String> {
        if secrets.is_empty() || secrets.len() > SECRETS_MAX {
            return Err(format!("write 1 to {SECRETS_MAX} secrets"));
        }
        secrets.iter().map(|secret| key(secret.as_ref())).collect::<Result<_, _>>().map(WebhookSecrets)
    }

    /// The value of `webhook-signature`.
    pub fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let sign = |key: &Hmac<Sha256>| {
            let code = over(key, id, seconds, body).finalize().into_bytes();
            format!("{VERSION}{}", BASE64.encode(code))
        };
        self.0.iter().map(sign).collect::<Vec<_>>().join(" ")
    }

    /// Whether one of the signatures is made with one of the secrets.
    pub fn verify(&self, id: &str, seconds: i64, body: &[u8], signatures: &str) -> bool {
        let coded = signatures.split(' ').filter_map(|one| one.strip_prefix(VERSION)).take(SIGNATURES_MAX);
        let shown: Vec<Vec<u8>> = coded.filter_map(|coded| BASE64.decode(coded).ok()).collect();
        self.0.iter().any(|key| {
            let code = over(key, id, seconds, body);
            shown.iter().any(|shown| code.clone().verify_slice(shown).is_ok())
        })
    }
}

fn over(key: &Hmac<Sha256>, id: &str, seconds: i64, body: &[u8]) -> Hmac<Sha256> {
    let mut mac = key.clone();
    mac.update(format!("{id}.{seconds}.").as_bytes());
    mac.update(body);
    mac
}

/// A name as it stands in a variable of the environment: `orders-eu` and `ORDERS_EU` are one.
pub fn variable_part(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    name.chars().map(plain).collect()
}

fn key(secret: &str) -> Result<Hmac<Sha256>, String> {
    let bytes = match secret.strip_prefix(PREFIX) {
        Some(coded) => {
            BASE64.decode(coded).map_err(|_| format!("what follows `{PREFIX}` in a secret is not base64"))?
        }
        None => secret.as_bytes().to_vec(),
    };
    if !(SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&bytes.len()) {
        return Err(format!(
            "a secret has {} bytes; {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} are needed, for example `{PREFIX}` with what \
             `openssl rand -base64 32` prints",
            bytes.len()
        ));
    }
    Ok(Hmac::new_from_slice(&bytes).expect("HMAC takes a key of any length"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const AT: i64 = 1_614_265_330;
    const BODY: &[u8] = b"{\"test\": 2432232314}";
    const SIGNED: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    #[test]
    fn the_example_of_the_standard_is_signed_and_verified() {
        let one = WebhookSecrets::of(&[SECRET]).unwrap();
        assert_eq!(one.sign(ID, AT, BODY), SIGNED);
        assert!(one.verify(ID, AT, BODY, SIGNED));
        assert!(!one.verify(ID, AT + 1, BODY, SIGNED) && !one.verify("other", AT, BODY, SIGNED));
        let both = WebhookSecrets::of(&["the next secret, taken as it is", SECRET]).unwrap();
        assert!(both.verify(ID, AT, BODY, SIGNED) && one.verify(ID, AT, BODY, &both.sign(ID, AT, BODY)));
        assert_eq!(format!("{both:?}"), "WebhookSecrets(2)");
    }
}
