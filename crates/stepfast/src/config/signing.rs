//! `[signing.NAME]` and `STEPFAST_SIGNING_NAME`: the secrets that deliveries are signed with, told by nothing here.

use super::suggest;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt;
use stepfast::{Signing, signing_variable_part};
use toml::{Table, Value};

const VARIABLE: &str = "STEPFAST_SIGNING_";
pub const KEYS: [&str; 1] = ["secret"];

/// Exactly what the file said, whatever it is: a complaint about its type would show it.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct RawSigning(Value);

impl Default for RawSigning {
    fn default() -> Self {
        RawSigning(Value::Table(Table::new()))
    }
}

impl fmt::Debug for RawSigning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawSigning")
    }
}

/// What the environment says of a name takes the place of what the file says.
pub fn check(raw: &RawSigning, environment: &[(String, String)], faults: &mut Vec<String>) -> Signing {
    let (mut signing, mut seen) = (Signing::default(), BTreeSet::new());
    if !raw.0.is_table() {
        faults.push("signing holds keys, as [signing.NAME] with `secret = \"whsec_…\"`".into());
    }
    for (name, value) in raw.0.as_table().into_iter().flatten() {
        let set = secrets(value).and_then(|secrets| signing.set(name, &secrets));
        faults.extend(set.err().map(|fault| format!("signing.{name}: {fault}")));
        if !seen.insert(signing_variable_part(name)) {
            faults
                .push(format!("signing.{name}: another name differs only in case or signs; use one of them"));
        }
    }
    for (variable, text) in environment {
        let Some(name) = variable.strip_prefix(VARIABLE) else { continue };
        let secrets: Vec<&str> = text.split_whitespace().collect();
        faults.extend(signing.set(name, &secrets).err().map(|fault| format!("{variable}: {fault}")));
    }
    signing
}

/// The variables that can be read.
pub fn environment() -> Vec<(String, String)> {
    let read = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(read).filter(|(name, _)| name.starts_with(VARIABLE)).collect()
}

fn secrets(value: &Value) -> Result<Vec<String>, String> {
    let how = || "write `secret = \"whsec_…\"`, or a list of secrets that all sign".to_string();
    let table = value.as_table().ok_or_else(how)?;
    if let Some(strange) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("{strange} is not a setting; {}", suggest(strange, &KEYS)));
    }
    match table.get("secret").ok_or_else(how)? {
        Value::String(one) => Ok(vec![one.clone()]),
        Value::Array(many) => many.iter().map(|s| s.as_str().map(String::from).ok_or_else(how)).collect(),
        _ => Err(how()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "hunter2 hunter2 hunter2 hunter2";

    fn read(file: &str, environment: &[(&str, &str)]) -> Result<Signing, String> {
        let raw: RawSigning = toml::from_str(file).unwrap();
        assert!(!format!("{raw:?}").contains("hunter2"));
        let environment: Vec<_> = environment.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let mut faults = Vec::new();
        let signing = check(&raw, &environment, &mut faults);
        assert!(!format!("{signing:?} {faults:?}").contains("hunter2"), "{faults:?}");
        if faults.is_empty() { Ok(signing) } else { Err(faults.join("\n")) }
    }

    fn signatures(signing: &Signing, name: &str) -> Option<usize> {
        signing.sign(name, "id", 1, b"").map(|text| text.split(' ').count())
    }

    #[test]
    fn secrets_come_from_the_file_and_from_the_environment_which_wins() {
        let file = format!("[orders]\nsecret = \"{LONG}\"\n[bills]\nsecret = [\"{LONG}1\", \"{LONG}2\"]");
        let coded = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let three = [coded, coded, coded].join(" ");
        let signing =
            read(&file, &[("STEPFAST_SIGNING_BILLS", &three), ("STEPFAST_SIGNING_NEW_ONE", coded)]).unwrap();
        let counted = ["orders", "bills", "new-one", "none"].map(|name| signatures(&signing, name));
        assert_eq!(counted, [Some(1), Some(3), Some(1), None]);
    }

    #[test]
    fn whatever_is_wrong_is_told_without_the_secret() {
        for (file, part) in [
            ("[a]\nsecret = \"hunter2\"", "signing.a: a secret has 7 bytes; 24 to 1024 are needed"),
            ("[a]\nsecret = 7", "signing.a: write `secret = \"whsec_…\"`, or a list"),
            ("[a]\nsecret = [7]", "signing.a: write `secret = "),
            ("a = \"hunter2\"", "signing.a: write `secret = "),
            ("[a]\nsercet = \"hunter2\"", "signing.a: sercet is not a setting; did you mean `secret`?"),
            ("[\"a b\"]\nsecret = \"hunter2\"", "a signing key is named with letters"),
        ] {
            let refused = read(file, &[]).unwrap_err();
            assert!(refused.contains(part), "{refused}");
        }
        let twice = format!("[a-b]\nsecret = \"{LONG}\"\n[a_b]\nsecret = \"{LONG}\"");
        assert!(read(&twice, &[]).unwrap_err().contains("differs only in case or signs"));
        let refused = read("", &[("STEPFAST_SIGNING_A", "hunter2")]).unwrap_err();
        assert!(refused.starts_with("STEPFAST_SIGNING_A: a secret has 7 bytes"), "{refused}");
    }
}
