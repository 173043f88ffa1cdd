//! A refusal for people: what a program is told as a problem in JSON stands on a page, with a way on.

use super::layout::plain;
use super::markdown::inline;
use crate::app::App;
use axum::body::to_bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

/// The largest problem that is read again.
const BYTES_MAX: usize = 64 << 10;

/// The answer as a page, if it is a problem.
pub async fn instead(app: &App, response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).map(|value| value.as_bytes());
    if kind != Some(b"application/problem+json") {
        return response;
    }
    let status = response.status();
    let (parts, body) = response.into_parts();
    // A body that cannot be read was cut off; the status still says what it was.
    let problem = to_bytes(body, BYTES_MAX).await.ok();
    let problem = problem.and_then(|bytes| serde_json::from_slice::<wire::Problem>(&bytes).ok());
    let detail = problem.map(|problem| problem.detail).unwrap_or_default();
    let mut page = (status, plain(app, title(status), None, render(status, &detail))).into_response();
    // What else was said stays, such as when to come again.
    for (name, value) in parts.headers {
        if let Some(name) =
            name.filter(|name| *name != header::CONTENT_TYPE && *name != header::CONTENT_LENGTH)
        {
            page.headers_mut().insert(name, value);
        }
    }
    page
}

fn title(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "There is nothing here",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::BAD_REQUEST => "Not understood",
        StatusCode::SERVICE_UNAVAILABLE => "Not now",
        _ if status.is_server_error() => "That went wrong",
        _ => "That cannot be done",
    }
}

fn render(status: StatusCode, detail: &str) -> Markup {
    html! {
        h1 { (title(status)) }
        @if !detail.is_empty() { p.notice { (inline(detail)) } }
        p { a href="/" { "To the first page" } @if status == StatusCode::FORBIDDEN { " · " a href="/sign-in" { "Sign in with another key" } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_wrong_is_told_and_never_markup() {
        let html = render(StatusCode::FORBIDDEN, "<b>").into_string();
        assert!(
            html.contains("Not allowed") && html.contains("&lt;b&gt;") && html.contains("/sign-in"),
            "{html}"
        );
        assert!(!render(StatusCode::NOT_FOUND, "").into_string().contains("notice"));
    }
}
