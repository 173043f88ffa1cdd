//! A store that can lose the news of a commit: what was to be stored is, and whoever stored it hears that nobody knows.

use model::{Block, BlockId, DispatchGroup, Name, SignalId, Step, StepId, Timestamp};
use rules::settle::Snapshot;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use store::sql::Sql;
use store::{
    Batch, Change, Done, Found, Lease, Ledger, Listen, Look, NodeRow, Reserved, Result, Retained, Retention,
    Slot, Store, StoreError, WakeUp,
};

/// Lose the news of the next commit whose signals say this.
#[derive(Clone, Default)]
pub struct Doubt {
    saying: Arc<Mutex<Option<String>>>,
    came: Arc<AtomicBool>,
}

impl Doubt {
    pub fn about(&self, saying: &str) {
        *self.saying.lock().expect("nobody panics with it") = Some(saying.to_owned());
    }
    /// The news of a commit was lost.
    pub fn came(&self) -> bool {
        self.came.load(Ordering::SeqCst)
    }
    fn falls_on(&self, batch: &Batch) -> bool {
        let mut saying = self.saying.lock().expect("nobody panics with it");
        let falls = saying.as_ref().is_some_and(|s| batch.signals.iter().any(|row| row.body.contains(s)));
        if falls {
            *saying = None;
            self.came.store(true, Ordering::SeqCst);
        }
        falls
    }
}

pub struct DoubtfulStore {
    pub store: Box<dyn Store>,
    pub doubt: Doubt,
}

impl Snapshot for DoubtfulStore {
    type Error = StoreError;
    fn step(&mut self, id: StepId) -> Result<Option<Step>> {
        self.store.step(id)
    }
    fn block(&mut self, id: BlockId) -> Result<Option<Block>> {
        self.store.block(id)
    }
    fn unsettled(&mut self, block: BlockId, after: Option<(u32, StepId)>, limit: usize) -> Result<Vec<Step>> {
        self.store.unsettled(block, after, limit)
    }
}

impl Store for DoubtfulStore {
    fn commit(&mut self, batch: Batch, done: Done) {
        if !self.doubt.falls_on(&batch) {
            return self.store.commit(batch, done);
        }
        let lost = Box::new(|stored: Result<()>| {
            done(stored.and_then(|()| Err(StoreError::Unknown("the connection was lost".into()))));
        });
        self.store.commit(batch, lost);
    }
    fn now(&self) -> Timestamp {
        self.store.now()
    }
    fn lease(&mut self, node: &NodeRow, all: &[DispatchGroup]) -> Result<Lease> {
        self.store.lease(node, all)
    }
    fn announce(&mut self, settings: &[(&'static str, String)]) -> Result<()> {
        self.store.announce(settings)
    }
    fn lease_again(&mut self, node: &NodeRow, lease: &Lease, all: &[DispatchGroup]) -> Result<Lease> {
        self.store.lease_again(node, lease, all)
    }
    fn look(&mut self, node: &NodeRow, lease: &Lease) -> Result<Look> {
        self.store.look(node, lease)
    }
    fn is_shared(&self) -> bool {
        self.store.is_shared()
    }
    fn withdraw(&mut self, signals: &[SignalId]) -> Result<Vec<SignalId>> {
        self.store.withdraw(signals)
    }
    fn listen(&mut self, listen: &Listen, wake: WakeUp) {
        self.store.listen(listen, wake);
    }
    fn hears(&self) -> bool {
        self.store.hears()
    }
    fn take_roots(&mut self, n: usize) -> Result<Vec<u64>> {
        self.store.take_roots(n)
    }
    fn recover(&mut self, lease: &Lease) -> Result<Found> {
        self.store.recover(lease)
    }
    fn beside(&self) -> store::Beside {
        self.store.beside()
    }
    fn reader(&self) -> &dyn Sql {
        self.store.reader()
    }
    fn reset(&mut self) {
        self.store.reset();
    }
    fn release(&mut self, lease: &Lease) -> Result<()> {
        self.store.release(lease)
    }
    fn ledger(&self) -> Arc<dyn Ledger> {
        self.store.ledger()
    }
    fn retain(&mut self, what: Retention, dry_run: bool) -> Result<Retained> {
        self.store.retain(what, dry_run)
    }
    fn change(&mut self, changes: Vec<Change>) -> Result<Vec<u64>> {
        self.store.change(changes)
    }
    fn reserve(
        &mut self,
        lease: &Lease,
        wants: &BTreeMap<Name, Vec<Slot>>,
        now: Timestamp,
    ) -> Result<BTreeMap<Name, Reserved>> {
        self.store.reserve(lease, wants, now)
    }
}
