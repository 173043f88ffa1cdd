//! Dispatch groups.

use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Params;
use crate::pages::{Order, Wanted, part};
use axum::Json;
use axum::extract::State;
use std::sync::Arc;

pub async fn list(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::GroupPage>, ApiError> {
    let now = app.now();
    let all = app.read(move |browse| answers::groups(browse, now)).await?.groups;
    let (groups, next) = part(all, &wanted, Order::Rising, |group| &group.dispatch_group)?;
    Ok(Json(wire::GroupPage { groups, next }))
}
