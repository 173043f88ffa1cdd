//! `[traces]` and the variables of OpenTelemetry: where spans are sent, if anywhere. Headers may hold a secret and are told by nothing here.

use super::suggest;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use toml::{Table, Value};

pub const KEYS: [&str; 3] = ["endpoint", "service", "headers"];
const SERVICE: &str = "stepfast";
const PATH: &str = "/v1/traces";

/// Exactly what the file said, whatever it is: a complaint about its type would show it.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct RawTraces(Value);

impl Default for RawTraces {
    fn default() -> Self {
        RawTraces(Value::Table(Table::new()))
    }
}

impl fmt::Debug for RawTraces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawTraces")
    }
}

/// Where spans go: OTLP over HTTP.
#[derive(Clone)]
pub struct Traces {
    pub url: Url,
    pub service: String,
    pub headers: HeaderMap,
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces").field("service", &self.service).finish_non_exhaustive()
    }
}

/// The standard variables, as far as they are set.
pub fn environment() -> BTreeMap<&'static str, String> {
    let names = [
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_SERVICE_NAME",
    ];
    let set = |name| Some((name, std::env::var(name).ok().filter(|text| !text.is_empty())?));
    names.into_iter().filter_map(set).collect()
}

/// What the environment says takes the place of what the file says.
pub fn check(
    raw: &RawTraces,
    environment: &BTreeMap<&'static str, String>,
    faults: &mut Vec<String>,
) -> Option<Traces> {
    let Some(table) = raw.0.as_table() else {
        faults.push("traces: write `endpoint = \"http://127.0.0.1:4318\"`".into());
        return None;
    };
    let strange = table.keys().filter(|key| !KEYS.contains(&key.as_str()));
    faults.extend(strange.map(|key| format!("traces.{key} is not a setting; {}", suggest(key, &KEYS))));
    let mut text = |key: &str| {
        let value = table.get(key)?;
        let read = value.as_str().map(String::from);
        faults.extend(read.is_none().then(|| format!("traces.{key}: write a text in quotes")));
        read
    };
    let (endpoint, service) = (text("endpoint"), text("service"));
    let base = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT").or(endpoint.as_ref());
    let whole = environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").cloned();
    let named = whole.or_else(|| Some(format!("{}{PATH}", base?.trim_end_matches('/'))));
    let headers = headers(table.get("headers"), environment.get("OTEL_EXPORTER_OTLP_HEADERS"), faults);
    let service = environment.get("OTEL_SERVICE_NAME").cloned().or(service);
    let named = named?;
    match Url::parse(&named) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => {
            Some(Traces { url, service: service.unwrap_or_else(|| SERVICE.into()), headers })
        }
        _ => {
            let how = "write an address of OTLP over HTTP, for example `http://127.0.0.1:4318`";
            faults.push(format!("traces.endpoint: {how}"));
            None
        }
    }
}

fn headers(written: Option<&Value>, environment: Option<&String>, faults: &mut Vec<String>) -> HeaderMap {
    let pairs: Vec<(String, Option<String>)> = match (environment, written) {
        (Some(text), _) => text
            .split(',')
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(name, value)| (name.trim().into(), Some(value.trim().into())))
            .collect(),
        (None, Some(Value::Table(table))) => {
            table.iter().map(|(name, value)| (name.clone(), value.as_str().map(Into::into))).collect()
        }
        (None, Some(_)) => {
            faults.push("traces.headers: write `headers = { name = \"value\" }`".into());
            Vec::new()
        }
        (None, None) => Vec::new(),
    };
    let mut all = HeaderMap::new();
    for (name, value) in pairs {
        let read =
            name.parse::<HeaderName>().ok().zip(value.and_then(|text| text.parse::<HeaderValue>().ok()));
        match read {
            Some((name, mut value)) => {
                value.set_sensitive(true);
                all.insert(name, value);
            }
            None => faults.push(format!("traces.headers: `{name}` and its value are no header")),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, environment: &[(&'static str, &str)]) -> (Option<Traces>, Vec<String>) {
        let raw = RawTraces(Value::Table(toml::from_str(text).unwrap()));
        let environment = environment.iter().map(|(name, text)| (*name, (*text).into())).collect();
        let mut faults = Vec::new();
        (check(&raw, &environment, &mut faults), faults)
    }

    #[test]
    fn nothing_is_sent_unless_it_is_said_where_to() {
        let (traces, faults) = read("service = 'pay'", &[]);
        assert!(traces.is_none() && faults.is_empty());
    }

    #[test]
    fn the_file_says_where_and_the_environment_says_it_better() {
        let file = "endpoint = 'http://a:4318/'\nheaders = { authorization = 'Bearer hush' }";
        let (traces, faults) = read(file, &[]);
        let traces = traces.unwrap();
        assert!(faults.is_empty());
        assert_eq!(traces.url.as_str(), "http://a:4318/v1/traces");
        assert_eq!(traces.service, "stepfast");
        assert_eq!(traces.headers["authorization"], "Bearer hush");
        assert!(!format!("{traces:?}").contains("hush"));
        let environment = [
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://b/x"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=k,tenant=7"),
            ("OTEL_SERVICE_NAME", "pay"),
        ];
        let traces = read(file, &environment).0.unwrap();
        assert_eq!((traces.url.as_str(), traces.service.as_str()), ("https://b/x", "pay"));
        assert_eq!((traces.headers.len(), &traces.headers["tenant"]), (2, &HeaderValue::from_static("7")));
    }

    #[test]
    fn what_cannot_be_is_told_and_shows_no_value() {
        let (traces, faults) =
            read("endpoint = 'ftp://hush'\nservise = 'x'\nheaders = { 'a b' = 'hush' }", &[]);
        assert!(traces.is_none());
        let told = faults.join("\n");
        assert!(told.contains("did you mean `service`?"), "{told}");
        assert!(told.contains("`a b` and its value are no header"), "{told}");
        assert!(told.contains("http://127.0.0.1:4318"), "{told}");
        assert!(!told.contains("hush"), "{told}");
    }
}
