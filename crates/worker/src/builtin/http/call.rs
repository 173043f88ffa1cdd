//! What a step asks `http` to do, checked before anything is sent.

use crate::builtin::outcome::bad_arguments;
use model::{Claim, Outcome, limits};
use reqwest::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

const EXAMPLE: &str = r#"{"method": "POST", "url": "https://example.com/orders", "body": {"id": 7}}"#;
const URL_BYTES_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;
const HEADER_BYTES_MAX: usize = 32 << 10;
const STATUSES_MAX: usize = 100;
const STATUSES: RangeInclusive<u16> = 200..=599;
pub const TIMEOUT_MS: u64 = 30_000;
pub const TIMEOUT_MS_MAX: u64 = 3_600_000;
/// The rest of a step's room is for headers, and for what JSON adds to text.
pub const RESPONSE_BYTES_MAX: usize = limits::PAYLOAD_BYTES_MAX - (64 << 10);

/// The client and the connection decide these.
const NOT_SETTABLE: [HeaderName; 10] = [
    CONNECTION,
    CONTENT_LENGTH,
    EXPECT,
    HOST,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];
const NOT_SETTABLE_EITHER: [&str; 3] = ["keep-alive", "proxy-connection", "http2-settings"];
pub const AGENT: &str = concat!("stepfast/", env!("CARGO_PKG_VERSION"));
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    method: Option<String>,
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<Box<RawValue>>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    retry_on: Vec<u16>,
    #[serde(default)]
    fail_on: Vec<u16>,
    max_response_bytes: Option<usize>,
}

pub struct Call {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<String>,
    pub timeout: Duration,
    pub retry_on: Vec<u16>,
    pub fail_on: Vec<u16>,
    pub response_bytes_max: usize,
}

impl Call {
    /// Every fault is told at once.
    pub fn read(claim: &Claim) -> Result<Call, Outcome> {
        let wrong = |problem: &dyn std::fmt::Display| bad_arguments("http", EXAMPLE, problem);
        let arguments: Arguments = serde_json::from_str(&claim.arguments).map_err(|e| wrong(&e))?;
        let mut faults = Vec::new();
        let url = url(&arguments.url).map_err(|fault| faults.push(fault)).ok();
        let method = method(&arguments).map_err(|fault| faults.push(fault)).ok();
        let (body, content_type) = body(arguments.body.as_deref());
        let mut headers = headers(&arguments.headers, &mut faults);
        add(&mut headers, CONTENT_TYPE, content_type);
        add(&mut headers, IDEMPOTENCY_KEY, Some(&claim.step.to_string()));
        add(&mut headers, USER_AGENT, Some(AGENT));
        add_trace(&mut headers, claim);
        check_statuses(&arguments, &mut faults);
        let timeout_ms = arguments.timeout_ms.unwrap_or(TIMEOUT_MS);
        if !(1..=TIMEOUT_MS_MAX).contains(&timeout_ms) {
            faults.push(format!("timeout_ms: write 1 to {TIMEOUT_MS_MAX}"));
        }
        let response_bytes_max = arguments.max_response_bytes.unwrap_or(RESPONSE_BYTES_MAX);
        if response_bytes_max > RESPONSE_BYTES_MAX {
            faults.push(format!("max_response_bytes: write at most {RESPONSE_BYTES_MAX}"));
        }
        let (Some(url), Some(method), true) = (url, method, faults.is_empty()) else {
            return Err(wrong(&faults.join("; ")));
        };
        let timeout = Duration::from_millis(timeout_ms);
        let Arguments { retry_on, fail_on, .. } = arguments;
        Ok(Call { method, url, headers, body, timeout, retry_on, fail_on, response_bytes_max })
    }

    pub fn place(&self) -> String {
        place(&self.method, &self.url)
    }
}

/// A call in words. What follows `?` may be a secret.
pub fn place(method: &Method, url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    super::one_line(&format!("{method} {url}"), 300)
}

