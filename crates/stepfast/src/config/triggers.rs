//! `[triggers.DEFINITION]` and `STEPFAST_TRIGGERS_DEFINITION`: the secrets that signed triggers are made with, told by nothing here.

use super::suggest;
use serde::Deserialize;
use server::TriggerSecrets;
use std::fmt;
use toml::{Table, Value};

const VARIABLE: &str = "STEPFAST_TRIGGERS_";
pub const KEYS: [&str; 1] = ["secrets"];

/// Exactly what the file said, whatever it is: a complaint about its type would show it.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct RawTriggers(Value);

impl Default for RawTriggers {
    fn default() -> Self {
        RawTriggers(Value::Table(Table::new()))
    }
}

impl fmt::Debug for RawTriggers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawTriggers")
    }
}

/// What the environment says of a definition takes the place of what the file says.
pub fn check(
    raw: &RawTriggers,
    environment: &[(String, String)],
    faults: &mut Vec<String>,
) -> TriggerSecrets {
    let mut known = TriggerSecrets::default();
    if !raw.0.is_table() {
        faults.push("triggers holds secrets, as [triggers.DEFINITION] with `secrets = [\"whsec_…\"]`".into());
    }
    for (definition, value) in raw.0.as_table().into_iter().flatten() {
        let set = secrets(value).and_then(|secrets| known.set(definition, &secrets));
        faults.extend(set.err().map(|fault| format!("triggers.{definition}: {fault}")));
    }
    for (variable, text) in environment {
        let Some(definition) = variable.strip_prefix(VARIABLE) else { continue };
        let secrets: Vec<&str> = text.split_whitespace().collect();
        faults.extend(known.set(definition, &secrets).err().map(|fault| format!("{variable}: {fault}")));
    }
    known
}

/// The variables that can be read.
pub fn environment() -> Vec<(String, String)> {
    let read = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(read).filter(|(name, _)| name.starts_with(VARIABLE)).collect()
}

fn secrets(value: &Value) -> Result<Vec<String>, String> {
    let how = || "write `secrets = [\"whsec_…\"]`; what is signed with any of them is taken".to_string();
    let table = value.as_table().ok_or_else(how)?;
    if let Some(strange) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("{strange} is not a setting; {}", suggest(strange, &KEYS)));
    }
    let many = table.get("secrets").and_then(Value::as_array).ok_or_else(how)?;
    many.iter().map(|secret| secret.as_str().map(String::from).ok_or_else(how)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "hunter2 hunter2 hunter2 hunter2";

    fn read(file: &str, environment: &[(&str, &str)]) -> Result<String, String> {
        let raw: RawTriggers = toml::from_str(file).unwrap();
        assert!(!format!("{raw:?}").contains("hunter2"));
        let environment: Vec<_> = environment.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let mut faults = Vec::new();
        let secrets = format!("{:?}", check(&raw, &environment, &mut faults));
        assert!(!format!("{secrets} {faults:?}").contains("hunter2"), "{faults:?}");
        if faults.is_empty() { Ok(secrets) } else { Err(faults.join("\n")) }
    }

    #[test]
    fn secrets_come_from_the_file_and_from_the_environment() {
        let file = format!("[order-eu]\nsecrets = [\"{LONG}1\", \"{LONG}2\"]");
        let coded = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let known =
            read(&file, &[("STEPFAST_TRIGGERS_REFUND", coded), ("STEPFAST_TRIGGERS_ORDER_EU", coded)]);
        assert_eq!(known.unwrap(), "TriggerSecrets([\"ORDER_EU\", \"REFUND\"])");
    }

    #[test]
    fn whatever_is_wrong_is_told_without_the_secret() {
        for (file, part) in [
            ("[a]\nsecrets = [\"hunter2\"]", "triggers.a: a secret has 7 bytes; 24 to 1024 are needed"),
            ("[a]\nsecrets = \"hunter2\"", "triggers.a: write `secrets = "),
            ("[a]\nsecrets = [7]", "triggers.a: write `secrets = "),
            ("[a]\nsecret = [\"hunter2\"]", "triggers.a: secret is not a setting; did you mean `secrets`?"),
            ("a = \"hunter2\"", "triggers.a: write `secrets = "),
        ] {
            let refused = read(file, &[]).unwrap_err();
            assert!(refused.contains(part), "{refused}");
        }
        let refused = read("", &[("STEPFAST_TRIGGERS_A", "hunter2")]).unwrap_err();
        assert!(refused.starts_with("STEPFAST_TRIGGERS_A: a secret has 7 bytes"), "{refused}");
    }
}
