//! The engine's side of PostgreSQL: which connection reads, which writes, and who may.

use super::address::Address;
use super::clock::{SERVER_NOW, ServerClock};
use super::commit::Committer;
use super::identity;
use super::leases::shift;
use super::ledger::PostgresLedger;
use super::link::{Link, Patience};
use super::listen::{Bell, EVERYBODY};
use super::look::look;
use super::mark::{Mark, SEEN, Seen};
use super::migrate::migrate;
use super::parts::add_up_left_behind;
use super::places::Places;
use super::writer::Writer;
use crate::batch::NodeRow;
use crate::settings::announce;
use crate::sql::{Access, Sql};
use crate::{
    Batch, Beside, Change, Clock, Done, Found, Lease, Ledger, Listen, Look, Reserved, Result, Retained,
    Retaining, Retention, Slot, Store, StoreError, Wake, WakeUp, keys, leases, params, pools, reads,
    retention,
};
use model::{Block, BlockId, DispatchGroup, Name, SignalId, Step, StepId, Timestamp};
use rules::settle::Snapshot;
use std::collections::BTreeMap;
use std::sync::Arc;

pub struct PostgresStore {
    url: String,
    link: Link,
    clock: Arc<dyn Clock>,
    /// Compared with the server's now and then; a test brings its own clock.
    server: Option<Arc<ServerClock>>,
    writer: Writer,
    ledger: Arc<PostgresLedger>,
    mark: Mark,
    places: Places,
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
        let mark = Mark::default();
        let writer = Writer::start(Committer::new(Address::parse(url)?, patience, mark.clone()));
        let ledger = Arc::new(PostgresLedger::start(url, clock.clone())?);
        let (url, places, retained_to) = (url.into(), Places::default(), Default::default());
        let store = PostgresStore { url, link, clock, server, writer, ledger, mark, places, retained_to };
        store.compare_clocks()?;
        migrate(&store.link, store.clock.now())?;
        identity::look(&store.link, store.clock.now())?;
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

    fn lease(&mut self, node: &NodeRow, all: &[DispatchGroup]) -> Result<Lease> {
        self.compare_clocks()?;
        if let Some(node) = self.mark.node() {
            let seen = self.reader().rows(SEEN, params![node], |row| {
                Ok(Seen { group: row.get(0)?, owner: row.get(1)?, epoch: row.get(2)?, stamp: row.get(3)? })
            })?;
            self.mark.judge(&seen)?;
        }
        let lease = shift(self.reader(), node, all, &*self.clock)?;
        self.writer.wake(vec![Wake::Everybody]);
        Ok(lease)
    }

    fn announce(&mut self, settings: &[(&'static str, String)]) -> Result<()> {
        announce(self.reader(), settings)
    }

    fn lease_again(&mut self, node: &NodeRow, _: &Lease, all: &[DispatchGroup]) -> Result<Lease> {
        self.lease(node, all)
    }

    fn look(&mut self, node: &NodeRow, lease: &Lease) -> Result<Look> {
        look(self.reader(), node, lease, &*self.clock, self.server.as_deref())
    }

    /// The server spends on a commit what it takes to answer a dozen callers.
    fn company(&self) -> u32 {
        4
    }
    fn is_shared(&self) -> bool {
        true
    }

    fn withdraw(&mut self, signals: &[SignalId]) -> Result<Vec<SignalId>> {
        // One that its owner has in hand is not waited for: its answer comes.
        let text = "delete from signals where id in
            (select id from signals where id = $1 and answered_at is null for update skip locked)";
        let mut withdrawn = Vec::new();
        for id in signals {
            if self.reader().execute(text, params![*id])? == 1 {
                withdrawn.push(*id);
            }
        }
        Ok(withdrawn)
    }

    fn listen(&mut self, listen: &Listen, wake: WakeUp) {
        let url = match listen {
            Listen::Off => return,
            Listen::On => &self.url,
            Listen::At(url) => url,
        };
        match Address::parse(url) {
            Ok(address) => self.writer.wake_through(Bell::start(address, wake)),
            Err(problem) => tracing::warn!(%problem, "nodes do not wake each other"),
        }
    }

    fn hears(&self) -> bool {
        self.writer.hears()
    }

    fn take_roots(&mut self, n: usize) -> Result<Vec<u64>> {
        let now = self.clock.now();
        self.places.take(&self.link, n, now)
    }

    fn recover(&mut self, lease: &Lease) -> Result<Found> {
        self.compare_clocks()?;
        add_up_left_behind(self.reader(), self.clock.now())?;
        let found = self.reader().transaction(Access::Read, |sql| reads::recover(sql, lease))?;
        // Numbers that no other node gives, and higher than any before.
        let range: i64 = self.reader().value("select nextval('ranges')", params![])?;
        Ok(Found { last_tick: range << 32, last_claim: range << 32, ..found })
    }

    fn reader(&self) -> &dyn Sql {
        &self.link
    }

    fn beside(&self) -> Beside {
        let url = self.url.clone();
        Box::new(move || super::browse(&url))
    }

    fn commit(&mut self, batch: Batch, done: Done) {
        self.writer.commit(batch, done);
    }

    fn reset(&mut self) {
        self.writer.reset();
    }

    fn release(&mut self, lease: &Lease) -> Result<()> {
        leases::release(self.reader(), lease, self.now())?;
        // The process may end with this call, so it is not left to the bell.
        self.reader().each(EVERYBODY, params![], &mut |_| Ok(()))
    }

    fn reserve(
        &mut self,
        lease: &Lease,
        wants: &BTreeMap<Name, Vec<Slot>>,
        now: Timestamp,
    ) -> Result<BTreeMap<Name, Reserved>> {
        pools::reserve(self.reader(), lease, wants, now)
    }

    fn ledger(&self) -> Arc<dyn Ledger> {
        self.ledger.clone()
    }

    fn retain(&mut self, what: Retention, how: Retaining) -> Result<Retained> {
        let Retaining::Done(asked) = how else {
            return retention::preview(self.reader(), what);
        };
        self.writer.flush();
        let now = self.now();
        let (page, next) = retention::run(self.reader(), what, self.retained_to.get(), (&asked, now))?;
        self.retained_to.set(next);
        Ok(page)
    }

    fn change(&mut self, changes: Vec<Change>) -> Result<Vec<u64>> {
        keys::apply(self.reader(), &changes)
    }
}
