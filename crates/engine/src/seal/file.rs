//! The keys beside a database file, made when the first value is sealed.
//!
//! Why    whoever tries a definition on one machine should not have to make keys first. The file can be read by its owner alone,
//!        and a backup of the database does not hold it.

use super::{SealError, SealKey};
use crate::chance;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The id of the key that is made.
const MADE: &str = "k1";
/// A file of keys is a few lines.
const FILE_BYTES_MAX: u64 = 64 << 10;

pub struct KeyFile {
    path: PathBuf,
    keys: Mutex<Vec<SealKey>>,
}

impl KeyFile {
    pub fn at(path: &Path) -> KeyFile {
        KeyFile { path: path.into(), keys: Mutex::new(Vec::new()) }
    }

    /// The key that seals; made if there is none.
    pub fn first(&self) -> Result<SealKey, SealError> {
        if let Some(key) = self.with(|keys| keys.first().cloned()) {
            return Ok(key);
        }
        if self.read()?.is_empty() {
            self.make()?;
        }
        let made = || SealError::File(format!("{} holds no key", self.path.display()));
        self.read()?.into_iter().next().ok_or_else(made)
    }

    /// A key by its id; a file that was changed since is read again.
    pub fn named(&self, id: &str) -> Result<Option<SealKey>, SealError> {
        let find = |keys: &[SealKey]| keys.iter().find(|key| key.id() == id).cloned();
        match self.with(find) {
            Some(key) => Ok(Some(key)),
            None => Ok(find(&self.read()?)),
        }
    }

    fn with<T>(&self, look: impl FnOnce(&[SealKey]) -> T) -> T {
        look(&self.keys.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn read(&self) -> Result<Vec<SealKey>, SealError> {
        let mut text = String::new();
        match File::open(&self.path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text)) {
            Err(problem) if problem.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(|problem| self.problem("cannot be read", &problem))?,
        };
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let key = |(n, line): (usize, &str)| {
            let told = |fault| SealError::File(format!("{}, line {}: {fault}", self.path.display(), n + 1));
            line.parse::<SealKey>().map_err(told)
        };
        let read: Vec<SealKey> = lines.map(key).collect::<Result<_, _>>()?;
        *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = read.clone();
        Ok(read)
    }

    /// On the disk before anything is sealed with it: what is sealed with a key that a crash took is lost.
    fn make(&self) -> Result<(), SealError> {
        let bytes = chance().map_err(|problem| SealError::NoChance(problem.to_string()))?;
        let key = SealKey::new(MADE, bytes);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&self.path).and_then(|mut file| {
            file.write_all(key.line().as_bytes())?;
            file.sync_all()
        });
        match written {
            // Somebody else made it in between.
            Err(problem) if problem.kind() == ErrorKind::AlreadyExists => Ok(()),
            written => written.map_err(|problem| self.problem("cannot be made", &problem)),
        }
    }

    fn problem(&self, what: &str, problem: &std::io::Error) -> SealError {
        SealError::File(format!("{} {what}: {problem}", self.path.display()))
    }
}
