//! A store that says when no commit is on its way, so that no turn depends on how fast the one before it was noted.

use model::{Block, BlockId, DispatchGroup, Step, StepId, Timestamp};
use rules::settle::Snapshot;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use store::sql::Sql;
use store::{
    Batch, Change, Done, Found, Lease, Ledger, Look, NodeRow, Result, Retained, Retaining, Retention, Store,
    StoreError,
};

#[derive(Default)]
pub struct Commits {
    open: Mutex<usize>,
    ended: Condvar,
    /// Nothing is stored, as if the database were gone.
    away: AtomicBool,
}

impl Commits {
    /// Wait until every commit was answered and the engine was told.
    pub fn wait(&self) {
        let mut open = self.open.lock().expect("nobody panics while counting");
        while *open > 0 {
            open = self.ended.wait(open).expect("nobody panics while counting");
        }
    }
    fn count(&self, change: impl FnOnce(&mut usize)) {
        change(&mut self.open.lock().expect("nobody panics while counting"));
        self.ended.notify_all();
    }
}

pub struct Watched {
    pub inner: Box<dyn Store>,
    pub commits: Arc<Commits>,
}

impl Snapshot for Watched {
    type Error = StoreError;
    fn step(&mut self, id: StepId) -> Result<Option<Step>> {
        self.inner.step(id)
    }
    fn block(&mut self, id: BlockId) -> Result<Option<Block>> {
        self.inner.block(id)
    }
    fn unsettled(&mut self, block: BlockId, after: Option<(u32, StepId)>, limit: usize) -> Result<Vec<Step>> {
        self.inner.unsettled(block, after, limit)
    }
}

impl Store for Watched {
    fn now(&self) -> Timestamp {
        self.inner.now()
    }
    fn lease(&mut self, node: &NodeRow, all: &[DispatchGroup]) -> Result<Lease> {
        self.inner.lease(node, all)
    }
    fn announce(&mut self, settings: &[(&'static str, String)]) -> Result<()> {
        self.inner.announce(settings)
    }
    fn lease_again(&mut self, node: &NodeRow, lease: &Lease, all: &[DispatchGroup]) -> Result<Lease> {
        self.inner.lease_again(node, lease, all)
    }
    fn look(&mut self, node: &NodeRow, lease: &Lease) -> Result<Look> {
        self.inner.look(node, lease)
    }
    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }
    fn take_roots(&mut self, n: usize) -> Result<Vec<u64>> {
        self.inner.take_roots(n)
    }
    fn recover(&mut self, lease: &Lease) -> Result<Found> {
        self.inner.recover(lease)
    }
    fn beside(&self) -> store::Beside {
        self.inner.beside()
    }
    fn reader(&self) -> &dyn Sql {
        self.inner.reader()
    }
    fn commit(&mut self, batch: Batch, done: Done) {
        if self.commits.away.load(Ordering::Relaxed) {
            return done(Err(StoreError::Down("away".into())));
        }
        self.commits.count(|open| *open += 1);
        let commits = self.commits.clone();
        let noted = move |outcome| {
            done(outcome);
            commits.count(|open| *open -= 1);
        };
        self.inner.commit(batch, Box::new(noted));
    }
    fn reset(&mut self) {
        self.inner.reset();
    }
    fn ledger(&self) -> Arc<dyn Ledger> {
        self.inner.ledger()
    }
    fn reserve(
        &mut self,
        lease: &Lease,
        wants: &BTreeMap<model::Name, Vec<store::Slot>>,
        now: Timestamp,
    ) -> Result<BTreeMap<model::Name, store::Reserved>> {
        self.inner.reserve(lease, wants, now)
    }
    fn release(&mut self, lease: &Lease) -> Result<()> {
        self.inner.release(lease)
    }
    fn retain(&mut self, what: Retention, how: Retaining) -> Result<Retained> {
        self.inner.retain(what, how)
    }
    fn change(&mut self, changes: Vec<Change>) -> Result<Vec<u64>> {
        self.inner.change(changes)
    }
}

/// Found by the differential run: an engine that waited for its store did not hear that it should end.
#[tokio::test]
async fn an_engine_whose_store_is_away_can_be_halted() {
    let dir = tempfile::tempdir().unwrap();
    let database = store::Database::Sqlite(dir.path().join("away.db"));
    let commits = Arc::new(Commits::default());
    let inner = database.open(None, store::sqlite::Holder::default()).unwrap();
    let config = engine::Config { by_hand: true, ..engine::Config::default() };
    let watched = Watched { inner, commits: commits.clone() };
    let (engine, thread) = engine::Engine::start(Box::new(watched), config).unwrap();
    commits.away.store(true, Ordering::Relaxed);
    // The first finds out; the second is refused by an engine that waits.
    for _ in 0..2 {
        engine.create(vec![model::NewStep::of("work")]).await.unwrap_err();
    }
    engine.halt();
    let (told, ended) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        thread.join();
        told.send(())
    });
    ended.recv_timeout(std::time::Duration::from_secs(10)).expect("it ends");
}
