//! What people did, newest first.

use crate::answers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Params, page_size};
use crate::pages::{Wanted, place};
use axum::Json;
use axum::extract::State;
use std::sync::Arc;

pub async fn list(
    State(app): State<Arc<App>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<wire::AuditPage>, ApiError> {
    let (limit, after) = (page_size(wanted.limit)?, place(wanted.after.as_deref())?);
    Ok(Json(app.read(move |browse| answers::audit(browse, after, limit)).await?))
}
