//! The engine's side of SQLite: which connection reads, which writes, and who may.

use super::writer::Writer;
use super::{Holder, Lock, OpenMode, connect, migrate};
use crate::batch::NodeRow;
use crate::sql::Sql;
use crate::{
    Batch, Clock, Done, Found, Lease, Result, Retained, Retention, Store, StoreError, leases, reads,
    retention,
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
        let reader = connect::open(path, OpenMode::Reader)?;
        Ok(SqliteStore {
            path: path.into(),
            clock,
            reader,
            writer: Writer::start(connection),
            lock,
            retained_to: Default::default(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
    pub fn announce(&mut self, url: &str) -> Result<()> {
        self.lock.announce(url)
    }
    /// One page of retention between two turns; a dry run only reads, and counts everything at once.
    pub fn retain(&self, what: Retention, dry_run: bool) -> Result<Retained> {
        if dry_run {
            return retention::preview(&self.reader, what);
        }
        let from = self.retained_to.get();
        let (page, next) = self.writer.run(move |connection| retention::run(connection, what, from))?;
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
    fn lease(&mut self, node: &NodeRow, groups: &[DispatchGroup], all: &[DispatchGroup]) -> Result<Lease> {
        let (node, groups, all) = (node.clone(), groups.to_vec(), all.to_vec());
        let now = self.now();
        self.writer.run(move |connection| leases::take_all(connection, &node, &groups, &all, now))
    }

    /// The file lock is held, so nobody else can have it.
    fn lease_again(&mut self, _: &NodeRow, lease: &Lease, _: &[DispatchGroup]) -> Result<Lease> {
        Ok(lease.clone())
    }

    fn recover(&mut self, lease: &Lease) -> Result<Found> {
        reads::recover(&self.reader, lease)
    }

    fn reader(&self) -> &dyn Sql {
        &self.reader
    }

    fn commit(&mut self, batch: Batch, done: Done) {
        self.writer.commit(batch, done);
    }

    fn reset(&mut self) {
        self.writer.reset();
    }

    fn release(&mut self, lease: &Lease) -> Result<()> {
        let (lease, now) = (lease.clone(), self.now());
        self.writer.run(move |connection| leases::release(connection, &lease, now))
    }

    fn retain(&mut self, what: Retention, dry_run: bool) -> Result<Retained> {
        SqliteStore::retain(self, what, dry_run)
    }
}
