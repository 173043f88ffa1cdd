//! The secrets that deliveries are signed with, by name, in the form of Standard Webhooks.
//!
//! Why    a name may have several: while a secret is changed, what is sent is signed with the old one and the new one, and
//!        every receiver finds the signature it knows. A secret is turned into the state of its hash at once, and is
//!        printed by nothing.

use engine::{WebhookSecrets, variable_part};
use model::limits;
use std::collections::BTreeMap;
use std::fmt;

/// What an operator configured as `[signing.NAME]` or `STEPFAST_SIGNING_NAME`.
#[derive(Clone, Default)]
pub struct Signing {
    keys: BTreeMap<String, WebhookSecrets>,
}

impl fmt::Debug for Signing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signing").field(&self.keys.keys()).finish()
    }
}

impl Signing {
    /// Sign with all of these under this name, in place of what it had. A fault tells nothing of a secret.
    pub fn set<S: AsRef<str>>(&mut self, name: &str, secrets: &[S]) -> Result<(), String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > limits::NAME_BYTES_MAX || !name.chars().all(is_plain) {
            return Err("a signing key is named with letters, digits, `-`, `_` and `.`".into());
        }
        self.keys.insert(variable_part(name), WebhookSecrets::of(secrets)?);
        Ok(())
    }

    pub fn has(&self, name: &str) -> bool {
        self.keys.contains_key(&variable_part(name))
    }

    /// The value of `webhook-signature`; none where there is no such key.
    pub fn sign(&self, name: &str, id: &str, seconds: i64, body: &[u8]) -> Option<String> {
        Some(self.keys.get(&variable_part(name))?.sign(id, seconds, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const BODY: &[u8] = b"{\"test\": 2432232314}";
    const SIGNED: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn signed(secrets: &[&str]) -> String {
        let mut signing = Signing::default();
        signing.set("orders", secrets).unwrap();
        signing.sign("orders", ID, 1_614_265_330, BODY).unwrap()
    }

    #[test]
    fn a_signature_is_that_of_standard_webhooks() {
        assert_eq!(signed(&[SECRET]), SIGNED);
        assert_ne!(
            signed(&["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]),
            SIGNED,
            "without the prefix it is taken as it is"
        );
    }

    #[test]
    fn while_a_secret_changes_both_sign() {
        let other = "the next secret, taken as it is";
        let both = signed(&[SECRET, other]);
        let apart: Vec<&str> = both.split(' ').collect();
        assert_eq!(apart, [SIGNED, &signed(&[other])]);
    }

    #[test]
    fn a_bad_secret_is_told_and_not_repeated() {
        let mut signing = Signing::default();
        for (secret, wanted) in [
            ("hunter2", "a secret has 7 bytes; 24 to 1024 are needed"),
            ("whsec_hunter2!", "what follows `whsec_` in a secret is not base64"),
            ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLAw", "a secret has 23 bytes"),
            ("", "a secret has 0 bytes"),
        ] {
            let fault = signing.set("a", &[secret]).unwrap_err();
            assert!(fault.starts_with(wanted) && !fault.contains("hunter2"), "{fault}");
        }
        assert!(signing.set("a b", &[SECRET]).unwrap_err().contains("is named with letters"));
        assert!(signing.set::<&str>("a", &[]).unwrap_err().contains("write 1 to 8 secrets"));
        assert!(signing.set("a", &[SECRET; 9]).unwrap_err().contains("write 1 to 8 secrets"));
    }

    #[test]
    fn names_are_one_in_the_file_and_in_the_environment_and_secrets_are_not_printed() {
        let mut signing = Signing::default();
        signing.set("orders-eu", &[SECRET]).unwrap();
        assert!(signing.has("ORDERS_EU") && signing.has("orders.eu") && !signing.has("orders"));
        assert_eq!(signing.sign("orders", ID, 1, BODY), None);
        assert_eq!(format!("{signing:?}"), "Signing([\"ORDERS_EU\"])");
    }
}
