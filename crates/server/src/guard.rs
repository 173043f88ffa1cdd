//! Admits requests from this machine alone, and sends every answer with headers that keep a browser strict.
//!
//! Why    a server without passwords on loopback is still reachable by any page a person visits: by a name that
//!        resolves to 127.0.0.1 (so the Host is checked) and by a form (so Origin and Content-Type are).

use crate::error::ApiError;
use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

const HARD_HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

pub async fn admit(request: Request, next: Next) -> Response {
    match check(&request) {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    }
}

pub async fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HARD_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn check(request: &Request) -> Result<(), ApiError> {
    let host = text(request.headers(), header::HOST).unwrap_or_default();
    let named = request.uri().authority().map(Authority::as_str);
    for name in std::iter::once(host).chain(named) {
        if !is_loopback(name) {
            let problem =
                format!("`{name}` is not this server; it answers as localhost, 127.0.0.1 and [::1] alone");
            return Err(ApiError::Forbidden(problem));
        }
    }
    if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(());
    }
    if let Some(origin) = request.headers().get(header::ORIGIN)
        && origin.as_bytes() != format!("http://{host}").as_bytes()
    {
        return Err(ApiError::Forbidden("a page of another origin may not change anything here".into()));
    }
    match text(request.headers(), header::CONTENT_TYPE) {
        Some(kind) if is_json(kind) => Ok(()),
        _ => Err(ApiError::MediaType),
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// A loopback name, with or without a port.
fn is_loopback(host: &str) -> bool {
    LOOPBACK_NAMES.iter().any(|name| {
        let Some((head, rest)) = host.split_at_checked(name.len()) else { return false };
        let is_port = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        head.eq_ignore_ascii_case(name) && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
    })
}

#[cfg(test)]
mod tests {
    use super::{is_json, is_loopback};

    #[test]
    fn only_loopback_names_are_this_server() {
        for good in ["localhost", "LocalHost:7837", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:7837"] {
            assert!(is_loopback(good), "{good}");
        }
        let bad = [
            "",
            "evil.example",
            "localhost.evil.example",
            "localhost:",
            "localhost:80@evil.example",
            "127.0.0.1.nip.io",
            "127.0.0.12",
            "::1",
            "0.0.0.0:7837",
            "ᅟlocalhost",
        ];
        for bad in bad {
            assert!(!is_loopback(bad), "{bad}");
        }
    }

    #[test]
    fn only_json_is_json() {
        assert!(is_json("application/json") && is_json("Application/JSON; charset=utf-8"));
        assert!(!is_json("text/plain") && !is_json("application/jsonp") && !is_json(""));
    }
}
