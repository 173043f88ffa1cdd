//! What people type about workflows: `KEY@VERSION`, a label, an input, a span of time.

use crate::Refused;
use crate::files;
use anyhow::{Context, Result, bail};
use model::{WorkflowId, limits};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// A definition on record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    pub key: String,
    /// The newest, unless one is named.
    pub version: Option<String>,
}

impl Named {
    pub fn parse(text: &str) -> Result<Named> {
        let (key, version) = match text.split_once('@') {
            Some((key, version)) => (key, Some(version.to_string())),
            None => (text, None),
        };
        if key.is_empty() || version.as_deref() == Some("") {
            bail!(Refused(format!("`{text}` names no definition; write KEY or KEY@VERSION, as order@1.0.0")));
        }
        Ok(Named { key: key.into(), version })
    }
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{}@{version}", self.key),
            None => f.write_str(&self.key),
        }
    }
}

/// Whether a word is meant as the name of a file, where it could be a key too.
pub fn is_file(text: &str) -> bool {
    let path = Path::new(text);
    text.contains('/') || files::has_ending(path) || path.is_file()
}

pub fn workflow_id(text: &str) -> Result<WorkflowId> {
    let no_id = || {
        let like = "ids look like 0199c0de-0000-7000-8000-000000000000; `stepfast list` shows them";
        Refused(format!("`{text}` is not the id of a workflow; {like}"))
    };
    Ok(text.parse().map_err(|_| no_id())?)
}

pub fn label(text: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => bail!(Refused(format!("--label: `{text}` is not a label; write NAME=VALUE, as tenant=acme"))),
    }
}

pub fn labels(texts: &[String]) -> Result<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    for text in texts {
        let (name, value) = label(text)?;
        if labels.insert(name.clone(), value).is_some() {
            bail!(Refused(format!("--label: `{name}` is given twice; write it once")));
        }
    }
    Ok(labels)
}

/// What a workflow is started with: JSON as it is written, a file, or standard input.
pub fn input(text: Option<&str>) -> Result<Option<Box<RawValue>>> {
    json("--input", text)
}

/// What is sent to a trigger, in the same ways.
pub fn payload(text: Option<&str>) -> Result<Option<Box<RawValue>>> {
    json("--payload", text)
}

fn json(option: &str, text: Option<&str>) -> Result<Option<Box<RawValue>>> {
    match text {
        None => Ok(None),
        Some("-") => read_input(std::io::stdin().lock(), "standard input").map(Some),
        Some(text) => match text.strip_prefix('@') {
            Some(path) => {
                let file = std::fs::File::open(path).with_context(|| format!("cannot open {path}"))?;
                read_input(file, path).map(Some)
            }
            None => RawValue::from_string(text.into()).map(Some).map_err(|problem| {
                let write = "write for example '{\"order\": 7}', @FILE, or - for standard input";
                Refused(format!("{option} is not JSON: {problem}; {write}")).into()
            }),
        },
    }
}

fn read_input(from: impl Read, name: &str) -> Result<Box<RawValue>> {
    let mut text = Vec::new();
    let most = limits::PAYLOAD_BYTES_MAX;
    from.take(most as u64 + 1).read_to_end(&mut text).with_context(|| format!("cannot read {name}"))?;
    if text.len() > most {
        bail!(Refused(format!("{name} has more than {most} bytes; let the input say where the rest is")));
    }
    let told = |faults: Vec<definition::Diagnostic>| {
        Refused(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    };
    let value: Value = definition::value(&text, name).map_err(told)?;
    Ok(to_raw_value(&value)?)
}

/// A span of time as people write it: `90s`, `2h`, `1d 12h`.
pub fn span(option: &str, text: &str) -> Result<Duration> {
    let read = text.parse::<jiff::Span>().ok();
    let long = read.and_then(|span| span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).ok());
    long.and_then(|long| Duration::try_from(long).ok()).ok_or_else(|| {
        Refused(format!("{option}: `{text}` is not a span of time; write for example 30m, 2h or 7d")).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T: std::fmt::Debug>(of: Result<T>) -> String {
        of.unwrap_err().to_string()
    }

    #[test]
    fn names_may_have_a_version() {
        let named = Named::parse("order@1.2.0").unwrap();
        assert_eq!((named.key.as_str(), named.version.as_deref()), ("order", Some("1.2.0")));
        assert_eq!(named.to_string(), "order@1.2.0");
        assert_eq!(Named::parse("order").unwrap().version, None);
        assert!(refused(Named::parse("order@")).contains("write KEY or KEY@VERSION"));
        assert!(is_file("order.yaml") && is_file("./order") && !is_file("order"));
    }

    #[test]
    fn labels_are_names_and_values() {
        let given = ["a=b".to_string(), "c=d=e".into()];
        assert_eq!(
            labels(&given).unwrap(),
            BTreeMap::from([("a".into(), "b".into()), ("c".into(), "d=e".into())])
        );
        assert!(refused(labels(&["a".into()])).contains("write NAME=VALUE"));
        assert!(refused(labels(&["a=1".into(), "a=2".into()])).contains("given twice"));
    }

    #[test]
    fn an_input_is_json_or_a_file() {
        assert_eq!(input(Some("{\"a\": 1.50}")).unwrap().unwrap().get(), "{\"a\": 1.50}");
        assert!(refused(input(Some("{a}"))).contains("--input is not JSON"));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("in.yaml");
        std::fs::write(&path, "a: [1, two]\n").unwrap();
        let at = format!("@{}", path.display());
        assert_eq!(input(Some(&at)).unwrap().unwrap().get(), "{\"a\":[1,\"two\"]}");
        std::fs::write(&path, "a: [1\n").unwrap();
        assert!(refused(input(Some(&at))).contains("in.yaml:"));
        assert!(refused(input(Some("@nowhere"))).contains("cannot open nowhere"));
    }

    #[test]
    fn spans_are_read_as_people_write_them() {
        assert_eq!(span("--since", "2h").unwrap(), Duration::from_secs(7_200));
        assert_eq!(span("--since", "7d").unwrap(), Duration::from_secs(7 * 86_400));
        assert_eq!(span("--since", "30m").unwrap(), Duration::from_secs(1_800));
        assert!(refused(span("--since", "soon")).contains("write for example 30m"));
        assert!(refused(span("--since", "-2h")).contains("is not a span"));
    }
}
