//! The body of a message: where a step is run, and the token that proves it may be.
//!
//! Why    the names and their order are the contract of specification 002; fields of later versions are passed over.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessagePointer {
    /// The step.
    pub id: String,
    pub pool_code: String,
    pub auth_token: String,
    pub mediation_type: MediationType,
    /// Where to call.
    pub mediation_target: String,
    /// None for a step that stands in no line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_group_id: Option<String>,
}

/// How the target is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MediationType {
    #[serde(rename = "HTTP")]
    Http,
}

/// Why a body is no pointer. What it says is not repeated: it may hold a token.
#[derive(Debug, thiserror::Error)]
pub enum PointerFault {
    #[error("the body is no message pointer: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("the message pointer has an empty `{0}`")]
    Empty(&'static str),
}

impl MessagePointer {
    pub fn parse(body: &[u8]) -> Result<MessagePointer, PointerFault> {
        let pointer: MessagePointer = serde_json::from_slice(body)?;
        if pointer.id.is_empty() {
            return Err(PointerFault::Empty("id"));
        }
        if pointer.mediation_target.is_empty() {
            return Err(PointerFault::Empty("mediationTarget"));
        }
        Ok(pointer)
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a pointer is text and knows no other keys than text")
    }
}

/// Without the token, which is a right.
impl fmt::Debug for MessagePointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessagePointer")
            .field("id", &self.id)
            .field("pool_code", &self.pool_code)
            .field("mediation_type", &self.mediation_type)
            .field("mediation_target", &self.mediation_target)
            .field("message_group_id", &self.message_group_id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{MediationType, MessagePointer};
    use proptest::prelude::*;

    const OF_THE_SPECIFICATION: &str = r#"{"id":"01K97FHM11EKYSXT135MVM6AC7","poolCode":"DISPATCH-POOL","authToken":"eyJhbGciOiJIUzI1NiIs...","mediationType":"HTTP","mediationTarget":"http://localhost:8080/api/dispatch/process","messageGroupId":"customer-12345"}"#;

    #[test]
    fn the_example_of_the_specification_is_read_and_written_alike() {
        let pointer = MessagePointer::parse(OF_THE_SPECIFICATION.as_bytes()).unwrap();
        assert_eq!(pointer.mediation_type, MediationType::Http);
        assert_eq!(pointer.message_group_id.as_deref(), Some("customer-12345"));
        assert_eq!(pointer.to_json(), OF_THE_SPECIFICATION);
    }

    #[test]
    fn a_step_without_a_group_names_none() {
        let text = OF_THE_SPECIFICATION.replace(r#","messageGroupId":"customer-12345""#, "");
        let pointer = MessagePointer::parse(text.as_bytes()).unwrap();
        assert_eq!((pointer.message_group_id.as_deref(), pointer.to_json()), (None, text));
        let null = OF_THE_SPECIFICATION.replace(r#""customer-12345""#, "null");
        assert_eq!(MessagePointer::parse(null.as_bytes()).unwrap(), pointer);
    }

    #[test]
    fn fields_of_later_versions_are_passed_over() {
        let text = OF_THE_SPECIFICATION.replace("{", r#"{"traceParent":{"a":[1]},"#);
        assert!(MessagePointer::parse(text.as_bytes()).is_ok());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |from: &str, to: &str| {
            let text = OF_THE_SPECIFICATION.replace(from, to);
            MessagePointer::parse(text.as_bytes()).unwrap_err().to_string()
        };
        let check = |from, to, says: &str| assert!(said(from, to).contains(says), "{}", said(from, to));
        check(r#""poolCode":"DISPATCH-POOL","#, "", "missing field `poolCode`");
        check("\"HTTP\"", "\"SMTP\"", "unknown variant `SMTP`, expected `HTTP`");
        check("01K97FHM11EKYSXT135MVM6AC7", "", "empty `id`");
        check("http://localhost:8080/api/dispatch/process", "", "empty `mediationTarget`");
        check("{", "", "the body is no message pointer");
        check("\"DISPATCH-POOL\"", "7", "expected a string");
        let not_text = MessagePointer::parse(b"\xff\xfe").unwrap_err().to_string();
        assert!(not_text.contains("no message pointer"), "{not_text}");
    }

    #[test]
    fn a_token_is_not_printed() {
        let pointer = MessagePointer::parse(OF_THE_SPECIFICATION.as_bytes()).unwrap();
        assert!(!format!("{pointer:?}").contains("eyJhb"), "{pointer:?}");
    }

    proptest! {
        #[test]
        fn any_text_survives(id in ".+", pool in ".*", token in ".*", target in ".+", group in proptest::option::of(".*")) {
            let pointer = MessagePointer {
                id,
                pool_code: pool,
                auth_token: token,
                mediation_type: MediationType::Http,
                mediation_target: target,
                message_group_id: group,
            };
            let json = pointer.to_json();
            prop_assert!(!json.bytes().any(|byte| byte < b' '), "a body has no control characters");
            prop_assert_eq!(MessagePointer::parse(json.as_bytes()).unwrap(), pointer);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = MessagePointer::parse(&bytes);
        }
    }
}
