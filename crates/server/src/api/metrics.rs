//! Figures for Prometheus.

use crate::app::App;
use crate::error::ApiError;
use crate::metrics::{Now, text};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use std::sync::Arc;

pub async fn metrics(State(app): State<Arc<App>>) -> Result<impl IntoResponse, ApiError> {
    let at = app.now();
    let now = app.read(move |browse| Now::read(browse, at)).await?;
    let told = text(app.site.engine.meters(), &now, app.site.version)?;
    Ok(([(CONTENT_TYPE, prometheus::TEXT_FORMAT)], told))
}
