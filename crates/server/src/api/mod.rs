//! The API for programs: one file per noun, each with its own routes.

mod alerts;
mod audit;
mod breaker;
mod bulk;
mod channels;
mod check;
mod course;
mod definitions;
mod dispatch;
mod drain;
mod events;
mod executions;
mod flows;
mod groups;
mod health;
mod keys;
mod message_groups;
mod metrics;
mod nodes;
mod openapi;
mod operate;
mod polls;
mod pools;
mod progress;
mod retention;
mod router;
mod steps;
mod stuck;
mod subscriptions;
mod ticks;
mod triggers;
mod worker;
mod workflow_filter;
mod workflows;

pub use alerts::{Wanted as WantedAlerts, review_of};
pub use audit::Wanted as WantedAudit;
pub use bulk::missing as missing_bulk;
pub use dispatch::{Processed, Processing};
pub use flows::{Wanted as WantedFlows, missing as missing_flow};
pub use message_groups::Wanted as WantedMessageGroups;
pub use operate::explained;
pub use progress::Wanted as WantedProgress;
pub use router::{Routing, serve as serve_router};
pub use steps::Wanted;
pub use triggers::send as send_trigger;
pub use workflows::Wanted as WantedWorkflows;

/// What is there some time later.
pub type Later<T> = std::pin::Pin<Box<dyn Future<Output = T> + Send>>;

use crate::access::Within::{Alert, Each, Flow, Step, Workflow};
use crate::access::{Access, Routes, delete, get, post, put, text};
use model::Right::{Administer, Operate, Start, Track, View, Work};

/// One line a path: its methods, each with the right it asks for.
pub fn routes() -> Routes {
    Routes::default()
        .at("/livez", [get(Access::Open, health::livez)])
        .at("/readyz", [get(Access::Open, health::readyz)])
        .at("/metrics", [get(View, metrics::metrics)])
        .at("/api/dispatch/process", [post(Access::Token, dispatch::process)])
        .at("/v1/steps", [get(View, steps::list).within(Each), post(Start, steps::create).within(Each)])
        .at("/v1/steps/{id}", [get(View, steps::show).within(Step)])
        .at("/v1/steps/{id}/attempts", [get(View, steps::attempts).within(Step)])
        .at("/v1/steps/{id}/{verb}", [post(Operate, operate::operate).within(Step)])
        .at(
            "/v1/definitions",
            [get(View, definitions::list).within(Each), text(Operate, definitions::apply).within(Each)],
        )
        .at("/v1/definitions/{workflow}", [get(View, definitions::show).within(Each)])
        .at("/v1/definitions/{workflow}/{version}", [get(View, definitions::show_version).within(Each)])
        .at("/v1/definitions/{workflow}/{version}/graph", [get(View, definitions::graph).within(Each)])
        .at(
            "/v1/workflows",
            [get(View, workflows::list).within(Each), post(Start, workflows::start).within(Each)],
        )
        .at("/v1/workflows/{id}", [get(View, workflows::show).within(Workflow)])
        .at("/v1/workflows/{id}/events", [get(View, course::events).within(Workflow)])
        .at("/v1/workflows/{id}/decisions", [get(View, course::decisions).within(Workflow)])
        .at("/v1/workflows/{id}/graph", [get(View, workflows::graph).within(Workflow)])
        .at("/v1/workflows/{id}/steps/{key}/items", [get(View, course::items).within(Workflow)])
        .at("/v1/workflows/{id}/triggers", [get(View, triggers::list).within(Workflow)])
        .at("/v1/workflows/{id}/triggers/{key}", [post(Operate, triggers::send_one).within(Workflow)])
        .at("/v1/workflows/{id}/triggers/{key}/token", [post(Operate, triggers::token).within(Workflow)])
        .at("/trigger/{workflow_id}/{trigger_key}", [post(Access::Token, triggers::receive)])
        .at("/v1/pauses", [get(View, triggers::pauses).within(Each)])
        .at("/v1/workflows/{id}/resolve", [post(Operate, workflows::resolve).within(Workflow)])
        .at("/v1/workflows/{id}/{verb}", [post(Operate, workflows::operate).within(Workflow)])
        .at("/v1/polls", [get(View, polls::list)])
        .at("/v1/polls/recover", [post(Operate, polls::recover)])
        .at("/v1/events", [get(View, events::listen).within(Each)])
        .at("/v1/subscriptions", [get(View, subscriptions::list), post(Administer, subscriptions::create)])
        .at(
            "/v1/subscriptions/{id}",
            [get(View, subscriptions::show), post(Administer, subscriptions::change)],
        )
        .at("/v1/subscriptions/{id}/remove", [post(Administer, subscriptions::remove)])
        .at("/v1/subscriptions/{id}/test", [post(Operate, subscriptions::test)])
        .at("/v1/groups", [get(View, groups::list)])
        .at("/v1/breaker", [get(View, breaker::show), post(Operate, breaker::switch)])
        .at("/v1/pools", [get(View, pools::list), post(Operate, pools::set)])
        .at("/v1/pools/{name}/remove", [post(Operate, pools::remove)])
        .at("/v1/message-groups", [get(View, message_groups::list)])
        .at("/v1/message-groups/{name}", [get(View, message_groups::show)])
        .at("/v1/message-groups/{name}/{verb}", [post(Operate, message_groups::operate)])
        .at("/v1/router", [get(View, router::show)])
        .at("/v1/router/breakers/reset", [post(Operate, router::reset)])
        .at("/v1/router/pools", [post(Operate, router::pools)])
        .at("/v1/router/pools/{code}/{verb}", [post(Operate, router::pool)])
        .at("/v1/drain", [get(View, drain::show)])
        .at("/v1/ticks", [get(View, ticks::list)])
        .at("/v1/nodes", [get(View, nodes::list)])
        .at("/v1/audit", [get(View, audit::list)])
        .and(worked())
        .and(tracked())
        .and(told())
}

