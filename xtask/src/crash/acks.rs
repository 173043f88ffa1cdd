//! The log of acknowledged ids, synced per batch: what the harness holds the server to.

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

pub struct AckLog {
    path: PathBuf,
    file: File,
}

impl AckLog {
    pub fn create(path: PathBuf) -> Result<AckLog> {
        let file = File::create(&path).with_context(|| format!("could not create {}", path.display()))?;
        Ok(AckLog { path, file })
    }

    pub fn record(&mut self, ids: &[String]) -> Result<()> {
        let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.with_context(|| format!("could not write {}", self.path.display()))
    }
}

pub fn read(paths: &[PathBuf]) -> Result<BTreeSet<String>> {
    let mut ids = BTreeSet::new();
    for path in paths {
        ids.extend(text(path)?.lines().map(str::to_owned));
    }
    Ok(ids)
}

fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{AckLog, read};

    #[test]
    fn what_was_recorded_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("acks.log");
        let mut log = AckLog::create(path.clone()).unwrap();
        log.record(&["a".into(), "b".into()]).unwrap();
        log.record(&["c".into()]).unwrap();
        assert_eq!(Vec::from_iter(read(&[path]).unwrap()), ["a", "b", "c"]);
    }
}
