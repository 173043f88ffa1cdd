//! The pages for people: one file per page, rendered here, with one script that keeps the figures live.

mod assets;
mod layout;
mod step;
mod step_dispatcher;
mod steps;

use crate::app::App;
use crate::extract::BODY_BYTES_MAX;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::response::Redirect;
use axum::routing::{get, post};
use std::sync::Arc;

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(async || Redirect::to("/step-dispatcher")))
        .route("/step-dispatcher", get(step_dispatcher::page))
        .route("/step-dispatcher/api", get(step_dispatcher::api))
        .route("/step-dispatcher/toggle", post(step_dispatcher::toggle))
        .route("/step-dispatcher/steps", get(steps::page))
        .route("/step-dispatcher/steps/{id}", get(step::page))
        .route("/assets/{name}", get(assets::file))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}
