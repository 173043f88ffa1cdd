//! Bodies are read whole before anybody works with them: within a time, and no more than the route takes.
//!
//! Why    a body that comes byte by byte would hold whatever its handler holds. And a stranger has shown nothing before the body
//!        is there, so of theirs no more is read than a payload may have.

use crate::access::Access;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::BODY_BYTES_MAX;
use axum::body::{Body, HttpBody, to_bytes};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use http_body_util::LengthLimitError;
use model::limits;
use std::error::Error;
use std::time::Duration;
use tokio::time::timeout;

/// What the way in takes: a key.
const FORM_BYTES_MAX: usize = 4 << 10;

/// The body of a call to a route; where there is none, nobody reads it.
pub async fn whole(app: &App, call: &Parts, body: Body) -> Result<Body, ApiError> {
    let max = match app.table.find(call).map(|route| route.access) {
        None => return Ok(body),
        Some(Access::Open) => FORM_BYTES_MAX,
        Some(Access::Token) => limits::PAYLOAD_BYTES_MAX,
        Some(Access::Needs(_)) => BODY_BYTES_MAX,
    };
    // It says how much comes; nothing of what is too much is waited for.
    let said = call.headers.get(header::CONTENT_LENGTH).map(HeaderValue::to_str);
    if said.and_then(Result::ok).and_then(|text| text.parse::<u64>().ok()).is_some_and(|n| n > max as u64) {
        return Err(ApiError::TooLarge { max });
    }
    read(body, max, app.site.network.patience.body).await
}

pub async fn read(body: Body, max: usize, within: Duration) -> Result<Body, ApiError> {
    if body.is_end_stream() {
        return Ok(body);
    }
    match timeout(within, to_bytes(body, max)).await {
        Ok(Ok(bytes)) => Ok(Body::from(bytes)),
        Ok(Err(problem)) => Err(unread(&problem, max)),
        Err(_) => Err(ApiError::TooSlow { within }),
    }
}

fn unread(problem: &axum::Error, max: usize) -> ApiError {
    match problem.source() {
        Some(cause) if cause.is::<LengthLimitError>() => ApiError::TooLarge { max },
        _ => ApiError::BadRequest(format!("the body could not be read: {problem}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Bytes;
    use futures_util::stream;
    use std::io;

    fn told(read: Result<Body, ApiError>) -> String {
        read.map_or_else(|refused| refused.to_string(), |_| "read".into())
    }

    fn chunks(n: usize) -> Body {
        Body::from_stream(stream::iter((0..n).map(|_| Ok::<_, io::Error>(Bytes::from_static(b"12345678")))))
    }

    #[tokio::test]
    async fn a_body_is_read_or_it_is_told_why_not() {
        let soon = Duration::from_millis(5);
        assert_eq!(told(read(chunks(2), 16, soon).await), "read");
        let large = told(read(chunks(2), 15, soon).await);
        assert_eq!(large, "the body is larger than 15 bytes; send less at once");
        let endless = Body::from_stream(stream::pending::<io::Result<Bytes>>());
        let slow = told(read(endless, 16, soon).await);
        assert_eq!(slow, "the body did not arrive within 0.005 s; send it without a break, or less at once");
        let cut = Body::from_stream(stream::iter([Err::<Bytes, _>(io::Error::other("the line is dead"))]));
        assert_eq!(told(read(cut, 16, soon).await), "the body could not be read: the line is dead");
    }
}
