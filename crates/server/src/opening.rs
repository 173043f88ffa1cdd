//! What is answered while the database is opened and migrated: the process lives, and is not ready.

use crate::error::ApiError;
use crate::network::{self, Network};
use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

const PROBLEM: &str =
    "the database is being opened, and migrated where that is needed (migrating); ask again";

/// Seconds after which it is worth while to ask again.
const AGAIN: &str = "1";

async fn not_yet() -> Response {
    let mut answer = ApiError::NotReady(PROBLEM.into()).into_response();
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(AGAIN));
    answer
}

/// Answer on a socket that is bound until the database is open.
pub async fn while_opening<T>(
    listener: &TcpListener,
    network: &Network,
    opening: impl Future<Output = T>,
) -> T {
    let router = Router::new().route("/livez", get(async || "ok\n")).fallback(not_yet);
    network::serve_meanwhile(listener, router, network, opening).await
}
