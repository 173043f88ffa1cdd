//! The engine's side of PostgreSQL: which connection reads, which writes, and who may.

use super::address::Address;
use super::clock::{SERVER_NOW, ServerClock};
use super::commit::Committer;
use super::leases::take_free;
use super::link::{Link, Patience};
use super::migrate::migrate;
use super::writer::Writer;
use crate::batch::NodeRow;
use crate::sql::{Access, Sql};
use crate::{
    Batch, Clock, Done, Found, Lease, Result, Retained, Retention, Store, StoreError, leases, reads,
    retention,
};
use model::{Block, BlockId, DispatchGroup, Step, StepId, Timestamp};
use rules::settle::Snapshot;
use std::sync::Arc;

pub struct PostgresStore {
    link: Link,
    clock: Arc<dyn Clock>,
    /// Compared with the server's now and then; a test brings its own clock.
    server: Option<Arc<ServerClock>>,
    writer: Writer,
    retained_to: std::cell::Cell<retention::Cursor>,
}

impl PostgresStore {
    /// Connect and migrate. Time is the server's, unless a clock is given.
    pub fn open(url: &str, clock: Option<Arc<dyn Clock>>) -> Result<PostgresStore> {
        PostgresStore::open_with(url, clock, Patience::default())
    }

    /// As long as a commit may take.
    pub fn open_with(url: &str, clock: Option<Arc<dyn Clock>>, patience: Patience) -> Result<PostgresStore> {
        let link = Link::open(url)?;
        let server = clock.is_none().then(Arc::<ServerClock>::default);
        let clock = clock.or_else(|| server.clone().map(|c| c as Arc<dyn Clock>)).expect("one of the two");
        let writer = Writer::start(Committer::new(Address::parse(url)?, patience));
        let store = PostgresStore { link, clock, server, writer, retained_to: Default::default() };
        store.compare_clocks()?;
        migrate(&store.link, store.clock.now())?;
        Ok(store)
    }

    fn compare_clocks(&self) -> Result<()> {
        if let Some(clock) = &self.server {
            let now: i64 = self.reader().value(&format!("select {SERVER_NOW}"), &[])?;
            clock.compare(Timestamp(now));
        }
        Ok(())
    }
}

impl Snapshot for PostgresStore {
    type Error = StoreError;

    fn step(&mut self, id: StepId) -> Result<Option<Step>> {
        reads::step(self.reader(), id)
    }
    fn block(&mut self, id: BlockId) -> Result<Option<Block>> {
        reads::block(self.reader(), id)
    }
    fn unsettled(&mut self, block: BlockId, after: Option<(u32, StepId)>, limit: usize) -> Result<Vec<Step>> {
        reads::unsettled(self.reader(), block, after, limit)
    }
}

impl Store for PostgresStore {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn lease(&mut self, node: &NodeRow, groups: &[DispatchGroup], all: &[DispatchGroup]) -> Result<Lease> {
        self.compare_clocks()?;
        take_free(self.reader(), node, groups, all, self.now())
    }

    fn lease_again(&mut self, node: &NodeRow, lease: &Lease, all: &[DispatchGroup]) -> Result<Lease> {
        let groups: Vec<DispatchGroup> = lease.groups.iter().map(|(group, _)| group.clone()).collect();
        self.lease(node, &groups, all)
    }

    fn recover(&mut self, lease: &Lease) -> Result<Found> {
        self.compare_clocks()?;
        self.reader().transaction(Access::Read, |sql| reads::recover(sql, lease))
    }

    fn reader(&self) -> &dyn Sql {
        &self.link
    }

    fn commit(&mut self, batch: Batch, done: Done) {
        if batch.renew.is_some()
            && let Err(problem) = self.compare_clocks()
        {
            tracing::warn!(%problem, "the clocks could not be compared");
        }
        self.writer.commit(batch, done);
    }

    fn reset(&mut self) {
        self.writer.reset();
    }

    fn release(&mut self, lease: &Lease) -> Result<()> {
        leases::release(self.reader(), lease, self.now())
    }

    fn retain(&mut self, what: Retention, dry_run: bool) -> Result<Retained> {
        if dry_run {
            return retention::preview(self.reader(), what);
        }
        // Nothing is decided meanwhile: a tree that is settled stays so.
        self.writer.flush();
        let (page, next) = retention::run(self.reader(), what, self.retained_to.get())?;
        self.retained_to.set(next);
        Ok(page)
    }
}
