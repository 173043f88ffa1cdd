//! The keys as this node knows them: read again after half a second, so that a revoked one is refused within a second.
//!
//! Why    a key is looked at with every call, and a flood of wrong ones must not reach the database. So all keys that are not
//!        revoked are read at once, and an unknown one costs a look into memory.

use crate::error::ApiError;
use crate::readers::Readers;
use engine::{Engine, Secret, Stopwatch};
use model::{Key, KeyId, Timestamp, limits};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{Database, KeyHash};

/// How often wrong keys are told in the log.
const TELL_EVERY: Duration = Duration::from_secs(1);

type Kept = Arc<HashMap<KeyId, (Arc<Key>, KeyHash)>>;

pub struct Keyring {
    /// A connection of its own: whoever is asked for a key does not wait behind people's questions.
    readers: Readers,
    kept: tokio::sync::Mutex<Option<(Stopwatch, Kept)>>,
    used: Mutex<HashMap<KeyId, Timestamp>>,
    refused: AtomicU64,
    /// When wrong keys were last told, and how many had been refused by then.
    told: Mutex<Option<(Stopwatch, u64)>>,
}

impl Keyring {
    pub fn new(database: Database) -> Keyring {
        Keyring {
            readers: Readers::new(database),
            kept: tokio::sync::Mutex::new(None),
            used: Mutex::default(),
            refused: AtomicU64::new(0),
            told: Mutex::default(),
        }
    }

    /// The live key that this text is.
    pub async fn recognise(&self, text: &str, now: Timestamp) -> Result<Arc<Key>, ApiError> {
        let secret = Secret::parse(text).ok_or(ApiError::BadKey)?;
        match self.kept().await?.get(&secret.id()) {
            Some((key, hash)) if secret.is(hash) && key.is_live(now) => Ok(key.clone()),
            _ => Err(ApiError::BadKey),
        }
    }

    /// Whether a key that was recognised before still is one.
    pub async fn is_live(&self, id: KeyId, now: Timestamp) -> Result<bool, ApiError> {
        Ok(self.kept().await?.get(&id).is_some_and(|(key, _)| key.is_live(now)))
    }

    /// One reads, the others wait for it. Without an answer of the database nobody is let in by what was true before.
    async fn kept(&self) -> Result<Kept, ApiError> {
        let mut kept = self.kept.lock().await;
        if let Some((read, keys)) = &*kept
            && read.elapsed() < limits::KEYS_READ_EVERY
        {
            return Ok(keys.clone());
        }
        // What is revoked while this reads may be missed, so the age counts from here.
        let begun = Stopwatch::start();
        let rows = self.readers.read(|browse| browse.kept_keys()).await?;
        let keys: Kept = Arc::new(rows.into_iter().map(|(key, hash)| (key.id, (key.into(), hash))).collect());
        *kept = Some((begun, keys.clone()));
        Ok(keys)
    }

    /// Keys were changed here: read them again.
    pub async fn forget(&self) {
        *self.kept.lock().await = None;
    }

    /// Have the use of a key written down, now and then and behind the answer.
    pub fn note_use(&self, engine: &Engine, key: &Key, now: Timestamp) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let last = used.get(&key.id).copied().max(key.last_used_at);
        if last.is_some_and(|at| now < at + limits::KEY_USE_EVERY) {
            return;
        }
        if used.len() >= limits::KEYS_MAX {
            used.clear();
        }
        used.insert(key.id, now);
        let (engine, id) = (engine.clone(), key.id);
        tokio::spawn(async move {
            if let Err(problem) = engine.note_key_use(id, now).await {
                tracing::debug!(target: "server", key = %id, %problem, "the use of a key was not written down");
            }
        });
    }

    /// Count a wrong key, and tell of it at most once a second.
    pub fn refuse(&self, peer: Option<IpAddr>) {
        let refused = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match &*told {
            Some((at, _)) if at.elapsed() < TELL_EVERY => return,
            Some((_, before)) => *before,
            None => 0,
        };
        *told = Some((Stopwatch::start(), refused));
        let (new, peer) = (refused.saturating_sub(before), peer.map_or("?".into(), |ip| ip.to_string()));
        tracing::warn!(
            target: "server", refused = new, peer,
            "{new} call(s) with a key that is not valid were refused, the last from {peer}"
        );
    }

    /// How many calls with a wrong key this process has refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}
