//! Calls a target over HTTP with the pointer's id and token, and reads no more of the answer than it may be long.
//!
//! Why    the target stands in a message that others may have written and its answer is written by strangers: only allowed
//!        origins are called, redirects are answers, proxies of the environment are ignored, every field is read with doubt.

use crate::config::{RouterConfig, Targets};
use crate::limits::{ANSWER_BYTES_MAX, REFUSAL_WAIT, TARGET_BYTES_MAX};
use crate::mediator::{Mediator, Outcome, Reply};
use crate::warnings::excerpt;
use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use reqwest::{Client, Response, Url, redirect};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tracing::debug;
use transport::MessagePointer;

const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const IDLE_PER_HOST_MAX: usize = 32;

/// The HTTP client could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the HTTP client of the router")]
pub struct NoClient(#[source] Box<dyn Error + Send + Sync>);

pub struct HttpMediator {
    client: Client,
    targets: Targets,
}

impl HttpMediator {
    pub fn new(config: &RouterConfig) -> Result<HttpMediator, NoClient> {
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|problem| NoClient(problem.into()))?
            .with_root_certificates(system_roots())
            .with_no_client_auth();
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(config.connect_timeout)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
            .build()
            .map_err(|problem| NoClient(problem.into()))?;
        Ok(HttpMediator { client, targets: config.targets.clone() })
    }

    async fn send(&self, url: Url, token: HeaderValue, id: &str) -> Result<Outcome, reqwest::Error> {
        let body = json!({ "messageId": id });
        let agent = concat!("stepfast/", env!("CARGO_PKG_VERSION"));
        let call = self.client.post(url).header(AUTHORIZATION, token).header(USER_AGENT, agent).json(&body);
        let mut response = call.send().await?;
        let status = response.status().as_u16();
        match read(&mut response).await? {
            None => Ok(Outcome::TooLong { status }),
            Some(body) => Ok(Outcome::Answered(reply(status, response.headers(), &body))),
        }
    }
}

#[async_trait]
impl Mediator for HttpMediator {
    async fn call(&self, pointer: &MessagePointer) -> Outcome {
        let url = match callable(&pointer.mediation_target, &self.targets) {
            Ok(url) => url,
            Err(why) => return Outcome::Refused(why),
        };
        let Ok(mut token) = HeaderValue::from_str(&format!("Bearer {}", pointer.auth_token)) else {
            return Outcome::Refused("the token cannot be a header".into());
        };
        token.set_sensitive(true);
        match self.send(url, token, &pointer.id).await {
            Ok(outcome) => outcome,
            Err(problem) => Outcome::Unreachable(reason(problem)),
        }
    }
}

fn callable(target: &str, targets: &Targets) -> Result<Url, String> {
    if target.len() > TARGET_BYTES_MAX {
        return Err(format!("the target has {} bytes, at most {TARGET_BYTES_MAX} are taken", target.len()));
    }
    let url = Url::parse(target).map_err(|problem| format!("the target is no address: {problem}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{}` is not spoken here", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the target holds a user or a password".into());
    }
    if !targets.allow(&url) {
        return Err("the target is not among those that this router may call".into());
    }
    Ok(url)
}

/// None if it is too long. Of a refusal the status says enough, and its body is read as far as it comes soon.
async fn read(response: &mut Response) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut body = Vec::new();
    if !response.status().is_success() {
        let _ = timeout(REFUSAL_WAIT, beginning(response, &mut body)).await;
        return Ok(Some(body));
    }
    if response.content_length().is_some_and(|length| length > ANSWER_BYTES_MAX as u64) {
        return Ok(None);
    }
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

async fn beginning(response: &mut Response, body: &mut Vec<u8>) {
    while body.len() < ANSWER_BYTES_MAX
        && let Ok(Some(chunk)) = response.chunk().await
    {
        body.extend_from_slice(&chunk[..chunk.len().min(ANSWER_BYTES_MAX - body.len())]);
    }
}

fn reply(status: u16, headers: &HeaderMap, body: &[u8]) -> Reply {
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    Reply {
        status,
        // What is neither there nor `true` was meant to say no.
        ack: said.get("ack").is_none_or(|ack| ack.is_null() || ack == true),
        message: said.get("message").and_then(Value::as_str).map(excerpt),
        delay_seconds: said.get("delaySeconds").and_then(seconds),
        retry_after_seconds: retry_after(headers),
    }
}

/// A part of a second is waited for as a whole one, and a negative span is none.
fn seconds(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().map(|seconds| seconds.ceil() as u64))
}

