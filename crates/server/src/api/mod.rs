//! The API for programs: one file per noun, each with its own routes.

mod alerts;
mod audit;
mod breaker;
mod drain;
mod executions;
mod groups;
mod health;
mod nodes;
mod operate;
mod retention;
mod steps;
mod ticks;

pub use steps::Wanted;

use crate::app::App;
use crate::extract::BODY_BYTES_MAX;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use std::sync::Arc;

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/v1/steps", get(steps::list).post(steps::create))
        .route("/v1/steps/{id}", get(steps::show))
        .route("/v1/steps/{id}/{verb}", post(operate::operate))
        .route("/v1/groups", get(groups::list))
        .route("/v1/breaker", get(breaker::show).post(breaker::switch))
        .route("/v1/drain", get(drain::show))
        .route("/v1/ticks", get(ticks::list))
        .route("/v1/nodes", get(nodes::list))
        .route("/v1/alerts", get(alerts::list))
        .route("/v1/audit", get(audit::list))
        .route("/v1/executions", get(executions::list))
        .route("/v1/executions/begin", post(executions::begin))
        .route("/v1/executions/complete", post(executions::complete))
        .route("/v1/executions/fail", post(executions::fail))
        .route("/v1/executions/renew", post(executions::renew))
        .route("/v1/executions/forget", post(executions::forget))
        .route("/v1/executions/{namespace}/{key}", get(executions::show))
        .route("/v1/retention", post(retention::retain))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}
