//! A store that can lose the news of a commit, or die at one: what was to be stored is or is not, and whoever stored it cannot tell. It
//! also counts how often it is read, for what is read one by one is a journey each.

use model::{Block, BlockId, DispatchGroup, Name, SignalId, Step, StepId, Timestamp};
use rules::settle::Snapshot;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use store::sql::Sql;
use store::{
    Batch, Change, Done, Found, Lease, Ledger, Listen, Look, NodeRow, Reserved, Result, Retained, Retaining,
    Retention, Slot, Store, StoreError, WakeUp,
};

/// Whether the commit at which a process dies was stored before it died.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    Yes,
    No,
}

/// What becomes of a commit.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Heard,
    /// It is stored, and nobody hears of it.
    Unheard,
    /// It is not stored.
    Dropped,
}

/// The commits of a process, and the one at which it dies.
#[derive(Default)]
struct Life {
    commits: usize,
    dies: Option<(usize, Stored)>,
    is_over: bool,
}

/// Lose the news of the next commit whose signals say this, or die at some commit.
#[derive(Clone, Default)]
pub struct Doubt {
    saying: Arc<Mutex<Option<String>>>,
    life: Arc<Mutex<Life>>,
    came: Arc<AtomicBool>,
    reads: Arc<AtomicUsize>,
    falls: Arc<AtomicBool>,
    deaf_to: Arc<Mutex<Option<String>>>,
}

impl Doubt {
    /// Signals that say this are not found by a look; with nothing, all are found again.
    pub fn deaf_to(&self, saying: Option<&str>) {
        *self.deaf_to.lock().expect("nobody panics with it") = saying.map(str::to_owned);
    }
    /// Whoever stores something next falls over, as by a fault of ours.
    pub fn fall(&self) {
        self.falls.store(true, Ordering::SeqCst);
    }
    pub fn about(&self, saying: &str) {
        *self.saying.lock().expect("nobody panics with it") = Some(saying.to_owned());
    }
    /// Commits are counted from now on, and at this one the process dies: nothing behind it is stored.
    pub fn dies_at(&self, commit: usize, stored: Stored) {
        *self.life() = Life { commits: 0, dies: Some((commit, stored)), is_over: false };
    }
    /// Commits since it was said when the process dies.
    pub fn commits(&self) -> usize {
        self.life().commits
    }
    /// The news of a commit was lost.
    pub fn came(&self) -> bool {
        self.came.load(Ordering::SeqCst)
    }
    /// How often something was read since the last question.
    pub fn reads(&self) -> usize {
        self.reads.swap(0, Ordering::SeqCst)
    }
    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().expect("nobody panics with it")
    }
    fn falls_on(&self, batch: &Batch) -> Fate {
        let fate = self.counted();
        let mut saying = self.saying.lock().expect("nobody panics with it");
        if fate == Fate::Heard
            && saying.as_ref().is_some_and(|s| batch.signals.iter().any(|row| row.body.contains(s)))
        {
            *saying = None;
            return Fate::Unheard;
        }
        fate
    }
    fn counted(&self) -> Fate {
        let mut life = self.life();
        if life.is_over {
            return Fate::Dropped;
        }
        life.commits += 1;
        match life.dies {
            Some((at, stored)) if at == life.commits => {
                life.is_over = true;
                if stored == Stored::Yes { Fate::Unheard } else { Fate::Dropped }
            }
            _ => Fate::Heard,
        }
    }
    /// What is dead asks for nothing.
    fn lives(&self) -> Result<()> {
        if self.life().is_over { Err(StoreError::Down("the process is dead".into())) } else { Ok(()) }
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
        assert!(!self.doubt.falls.load(Ordering::SeqCst), "a fault of ours");
        let fate = self.doubt.falls_on(&batch);
        if fate == Fate::Heard {
            return self.store.commit(batch, done);
        }
        let came = self.doubt.came.clone();
        let lost: Done = Box::new(move |stored| {
            came.store(true, Ordering::SeqCst);
            done(stored.and_then(|()| Err(StoreError::Unknown("the connection was lost".into()))));
        });
        match fate {
            Fate::Dropped => lost(Ok(())),
            Fate::Unheard | Fate::Heard => self.store.commit(batch, lost),
        }
    }
    fn now(&self) -> Timestamp {
        self.store.now()
    }
    fn lease(&mut self, node: &NodeRow, all: &[DispatchGroup]) -> Result<Lease> {
        self.doubt.lives()?;
        self.store.lease(node, all)
    }
    fn announce(&mut self, settings: &[(&'static str, String)]) -> Result<()> {
        self.store.announce(settings)
    }
    fn lease_again(&mut self, node: &NodeRow, lease: &Lease, all: &[DispatchGroup]) -> Result<Lease> {
        self.doubt.lives()?;
        self.store.lease_again(node, lease, all)
    }
    fn look(&mut self, node: &NodeRow, lease: &Lease) -> Result<Look> {
        self.doubt.lives()?;
        let mut look = self.store.look(node, lease)?;
        if let Some(saying) = &*self.doubt.deaf_to.lock().expect("nobody panics with it") {
            look.signals.retain(|signal| !signal.body.contains(saying));
        }
        Ok(look)
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
        self.doubt.reads.fetch_add(1, Ordering::SeqCst);
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
    fn retain(&mut self, what: Retention, how: Retaining) -> Result<Retained> {
        self.store.retain(what, how)
    }
    fn change(&mut self, changes: Vec<Change>) -> Result<Vec<u64>> {
        self.doubt.lives()?;
        self.store.change(changes)
    }
    fn reserve(
        &mut self,
        lease: &Lease,
        wants: &BTreeMap<Name, Vec<Slot>>,
        now: Timestamp,
    ) -> Result<BTreeMap<Name, Reserved>> {
        self.doubt.lives()?;
        self.store.reserve(lease, wants, now)
    }
}
