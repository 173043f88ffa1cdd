//! Nodes and their worker sessions.

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
) -> Result<Json<wire::NodePage>, ApiError> {
    let now = app.now();
    let all = app.read(move |browse| answers::nodes(browse, now)).await?.nodes;
    let (nodes, next) = part(all, &wanted, Order::Falling, |node| &node.id)?;
    Ok(Json(wire::NodePage { nodes, next }))
}
