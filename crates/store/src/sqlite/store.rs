//! The engine's side of SQLite: which connection reads, which writes, and who may.

use super::writer::{Side, Writer};
use super::{Holder, Lock, OpenMode, connect, migrate};
use crate::batch::NodeRow;
use crate::executions::{self, Call, Order};
use crate::sql::Sql;
use crate::{
    Batch, Beside, Browse, Change, Clock, Done, Found, Lease, Ledger, Result, Retained, Retaining, Retention,
    Store, StoreError, keys, leases, reads, restored, retention, settings,
};
use model::{Block, BlockId, DispatchGroup, Step, StepId, Timestamp};
use rules::settle::Snapshot;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct SqliteStore {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    reader: Connection,
    writer: Writer,
    lock: Lock,
    /// Places of the round that were given away, and how many of them are on record.
    roots: u64,
    roots_stored: u64,
    /// How far the last page of retention came.
    retained_to: std::cell::Cell<retention::Cursor>,
}

impl SqliteStore {
    /// Open the file, migrate it, and become the one process that decides for it.
    pub fn open(path: &Path, clock: Arc<dyn Clock>, holder: Holder) -> Result<SqliteStore> {
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent)
                .map_err(|e| StoreError::Down(format!("cannot make {}: {e}", parent.display())))?;
        }
        let lock = Lock::take(path, holder)?;
        let mut connection = connect::open(path, OpenMode::Writer)?;
        migrate::migrate(&mut connection, clock.now())?;
        restored::look(&connection, clock.now())?;
        let reader = connect::open(path, OpenMode::Reader)?;
        Ok(SqliteStore {
            path: path.into(),
            clock,
            reader,
            writer: Writer::start(connection),
            lock,
            roots: 0,
            roots_stored: 0,
            retained_to: Default::default(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
    pub fn announce(&mut self, url: &str) -> Result<()> {
        self.lock.announce(url)
    }
    /// One page of retention between two turns; what is tried only reads, and counts everything at once.
    pub fn retain(&self, what: Retention, how: Retaining) -> Result<Retained> {
        let Retaining::Done(asked) = how else {
            return retention::preview(&self.reader, what);
        };
        let (from, now) = (self.retained_to.get(), self.clock.now());
        let (page, next) =
            self.writer.run(move |connection| retention::run(connection, what, from, (&asked, now)))?;
        self.retained_to.set(next);
        Ok(page)
    }
}

impl Snapshot for SqliteStore {
    type Error = StoreError;

    fn step(&mut self, id: StepId) -> Result<Option<Step>> {
        reads::step(&self.reader, id)
    }
    fn block(&mut self, id: BlockId) -> Result<Option<Block>> {
        reads::block(&self.reader, id)
    }
    fn unsettled(&mut self, block: BlockId, after: Option<(u32, StepId)>, limit: usize) -> Result<Vec<Step>> {
        reads::unsettled(&self.reader, block, after, limit)
    }
}

impl Store for SqliteStore {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The file lock says that every other owner is dead.
    fn lease(&mut self, node: &NodeRow, all: &[DispatchGroup]) -> Result<Lease> {
        let (node, all, now) = (node.clone(), all.to_vec(), self.now());
        self.writer.run(move |connection| leases::take_all(connection, &node, &all, now))
    }

    fn announce(&mut self, settings: &[(&'static str, String)]) -> Result<()> {
        let settings = settings.to_vec();
        self.writer.run(move |connection| settings::announce(connection, &settings))
    }

    /// The file lock is held, so nobody else can have it.
    fn lease_again(&mut self, _: &NodeRow, lease: &Lease, _: &[DispatchGroup]) -> Result<Lease> {
        Ok(lease.clone())
    }

    fn recover(&mut self, lease: &Lease) -> Result<Found> {
        let roots = settings::setting(&self.reader, "next_root")?.and_then(|n| n.parse().ok());
        self.roots = roots.unwrap_or(0);
        self.roots_stored = self.roots;
        reads::recover(&self.reader, lease)
    }

    fn reader(&self) -> &dyn Sql {
        &self.reader
    }

    fn beside(&self) -> Beside {
        let path = self.path.clone();
        Box::new(move || Browse::open(&path))
    }

    fn take_roots(&mut self, n: usize) -> Result<Vec<u64>> {
        let first = self.roots;
        self.roots += n as u64;
        Ok((first..self.roots).collect())
    }

    fn commit(&mut self, mut batch: Batch, done: Done) {
        if self.roots != self.roots_stored {
            self.roots_stored = self.roots;
            batch.next_root = Some(self.roots);
        }
        self.writer.commit(batch, done);
    }

    fn reset(&mut self) {
        self.writer.reset();
    }

    fn release(&mut self, lease: &Lease) -> Result<()> {
        let (lease, now) = (lease.clone(), self.now());
        self.writer.run(move |connection| leases::release(connection, &lease, now))
    }

    fn ledger(&self) -> Arc<dyn Ledger> {
        Arc::new(SideLedger { clock: self.clock.clone(), side: self.writer.side() })
    }

    fn retain(&mut self, what: Retention, how: Retaining) -> Result<Retained> {
        SqliteStore::retain(self, what, how)
    }

    fn change(&mut self, changes: Vec<Change>) -> Result<Vec<u64>> {
        self.writer.run(move |connection| keys::apply(connection, &changes))
    }
}

/// Orders go to the one thread that writes, beside the turns.
struct SideLedger {
    clock: Arc<dyn Clock>,
    side: Side,
}

impl Ledger for SideLedger {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }
    fn order(&self, order: Order, done: executions::Done) {
        self.side.call(Call { order, at: self.clock.now(), done });
    }
}
