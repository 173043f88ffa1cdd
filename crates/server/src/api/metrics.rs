//! Figures for Prometheus.

use crate::app::App;
use crate::describe::{Answers, Operation};
use crate::error::ApiError;
use crate::metrics::{Now, text};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// In the format of Prometheus.
pub struct Text(String);

impl IntoResponse for Text {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, prometheus::TEXT_FORMAT)], self.0).into_response()
    }
}

impl Answers for Text {
    fn answer(about: &mut Operation) {
        about.answers(200, [("text/plain", None)]);
    }
}

pub async fn metrics(State(app): State<Arc<App>>) -> Result<Text, ApiError> {
    let at = app.now();
    let now = app.read(move |browse| Now::read(browse, at)).await?;
    let told = text(app.site.engine.meters(), &now, app.site.version)?;
    Ok(Text(told))
}
