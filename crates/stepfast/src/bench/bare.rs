//! A store without an engine: rows as a turn would write them.

use anyhow::{Context, Result};
use engine::Ids;
use model::{DEFAULT_GROUPS, DispatchGroup, NewStep, Step, Timestamp};
use rules::creation::{Ground, plan};
use std::collections::HashMap;
use std::sync::{Arc, mpsc};
use store::sqlite::Holder;
use store::{Batch, Clock, Database, Lease, NodeRow, Store, SystemClock, TallyKey};

pub struct Bare {
    pub store: Box<dyn Store>,
    pub lease: Lease,
    pub ids: Ids,
    pub groups: Vec<DispatchGroup>,
    clock: Arc<SystemClock>,
}

impl Bare {
    pub fn open(database: &Database) -> Result<Bare> {
        let clock = Arc::new(SystemClock::default());
        let mut store = database.open(Some(clock.clone()), Holder::default())?;
        let (ids, now) = (Ids::default(), clock.now());
        let groups: Vec<DispatchGroup> = DEFAULT_GROUPS.iter().map(|g| DispatchGroup::new(g)).collect();
        let node = NodeRow {
            id: ids.node(now),
            host: "limit".into(),
            pid: 0,
            url: None,
            version: String::new(),
            machine: String::new(),
            limited_to: Vec::new(),
            standby: false,
            started_at: now,
            seen_at: now,
            ended_at: None,
        };
        let lease = store.lease(&node, &groups)?;
        Ok(Bare { store, lease, ids, groups, clock })
    }
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
    pub fn batch(&self) -> Batch {
        Batch::new(self.lease.clone(), self.now())
    }
    /// New steps, spread over all groups.
    pub fn rows(&self, n: usize) -> Result<Vec<Step>> {
        let (now, groups) = (self.now(), &self.groups);
        let new: Vec<NewStep> = (0..n).map(|_| NewStep::of("noop")).collect();
        let queues = [model::Name::from("default")];
        let mut at = 0;
        let mut next_group = || {
            at += 1;
            groups[at % groups.len()].clone()
        };
        let mut new_id = || self.ids.row(now);
        let mut ground = Ground {
            now,
            dispatch_groups: groups,
            queues: &queues,
            pools: &Default::default(),
            blocks: HashMap::new(),
            parents: HashMap::new(),
            new_id: &mut new_id,
            next_group: &mut next_group,
        };
        let plan = plan(&new, &mut ground).map_err(|faults| anyhow::anyhow!("{faults:?}"))?;
        Ok(plan.steps.into_iter().map(|(step, _)| step).collect())
    }
    /// Write, and wait until it is durable.
    pub fn commit(&mut self, batch: Batch) -> Result<()> {
        let (done, wait) = mpsc::channel();
        self.store.commit(
            batch,
            Box::new(move |outcome| {
                let _ = done.send(outcome);
            }),
        );
        Ok(wait.recv().context("the writer answers")??)
    }
}

/// What these steps add to the counts behind the page.
pub fn tallies<'a>(steps: impl IntoIterator<Item = &'a Step>, delta: i64) -> Vec<(TallyKey, i64)> {
    let mut sums: HashMap<TallyKey, i64> = HashMap::new();
    for step in steps {
        *sums.entry(TallyKey::of(step)).or_default() += delta;
    }
    sums.into_iter().collect()
}
