//! The router of this process: what it does, its breakers, and its pools.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::Posted;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use tokio::net::TcpListener;

/// A router that runs in this process.
pub trait Routing: Send + Sync {
    fn status(&self) -> Value;
    /// Whether there was one of that name; without a name, all of them.
    fn reset_breakers(&self, target: Option<&str>) -> bool;
    /// Whether there is such a pool.
    fn set_active(&self, pool: &str, active: bool) -> bool;
    /// All pools there are from now on, or what is wrong with them.
    fn set_pools(&self, pools: Value) -> Result<(), String>;
}

type Answer = Result<Json<Value>, ApiError>;

fn of(app: &App) -> Result<&dyn Routing, ApiError> {
    let none = || {
        ApiError::NotFound(
            "no router runs in this process; with a broker it is `stepfast router` that answers, at its own --bind"
                .into(),
        )
    };
    app.site.routing.as_deref().ok_or_else(none)
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Reset {
    target: Option<String>,
}

#[derive(Deserialize)]
pub struct Named {
    code: String,
    verb: String,
}

pub async fn show(State(app): State<Arc<App>>) -> Answer {
    Ok(Json(of(&app)?.status()))
}
pub async fn reset(State(app): State<Arc<App>>, Posted(body): Posted<Reset>) -> Answer {
    reset_of(of(&app)?, body)
}
pub async fn pools(State(app): State<Arc<App>>, Posted(body): Posted<Value>) -> Answer {
    pools_of(of(&app)?, body)
}
pub async fn pool(State(app): State<Arc<App>>, Path(named): Path<Named>) -> Answer {
    pool_of(of(&app)?, named)
}

fn reset_of(routing: &dyn Routing, Reset { target }: Reset) -> Answer {
    if routing.reset_breakers(target.as_deref()) {
        return Ok(Json(json!({ "reset": target })));
    }
    Err(ApiError::NotFound(format!("no breaker is known for `{}`", target.unwrap_or_default())))
}

fn pools_of(routing: &dyn Routing, body: Value) -> Answer {
    let wrong = |problem| {
        ApiError::fault("pools", problem, "write {\"pools\": [{\"code\": \"mail\", \"concurrency\": 10}]}")
    };
    routing.set_pools(body["pools"].clone()).map_err(wrong)?;
    Ok(Json(routing.status()["pools"].clone()))
}

fn pool_of(routing: &dyn Routing, Named { code, verb }: Named) -> Answer {
    let active = match verb.as_str() {
        "activate" => true,
        "suspend" => false,
        _ => {
            return Err(ApiError::NotFound(format!(
                "`{verb}` is not done to a pool; activate and suspend are"
            )));
        }
    };
    if routing.set_active(&code, active) {
        return Ok(Json(json!({ "code": code, "active": active })));
    }
    Err(ApiError::NotFound(format!("the router has no pool `{code}`")))
}

/// The same for a router in a process of its own, for this machine alone.
pub async fn serve(
    listener: TcpListener,
    routing: Arc<dyn Routing>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    if !listener.local_addr()?.ip().is_loopback() {
        let problem = "a router shows itself on this machine alone; write --bind 127.0.0.1:PORT";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    type Here = State<Arc<dyn Routing>>;
    let routes = Router::new()
        .route("/livez", get(async || "ok\n"))
        .route("/v1/router", get(async |State(routing): Here| Json(routing.status())))
        .route(
            "/v1/router/breakers/reset",
            post(async |State(routing): Here, Posted(body): Posted<Reset>| reset_of(&*routing, body)),
        )
        .route(
            "/v1/router/pools",
            post(async |State(routing): Here, Posted(body): Posted<Value>| pools_of(&*routing, body)),
        )
        .route(
            "/v1/router/pools/{code}/{verb}",
            post(async |State(routing): Here, Path(named): Path<Named>| pool_of(&*routing, named)),
        )
        .with_state(routing);
    axum::serve(listener, routes).with_graceful_shutdown(shutdown).await
}
