//! The one text of a definition, and its hash.
//!
//! Why    two files that say the same are the same version, however they are laid out; and what was registered can be told from
//!        what was changed behind its version.

use model::definition::Definition;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The text under which a definition is stored: JSON, its keys in order at every level.
pub fn canonical(definition: &Definition) -> String {
    let value = serde_json::to_value(definition).expect("a definition is plain data");
    let mut text = String::new();
    write(&value, &mut text);
    text
}

/// The hash of that text, as SHA-256 in hexadecimal.
pub fn hash(definition: &Definition) -> String {
    let digest = Sha256::digest(canonical(definition).as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a map of JSON keeps the order of its keys depends on who else is built with it; here it does not.
fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(entries) => {
            let sorted: BTreeMap<&String, &Value> = entries.iter().collect();
            text.push('{');
            for (n, (key, value)) in sorted.into_iter().enumerate() {
                if n > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        Value::Array(values) => {
            text.push('[');
            for (n, value) in values.iter().enumerate() {
                if n > 0 {
                    text.push(',');
                }
                write(value, text);
            }
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Definition {
        crate::read(text.as_bytes(), "x.yaml").unwrap().definition
    }

    const YAML: &str =
        "version: 1.0.0\nworkflow: a\nsteps:\n- action: x\n  arguments: {b: 1, a: [true, 2.0]}\n  key: s\n";
    const JSON: &str = r#"{"steps": [{"key": "s", "action": "x", "arguments": {"a": [true, 2.0], "b": 1}}], "workflow": "a", "version": "1.0.0"}"#;

    #[test]
    fn layout_and_order_do_not_matter() {
        assert_eq!(canonical(&read(YAML)), canonical(&read(JSON)));
        assert_eq!(hash(&read(YAML)), hash(&read(JSON)));
        assert_eq!(
            canonical(&read(YAML)),
            r#"{"steps":[{"key":"s","on_failure":"fail_workflow","work":{"action":{"action":"x","arguments":{"a":[true,2.0],"b":1}}}}],"version":"1.0.0","workflow":"a"}"#
        );
    }

    #[test]
    fn what_is_said_does() {
        assert_ne!(hash(&read(YAML)), hash(&read(&YAML.replace("b: 1", "b: 2"))));
        assert_eq!(hash(&read(YAML)).len(), 64);
    }

    #[test]
    fn the_text_is_the_definition() {
        let definition = read(YAML);
        assert_eq!(serde_json::from_str::<Definition>(&canonical(&definition)).unwrap(), definition);
    }
}
