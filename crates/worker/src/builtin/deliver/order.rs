//! What a step asks `deliver` to send, checked before anything is sent.

use crate::builtin::http::call::{self, AGENT, TIMEOUT_MS, TIMEOUT_MS_MAX, add, add_trace};
use crate::builtin::outcome::{bad_arguments, one_line};
use model::{Claim, Outcome, Sealed, limits};
use reqwest::Url;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::Duration;

const EXAMPLE: &str = r#"{"url": "https://example.com/hook", "body": {"order": 7}, "signing": "orders"}"#;
const JSON: &str = "application/json";
/// Receivers trust these, so no step can write them.
const OWN: [&str; 2] = ["webhook-", "stepfast-"];
pub const WEBHOOK_ID: HeaderName = HeaderName::from_static(engine::WEBHOOK_ID);
pub const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static(engine::WEBHOOK_TIMESTAMP);
pub const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static(engine::WEBHOOK_SIGNATURE);
const STEPFAST_ATTEMPT: HeaderName = HeaderName::from_static("stepfast-attempt");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    url: String,
    body: Option<Box<RawValue>>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    content_type: Option<String>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    envelope: bool,
    r#type: Option<String>,
    source: Option<String>,
    subject: Option<String>,
    signing: Option<String>,
    id: Option<String>,
    secrets: Option<Vec<String>>,
}

/// The body around the body, where a step asks for it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    id: &'a str,
    r#type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    data: Option<&'a RawValue>,
    message_group: Option<&'a str>,
    attempt_number: u32,
}

pub struct Order {
    pub url: Url,
    pub headers: HeaderMap,
    pub body: String,
    pub timeout: Duration,
    pub signing: Option<Keys>,
    /// What the target knows it by.
    pub id: String,
}

/// What a delivery is signed with.
pub enum Keys {
    Named(String),
    Given(Vec<String>),
}

impl Order {
    /// Every fault is told at once.
    pub fn read(claim: &Claim) -> Result<Order, Outcome> {
        let wrong = |problem: &dyn std::fmt::Display| bad_arguments("deliver", EXAMPLE, problem);
        let arguments: Arguments = serde_json::from_str(&claim.arguments).map_err(|e| wrong(&e))?;
        let mut faults = Vec::new();
        let url = address(&arguments.url).map_err(|fault| faults.push(fault)).ok();
        let mut headers = own_headers(&arguments, &mut faults);
        let id = arguments.id.clone().unwrap_or_else(|| claim.step.to_string());
        let signing = keys(&arguments, &mut faults);
        if HeaderValue::from_str(&id).is_err() || id.is_empty() || id.len() > limits::NAME_BYTES_MAX {
            faults.push(format!("id: write 1 to {} visible ASCII characters", limits::NAME_BYTES_MAX));
        }
        add(&mut headers, WEBHOOK_ID, Some(&id));
        add(&mut headers, STEPFAST_ATTEMPT, Some(&claim.attempt.to_string()));
        add(&mut headers, USER_AGENT, Some(AGENT));
        add_trace(&mut headers, claim);
        let timeout_ms = arguments.timeout_ms.unwrap_or(TIMEOUT_MS);
        if !(1..=TIMEOUT_MS_MAX).contains(&timeout_ms) {
            faults.push(format!("timeout_ms: write 1 to {TIMEOUT_MS_MAX}"));
        }
        let Arguments { r#type, source, subject, .. } = &arguments;
        if !arguments.envelope && (r#type.is_some() || source.is_some() || subject.is_some()) {
            faults
                .push("type, source, subject: they stand in an envelope; write `\"envelope\": true`".into());
        }
        let body = body(&arguments, claim, &id).map_err(|problem| wrong(&problem))?;
        // The client leaves it out where there is no body, and some receivers ask for it.
        headers.insert(CONTENT_LENGTH, body.len().into());
        let (Some(url), true) = (url, faults.is_empty()) else {
            return Err(wrong(&faults.join("; ")));
        };
        let timeout = Duration::from_millis(timeout_ms);
        Ok(Order { url, headers, body, timeout, signing, id })
    }
}

const NOT_OPENED: &str = "the node has no key for it, or it was sealed for something else";

fn address(text: &str) -> Result<Url, String> {
    if Sealed::is_in(text) {
        return Err(format!("url: it was not opened; {NOT_OPENED}"));
    }
    call::url(text)
}

fn keys(arguments: &Arguments, faults: &mut Vec<String>) -> Option<Keys> {
    match (&arguments.signing, &arguments.secrets) {
        (Some(_), Some(_)) => {
            faults.push("signing, secrets: write one of them".into());
            None
        }
        (Some(name), None) => Some(Keys::Named(name.clone())),
        (None, Some(secrets)) if secrets.iter().any(|secret| Sealed::is_in(secret)) => {
            faults.push(format!("secrets: one of them was not opened; {NOT_OPENED}"));
            None
        }
        (None, secrets) => secrets.clone().map(Keys::Given),
    }
}

fn own_headers(arguments: &Arguments, faults: &mut Vec<String>) -> HeaderMap {
    let mut headers = call::headers(&arguments.headers, faults);
    for name in headers.keys().filter(|name| OWN.iter().any(|own| name.as_str().starts_with(own))) {
        faults.push(format!("headers: `{name}` is set by `deliver` itself; leave it out"));
    }
    match (&arguments.content_type, headers.contains_key(CONTENT_TYPE)) {
        (Some(_), true) => faults.push("content_type: it is among the headers too; write it once".into()),
        (Some(kind), false) if HeaderValue::from_str(kind).is_err() => {
            let shown = one_line(kind, 60);
            faults.push(format!("content_type: `{shown}` cannot be sent; write for example `{JSON}`"));
        }
        (kind, _) => add(&mut headers, CONTENT_TYPE, Some(kind.as_deref().unwrap_or(JSON))),
    }
    headers
}

/// A JSON string is sent as the text it holds, anything else as JSON, just as it was written.
fn body(arguments: &Arguments, claim: &Claim, id: &str) -> Result<String, serde_json::Error> {
    let data = arguments.body.as_deref();
    if !arguments.envelope {
        let text = data.map(|raw| serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().into()));
        return Ok(text.unwrap_or_default());
    }
    serde_json::to_string(&Envelope {
        id,
        r#type: arguments.r#type.as_deref().unwrap_or(&claim.action),
        source: arguments.source.as_deref(),
        subject: arguments.subject.as_deref(),
        data,
        message_group: claim.message_group.as_deref(),
        attempt_number: claim.attempt,
    })
}
