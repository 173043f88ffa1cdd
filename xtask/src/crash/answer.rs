//! What a server said to a request, if it said anything that binds it.

use reqwest::{RequestBuilder, StatusCode};

/// None where it stays open what came of it: a connection that was cut, a server that could not, one that was too busy.
pub async fn binding(request: RequestBuilder) -> Option<(StatusCode, String)> {
    let response = request.send().await.ok()?;
    let status = response.status();
    let text = response.text().await.ok()?;
    let open = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
    (!open).then_some((status, text))
}
