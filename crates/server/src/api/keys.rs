//! API keys: list, make, revoke.

use crate::access::Caller;
use crate::app::App;
use crate::convert;
use crate::describe::Created;
use crate::error::ApiError;
use crate::extract::{Params, Posted, Signed, ThisKey};
use crate::pages::{Order, Wanted, part};
use axum::Json;
use axum::extract::State;
use model::NewKey;
use std::sync::Arc;

pub async fn list(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::KeyPage>, ApiError> {
    let now = app.now();
    let keys = app.read(|browse| browse.keys()).await?;
    let keys = keys.iter().map(|key| convert::key_view(key, now)).collect();
    let (keys, next) = part(keys, &wanted, Order::Falling, |key: &wire::KeyView| &key.id)?;
    Ok(Json(wire::KeyPage { keys, next, refused: app.keys.refused() }))
}

/// The answer holds the key, for the only time.
pub async fn create(
    State(app): State<Arc<App>>,
    caller: Caller,
    Posted(body): Posted<wire::KeyBody>,
) -> Result<Created<wire::KeyMadeView>, ApiError> {
    let by = caller.signed(body.by)?;
    let wire::KeyBody { name, role, scope, expires_days, .. } = body;
    let new = NewKey { name, role, scope, expires_days };
    let (key, secret) = app.site.engine.add_key(new, by).await?;
    app.keys.forget().await;
    Ok(Created(convert::key_made_view(&key, &secret, app.now())))
}

pub async fn revoke(
    State(app): State<Arc<App>>,
    caller: Caller,
    ThisKey(id): ThisKey,
    Posted(Signed { by }): Posted<Signed>,
) -> Result<Json<wire::KeyView>, ApiError> {
    let by = caller.signed(by)?;
    let revoked = app.site.engine.revoke_key(id, by).await?;
    app.keys.forget().await;
    let key = revoked.ok_or_else(|| ApiError::NotFound(format!("there is no key {id}")))?;
    Ok(Json(convert::key_view(&key, app.now())))
}
