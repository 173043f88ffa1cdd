//! A consistent copy of the database, made through SQLite's own backup while others write.

use super::connect::make_private;
use super::open;
use crate::restored::{self, Restored};
use crate::{Result, StoreError};
use model::Timestamp;
use rusqlite::Connection;
use std::path::Path;

/// `progress` is told how many pages are copied, and of how many. The copy says of itself that it is one.
pub fn backup(from: &Path, to: &Path, now: Timestamp, mut progress: impl FnMut(u64, u64)) -> Result<()> {
    if to.exists() {
        return Err(StoreError::Refused(format!("{} already exists; name a new file", to.display())));
    }
    let source = open::reader(from)?;
    make_private(to)?;
    let mut copy = Connection::open(to)?;
    {
        let backup = rusqlite::backup::Backup::new(&source, &mut copy)?;
        loop {
            let step = backup.step(2_000)?;
            let at = backup.progress();
            progress((at.pagecount - at.remaining) as u64, at.pagecount as u64);
            if step == rusqlite::backup::StepResult::Done {
                break;
            }
        }
    }
    let sound: String = copy.query_row("pragma integrity_check", [], |r| r.get(0))?;
    if sound != "ok" {
        return Err(StoreError::Down(format!("the copy is damaged: {sound}")));
    }
    restored::mark(&copy, Restored { taken_at: now, held_at: None })?;
    // What is beside it is folded into the one file.
    copy.close().map_err(|(_, problem)| problem.into())
}
