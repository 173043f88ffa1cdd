//! The server as its users meet it: a real engine on a real file behind every request.

mod breaker;
mod create;
mod guard;
mod health;
mod list;
mod operate;
mod pages;
mod place;
mod show;
