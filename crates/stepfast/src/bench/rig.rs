//! A fresh database and an engine for one measurement.

use crate::{Local, LocalConfig};
use anyhow::{Context, Result, bail};
use engine::Stopwatch;
use model::{DEFAULT_GROUPS, NewStep};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::postgres::{HeldSnapshot, Scratch};
use store::{Browse, Database, Listen};
use worker::{Claim, Outcome, Registry};

/// Steps of one bulk create.
pub const BULK: usize = 1_000;
/// A run that makes no progress for this long has failed.
const STALLED: Duration = Duration::from_secs(60);

pub struct Rig {
    dir: PathBuf,
    temporary: bool,
    pub concurrency: usize,
    /// Engines on one database.
    pub nodes: usize,
    /// Whether they wake each other.
    listen: Listen,
    /// A PostgreSQL server to measure on instead, and the databases made on it.
    server: Option<String>,
    made: Mutex<HashMap<String, Scratch>>,
}

impl Rig {
    /// Beside the given file, on the given server, or in the system's temporary directory.
    pub fn new(place: Option<Database>, concurrency: usize, nodes: usize, listen: Listen) -> Result<Rig> {
        let (dir, server) = match place {
            Some(Database::Sqlite(path)) => (path.parent().map(PathBuf::from), None),
            Some(Database::Postgres(url)) => (None, Some(url)),
            None => (None, None),
        };
        let base = dir.filter(|d| !d.as_os_str().is_empty()).unwrap_or_else(std::env::temp_dir);
        let dir = base.join(format!("stepfast-bench-{}", std::process::id()));
        std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        if nodes > 1 && server.is_none() {
            bail!(crate::Refused("several nodes need PostgreSQL; write --db postgres://…".into()));
        }
        Ok(Rig { dir, temporary: true, concurrency, nodes, listen, server, made: Mutex::default() })
    }
    pub fn store(&self) -> &'static str {
        if self.server.is_some() { "postgres" } else { "sqlite" }
    }
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.db"))
    }
    /// The database of this name, made when it is first asked for.
    pub fn database(&self, name: &str) -> Result<Database> {
        let Some(server) = &self.server else { return Ok(Database::Sqlite(self.path(name))) };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.get(name) {
            return Ok(Database::Postgres(known.url.clone()));
        }
        let scratch = Scratch::new(server, &format!("stepfast_bench_{}_{name}", std::process::id()))?;
        let url = scratch.url.clone();
        made.insert(name.into(), scratch);
        Ok(Database::Postgres(url))
    }
    /// Keep the database of this name from being cleaned up, until the answer is dropped.
    pub fn hold_snapshot(&self, name: &str) -> Result<HeldSnapshot> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let only = || crate::Refused("a snapshot is held on PostgreSQL; write --db postgres://…".into());
        Ok(made.get(name).ok_or_else(only)?.hold_snapshot()?)
    }
    pub fn open(&self, name: &str) -> Result<Local> {
        self.join(name, false)
    }
    /// One more engine on the same database.
    pub fn join(&self, name: &str, standby: bool) -> Result<Local> {
        self.join_as(name, |config| config.standby = standby)
    }
    pub fn join_as(&self, name: &str, change: impl FnOnce(&mut engine::Config)) -> Result<Local> {
        let mut config = LocalConfig { doing: "bench".into(), ..LocalConfig::default() };
        config.engine.listen = self.listen.clone();
        change(&mut config.engine);
        Ok(Local::open(&self.database(name)?, config)?)
    }
    /// Further engines, once each has its share of the groups.
    pub async fn others(&self, name: &str) -> Result<Vec<Local>> {
        let others: Vec<Local> = (1..self.nodes).map(|_| self.join(name, false)).collect::<Result<_>>()?;
        let browse = self.database(name)?.browse()?;
        let watch = Stopwatch::start();
        loop {
            let mut owned: HashMap<_, usize> = HashMap::new();
            browse.groups()?.iter().filter_map(|g| g.owner).for_each(|o| *owned.entry(o).or_default() += 1);
            let fair = owned.values().all(|n| *n <= DEFAULT_GROUPS.len().div_ceil(self.nodes));
            if owned.len() == self.nodes && fair && owned.values().sum::<usize>() == DEFAULT_GROUPS.len() {
                return Ok(others);
            }
            if watch.elapsed() > STALLED {
                bail!("the groups were not spread within {} s", STALLED.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    /// Wait until this many steps of an action are recorded as completed.
    pub async fn wait_completed(&self, name: &str, started: &AtomicUsize, n: usize) -> Result<()> {
        let mut last = (0, Stopwatch::start());
        while started.load(Ordering::Relaxed) < n {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let now = started.load(Ordering::Relaxed);
            if now > last.0 {
                last = (now, Stopwatch::start());
            } else if last.1.elapsed() > STALLED {
                bail!("no step was started for {} s; {now} of {n} have run", STALLED.as_secs());
            }
        }
        let browse = self.database(name)?.browse()?;
        let watch = Stopwatch::start();
        while completed(&browse)? < n as i64 {
            if watch.elapsed() > STALLED {
                bail!("{} of {n} steps were recorded", completed(&browse)?);
            }
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        Ok(())
    }
}

fn completed(browse: &Browse) -> Result<i64> {
    let totals = browse.totals()?;
    Ok(totals.tallies.iter().filter(|(k, _)| k.state == model::State::Completed).map(|(_, n)| n).sum())
}

impl Drop for Rig {
    fn drop(&mut self) {
        if self.temporary {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

/// A registry whose `noop` counts how often it ran.
pub fn counting() -> (Registry, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let mine = count.clone();
    let mut registry = Registry::default();
    registry.raw("noop", move |_: Claim| {
        mine.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Outcome::Complete { response: None })
    });
    (registry, count)
}

pub fn noops(n: usize) -> Vec<NewStep> {
    (0..n).map(|_| NewStep::of("noop")).collect()
}

/// Create steps in bulk, a few calls on their way at once.
pub async fn fill(local: &Local, n: usize) -> Result<()> {
    let mut calls = tokio::task::JoinSet::new();
    let mut left = n;
    while left > 0 {
        let batch = left.min(BULK);
        left -= batch;
        if calls.len() >= 4 {
            calls.join_next().await.context("a call is on its way")???;
        }
        let engine = local.engine.clone();
        calls.spawn(async move { engine.create(noops(batch)).await });
    }
    while let Some(done) = calls.join_next().await {
        done??;
    }
    Ok(())
}