/// What workers call, what is done once, and upkeep.
fn worked() -> Routes {
    Routes::default()
        .at("/v1/worker/claim", [post(Work, worker::claim).within(Each)])
        .at("/v1/worker/heartbeat", [post(Work, worker::heartbeat).within(Each)])
        .at("/v1/worker/report", [post(Work, worker::report).within(Each)])
        .at("/v1/worker/leave", [post(Work, worker::leave).within(Each)])
        .at("/v1/worker/previous", [post(Work, worker::previous).within(Each)])
        .at("/v1/executions", [get(View, executions::list).within(Each)])
        .at("/v1/executions/begin", [post(Work, executions::begin).within(Each)])
        .at("/v1/executions/complete", [post(Work, executions::complete).within(Each)])
        .at("/v1/executions/fail", [post(Work, executions::fail).within(Each)])
        .at("/v1/executions/renew", [post(Work, executions::renew).within(Each)])
        .at("/v1/executions/forget", [post(Administer, executions::forget)])
        .at("/v1/executions/{namespace}/{key}", [get(View, executions::show).within(Each)])
        .at("/v1/retention", [post(Administer, retention::retain)])
        .at("/v1/keys", [get(Administer, keys::list), post(Administer, keys::create)])
        .at("/v1/keys/{id}/revoke", [post(Administer, keys::revoke)])
}

/// How far things are, and what runs elsewhere.
fn tracked() -> Routes {
    Routes::default()
        .at("/v1/progress", [get(View, progress::half_done)])
        .at("/v1/workflows/{id}/progress", [get(View, progress::workflow).within(Workflow)])
        .at("/v1/steps/{id}/progress", [get(View, progress::step).within(Step)])
        .at("/v1/flows", [get(View, flows::list), post(Track, flows::start).within(Each)])
        .at("/v1/flows/{id}", [get(View, flows::show).within(Flow)])
        .at("/v1/flows/{id}/progress", [get(View, progress::flow).within(Flow)])
        .at("/v1/flows/{id}/steps/{step}/{verb}", [post(Track, flows::mark).within(Flow)])
        .at("/v1/flows/{id}/state", [post(Track, flows::update).within(Flow)])
        .at("/v1/flows/{id}/finish", [post(Track, flows::finish).within(Flow)])
        .at("/v1/flows/{id}/{verb}", [post(Operate, flows::ask).within(Flow)])
}

/// What stands still, and who is told of what.
fn told() -> Routes {
    Routes::default()
        .at("/v1/alerts", [get(View, alerts::list).within(Each)])
        .at("/v1/alerts/figures", [get(View, alerts::figures)])
        .at("/v1/alerts/{id}", [get(View, alerts::show).within(Alert)])
        .at("/v1/alerts/{id}/{verb}", [post(Operate, alerts::review).within(Alert)])
        .at("/v1/stuck/detect", [post(Operate, stuck::detect)])
        .at("/v1/stuck/rules", [get(View, stuck::rules)])
        .at(
            "/v1/stuck/rules/{name}",
            [
                get(View, stuck::rule),
                put(Administer, stuck::put_rule),
                delete(Administer, stuck::remove_rule),
            ],
        )
        .at("/v1/stuck/auto", [put(Operate, stuck::switch)])
        .at("/v1/channels", [get(View, channels::list), post(Administer, channels::put)])
        .at("/v1/channels/{name}", [get(View, channels::show)])
        .at("/v1/channels/{name}/remove", [post(Administer, channels::remove)])
        .at("/v1/channels/{name}/test", [post(Operate, channels::test)])
        .at("/v1/notices", [get(View, channels::notices)])
        .and(whole())
}

/// What is about all of it: its description, a check of everything, and the same done to many.
fn whole() -> Routes {
    Routes::default()
        .at("/openapi.json", [get(Access::Open, openapi::show)])
        .at("/definition.schema.json", [get(Access::Open, definitions::schema)])
        .at("/v1/definitions/{workflow}/{version}/diff", [get(View, definitions::diff).within(Each)])
        .at("/v1/pools/{name}", [get(View, pools::show)])
        .at("/v1/check", [get(Administer, check::check)])
        .at("/v1/bulk", [get(View, bulk::list).within(Each), post(Operate, bulk::create).within(Each)])
        .at("/v1/bulk/{id}", [get(View, bulk::show).within(Each)])
        .at("/v1/bulk/{id}/cancel", [post(Operate, bulk::cancel).within(Each)])
}
