//! What of an answer a step keeps.

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Headers worth keeping: what the answer is, and what its server needs to find it again. Never cookies.
const KEPT: [&str; 13] = [
    "content-language",
    "content-type",
    "date",
    "etag",
    "expires",
    "last-modified",
    "link",
    "location",
    "request-id",
    "retry-after",
    "traceparent",
    "x-correlation-id",
    "x-request-id",
];
const KEPT_BEGINNINGS: [&str; 2] = ["ratelimit", "x-ratelimit-"];
const KEPT_MAX: usize = 24;
const VALUE_CHARS_MAX: usize = 1_000;

/// Why a body was not read to its end.
#[derive(Debug)]
pub enum Broken {
    /// More than the step asked for.
    TooLong,
    Cut(reqwest::Error),
}

#[derive(Serialize)]
pub struct Answer<'a> {
    status: u16,
    headers: BTreeMap<&'a str, String>,
    body: Body<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body<'a> {
    Nothing(()),
    Json(&'a RawValue),
    Text(std::borrow::Cow<'a, str>),
}

impl<'a> Answer<'a> {
    pub fn new(status: u16, headers: &'a HeaderMap, body: &'a [u8]) -> Answer<'a> {
        Answer { status, headers: kept(headers), body: read(headers, body) }
    }
}

/// The body, read no further than it may be long.
pub async fn body(response: &mut Response, bytes_max: usize) -> Result<Vec<u8>, Broken> {
    if response.content_length().is_some_and(|length| length > bytes_max as u64) {
        return Err(Broken::TooLong);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Broken::Cut)? {
        if body.len() + chunk.len() > bytes_max {
            return Err(Broken::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// So much of a body as is wanted, and whether that is the whole of it.
pub async fn most(
    response: &mut Response,
    bytes_max: usize,
    into: &mut Vec<u8>,
) -> Result<bool, reqwest::Error> {
    while let Some(chunk) = response.chunk().await? {
        let room = bytes_max - into.len();
        into.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How a body begins, for a message; as much of it as came.
pub async fn beginning(response: &mut Response, bytes_max: usize, into: &mut Vec<u8>) {
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = bytes_max - into.len();
        into.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if into.len() == bytes_max {
            return;
        }
    }
}

fn kept(headers: &HeaderMap) -> BTreeMap<&str, String> {
    let wanted =
        |name: &str| KEPT.contains(&name) || KEPT_BEGINNINGS.iter().any(|begins| name.starts_with(begins));
    let names = headers.keys().map(|name| name.as_str()).filter(|name| wanted(name)).take(KEPT_MAX);
    names.map(|name| (name, value(headers, name))).collect()
}

fn value(headers: &HeaderMap, name: &str) -> String {
    let all = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    all.collect::<Vec<_>>().join(", ").chars().take(VALUE_CHARS_MAX).collect()
}

/// JSON stays just as it was sent. It is parsed once, so that nothing nested too deep to be read again is kept as JSON.
fn read<'a>(headers: &HeaderMap, body: &'a [u8]) -> Body<'a> {
    if body.is_empty() {
        return Body::Nothing(());
    }
    if may_be_json(headers)
        && serde_json::from_slice::<Value>(body).is_ok()
        && let Ok(raw) = serde_json::from_slice::<&RawValue>(body)
    {
        return Body::Json(raw);
    }
    Body::Text(String::from_utf8_lossy(body))
}

/// By what the server calls it; where it says nothing, JSON is what most of them send.
fn may_be_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(CONTENT_TYPE).map(|kind| String::from_utf8_lossy(kind.as_bytes())) else {
        return true;
    };
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind == "text/json" || kind.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(content_type: Option<&str>, body: &[u8]) -> String {
        let mut headers = HeaderMap::new();
        if let Some(kind) = content_type {
            headers.insert(CONTENT_TYPE, kind.parse().unwrap());
        }
        serde_json::to_string(&read(&headers, body)).unwrap()
    }

    #[test]
    fn a_body_is_json_if_it_is_json_and_otherwise_text() {
        let json = Some("application/json; charset=utf-8");
        assert_eq!(
            told(json, b"{\"b\":1,\"a\":12345678901234567890123}"),
            "{\"b\":1,\"a\":12345678901234567890123}"
        );
        assert_eq!(told(Some("application/problem+json"), b"[1]"), "[1]");
        assert_eq!(told(None, b"{}"), "{}");
        assert_eq!(told(None, b"hello"), "\"hello\"");
        assert_eq!(told(json, b"{broken"), "\"{broken\"");
        assert_eq!(told(Some("text/plain"), b"42"), "\"42\"");
        assert_eq!(told(Some("text/plain"), b"a\xffb\0"), "\"a\u{fffd}b\\u0000\"");
        assert_eq!(told(json, b""), "null");
        let deep = "[".repeat(5_000) + &"]".repeat(5_000);
        assert!(told(json, deep.as_bytes()).starts_with("\"[["), "nested too deep to be read again");
    }

    #[test]
    fn of_the_headers_the_useful_ones_are_kept_and_none_is_long() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("set-cookie", "secret"), ("ETag", "\"7\""), ("X-RateLimit-Remaining", "3")] {
            headers.insert(name.parse::<reqwest::header::HeaderName>().unwrap(), value.parse().unwrap());
        }
        headers.append("link", "<a>".parse().unwrap());
        headers.append("link", "<b>".parse().unwrap());
        headers.insert("x-request-id", "x".repeat(5_000).parse().unwrap());
        let mut kept = kept(&headers);
        assert_eq!(kept.remove("x-request-id").map(|id| id.len()), Some(VALUE_CHARS_MAX));
        let kept: Vec<_> = kept.into_iter().collect();
        let wanted = [("etag", "\"7\""), ("link", "<a>, <b>"), ("x-ratelimit-remaining", "3")];
        assert_eq!(kept, wanted.map(|(name, value)| (name, value.to_string())));
    }
}
