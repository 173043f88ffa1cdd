//! One deciding process per database file, known by a lock that the kernel drops when the process dies.
//!
//! Why    a lease alone would keep a crashed server out of its own file until it runs out; and a second server on one
//!        file must be told who has it.

use crate::{Result, StoreError};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Who has the file, as written beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub host: String,
    /// Where its API answers, once it does.
    pub url: Option<String>,
    /// What it is doing: `serve`, `dispatch`, …
    pub doing: String,
}

#[derive(Debug)]
pub struct Lock {
    file: File,
    holder: Holder,
}

impl Lock {
    pub fn path(database: &Path) -> PathBuf {
        let mut name = database.as_os_str().to_owned();
        name.push(".lock");
        name.into()
    }

    pub fn take(database: &Path, holder: Holder) -> Result<Lock> {
        let path = Lock::path(database);
        let failed = |e: std::io::Error| StoreError::Down(format!("cannot lock {}: {e}", path.display()));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match patiently(|| file.try_lock()) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let by = Lock::holder(database).unwrap_or_default();
                let at = by.url.as_ref().map(|u| format!(", its address is {u}")).unwrap_or_default();
                return Err(StoreError::Busy(format!(
                    "{} is in use by process {} on {} (`{}`){at}; only one process decides for a SQLite file",
                    database.display(),
                    by.pid,
                    by.host,
                    by.doing
                )));
            }
            Err(TryLockError::Error(e)) => return Err(failed(e)),
        }
        let mut lock = Lock { file, holder };
        lock.write().map_err(failed)?;
        Ok(lock)
    }

    /// Tell others where to find the process that has the file.
    pub fn announce(&mut self, url: &str) -> Result<()> {
        self.holder.url = Some(url.into());
        self.write().map_err(|e| StoreError::Down(format!("cannot write the lock file: {e}")))
    }

    fn write(&mut self) -> std::io::Result<()> {
        let text = serde_json::to_string(&self.holder).unwrap_or_default();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(text.as_bytes())?;
        self.file.set_len(text.len() as u64)
    }

    /// The process that has the file now, if one has.
    pub fn holder(database: &Path) -> Option<Holder> {
        let mut file = File::open(Lock::path(database)).ok()?;
        if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            return None;
        }
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }
}

/// Whoever asks for the holder has the file for an instant; that is not worth a refusal.
fn patiently(
    lock: impl Fn() -> std::result::Result<(), TryLockError>,
) -> std::result::Result<(), TryLockError> {
    for _ in 0..20 {
        match lock() {
            Err(TryLockError::WouldBlock) => std::thread::park_timeout(Duration::from_millis(5)),
            other => return other,
        }
    }
    lock()
}
