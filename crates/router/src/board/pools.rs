//! The pools of a router, which can be changed while their messages wait and are called.

use super::{Board, Line};
use crate::config::{PoolConfig, PoolStatus};
use crate::limits::LINE_SHARE;
use crate::rate::Rate;
use std::collections::VecDeque;
use std::time::Duration;

pub struct Pool {
    pub config: PoolConfig,
    pub rate: Rate,
    pub ring: VecDeque<Line>,
    /// Slots taken.
    pub calling: usize,
    /// Messages from their admission until the broker was told their end.
    pub held: usize,
    pub leaving: bool,
}

impl Pool {
    fn new(config: PoolConfig) -> Pool {
        let rate = Rate::new(config.rate_per_minute);
        Pool { config, rate, ring: VecDeque::new(), calling: 0, held: 0, leaving: false }
    }

    pub fn free(&self) -> usize {
        self.config.slots().saturating_sub(self.calling)
    }

    pub fn is_full(&self) -> bool {
        self.held >= self.config.capacity()
    }

    pub fn line_max(&self) -> usize {
        self.config.capacity() / LINE_SHARE
    }
}

impl Board {
    /// What is called goes on; a pool that is no longer named takes no new messages and ends when it is empty.
    pub fn set_pools(&mut self, pools: &[PoolConfig], now: Duration) {
        self.pools.values_mut().for_each(|pool| pool.leaving = true);
        let fallback = PoolConfig::fallback(&self.default_pool);
        let named = pools.iter().any(|pool| pool.code == self.default_pool);
        for config in pools.iter().chain((!named).then_some(&fallback)) {
            let pool = self.pools.entry(config.code.clone()).or_insert_with(|| Pool::new(config.clone()));
            pool.rate.set(config.rate_per_minute, now);
            pool.config = config.clone();
            pool.leaving = false;
        }
        self.unknown_codes.clear();
        self.drop_empty_pools();
    }

    /// Whether there is such a pool.
    pub fn set_pool_status(&mut self, code: &str, status: PoolStatus) -> bool {
        self.pools.get_mut(code).map(|pool| pool.config.status = status).is_some()
    }

    pub(super) fn drop_empty_pools(&mut self) {
        self.pools.retain(|_, pool| !pool.leaving || pool.held > 0);
    }
}
