//! Pushes steps: receives message pointers from a queue, calls the endpoints they point to, and ends or defers each delivery.
//!
//! Why    endpoints in any language need no client of ours. The store decides order, exclusivity and retries, so the
//!        router keeps nothing: what it holds when it dies the queue delivers again, and a call made twice is fenced there.
//!
//! Decisions (what an answer means, whose turn it is, whether a target is spared) are pure and live in `answer`, `board`,
//! `breaker`, `delays` and `rate`; `consume`, `dispatch`, `keep` and `settle` only carry them out.

mod answer;
mod board;
mod breaker;
mod config;
mod consume;
mod delays;
mod dispatch;
mod http;
mod keep;
mod limits;
mod mediator;
mod rate;
mod running;
mod settle;
mod shared;
mod status;
mod warnings;

pub use config::{PoolConfig, PoolStatus, RouterConfig, Targets};
pub use http::{HttpMediator, NoClient};
pub use limits::{DEFAULT_POOL_CODE, MEDIATION_TIMEOUT};
pub use mediator::{Mediator, Outcome, Reply};
pub use running::{Router, Running, Stopped, UnknownPool};
pub use status::{
    BreakerState, BreakerStatus, ConsumerStatus, Counters, InFlight, PoolState, RouterStatus, Stage,
};
pub use warnings::{Category, Severity, Warning};
