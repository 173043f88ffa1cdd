//! `[secrets]` and `STEPFAST_SECRETS_KEYS`: what secret values are sealed with, told by nothing here.

use super::suggest;
use engine::{Keyring, SealKey};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt;
use toml::{Table, Value};

pub const VARIABLE: &str = "STEPFAST_SECRETS_KEYS";
pub const KEYS: [&str; 1] = ["keys"];
const KEYS_MAX: usize = 16;

/// Exactly what the file said, whatever it is: a complaint about its type would show it.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct RawSecrets(Value);

impl Default for RawSecrets {
    fn default() -> Self {
        RawSecrets(Value::Table(Table::new()))
    }
}

impl fmt::Debug for RawSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawSecrets")
    }
}

/// What the environment says takes the place of what the file says.
pub fn check(raw: &RawSecrets, environment: Option<String>, faults: &mut Vec<String>) -> Keyring {
    let (name, texts) = match environment {
        Some(text) => (VARIABLE, Ok(text.split_whitespace().map(String::from).collect())),
        None => ("secrets.keys", written(&raw.0)),
    };
    let texts: Vec<String> = texts.unwrap_or_else(|fault| {
        faults.push(fault);
        Vec::new()
    });
    let (mut keys, mut seen) = (Vec::new(), BTreeSet::new());
    for text in &texts {
        match text.parse::<SealKey>() {
            Ok(key) if !seen.insert(key.id().to_string()) => {
                faults.push(format!("{name}: the id `{}` is there twice; give each key its own", key.id()));
            }
            Ok(key) => keys.push(key),
            Err(fault) => faults.push(format!("{name}: {fault}")),
        }
    }
    if keys.len() > KEYS_MAX {
        faults.push(format!("{name}: write at most {KEYS_MAX} keys"));
    }
    Keyring::of(keys)
}

fn written(value: &Value) -> Result<Vec<String>, String> {
    let how = || "secrets: write `keys = [\"id:base64…\"]`, the key that seals first".to_string();
    let table = value.as_table().ok_or_else(how)?;
    if let Some(strange) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("secrets.{strange} is not a setting; {}", suggest(strange, &KEYS)));
    }
    match table.get("keys") {
        None => Ok(Vec::new()),
        Some(Value::Array(many)) => {
            many.iter().map(|key| key.as_str().map(String::from).ok_or_else(how)).collect()
        }
        Some(_) => Err(how()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str, environment: Option<&str>) -> Result<Keyring, String> {
        let raw: RawSecrets = toml::from_str(file).unwrap();
        assert!(!format!("{raw:?}").contains("AAAA"));
        let mut faults = Vec::new();
        let keys = check(&raw, environment.map(String::from), &mut faults);
        assert!(!format!("{keys:?} {faults:?}").contains("AAAA"), "{faults:?}");
        if faults.is_empty() { Ok(keys) } else { Err(faults.join("\n")) }
    }

    fn key(id: &str) -> String {
        format!("{id}:{}=", "A".repeat(43))
    }

    #[test]
    fn keys_come_from_the_file_and_from_the_environment_which_wins() {
        assert!(read("", None).unwrap().is_unset());
        let file = format!("keys = [\"{}\", \"{}\"]", key("new"), key("old"));
        assert_eq!(format!("{:?}", read(&file, None).unwrap()), r#"Keyring(["new", "old"])"#);
        let both = format!("{} {}", key("a"), key("b"));
        assert_eq!(format!("{:?}", read(&file, Some(&both)).unwrap()), r#"Keyring(["a", "b"])"#);
    }

    #[test]
    fn whatever_is_wrong_is_told_without_the_key() {
        for (file, part) in [
            ("keys = [\"AAAA\"]", "secrets.keys: it has no id; write `id:`"),
            ("keys = [\"a:AAAA\"]", "secrets.keys: the key `a` has 3 bytes"),
            ("keys = \"a:AAAA\"", "secrets: write `keys = [\"id:base64…\"]`"),
            ("keys = [7]", "secrets: write `keys = "),
            ("key = []", "secrets.key is not a setting; did you mean `keys`?"),
        ] {
            let refused = read(file, None).unwrap_err();
            assert!(refused.contains(part), "{refused}");
        }
        let twice = format!("{} {}", key("a"), key("a"));
        assert!(
            read("", Some(&twice)).unwrap_err().contains("STEPFAST_SECRETS_KEYS: the id `a` is there twice")
        );
    }
}