pub fn url(text: &str) -> Result<Url, String> {
    if text.len() > URL_BYTES_MAX {
        return Err(format!("url: it has {} bytes; write at most {URL_BYTES_MAX}", text.len()));
    }
    let url = Url::parse(text).map_err(|problem| {
        format!("url: {problem}; write a whole address, for example `https://example.com/orders`")
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("url: `{}` is not spoken here; write `http://` or `https://`", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("url: it holds a user or a password; write them as the header `Authorization`".into());
    }
    Ok(url)
}

fn method(arguments: &Arguments) -> Result<Method, String> {
    let given = match &arguments.method {
        Some(text) => text.to_ascii_uppercase(),
        None if arguments.body.is_some() => "POST".into(),
        None => "GET".into(),
    };
    match Method::from_bytes(given.as_bytes()) {
        Ok(method) if method != Method::CONNECT && method != Method::TRACE => Ok(method),
        _ => Err("method: write GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS".into()),
    }
}

/// A JSON string is sent as the text it holds, anything else as JSON, just as it was written.
fn body(raw: Option<&RawValue>) -> (Option<String>, Option<&'static str>) {
    match raw.map(|raw| (serde_json::from_str::<String>(raw.get()), raw)) {
        None => (None, None),
        Some((Ok(text), _)) => (Some(text), Some("text/plain; charset=utf-8")),
        Some((Err(_), raw)) => (Some(raw.get().into()), Some("application/json")),
    }
}

pub fn headers(given: &BTreeMap<String, String>, faults: &mut Vec<String>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let bytes: usize = given.iter().map(|(name, value)| name.len() + value.len()).sum();
    if given.len() > HEADERS_MAX || bytes > HEADER_BYTES_MAX {
        faults.push(format!("headers: write at most {HEADERS_MAX}, of {HEADER_BYTES_MAX} bytes in all"));
        return headers;
    }
    for (text, value) in given {
        let shown = super::one_line(text, 60);
        let Ok(name) = HeaderName::from_bytes(text.as_bytes()) else {
            faults.push(format!("headers: `{shown}` is no header's name; use letters, digits and `-`"));
            continue;
        };
        if NOT_SETTABLE.contains(&name) || NOT_SETTABLE_EITHER.contains(&name.as_str()) {
            faults.push(format!("headers: `{shown}` is set by the client itself; leave it out"));
            continue;
        }
        match HeaderValue::from_str(value) {
            Ok(value) => {
                if headers.insert(name, value).is_some() {
                    faults.push(format!("headers: `{shown}` is written twice; write it once"));
                }
            }
            Err(_) => faults.push(format!(
                "headers: the value of `{shown}` has a line break or another control character; take it out"
            )),
        }
    }
    headers
}

/// Whoever is called goes on with the trace; both or neither, for they belong together.
pub fn add_trace(headers: &mut HeaderMap, claim: &Claim) {
    if headers.contains_key(TRACEPARENT) {
        return;
    }
    let trace = claim.place_in_trace();
    add(headers, TRACEPARENT, Some(&trace.parent()));
    add(headers, TRACESTATE, trace.state.as_deref());
}

/// Unless the step set it.
pub fn add(headers: &mut HeaderMap, name: HeaderName, value: Option<&str>) {
    if let Some(value) = value.and_then(|v| HeaderValue::from_str(v).ok())
        && !headers.contains_key(&name)
    {
        headers.insert(name, value);
    }
}

fn check_statuses(arguments: &Arguments, faults: &mut Vec<String>) {
    for (key, statuses) in [("retry_on", &arguments.retry_on), ("fail_on", &arguments.fail_on)] {
        if statuses.len() > STATUSES_MAX {
            faults.push(format!("{key}: write at most {STATUSES_MAX} statuses"));
        } else if let Some(status) = statuses.iter().find(|s| !STATUSES.contains(s)) {
            faults.push(format!("{key}: {status} is no status of an answer; write 200 to 599"));
        }
    }
    if let Some(status) = arguments.retry_on.iter().find(|s| arguments.fail_on.contains(s)) {
        faults.push(format!("{status} is in retry_on and in fail_on; write it in one of them"));
    }
}
