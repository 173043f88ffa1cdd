//! What Prometheus reads: what this engine counted, and what the rows of all nodes say now.
//!
//! Why    gauges are read when somebody asks, from tallies and indexes of what is live; nothing is counted over history.

use crate::figures::{self, States};
use model::{PoolUse, Severity, Timestamp};
use prometheus::core::Collector;
use prometheus::{IntGauge, IntGaugeVec, Opts, Registry, TextEncoder};
use std::time::Duration;
use store::{Browse, Result, StoreError};

/// What the database says at one moment.
pub struct Now {
    groups: Vec<Group>,
    /// Steps that block a message group, and message groups that a person paused.
    held: [(&'static str, i64); 2],
    unpublished: i64,
    oldest_unpublished: i64,
    pools: Vec<PoolUse>,
    sessions: usize,
    places: usize,
    in_flight: i64,
    oldest_pending: i64,
    alerts: Vec<(Severity, i64)>,
    workflows: Vec<(String, &'static str, i64)>,
}

struct Group {
    name: String,
    states: States,
    off: bool,
    /// Seconds until it may be taken from whoever decides for it.
    leased: i64,
}

/// Series of one metric; definitions and pools are named by people.
const SERIES_MAX: usize = 1_000;

impl Now {
    pub fn read(browse: &Browse, now: Timestamp) -> Result<Now> {
        let (totals, everywhere, sessions) = (browse.totals()?, browse.breaker()?, browse.sessions()?);
        let group = |status: model::GroupStatus| {
            let off = everywhere.is_off(now) || status.breaker.is_off(now);
            let name = status.dispatch_group.to_string();
            let leased = status.owner.and(status.lease_ends_at).map_or(0, |until| seconds(until.since(now)));
            Group { states: figures::states(&totals.tallies, &name), name, off, leased }
        };
        let (blocked, paused) = browse.held_message_groups()?;
        let (unpublished, since) = browse.unpublished()?;
        let age = |since: Option<Timestamp>| since.map_or(0, |at| seconds(now.since(at)));
        let counts = browse.workflow_counts(SERIES_MAX)?.into_iter();
        let oldest = totals.oldest_pending.into_iter().chain(browse.oldest_due(now)?).min();
        Ok(Now {
            groups: browse.groups()?.into_iter().map(group).collect(),
            pools: browse.pools()?.into_iter().take(SERIES_MAX).collect(),
            sessions: sessions.len(),
            places: sessions.iter().map(|row| row.offer.capacity).sum(),
            in_flight: browse.in_flight(None)?,
            oldest_pending: age(oldest),
            held: [("blocked", blocked), ("paused", paused)],
            unpublished,
            oldest_unpublished: age(since),
            alerts: browse.open_alerts_by_severity()?,
            workflows: counts.map(|(key, state, n)| (key, state.word(), n)).collect(),
        })
    }
}

fn seconds(span: Duration) -> i64 {
    span.as_secs().cast_signed()
}

/// The whole text.
pub fn text(meters: &engine::Meters, now: &Now, version: &str) -> Result<String> {
    let registry = Registry::new();
    let told = || -> prometheus::Result<String> {
        for one in meters.collectors().into_iter().chain(gauges(now, version)?) {
            registry.register(one)?;
        }
        TextEncoder::new().encode_to_string(&registry.gather())
    };
    told().map_err(|problem| StoreError::Down(format!("the metrics cannot be told: {problem}")))
}

fn gauges(now: &Now, version: &str) -> prometheus::Result<Vec<Box<dyn Collector>>> {
    let steps = many(
        "stepfast_steps",
        "Steps on record, by dispatch group and state.",
        &["dispatch_group", "state"],
    )?;
    let breaker = many("stepfast_dispatch_off", "1 where dispatch is switched off.", &["dispatch_group"])?;
    let leases = many(
        "stepfast_lease_seconds",
        "How long somebody still decides for a dispatch group; 0 where nobody does.",
        &["dispatch_group"],
    )?;
    for Group { name, states, off, leased } in &now.groups {
        for (state, n) in states {
            steps.with_label_values(&[name, state.word()]).set(*n);
        }
        breaker.with_label_values(&[name]).set(i64::from(*off));
        leases.with_label_values(&[name]).set(*leased);
    }
    let held = many(
        "stepfast_message_groups_held",
        "Steps that block a message group (blocked), and message groups that a person paused (paused).",
        &["why"],
    )?;
    now.held.iter().for_each(|(why, n)| held.with_label_values(&[*why]).set(*n));
    let used = many("stepfast_pool_used", "Steps of a pool that a worker has.", &["pool"])?;
    let limit = many("stepfast_pool_concurrency", "How many it may have, where it is limited.", &["pool"])?;
    for PoolUse { pool, used: n, .. } in &now.pools {
        used.with_label_values(&[&*pool.name]).set(i64::try_from(*n).unwrap_or(i64::MAX));
        pool.concurrency
            .into_iter()
            .for_each(|most| limit.with_label_values(&[&*pool.name]).set(most.into()));
    }
    let alerts = many("stepfast_alerts_open", "Open alerts by severity.", &["severity"])?;
    now.alerts.iter().for_each(|(severity, n)| alerts.with_label_values(&[severity.word()]).set(*n));
    let workflows =
        many("stepfast_workflows_open", "Workflows that are not over for good.", &["definition", "state"])?;
    now.workflows.iter().for_each(|(key, state, n)| workflows.with_label_values(&[key, *state]).set(*n));
    let build = many("stepfast_build_info", "The version that runs; always 1.", &["version"])?;
    build.with_label_values(&[version]).set(1);
    let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    Ok(vec![
        Box::new(steps),
        Box::new(breaker),
        Box::new(leases),
        Box::new(held),
        Box::new(used),
        Box::new(limit),
        Box::new(alerts),
        Box::new(workflows),
        Box::new(build),
        one("stepfast_sessions", "Sessions of workers that are open.", count(now.sessions))?,
        one("stepfast_session_places", "Jobs they may run at once.", count(now.places))?,
        one("stepfast_outbox_messages", "Messages that are to be published.", now.unpublished)?,
        one(
            "stepfast_outbox_oldest_seconds",
            "How long the oldest message waits to be published.",
            now.oldest_unpublished,
        )?,
        one("stepfast_steps_in_flight", "Steps that somebody holds now.", now.in_flight)?,
        one(
            "stepfast_oldest_pending_seconds",
            "How long the oldest step that could start has waited.",
            now.oldest_pending,
        )?,
    ])
}

fn many(name: &str, help: &str, labels: &[&str]) -> prometheus::Result<IntGaugeVec> {
    IntGaugeVec::new(Opts::new(name, help), labels)
}

fn one(name: &str, help: &str, n: i64) -> prometheus::Result<Box<dyn Collector>> {
    let gauge = IntGauge::new(name, help)?;
    gauge.set(n);
    Ok(Box::new(gauge))
}
