//! Triggers that are signed as Standard Webhooks has it: the id, the time and the very bytes of the body.
//!
//! Why    a definition may have several secrets: while one is changed, what is signed with the old one or the new one is taken. A
//!        message is taken for a few minutes only, and after that it is no use to whoever recorded it. Secrets are printed by nothing.

use super::{TriggerAuthenticator, TriggerShown};
use engine::{WEBHOOK_ID, WEBHOOK_SIGNATURE, WEBHOOK_TIMESTAMP, WebhookSecrets, variable_part};
use model::definition::TriggerAuth;
use model::limits;
use std::collections::BTreeMap;
use std::fmt;

/// The secrets of definitions, by their keys.
#[derive(Clone, Default)]
pub struct TriggerSecrets {
    keys: BTreeMap<String, WebhookSecrets>,
}

impl fmt::Debug for TriggerSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TriggerSecrets").field(&self.keys.keys()).finish()
    }
}

impl TriggerSecrets {
    /// Take what is signed with any of these for a definition, in place of what it had. A fault tells nothing of a secret.
    pub fn set<S: AsRef<str>>(&mut self, definition: &str, secrets: &[S]) -> Result<(), String> {
        if definition.is_empty() || definition.len() > limits::NAME_BYTES_MAX {
            return Err("name the key of a definition".into());
        }
        self.keys.insert(variable_part(definition), WebhookSecrets::of(secrets)?);
        Ok(())
    }
}

impl TriggerAuthenticator for TriggerSecrets {
    fn identify(&self, shown: &TriggerShown) -> Option<String> {
        if shown.auth != TriggerAuth::Hmac {
            return None;
        }
        let text = |name: &str| shown.headers.get(name).and_then(|value| value.to_str().ok());
        let (id, at) = (text(WEBHOOK_ID)?, text(WEBHOOK_TIMESTAMP)?);
        let seconds: i64 = at.parse().ok()?;
        let apart = shown.now.0.div_euclid(1_000_000).abs_diff(seconds);
        if apart > limits::TRIGGER_REPLAY_WINDOW.as_secs() || id.is_empty() {
            return None;
        }
        let secrets = self.keys.get(&variable_part(shown.definition))?;
        let is_signed = secrets.verify(id, seconds, shown.body, text(WEBHOOK_SIGNATURE)?);
        is_signed.then(|| format!("signature of `{}`", shown.definition))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderMap;
    use model::{Timestamp, WorkflowId};

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const AT: i64 = 1_614_265_330;
    const BODY: &[u8] = b"{\"test\": 2432232314}";
    const SIGNED: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn secrets(all: &[&str]) -> TriggerSecrets {
        let mut secrets = TriggerSecrets::default();
        secrets.set("order-eu", all).unwrap();
        secrets
    }

    /// Whether the message of the standard's own example is taken, changed in one thing.
    fn is_taken(
        secrets: &TriggerSecrets,
        change: (&'static str, &'static str),
        seconds: i64,
        body: &[u8],
    ) -> bool {
        let mut headers = HeaderMap::new();
        let usual = [
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            ("webhook-signature", SIGNED),
        ];
        for (name, value) in usual.into_iter().chain([change]) {
            headers.insert(name, value.parse().unwrap());
        }
        let shown = TriggerShown {
            workflow: WorkflowId::of(1),
            definition: "order-eu",
            trigger: "boss",
            auth: TriggerAuth::Hmac,
            headers: &headers,
            body,
            now: Timestamp(seconds * 1_000_000),
        };
        let other = TriggerShown { auth: TriggerAuth::Token, headers: &headers, ..shown };
        assert_eq!(secrets.identify(&other), None, "only where a signature is asked for");
        secrets.identify(&shown).is_some()
    }

    #[test]
    fn a_signature_is_that_of_standard_webhooks_over_the_very_bytes() {
        let same = ("webhook-signature", SIGNED);
        let both = ("webhook-signature", "v1,AAAA v2,xx v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE");
        let one = secrets(&[SECRET]);
        assert!(is_taken(&one, same, AT, BODY) && is_taken(&one, both, AT, BODY));
        assert!(is_taken(&secrets(&["the next secret, taken as it is", SECRET]), same, AT, BODY), "rotation");
        assert!(!is_taken(&secrets(&["the next secret, taken as it is"]), same, AT, BODY));
        assert!(!is_taken(&TriggerSecrets::default(), same, AT, BODY), "without a secret nobody signs");
        assert!(!is_taken(&one, same, AT, b"{\"test\":2432232314}"), "one space less");
        for bad in
            [("webhook-id", "msg_2"), ("webhook-timestamp", "1614265331"), ("webhook-signature", "v1,")]
        {
            assert!(!is_taken(&one, bad, AT, BODY), "{bad:?}");
        }
    }

    #[test]
    fn a_message_is_taken_for_a_few_minutes() {
        let (one, same) = (secrets(&[SECRET]), ("webhook-signature", SIGNED));
        for (seconds, taken) in [(AT + 300, true), (AT - 300, true), (AT + 301, false), (AT - 301, false)] {
            assert_eq!(is_taken(&one, same, seconds, BODY), taken, "{seconds}");
        }
    }

    #[test]
    fn a_bad_secret_is_told_and_not_repeated() {
        let mut secrets = TriggerSecrets::default();
        for secret in ["hunter2", "whsec_hunter2!"] {
            let fault = secrets.set("a", &[secret]).unwrap_err();
            assert!(!fault.contains("hunter2"), "{fault}");
        }
        assert!(secrets.set::<&str>("a", &[]).unwrap_err().contains("write 1 to 8"));
        assert!(secrets.set("", &[SECRET]).is_err());
        secrets.set("order-eu", &[SECRET]).unwrap();
        assert_eq!(format!("{secrets:?}"), "TriggerSecrets([\"ORDER_EU\"])");
    }
}
