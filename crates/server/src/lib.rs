//! The HTTP side of Stepfast: the API for programs, the pages for people, and the guard before both.

mod access;
pub mod answers;
mod api;
mod app;
pub mod attempts;
mod body;
mod bulk;
mod codes;
pub mod convert;
mod describe;
mod drawing;
mod error;
pub mod executions;
mod extract;
pub mod figures;
mod guard;
mod idempotency;
mod kept;
mod listen;
mod live;
mod looks;
mod metrics;
mod network;
mod opening;
mod pages;
mod readers;
mod seats;
mod secrets;
mod throttle;
mod triggers;
mod web;
mod words;

pub use access::{Access, Route, Takes, Within};
pub use api::{Later, Processed, Processing, Routing, WantedAudit, review_of, serve_router};
pub use bulk::{BULK_ACTION, Bulk, BulkOrder, BulkTurn};
pub use network::{Network, Patience, Tls};
pub use opening::while_opening;
pub use triggers::{TriggerAuthenticator, TriggerSecrets, TriggerShown};

use access::Routes;
use app::App;
use axum::Router;
use axum::middleware::from_fn_with_state;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;

/// What a server shows and serves.
pub struct Site {
    pub engine: engine::Engine,
    pub database: store::Database,
    pub clock: Arc<dyn store::Clock>,
    pub version: &'static str,
    pub host: String,
    /// Ask for a key also on this machine.
    pub require_key: bool,
    /// Runs what a queue outside sends somebody for.
    pub processing: Option<Arc<dyn Processing>>,
    /// The router in this process, where there is one.
    pub routing: Option<Arc<dyn Routing>>,
    /// How whoever triggers may show who they are, beside keys and tokens.
    pub triggers: Vec<Arc<dyn TriggerAuthenticator>>,
    pub network: Network,
}

fn declared() -> Routes {
    api::routes().and(web::routes())
}

/// Every route with what it asks of its caller.
pub fn routes() -> Vec<Route> {
    declared().parts().1.routes().to_vec()
}

/// The description of the API as OpenAPI 3.1.
pub fn document(version: &str) -> serde_json::Value {
    describe::document(&routes(), version)
}

/// Every route, behind the guard. Serve it with the address of the peer (`ConnectInfo`): who is not known to be on this
/// machine needs a key.
pub fn router(site: Site) -> Router {
    built(site).0
}

fn built(site: Site) -> (Router, Arc<App>) {
    let (router, table) = declared().parts();
    let app = Arc::new(App::new(site, table));
    let router = router
        .fallback(error::no_such_page)
        .method_not_allowed_fallback(error::no_such_method)
        .layer(from_fn_with_state(app.clone(), idempotency::once))
        .with_state(app.clone())
        .layer(from_fn_with_state(app.clone(), guard::admit))
        .layer(from_fn_with_state(app.clone(), throttle::wait))
        .layer(from_fn_with_state(app.clone(), guard::harden));
    (router, app)
}

/// Serve until `shutdown` is ready, then finish what is under way.
pub async fn serve(
    listener: TcpListener,
    site: Site,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    may_bind(&site, listener.local_addr()?).await?;
    let (router, app) = built(site);
    let shutdown = async {
        shutdown.await;
        // Whoever listens would keep the server for as long as they like.
        app.listeners.dismiss();
    };
    network::serve(listener, router, &app.site.network, shutdown).await;
    Ok(())
}

/// Beyond this machine only where somebody can prove who they are.
pub async fn may_bind(site: &Site, address: SocketAddr) -> io::Result<()> {
    if address.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    let kept = readers::Readers::new(site.database.clone()).read(|browse| browse.kept_keys()).await;
    let kept = kept.map_err(|problem| io::Error::other(problem.to_string()))?;
    if engine::has_admin(&kept, site.clock.now()) {
        return Ok(());
    }
    let problem = format!(
        "{address} can be reached from other machines, and there is no live key with the role admin; \
         make one first with `stepfast keys create --name NAME --role admin`"
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, problem))
}
