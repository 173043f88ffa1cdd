//! The HTTP side of Stepfast: the API for programs, the pages for people, and the guard before both.

pub mod answers;
mod api;
mod app;
pub mod convert;
mod error;
pub mod executions;
mod extract;
pub mod figures;
mod guard;
mod idempotency;
mod readers;
mod web;
mod words;

use app::App;
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use std::io;
use std::sync::Arc;
use tokio::net::TcpListener;

/// What a server shows and serves.
pub struct Site {
    pub engine: engine::Engine,
    pub database: store::Database,
    pub clock: Arc<dyn store::Clock>,
    pub version: &'static str,
    pub host: String,
}

/// Every route, behind the guard.
pub fn router(site: Site) -> Router {
    let app = Arc::new(App::new(site));
    Router::new()
        .merge(api::routes())
        .merge(web::routes())
        .fallback(error::no_such_page)
        .method_not_allowed_fallback(error::no_such_method)
        .layer(from_fn_with_state(app.clone(), idempotency::once))
        .with_state(app)
        .layer(from_fn(guard::admit))
        .layer(map_response(guard::harden))
}

/// Serve until `shutdown` is ready, then finish what is under way.
pub async fn serve(
    listener: TcpListener,
    site: Site,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        let problem = format!("{address} is not a loopback address; the server asks nobody who they are yet");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    axum::serve(listener, router(site)).with_graceful_shutdown(shutdown).await
}
