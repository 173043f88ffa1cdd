//! The pages for people: one file per page, rendered here, with one script that keeps the parts live that change.

mod address;
mod alert;
mod alerts;
mod answer;
mod api;
mod approve;
mod assets;
mod audit;
mod beside;
mod bulk;
mod bulk_form;
mod bulk_operation;
mod chart;
mod definition;
mod definitions;
mod docs;
mod execution;
mod executions;
mod flow;
mod flows;
mod forms;
mod gantt;
mod keys;
mod layout;
mod markdown;
mod message_group;
mod message_groups;
mod nav;
mod nodes;
mod notifications;
mod polls;
mod pools;
mod problem;
mod progress;
mod settings;
mod sign_in;
mod step;
mod step_dispatcher;
mod step_verbs;
mod steps;
mod waiting;
mod why;
mod workflow;
mod workflow_steps;
mod workflow_verbs;
mod workflows;

pub use address::{escaped, unescaped};
pub use problem::instead as problem_instead;
pub use sign_in::{COOKIES, instead as sign_in_instead};

use crate::access::Within::{Alert, Each, Nothing, Step, Workflow};
use crate::access::{Access, Caller, Routes, form, get, post};
use crate::live;
use axum::response::Redirect;
use model::Right::{Administer, Operate, View};

/// The figures are of everybody; a key with a scope begins with its steps.
async fn home(caller: Caller) -> Redirect {
    Redirect::to(if caller.has_scope() { "/step-dispatcher/steps" } else { "/step-dispatcher" })
}

pub fn routes() -> Routes {
    Routes::default()
        .at("/", [get(View, home).within(Nothing)])
        .at("/step-dispatcher", [get(View, step_dispatcher::page)])
        .at("/step-dispatcher/api", [get(View, step_dispatcher::api)])
        .at("/step-dispatcher/live", [get(View, live::listen)])
        .at("/step-dispatcher/toggle", [post(Operate, step_dispatcher::toggle)])
        .at("/step-dispatcher/steps", [get(View, steps::page).within(Each)])
        .at("/step-dispatcher/steps/{id}", [get(View, step::page).within(Step)])
        .at("/workflows", [get(View, workflows::page).within(Each)])
        .at("/workflows/{id}", [get(View, workflow::page).within(Workflow)])
        .at("/bulk", [get(View, bulk::page).within(Each)])
        .at("/bulk/{id}", [get(View, bulk_operation::page).within(Each)])
        .at("/alerts", [get(View, alerts::page)])
        .at("/alerts/{id}", [get(View, alert::page).within(Alert)])
        .at("/message-groups", [get(View, message_groups::page)])
        .at("/message-groups/{name}", [get(View, message_group::page)])
        .at("/notifications", [get(View, notifications::page)])
        .at(
            "/approve/{workflow_id}/{trigger_key}",
            [get(Access::Token, approve::page), form(Access::Token, approve::answer)],
        )
        .at("/sign-in", [get(Access::Open, sign_in::page), form(Access::Open, sign_in::enter)])
        .at("/sign-out", [form(View, sign_in::leave).within(Nothing)])
        .at("/progress", [get(View, progress::page)])
        .at("/flows", [get(View, flows::page)])
        .at("/flows/{id}", [get(View, flow::page)])
        .at("/docs/api", [get(Access::Open, api::page)])
        .at("/docs/errors", [get(Access::Open, docs::errors)])
        .at("/docs/errors/{code}", [get(Access::Open, docs::error)])
        .and(around())
        .at("/assets/graph.css", [get(Access::Open, assets::graph)])
        .at("/assets/{name}", [get(Access::Open, assets::file)])
}

/// What stands around the work: what holds it back, what it is made of, and who decides.
fn around() -> Routes {
    Routes::default()
        .at("/waiting", [get(View, waiting::page)])
        .at(
            "/waiting/{workflow_id}/{trigger_key}",
            [get(Operate, answer::page).within(Workflow), form(Operate, answer::send).within(Workflow)],
        )
        .at("/pools", [get(View, pools::page)])
        .at("/executions", [get(View, executions::page)])
        .at("/executions/{namespace}/{key}", [get(View, execution::page)])
        .at("/definitions", [get(View, definitions::page)])
        .at("/definitions/{workflow}", [get(View, definition::page)])
        .at("/definitions/{workflow}/{version}", [get(View, definition::page_of_version)])
        .at("/nodes", [get(View, nodes::page)])
        .at("/settings", [get(View, settings::page)])
        .at("/keys", [get(Administer, keys::page)])
        .at("/audit", [get(View, audit::page)])
}
