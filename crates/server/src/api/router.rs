//! The router of this process: what it does, its breakers, and its pools.

use crate::access::{Caller, Takes, Way};
use crate::app::App;
use crate::body;
use crate::error::ApiError;
use crate::extract::{BODY_BYTES_MAX, Path, Posted, Signed};
use crate::guard;
use crate::network::{self, Network, Patience};
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
use store::AuditEntry;
use tokio::net::TcpListener;

/// Rows of a router that one row of the audit tells of.
const TOLD_MAX: usize = 50;

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
    /// Who asks, where the caller has no key.
    by: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pools {
    pools: Value,
    /// Who asks, where the caller has no key.
    #[serde(default)]
    by: Option<String>,
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
pub async fn reset(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(Reset { target, by }): Posted<Reset>,
) -> Answer {
    let what = Told { part: &BREAKERS, only: target.clone(), verb: "reset breakers" };
    on_record(&app, (&caller, by), what, |routing| reset_of(routing, target)).await
}
pub async fn pools(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(Pools { pools, by }): Posted<Pools>,
) -> Answer {
    let what = Told { part: &POOLS, only: None, verb: "set router pools" };
    on_record(&app, (&caller, by), what, |routing| pools_of(routing, pools)).await
}
pub async fn pool(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(named): Path<Named>,
    Posted(Signed { by }): Posted<Signed>,
) -> Answer {
    let verb = if named.verb == "suspend" { "suspend router pool" } else { "activate router pool" };
    let what = Told { part: &POOLS, only: Some(named.code.clone()), verb };
    on_record(&app, (&caller, by), what, |routing| pool_of(routing, named)).await
}

/// A list in the status of a router: what it is called, the name of each row, and what people change of it.
struct Part {
    list: &'static str,
    name: &'static str,
    facts: &'static [&'static str],
}

const BREAKERS: Part = Part { list: "breakers", name: "target", facts: &["state"] };
const POOLS: Part =
    Part { list: "pools", name: "code", facts: &["status", "concurrency", "rate_per_minute"] };

/// What is told of a change: of which rows, or of all of them.
struct Told {
    part: &'static Part,
    only: Option<String>,
    verb: &'static str,
}

impl Told {
    /// Those rows in one line.
    fn now(&self, routing: &dyn Routing) -> String {
        let (status, Part { list, name, facts }) = (routing.status(), self.part);
        let rows = status[*list].as_array().into_iter().flatten();
        let rows = rows.filter(|row| self.only.as_deref().is_none_or(|only| row[*name] == only));
        let told = rows.take(TOLD_MAX).map(|row| {
            let facts = facts.iter().filter(|fact| !row[**fact].is_null());
            let facts: Vec<String> = facts.map(|fact| format!("{fact} {}", row[*fact])).collect();
            format!("{}: {}", row[*name], facts.join(", "))
        });
        let told: Vec<String> = told.collect();
        if told.is_empty() { "none".into() } else { told.join("; ") }
    }
}

/// Do it, and put on record who did and what it was before and after. A router keeps nothing, so there is no commit to share.
async fn on_record(
    app: &App,
    (caller, by): (&Caller, Option<String>),
    what: Told,
    act: impl FnOnce(&dyn Routing) -> Answer,
) -> Answer {
    let (routing, who) = (of(app)?, caller.signed(by)?);
    let before = Some(what.now(routing));
    let answer = act(routing)?;
    let after = Some(what.now(routing));
    let target = what.only.unwrap_or_else(|| format!("all {}", what.part.list));
    let entry = AuditEntry { who, verb: what.verb.into(), target, why: None, before, after };
    app.site.engine.put_on_record(entry).await?;
    Ok(answer)
}

/// A router of its own has no database; its log says who did what.
fn in_the_log(by: Option<String>, what: &str) {
    let by = by.unwrap_or_else(|| "loopback".into());
    tracing::info!(target: "router", by, "{by}: {what}");
}

fn reset_of(routing: &dyn Routing, target: Option<String>) -> Answer {
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
        .and_then(
            |()| if changes { guard::same_origin(&parts, &Caller::Loopback, Way::Clear) } else { Ok(()) },
        )
        .and_then(|()| if changes { guard::fitting_body(&parts, Takes::Json) } else { Ok(()) });
    let read = match checked {
        Ok(()) => body::read(body, BODY_BYTES_MAX, Patience::default().body).await,
        Err(refused) => Err(refused),
    };
    match read {
        Ok(body) => next.run(Request::from_parts(parts, body)).await,
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
            post(async |State(routing): Here, Posted(Reset { target, by }): Posted<Reset>| {
                in_the_log(by, "reset breakers");
                reset_of(&*routing, target)
            }),
        )
        .route(
            "/v1/router/pools",
            post(async |State(routing): Here, Posted(Pools { pools, by }): Posted<Pools>| {
                in_the_log(by, "set pools");
                pools_of(&*routing, pools)
            }),
        )
        .route(
            "/v1/router/pools/{code}/{verb}",
            post(
                async |State(routing): Here,
                       Path(named): Path<Named>,
                       Posted(Signed { by }): Posted<Signed>| {
                    in_the_log(by, &format!("{} pool {}", named.verb, named.code));
                    pool_of(&*routing, named)
                },
            ),
        )
        .with_state(routing)
        .layer(from_fn(of_this_machine));
    network::serve(listener, routes, &Network::default(), shutdown).await;
    Ok(())
}
