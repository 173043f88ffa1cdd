//! `[dispatch-scheduler]` and `[router]`: steps that are handed over by a queue, under the names of specification 002.

use super::unknown;
use router::{MEDIATION_TIMEOUT, PoolConfig};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use transport::token::TokenKey;

pub const KEYS: [&str; 14] = [
    "enabled",
    "poll-interval",
    "batch-size",
    "max-concurrent-groups",
    "queue-type",
    "queue-url",
    "embedded-db-path",
    "processing-endpoint",
    "default-dispatch-pool-code",
    "stale-queued-threshold-minutes",
    "stale-queued-poll-interval",
    "token-secret",
    "max-queued",
    "mediation-timeout",
];
pub const ROUTER_KEYS: [&str; 4] = ["queue-url", "targets", "mediation-timeout", "pools"];
pub const POOL_KEYS: [&str; 3] = ["concurrency", "rate-per-minute", "status"];
const SECRET_VARIABLE: &str = "STEPFAST_TOKEN_SECRET";
const QUEUED_MAX: usize = 100_000;
/// A year.
const STALE_MINUTES_MAX: u64 = 366 * 24 * 60;

/// Exactly what the file said.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct RawScheduler {
    enabled: Option<bool>,
    poll_interval: Option<String>,
    batch_size: Option<usize>,
    max_concurrent_groups: Option<usize>,
    queue_type: Option<String>,
    queue_url: Option<String>,
    embedded_db_path: Option<String>,
    processing_endpoint: Option<String>,
    default_dispatch_pool_code: Option<String>,
    stale_queued_threshold_minutes: Option<u64>,
    stale_queued_poll_interval: Option<String>,
    token_secret: Option<String>,
    max_queued: Option<usize>,
    mediation_timeout: Option<String>,
}

impl RawScheduler {
    /// Where the steps are when nothing else says so; a broker has its own place, and who is switched off has none.
    pub fn embedded_path(&self) -> Option<&str> {
        let embedded = self.queue_type.as_deref().is_none_or(|kind| kind.eq_ignore_ascii_case("EMBEDDED"));
        self.embedded_db_path.as_deref().filter(|_| embedded && self.enabled != Some(false))
    }
}

