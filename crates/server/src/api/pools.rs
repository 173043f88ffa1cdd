//! Pools: list, set, remove.

use super::operate::Reason;
use crate::access::Caller;
use crate::app::App;
use crate::convert;
use crate::describe::Tagged;
use crate::error::ApiError;
use crate::extract::{Expected, Params, Path, Posted};
use crate::pages::{Order, Wanted, part};
use axum::Json;
use axum::extract::State;
use engine::Removal;
use model::{Pool, PoolUse};
use std::sync::Arc;
use store::Asked;

pub async fn list(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::PoolPage>, ApiError> {
    let now = app.now();
    let pools = app.read(|browse| browse.pools()).await?;
    let (pools, next) = part(pools, &wanted, Order::Rising, |pool| &pool.pool.name)?;
    Ok(Json(wire::PoolPage { pools: pools.iter().map(|pool| convert::pool_view(pool, now)).collect(), next }))
}

async fn found(app: &App, name: &str) -> Result<PoolUse, ApiError> {
    let pools = app.read(|browse| browse.pools()).await?;
    let found = pools.into_iter().find(|pool| &*pool.pool.name == name);
    found.ok_or_else(|| ApiError::NotFound(format!("there is no pool `{name}`")))
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Tagged<wire::PoolView>, ApiError> {
    Ok(tagged(&app, &found(&app, &name).await?))
}

fn tagged(app: &App, pool: &PoolUse) -> Tagged<wire::PoolView> {
    Tagged { tag: convert::pool_tag(&pool.pool), view: convert::pool_view(pool, app.now()) }
}

/// The same call makes a pool and changes one; with `If-Match`, one that is as it was seen.
pub async fn set(
    State(app): State<Arc<App>>,
    caller: Caller,
    expected: Expected,
    Posted(mut body): Posted<wire::PoolBody>,
) -> Result<Tagged<wire::PoolView>, ApiError> {
    let by = caller.signed(body.by.take())?;
    let pool = convert::pool(&body).map_err(|fault| ApiError::Invalid(vec![fault]))?;
    let name = pool.name.clone();
    match seen(&app, &name, &expected).await? {
        None => app.site.engine.put_pool(pool, by).await?,
        Some(seen) => {
            app.site.engine.set_pool(pool, seen, by).await?.ok_or_else(|| changed(&name))?;
        }
    }
    Ok(tagged(&app, &found(&app, &name).await?))
}

/// What the caller has seen, where it says so and it still is.
async fn seen(app: &App, name: &str, expected: &Expected) -> Result<Option<Pool>, ApiError> {
    let Some(tag) = expected.text() else { return Ok(None) };
    let is = found(app, name).await.map_err(|_| changed(name))?.pool;
    if convert::pool_tag(&is) == tag { Ok(Some(is)) } else { Err(changed(name)) }
}

fn changed(name: &str) -> ApiError {
    ApiError::Changed(format!("pool `{name}` has changed since; look at it again"))
}

pub async fn remove(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
    expected: Expected,
    Posted(body): Posted<wire::OperateBody>,
) -> Result<Json<wire::RemovedView>, ApiError> {
    let (who, why) = (caller.signed(body.by)?, Some(Reason::Needed.said(body.why)?));
    let seen = seen(&app, &name, &expected).await?;
    match app.site.engine.remove_pool(name.as_str().into(), seen, Asked { who, why }).await? {
        Removal::Removed => Ok(Json(wire::RemovedView { removed: name })),
        Removal::Unknown => Err(ApiError::NotFound(format!("there is no pool `{name}`"))),
        Removal::Changed => Err(changed(&name)),
        Removal::InUse => Err(ApiError::Conflict(convert::POOL_IN_USE.into())),
    }
}
