//! Pools: list, set, remove.

use crate::access::Caller;
use crate::app::App;
use crate::convert;
use crate::error::ApiError;
use crate::extract::{Posted, Signed};
use axum::Json;
use axum::extract::{Path, State};
use engine::Removal;
use std::sync::Arc;

pub async fn list(State(app): State<Arc<App>>) -> Result<Json<wire::PoolPage>, ApiError> {
    let now = app.now();
    let pools = app.read(|browse| browse.pools()).await?;
    Ok(Json(wire::PoolPage { pools: pools.iter().map(|pool| convert::pool_view(pool, now)).collect() }))
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
    let now = app.now();
    let pools = app.read(|browse| browse.pools()).await?;
    let set = pools.iter().find(|pool| pool.pool.name == name);
    let gone = || ApiError::NotFound(format!("pool `{name}` was removed in the same moment"));
    Ok(Json(convert::pool_view(set.ok_or_else(gone)?, now)))
}

pub async fn remove(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(name): Path<String>,
    Posted(Signed { by }): Posted<Signed>,
) -> Result<Json<serde_json::Value>, ApiError> {
    let by = caller.signed(by)?;
    match app.site.engine.remove_pool(name.as_str().into(), by).await? {
        Removal::Removed => Ok(Json(serde_json::json!({ "removed": name }))),
        Removal::Unknown => Err(ApiError::NotFound(format!("there is no pool `{name}`"))),
        Removal::InUse => Err(ApiError::Conflict(convert::POOL_IN_USE.into())),
    }
}
