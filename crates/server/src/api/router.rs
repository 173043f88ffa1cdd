//! The router of this process: what it does, its breakers, and its pools.

use crate::access::{Caller, Takes};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Path, Posted, Signed};
use crate::guard;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use schemars::JsonSchema;
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

#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reset {
    target: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pools {
    pools: Value,
}

#[derive(Deserialize, JsonSchema)]
pub struct Named {
    code: String,
    #[schemars(extend("enum" = ["activate", "suspend"]))]
    verb: String,
}

pub async fn show(State(app): State<Arc<App>>) -> Answer {
    Ok(Json(of(&app)?.status()))
}
pub async fn reset(State(app): State<Arc<App>>, Posted(body): Posted<Reset>) -> Answer {
    reset_of(of(&app)?, body)
}
pub async fn pools(State(app): State<Arc<App>>, Posted(Pools { pools }): Posted<Pools>) -> Answer {
    pools_of(of(&app)?, pools)
}
pub async fn pool(
    State(app): State<Arc<App>>,
    Path(named): Path<Named>,
    Posted(Signed { .. }): Posted<Signed>,
) -> Answer {
    pool_of(of(&app)?, named)
}

fn reset_of(routing: &dyn Routing, Reset { target }: Reset) -> Answer {
    if routing.reset_breakers(target.as_deref()) {
        return Ok(Json(json!({ "reset": target })));
    }
    Err(ApiError::NotFound(format!("no breaker is known for `{}`", target.unwrap_or_default())))
}

fn pools_of(routing: &dyn Routing, pools: Value) -> Answer {
    let wrong = |problem| {
        ApiError::fault("pools", problem, "write {\"pools\": [{\"code\": \"mail\", \"concurrency\": 10}]}")
    };
    routing.set_pools(pools).map_err(wrong)?;
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

/// Any page that a person visits could call it otherwise.
async fn of_this_machine(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let changes = parts.method != Method::GET;
    let checked = guard::own_name(&parts)
        .and_then(|()| if changes { guard::same_origin(&parts, &Caller::Loopback) } else { Ok(()) })
        .and_then(|()| if changes { guard::fitting_body(&parts, Takes::Json) } else { Ok(()) });
    match checked {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refused) => refused.into_response(),
    }
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
            post(async |State(routing): Here, Posted(Pools { pools }): Posted<Pools>| {
                pools_of(&*routing, pools)
            }),
        )
        .route(
            "/v1/router/pools/{code}/{verb}",
            post(async |State(routing): Here, Path(named): Path<Named>| pool_of(&*routing, named)),
        )
        .with_state(routing)
        .layer(from_fn(of_this_machine));
    axum::serve(listener, routes).with_graceful_shutdown(shutdown).await
}