/// Seconds, or a date, which is read by the clock of whoever wrote it.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let asked = text(RETRY_AFTER)?;
    if let Ok(seconds) = asked.parse() {
        return Some(seconds);
    }
    let (then, now) = (httpdate::parse_http_date(asked).ok()?, httpdate::parse_http_date(text(DATE)?).ok()?);
    Some(then.duration_since(now).map_or(0, |span| span.as_secs()))
}

/// The whole chain of causes, without the address, in which a secret may stand.
fn reason(problem: reqwest::Error) -> String {
    let problem = problem.without_url();
    let mut text = problem.to_string();
    let mut cause = problem.source();
    while let Some(problem) = cause {
        text = format!("{text}: {problem}");
        cause = problem.source();
    }
    excerpt(&text)
}

/// Those the machine trusts. One that has none can still call plain addresses.
fn system_roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for problem in &found.errors {
        debug!(target: "router", %problem, "a certificate of this machine cannot be read");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_acknowledges_unless_it_says_no() {
        let told = |body: &str| {
            let reply = reply(200, &HeaderMap::new(), body.as_bytes());
            format!("{} {:?} {:?}", reply.ack, reply.delay_seconds, reply.message)
        };
        assert_eq!(told(""), "true None None");
        assert_eq!(told("OK"), "true None None");
        assert_eq!(told("[]"), "true None None");
        assert_eq!(told("{}"), "true None None");
        assert_eq!(told(r#"{"ack":null}"#), "true None None");
        assert_eq!(told(r#"{"ack":true,"message":"a\nb"}"#), r#"true None Some("a b")"#);
        assert_eq!(told(r#"{"ack":false,"delaySeconds":7}"#), "false Some(7) None");
        assert_eq!(told(r#"{"ack":false,"delaySeconds":0.2}"#), "false Some(1) None");
        assert_eq!(told(r#"{"ack":false,"delaySeconds":-9}"#), "false Some(0) None");
        assert_eq!(told(r#"{"ack":false,"delaySeconds":1e300}"#), format!("false Some({}) None", u64::MAX));
        assert_eq!(told(r#"{"ack":"no","delaySeconds":"7","message":{}}"#), "false None None");
    }

    #[test]
    fn a_date_to_come_back_at_is_read_by_the_clock_that_wrote_it() {
        let told = |asked: &str, date: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, asked.parse().unwrap());
            if let Some(date) = date {
                headers.insert(DATE, date.parse().unwrap());
            }
            retry_after(&headers)
        };
        let (noon, later) = ("Sun, 06 Nov 1994 12:00:00 GMT", "Sun, 06 Nov 1994 12:01:30 GMT");
        assert_eq!(told("17", None), Some(17));
        assert_eq!(told(later, Some(noon)), Some(90));
        assert_eq!(told(noon, Some(later)), Some(0));
        assert_eq!(told(later, None), None);
        assert_eq!(told("soon", Some(noon)), None);
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    #[test]
    fn what_cannot_be_called_is_refused_and_no_secret_is_told() {
        let refused = |target: &str| callable(target, &Targets::Any).err().unwrap_or_default();
        assert_eq!(refused("http://127.0.0.1:1/x?y"), "");
        assert!(refused("no address").starts_with("the target is no address"));
        assert_eq!(refused("file:///etc/passwd"), "`file` is not spoken here");
        assert_eq!(refused("http://me:secret@a.example/"), "the target holds a user or a password");
        assert!(refused(&format!("http://a/{}", "x".repeat(9_000))).contains("at most 8192"));
        let only = Targets::only(["http://a.example"]).unwrap();
        assert!(callable("http://b.example", &only).unwrap_err().contains("not among those"));
    }
}
