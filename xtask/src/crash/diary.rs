//! What a client knows of the workflows it started, in synced logs: the starts, and whose end it asked for.

use super::acks::{self, AckLog};
use super::flows::Started;
use super::start::STARTERS;
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub struct Diary {
    /// Starts that were acknowledged.
    pub started: AckLog,
    /// Written before the question, for its answer may be lost.
    pub asked_to_cancel: AckLog,
    /// Cancels that were acknowledged.
    pub cancelled: AckLog,
}

impl Diary {
    pub fn create(directory: &Path, name: usize) -> Result<Diary> {
        let log = |about: &str| AckLog::create(path(directory, about, name));
        Ok(Diary {
            started: log("started")?,
            asked_to_cancel: log("asked-to-cancel")?,
            cancelled: log("cancelled")?,
        })
    }
}

fn path(directory: &Path, about: &str, name: usize) -> PathBuf {
    directory.join(format!("{about}-{name}.log"))
}

/// The diaries of all clients of a round.
#[derive(Clone, Debug, Default)]
pub struct Diaries {
    pub started: Vec<Started>,
    pub asked_to_cancel: BTreeSet<String>,
    pub cancelled: BTreeSet<String>,
}

pub fn read(directory: &Path) -> Result<Diaries> {
    let lines = |about: &str| {
        let paths: Vec<PathBuf> = (0..STARTERS).map(|name| path(directory, about, name)).collect();
        acks::read(&paths)
    };
    Ok(Diaries {
        started: lines("started")?.iter().map(|line| Started::read(line)).collect::<Result<_>>()?,
        asked_to_cancel: lines("asked-to-cancel")?,
        cancelled: lines("cancelled")?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Diary, STARTERS, read};

    #[test]
    fn all_diaries_are_read_back() {
        let directory = tempfile::tempdir().unwrap();
        for name in 0..STARTERS {
            let mut diary = Diary::create(directory.path(), name).unwrap();
            diary.started.record(&[format!("a-{name} crash-spread left 7")]).unwrap();
            diary.asked_to_cancel.record(&["x".into(), format!("a-{name}")]).unwrap();
            diary.cancelled.record(&[format!("a-{name}")]).unwrap();
        }
        let read = read(directory.path()).unwrap();
        let lengths = (read.started.len(), read.asked_to_cancel.len(), read.cancelled.len());
        assert_eq!(lengths, (STARTERS, STARTERS + 1, STARTERS));
    }
}
