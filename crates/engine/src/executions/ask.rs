//! What a caller says about something that is to be done once.

use model::{ExecutionAsk, ExecutionName, InputHash, OwnerToken, limits};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use store::executions::input_hash;

/// Namespace and key say what it is; everything else has a usual value.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    pub name: ExecutionName,
    pub input: InputHash,
    /// Who begins; made anew when it is left out.
    pub owner: Option<OwnerToken>,
    pub lease: Duration,
    pub max_attempts: u32,
    pub keep: Duration,
}

impl Ask {
    pub fn new(namespace: impl Into<String>, key: impl Into<String>) -> Ask {
        Ask {
            name: ExecutionName::new(namespace, key),
            input: input_hash(b""),
            owner: None,
            lease: limits::EXECUTION_LEASE_DEFAULT,
            max_attempts: limits::ATTEMPTS_DEFAULT,
            keep: limits::EXECUTION_KEEP_DEFAULT,
        }
    }
    /// What is worked on, as data: the same key with other data is refused. The order of fields does not matter.
    pub fn input(self, input: &impl Serialize) -> Ask {
        // What cannot be written as JSON counts as nothing, as JSON itself has it for the odd number.
        let value = serde_json::to_value(input).unwrap_or_default();
        self.input_text(canonical(&value).as_bytes())
    }
    /// The same for a text that is compared to the letter.
    pub fn input_text(self, text: &[u8]) -> Ask {
        Ask { input: input_hash(text), ..self }
    }
    pub fn owner(self, owner: OwnerToken) -> Ask {
        Ask { owner: Some(owner), ..self }
    }
    /// How long a caller may be silent before another takes over; it is renewed while `once` runs.
    pub fn lease(self, lease: Duration) -> Ask {
        Ask { lease, ..self }
    }
    /// Failures, the first included, after which nobody tries again.
    pub fn max_attempts(self, max_attempts: u32) -> Ask {
        Ask { max_attempts, ..self }
    }
    pub fn keep(self, keep: Duration) -> Ask {
        Ask { keep, ..self }
    }

    /// The same as one who begins says it.
    pub fn by(&self, owner: OwnerToken) -> ExecutionAsk {
        let Ask { name, input, lease, max_attempts, keep, .. } = self.clone();
        ExecutionAsk { name, input, owner, lease, max_attempts, keep }
    }
}

/// One text for equal data: fields in order of name, no blanks.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<_, _> = fields.iter().collect();
            let fields: Vec<String> =
                sorted.iter().map(|(k, v)| format!("{}:{}", Value::from(k.as_str()), canonical(v))).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_data_is_one_text() {
        let read = |text: &str| canonical(&serde_json::from_str(text).unwrap());
        assert_eq!(
            read(r#"{"b": [1, {"d":2,"c":"x\"y"}], "a": null}"#),
            r#"{"a":null,"b":[1,{"c":"x\"y","d":2}]}"#
        );
        let ask =
            |text: &str| Ask::new("pay", "7").input(&serde_json::from_str::<Value>(text).unwrap()).input;
        assert_eq!(ask(r#"{"a":1,"b":2}"#), ask(r#"{ "b": 2, "a": 1 }"#));
        assert_ne!(ask(r#"{"a":1,"b":2}"#), ask(r#"{"a":1,"b":3}"#));
    }
}