impl fmt::Debug for RawScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawScheduler")
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct RawRouter {
    queue_url: Option<String>,
    targets: Vec<String>,
    mediation_timeout: Option<String>,
    pools: BTreeMap<String, RawRouterPool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct RawRouterPool {
    concurrency: Option<u32>,
    rate_per_minute: Option<u32>,
    status: router::PoolStatus,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Queue {
    Embedded,
    Sqs(String),
    ActiveMq(String),
}

/// What the scheduler is told, once it is checked.
#[derive(Clone, Debug)]
pub struct Scheduler {
    pub queue: Queue,
    pub poll_interval: Duration,
    pub batch_size: usize,
    pub max_concurrent_groups: usize,
    /// This server's own, unless another is written.
    pub processing_endpoint: Option<String>,
    pub default_pool: String,
    pub stale_after: Duration,
    pub stale_every: Duration,
    /// Without one, tokens are good for this process alone.
    pub key: Option<TokenKey>,
    pub max_queued: usize,
    pub mediation_timeout: Duration,
}

/// What a router is told.
#[derive(Clone, Debug, Default)]
pub struct Router {
    pub queue_url: Option<String>,
    pub targets: Vec<String>,
    pub mediation_timeout: Option<Duration>,
    pub pools: Vec<PoolConfig>,
}

/// Keys that are not settings.
pub fn strange(table: &toml::Table) -> Vec<String> {
    let mut faults = Vec::new();
    let part = |name: &str| table.get(name).and_then(toml::Value::as_table);
    faults.extend(
        part("dispatch-scheduler").into_iter().flat_map(|t| unknown(t, &KEYS, "dispatch-scheduler.")),
    );
    let Some(router) = part("router") else { return faults };
    faults.extend(unknown(router, &ROUTER_KEYS, "router."));
    for (code, pool) in router.get("pools").and_then(toml::Value::as_table).into_iter().flatten() {
        let pool = pool.as_table().into_iter();
        faults.extend(pool.flat_map(|p| unknown(p, &POOL_KEYS, &format!("router.pools.{code}."))));
    }
    faults
}

impl Scheduler {
    /// None where it is not written or switched off.
    pub fn check(raw: Option<RawScheduler>, faults: &mut Vec<String>) -> Option<Scheduler> {
        let raw = raw.filter(|raw| raw.enabled != Some(false))?;
        let mut told = |key: &str, fault: String| faults.push(format!("dispatch-scheduler.{key}: {fault}"));
        let queue = queue(raw.queue_type.as_deref(), raw.queue_url).unwrap_or_else(|(key, fault)| {
            told(key, fault);
            Queue::Embedded
        });
        let mut span = |key: &str, text: Option<&str>, usual: Duration| {
            text.map_or(Ok(usual), duration).unwrap_or_else(|fault| {
                told(key, fault);
                usual
            })
        };
        let poll_interval = span("poll-interval", raw.poll_interval.as_deref(), Duration::from_secs(5));
        let stale_every = span(
            "stale-queued-poll-interval",
            raw.stale_queued_poll_interval.as_deref(),
            Duration::from_secs(60),
        );
        let mediation_timeout =
            span("mediation-timeout", raw.mediation_timeout.as_deref(), Duration::from_secs(600));
        let minutes = raw.stale_queued_threshold_minutes.unwrap_or(15).min(STALE_MINUTES_MAX);
        let stale_after = Duration::from_secs(60 * minutes);
        if stale_after <= mediation_timeout {
            let fault = format!(
                "a message would be taken for lost while its delivery may still run; write more minutes than \
                 mediation-timeout has ({} s)",
                mediation_timeout.as_secs()
            );
            told("stale-queued-threshold-minutes", fault);
        }
        let mut number = |key: &str, n: Option<usize>, usual: usize, most: usize| {
            let n = n.unwrap_or(usual);
            if !(1..=most).contains(&n) {
                told(key, format!("write 1 to {most}"));
            }
            n
        };
        let batch_size = number("batch-size", raw.batch_size, 20, 1_000);
        let max_concurrent_groups = number("max-concurrent-groups", raw.max_concurrent_groups, 10, 1_000);
        let max_queued = number("max-queued", raw.max_queued, 10_000, QUEUED_MAX);
        let secret = std::env::var(SECRET_VARIABLE).ok().or(raw.token_secret);
        let key = secret.and_then(|secret| match TokenKey::new(secret.as_bytes()) {
            Ok(key) => Some(key),
            Err(fault) => {
                told("token-secret", fault.to_string());
                None
            }
        });
        if queue != Queue::Embedded && key.is_none() {
            let fault = format!(
                "tokens that travel over a broker need a secret of at least 32 bytes, also as {SECRET_VARIABLE}"
            );
            told("token-secret", fault);
        }
        Some(Scheduler {
            queue,
            poll_interval,
            batch_size,
            max_concurrent_groups,
            processing_endpoint: raw.processing_endpoint,
            default_pool: raw.default_dispatch_pool_code.unwrap_or_else(|| router::DEFAULT_POOL_CODE.into()),
            stale_after,
            stale_every,
            key,
            max_queued,
            mediation_timeout,
        })
    }
}

impl Router {
    pub fn check(raw: RawRouter, faults: &mut Vec<String>) -> Router {
        let RawRouter { queue_url, targets, mediation_timeout, pools } = raw;
        let mediation_timeout = mediation_timeout.as_deref().map(duration).transpose();
        let mediation_timeout = mediation_timeout.unwrap_or_else(|fault| {
            faults.push(format!("router.mediation-timeout: {fault}"));
            None
        });
        let pool = |(code, pool): (String, RawRouterPool)| {
            let RawRouterPool { concurrency, rate_per_minute, status } = pool;
            PoolConfig { code, concurrency, rate_per_minute, status }
        };
        Router { queue_url, targets, mediation_timeout, pools: pools.into_iter().map(pool).collect() }
    }
    pub fn mediation_timeout(&self) -> Duration {
        self.mediation_timeout.unwrap_or(MEDIATION_TIMEOUT)
    }
}

type Fault = (&'static str, String);

/// By its type, as the specification has it; with a broker the address is needed, and says by its scheme what it is.
fn queue(kind: Option<&str>, url: Option<String>) -> Result<Queue, Fault> {
    let needs = |scheme: &str| ("queue-url", format!("write the address of the queue, as {scheme}"));
    let wrong = |kind: &str| ("queue-url", format!("it is not the address of a queue of {kind}"));
    match (kind.unwrap_or("EMBEDDED").to_ascii_uppercase().as_str(), url.filter(|url| !url.is_empty())) {
        ("EMBEDDED", None) => Ok(Queue::Embedded),
        ("EMBEDDED", Some(_)) => {
            Err(wrong("the embedded kind, which has none; write queue-type too, or leave it out"))
        }
        ("SQS", Some(url)) if !url.starts_with("sqs") => Err(wrong("SQS")),
        ("ACTIVEMQ", Some(url)) if !url.starts_with("stomp") => Err(wrong("ActiveMQ")),
        ("SQS", Some(url)) => Ok(Queue::Sqs(url)),
        ("SQS", None) => Err(needs("sqs://sqs.eu-west-1.amazonaws.com/123456789012/steps.fifo")),
        ("ACTIVEMQ", Some(url)) => Ok(Queue::ActiveMq(url)),
        ("ACTIVEMQ", None) => Err(needs("stomp://user:password@host:61613/queue")),
        (other, _) => Err(("queue-type", format!("`{other}` is not known; write EMBEDDED, SQS or ACTIVEMQ"))),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let read = text.parse::<jiff::SignedDuration>().ok().and_then(|span| Duration::try_from(span).ok());
    let how = || format!("`{text}` is no span of time; write for example 5s, 500ms or 2m");
    read.filter(|span| !span.is_zero()).ok_or_else(how)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> (Option<Scheduler>, String) {
        let mut faults = Vec::new();
        let scheduler = Scheduler::check(Some(toml::from_str(text).unwrap()), &mut faults);
        (scheduler, faults.join("\n"))
    }

    #[test]
    fn the_example_of_the_specification_is_understood() {
        let (scheduler, faults) = check(
            "enabled = true\npoll-interval = \"5s\"\nbatch-size = 20\nmax-concurrent-groups = 10\nqueue-type = \"EMBEDDED\"\n\
             embedded-db-path = \"./dispatch-queue.db\"\nprocessing-endpoint = \"http://localhost:8080/api/dispatch/process\"\n\
             default-dispatch-pool-code = \"DISPATCH-POOL\"\nstale-queued-threshold-minutes = 15\nstale-queued-poll-interval = \"60s\"",
        );
        let (plain, none) = check("");
        assert_eq!((faults.as_str(), none.as_str()), ("", ""));
        let told = |s: Scheduler| Scheduler { processing_endpoint: None, ..s };
        assert_eq!(
            format!("{:?}", told(scheduler.unwrap())),
            format!("{:?}", plain.unwrap()),
            "its values are the usual ones"
        );
    }

    #[test]
    fn what_is_wrong_is_told() {
        let said = |text: &str, part: &str| {
            let faults = check(text).1;
            assert!(faults.contains(part), "{part} in {faults}");
        };
        said("queue-type = \"KAFKA\"", "queue-type: `KAFKA` is not known; write EMBEDDED, SQS or ACTIVEMQ");
        said("queue-type = \"sqs\"", "queue-url: write the address of the queue");
        said("queue-type = \"ACTIVEMQ\"\nqueue-url = \"stomp://h/q\"", "token-secret: tokens that travel");
        said(
            "queue-url = \"stomp://h/q\"",
            "queue-url: it is not the address of a queue of the embedded kind",
        );
        said(
            "queue-type = \"SQS\"\nqueue-url = \"stomp://h/q\"",
            "queue-url: it is not the address of a queue of SQS",
        );
        said("token-secret = \"short\"", "token-secret: a key for tokens has 5 bytes");
        said(
            "stale-queued-threshold-minutes = 10",
            "stale-queued-threshold-minutes: a message would be taken for lost",
        );
        said("poll-interval = \"soon\"", "poll-interval: `soon` is no span of time");
        said("batch-size = 0", "batch-size: write 1 to 1000");
    }

    #[test]
    fn it_can_be_switched_off() {
        assert!(check("enabled = false").0.is_none());
        assert!(Scheduler::check(None, &mut Vec::new()).is_none());
    }
}
