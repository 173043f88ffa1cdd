//! What deliveries are signed with: `whsec_` and base64, as Standard Webhooks has it.

use crate::{EngineError, chance};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::Fault;
use std::fmt;

const PREFIX: &str = "whsec_";
const BYTES_MIN: usize = 24;
const BYTES_MAX: usize = 64;

/// It is shown once, when it is made, and printed by nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(String);

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(..)")
    }
}

impl SigningSecret {
    pub(crate) fn fresh() -> Result<SigningSecret, EngineError> {
        let bytes: [u8; 32] = chance()?;
        Ok(SigningSecret(format!("{PREFIX}{}", STANDARD.encode(bytes))))
    }

    /// One that the receiver has already. A fault does not repeat it.
    pub fn given(text: &str) -> Result<SigningSecret, EngineError> {
        let bytes = text.strip_prefix(PREFIX).and_then(|coded| STANDARD.decode(coded).ok());
        match bytes.map(|bytes| bytes.len()) {
            Some(BYTES_MIN..=BYTES_MAX) => Ok(SigningSecret(text.into())),
            _ => Err(EngineError::Invalid(vec![Fault {
                field: "secret".into(),
                problem: "is no secret of a webhook".into(),
                fix: format!(
                    "write `{PREFIX}` and the base64 of {BYTES_MIN} to {BYTES_MAX} bytes, or leave it out and one is made"
                ),
            }])),
        }
    }

    /// The secret itself, for the one who is to have it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_or_taken_and_never_repeated() {
        let made = SigningSecret::fresh().unwrap();
        assert_eq!(SigningSecret::given(made.reveal()).unwrap(), made);
        assert_eq!(format!("{made:?}"), "SigningSecret(..)");
        for bad in ["hunter2", "whsec_hunter2", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
            let told = SigningSecret::given(bad).unwrap_err().to_string();
            assert!(told.contains("write `whsec_`") && !told.contains("hunter2"), "{told}");
        }
    }
}
