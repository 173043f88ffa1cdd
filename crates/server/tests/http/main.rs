//! The server as its users meet it: a real engine on a real file behind every request.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod access;
mod alerts;
mod breaker;
mod channels;
mod create;
mod definitions;
mod deliveries;
mod executions;
mod flows;
mod guard;
mod health;
mod items_again;
mod keys;
mod list;
mod message_groups;
mod metrics;
mod network;
mod operate;
mod pace;
mod page_in_a_real_browser;
mod pages;
mod place;
mod polls;
mod pools;
mod progress;
mod retention;
mod serve;
mod show;
mod sign_in;
mod subscriptions;
mod trigger_page;
mod triggers;
mod worker;
mod workflow_events;
mod workflow_pages;
mod workflows;
mod workflows_document;
