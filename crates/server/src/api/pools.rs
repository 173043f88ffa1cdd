//! Pools: list, set, remove.

use crate::access::Caller;
use crate::app::App;
use crate::convert;
use crate::error::ApiError;
use crate::extract::{Params, Path, Posted, Signed};
use crate::pages::{Order, Wanted, part};
use axum::Json;
use axum::extract::State;
use engine::Removal;
use model::PoolUse;
use std::sync::Arc;

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
) -> Result<Json<wire::PoolView>, ApiError> {
    Ok(Json(convert::pool_view(&found(&app, &name).await?, app.now())))
}

/// The same call makes a pool and changes one.
pub async fn set(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(mut body): Posted<wire::PoolBody>,
) -> Result<Json<wire::PoolView>, ApiError> {
    let by = caller.signed(body.by.take())?;
    let pool = convert::pool(&body).map_err(|fault| ApiError::Invalid(vec![fault]))?;
    let name = pool.name.clone();
    app.site.engine.put_pool(pool, by).await?;
    Ok(Json(convert::pool_view(&found(&app, &name).await?, app.now())))
}

pub async fn remove(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
    Posted(Signed { by }): Posted<Signed>,
) -> Result<Json<wire::RemovedView>, ApiError> {
    let by = caller.signed(by)?;
    match app.site.engine.remove_pool(name.as_str().into(), by).await? {
        Removal::Removed => Ok(Json(wire::RemovedView { removed: name })),
        Removal::Unknown => Err(ApiError::NotFound(format!("there is no pool `{name}`"))),
        Removal::InUse => Err(ApiError::Conflict(convert::POOL_IN_USE.into())),
    }
}
