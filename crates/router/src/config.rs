//! What a router is told: where it may call, and the pools that limit how much at once.

use crate::limits::{
    CAPACITY_MIN, CAPACITY_PER_SLOT, CONCURRENCY, CONNECT_TIMEOUT, DEFAULT_POOL_CODE,
    DEFAULT_POOL_CONCURRENCY, MEDIATION_TIMEOUT, POLL_WAIT,
};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct RouterConfig {
    /// Of this router; routers of different names back off at different moments.
    pub name: String,
    pub targets: Targets,
    pub pools: Vec<PoolConfig>,
    /// Where messages of unknown pools go; made if it is not among the pools.
    pub default_pool: String,
    pub mediation_timeout: Duration,
    pub connect_timeout: Duration,
    pub poll_wait: Duration,
}

impl RouterConfig {
    pub fn new(targets: Targets) -> RouterConfig {
        RouterConfig {
            name: "router".into(),
            targets,
            pools: Vec::new(),
            default_pool: DEFAULT_POOL_CODE.into(),
            mediation_timeout: MEDIATION_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            poll_wait: POLL_WAIT,
        }
    }
}

/// Where a router may call: whoever can write to the queue can otherwise send it, and its tokens, anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Targets {
    Any,
    /// Scheme, host and port as in `https://steps.example:8443`; what follows them is not looked at.
    Only(Vec<Url>),
}

impl Targets {
    /// Every fault is told at once.
    pub fn only<'a>(origins: impl IntoIterator<Item = &'a str>) -> Result<Targets, Vec<String>> {
        let (mut urls, mut faults) = (Vec::new(), Vec::new());
        for text in origins {
            match Url::parse(text) {
                Ok(url) if matches!(url.scheme(), "http" | "https") => urls.push(url),
                _ => faults
                    .push(format!("`{text}` is no origin; write for example `https://steps.example:8443`")),
            }
        }
        if faults.is_empty() { Ok(Targets::Only(urls)) } else { Err(faults) }
    }

    pub fn allow(&self, target: &Url) -> bool {
        match self {
            Targets::Any => true,
            Targets::Only(urls) => urls.iter().any(|url| url.origin() == target.origin()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolConfig {
    pub code: String,
    /// Calls at once. If unset, a second's worth of the rate; without a rate, ten.
    #[serde(default)]
    pub concurrency: Option<u32>,
    /// Calls that begin in a minute, evenly spread; unlimited if unset.
    #[serde(default)]
    pub rate_per_minute: Option<u32>,
    #[serde(default)]
    pub status: PoolStatus,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum PoolStatus {
    #[default]
    Active,
    /// Its messages are deferred without a call.
    Suspended,
}

impl PoolConfig {
    pub fn new(code: impl Into<String>) -> PoolConfig {
        PoolConfig { code: code.into(), concurrency: None, rate_per_minute: None, status: PoolStatus::Active }
    }

    pub(crate) fn fallback(code: &str) -> PoolConfig {
        PoolConfig { concurrency: Some(DEFAULT_POOL_CONCURRENCY), ..PoolConfig::new(code) }
    }

    pub(crate) fn slots(&self) -> usize {
        let slots = match (self.concurrency, self.rate_per_minute) {
            (Some(concurrency), _) => concurrency,
            (None, Some(rate)) => (rate / 60).max(1),
            (None, None) => CONCURRENCY,
        };
        slots as usize
    }

    pub(crate) fn capacity(&self) -> usize {
        (self.slots() * CAPACITY_PER_SLOT).max(CAPACITY_MIN)
    }

    /// A pool without a slot is as good as suspended.
    pub(crate) fn is_open(&self) -> bool {
        self.status == PoolStatus::Active && self.slots() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::{PoolConfig, Targets};
    use reqwest::Url;

    #[test]
    fn slots_and_capacity_follow_from_concurrency_and_rate() {
        let told = |concurrency, rate_per_minute| {
            let pool = PoolConfig { concurrency, rate_per_minute, ..PoolConfig::new("a") };
            (pool.slots(), pool.capacity(), pool.is_open())
        };
        assert_eq!(told(None, None), (10, 200, true));
        assert_eq!(told(Some(1), None), (1, 50, true));
        assert_eq!(told(Some(3), Some(6_000)), (3, 60, true));
        assert_eq!(told(None, Some(6_000)), (100, 2_000, true));
        assert_eq!(told(None, Some(30)), (1, 50, true));
        assert_eq!(told(Some(0), None), (0, 50, false));
    }

    #[test]
    fn only_the_listed_origins_are_called() {
        let targets = Targets::only(["https://a.example", "http://127.0.0.1:80/x"]).unwrap();
        let goes = |text: &str| targets.allow(&Url::parse(text).unwrap());
        assert!(goes("https://a.example:443/any/path?q"));
        assert!(goes("http://127.0.0.1/y"));
        for other in
            ["http://a.example", "https://a.example:8443", "https://b.a.example", "http://127.0.0.2/"]
        {
            assert!(!goes(other), "{other}");
        }
        assert!(Targets::Any.allow(&Url::parse("http://b.example").unwrap()));
        assert_eq!(Targets::only(["ftp://a", "b", "https://c"]).unwrap_err().len(), 2);
    }
}
