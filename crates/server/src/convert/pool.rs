//! Pools as they are asked for and as they are shown.

use super::maybe;
use model::{Fault, Pool, PoolUse, Rate, Timestamp};

/// Why a pool cannot be removed.
pub const POOL_IN_USE: &str =
    "steps of this pool run or wait for it; let them end first, or set its limits so that they do";

pub fn pool_view(pool: &PoolUse, now: Timestamp) -> wire::PoolView {
    wire::PoolView {
        name: pool.pool.name.to_string(),
        concurrency: pool.pool.concurrency,
        rate: pool.pool.rate.map(|rate| rate.to_string()),
        burst: pool.pool.rate.map(|rate| rate.burst),
        used: pool.used,
        next_start_at: maybe(engine::next_pool_start(pool, now)),
    }
}

/// What a pool allows, as an `ETag`: whoever saw the same limits saw the same pool.
pub fn pool_tag(pool: &Pool) -> String {
    let concurrency = pool.concurrency.map_or("any".into(), |n| n.to_string());
    match pool.rate {
        Some(rate) => format!("{concurrency}-{}-{}-{}", rate.starts, rate.per.as_micros(), rate.burst),
        None => concurrency,
    }
}

/// A pool from what a request asks for.
pub fn pool(body: &wire::PoolBody) -> Result<Pool, Fault> {
    let fault =
        |field: &str, problem: String, fix: &str| Fault { field: field.into(), problem, fix: fix.into() };
    let rate = match &body.rate {
        None if body.burst.is_some() => {
            return Err(fault("burst", "there is no rate to burst".into(), "write `rate` too"));
        }
        None => None,
        Some(text) => {
            let rate: Rate = text.parse().map_err(|_| {
                fault("rate", format!("`{text}` is no rate"), "write for example `5/s`, `100/m` or `10/15m`")
            })?;
            Some(Rate { burst: body.burst.unwrap_or(1), ..rate })
        }
    };
    Ok(Pool { name: body.name.as_str().into(), concurrency: body.concurrency, rate })
}
