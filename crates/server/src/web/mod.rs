//! The pages for people: one file per page, rendered here, with one script that keeps the figures live.

mod address;
mod alert;
mod alerts;
mod api;
mod approve;
mod assets;
mod docs;
mod flow;
mod flows;
mod layout;
mod markdown;
mod message_group;
mod message_groups;
mod notifications;
mod polls;
mod progress;
mod sign_in;
mod step;
mod step_dispatcher;
mod steps;
mod workflow;
mod workflow_steps;
mod workflows;

pub use address::{escaped, unescaped};
pub use sign_in::{COOKIES, instead as sign_in_instead};

use crate::access::{Access, Routes, form, get, post};
use axum::response::Redirect;
use model::Right::{Operate, View};

async fn home() -> Redirect {
    Redirect::to("/step-dispatcher")
}

pub fn routes() -> Routes {
    Routes::default()
        .at("/", [get(View, home)])
        .at("/step-dispatcher", [get(View, step_dispatcher::page)])
        .at("/step-dispatcher/api", [get(View, step_dispatcher::api)])
        .at("/step-dispatcher/toggle", [post(Operate, step_dispatcher::toggle)])
        .at("/step-dispatcher/steps", [get(View, steps::page)])
        .at("/step-dispatcher/steps/{id}", [get(View, step::page)])
        .at("/workflows", [get(View, workflows::page)])
        .at("/workflows/{id}", [get(View, workflow::page)])
        .at("/alerts", [get(View, alerts::page)])
        .at("/alerts/{id}", [get(View, alert::page)])
        .at("/message-groups", [get(View, message_groups::page)])
        .at("/message-groups/{name}", [get(View, message_group::page)])
        .at("/notifications", [get(View, notifications::page)])
        .at(
            "/approve/{workflow_id}/{trigger_key}",
            [get(Access::Token, approve::page), form(Access::Token, approve::answer)],
        )
        .at("/sign-in", [get(Access::Open, sign_in::page), form(Access::Open, sign_in::enter)])
        .at("/sign-out", [form(View, sign_in::leave)])
        .at("/progress", [get(View, progress::page)])
        .at("/flows", [get(View, flows::page)])
        .at("/flows/{id}", [get(View, flow::page)])
        .at("/docs/api", [get(Access::Open, api::page)])
        .at("/docs/errors", [get(Access::Open, docs::errors)])
        .at("/docs/errors/{code}", [get(Access::Open, docs::error)])
        .at("/assets/graph.css", [get(Access::Open, assets::graph)])
        .at("/assets/{name}", [get(Access::Open, assets::file)])
}
