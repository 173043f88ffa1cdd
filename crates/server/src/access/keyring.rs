//! The keys, and the browsers signed in with them, as this node knows them: read again after half a second, so that a revoked one is
//! refused within a second.
//!
//! Why    a key is looked at with every call, and a flood of wrong ones must not reach the database. So all keys that are not
//!        revoked are read at once, and an unknown one costs a look into memory.

use super::Shown;
use crate::error::ApiError;
use crate::readers::Readers;
use engine::{BrowserToken, Engine, Secret, Stopwatch};
use model::{Count, Key, KeyId, Timestamp, limits};
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{Browser, BrowserHash, Database, KeyHash};
use tokio::time::sleep;

/// How often wrong keys are told in the log.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// A browser that signed in at another node may be here before this one has read of it.
const JUST_NOW: Duration = Duration::from_millis(50);

struct Known {
    keys: HashMap<KeyId, (Arc<Key>, KeyHash)>,
    browsers: HashMap<BrowserHash, Browser>,
}

impl Known {
    fn key(&self, id: KeyId, now: Timestamp) -> Option<&Arc<Key>> {
        self.keys.get(&id).map(|(key, _)| key).filter(|key| key.is_live(now))
    }

    /// A browser lives no longer than the key that was entered.
    fn browser(&self, hash: BrowserHash, now: Timestamp) -> Option<(Arc<Key>, Browser)> {
        let browser = self.browsers.get(&hash).filter(|browser| browser.is_live(now))?;
        Some((self.key(browser.key, now)?.clone(), *browser))
    }
}

type Kept = Arc<Known>;

pub struct Keyring {
    /// A connection of its own: whoever is asked for a key does not wait behind people's questions.
    readers: Readers,
    kept: tokio::sync::Mutex<Option<(Stopwatch, Kept)>>,
    used: Uses<KeyId>,
    browsers_used: Uses<BrowserHash>,
    refused: AtomicU64,
    /// When wrong keys were last told, and how many had been refused by then.
    told: Mutex<Option<(Stopwatch, u64)>>,
}

impl Keyring {
    pub fn new(database: Database) -> Keyring {
        Keyring {
            readers: Readers::new(database),
            kept: tokio::sync::Mutex::new(None),
            used: Uses::default(),
            browsers_used: Uses::default(),
            refused: AtomicU64::new(0),
            told: Mutex::default(),
        }
    }

    /// The live key that this text is.
    pub async fn recognise(&self, text: &str, now: Timestamp) -> Result<Arc<Key>, ApiError> {
        let secret = Secret::parse(text).ok_or(ApiError::BadKey)?;
        match self.kept(limits::KEYS_READ_EVERY).await?.keys.get(&secret.id()) {
            Some((key, hash)) if secret.is(hash) && key.is_live(now) => Ok(key.clone()),
            _ => Err(ApiError::BadKey),
        }
    }

    /// The live browser that has this token, and the key it was signed in with.
    pub async fn recognise_browser(
        &self,
        text: &str,
        now: Timestamp,
    ) -> Result<(Arc<Key>, Browser), ApiError> {
        let hash = BrowserToken::parse(text).ok_or(ApiError::BadKey)?.hash();
        if let Some(found) = self.kept(limits::KEYS_READ_EVERY).await?.browser(hash, now) {
            return Ok(found);
        }
        // What is read from now on was there when it called.
        sleep(JUST_NOW).await;
        self.kept(JUST_NOW).await?.browser(hash, now).ok_or(ApiError::BadKey)
    }

    /// Whether somebody who was recognised before still would be.
    pub async fn is_live(&self, key: KeyId, shown: Shown, now: Timestamp) -> Result<bool, ApiError> {
        let known = self.kept(limits::KEYS_READ_EVERY).await?;
        Ok(match shown {
            Shown::Bearer => known.key(key, now).is_some(),
            Shown::Cookie(browser) => known.browser(browser, now).is_some(),
        })
    }

    /// One reads, the others wait for it. Without an answer of the database nobody is let in by what was true before.
    async fn kept(&self, age_max: Duration) -> Result<Kept, ApiError> {
        let mut kept = self.kept.lock().await;
        if let Some((read, known)) = &*kept
            && read.elapsed() < age_max
        {
            return Ok(known.clone());
        }
        // What is revoked while this reads may be missed, so the age counts from here.
        let begun = Stopwatch::start();
        let read = self.readers.read(|browse| Ok((browse.kept_keys()?, browse.browsers()?)));
        let (keys, browsers) = read.await?;
        let known = Arc::new(Known {
            keys: keys.into_iter().map(|(key, hash)| (key.id, (key.into(), hash))).collect(),
            browsers: browsers.into_iter().map(|browser| (browser.hash, browser)).collect(),
        });
        *kept = Some((begun, known.clone()));
        Ok(known)
    }

    /// Keys or browsers were changed here: read them again.
    pub async fn forget(&self) {
        *self.kept.lock().await = None;
    }

    /// Have the use of a key written down, now and then and behind the answer.
    pub fn note_use(&self, engine: &Engine, key: &Key, now: Timestamp) {
        if !self.used.is_due(key.id, key.last_used_at, now) {
            return;
        }
        let (engine, id) = (engine.clone(), key.id);
        tokio::spawn(async move {
            if let Err(problem) = engine.note_key_use(id, now).await {
                tracing::debug!(target: "server", key = %id, %problem, "the use of a key was not written down");
            }
        });
    }

    /// The same of a browser.
    pub fn note_browser_use(&self, engine: &Engine, browser: &Browser, now: Timestamp) {
        if !self.browsers_used.is_due(browser.hash, Some(browser.used_at), now) {
            return;
        }
        let (engine, hash) = (engine.clone(), browser.hash);
        tokio::spawn(async move {
            if let Err(problem) = engine.note_browser_use(hash, now).await {
                tracing::debug!(target: "server", %problem, "the use of a browser was not written down");
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
            "refused {} with a key that is not valid, the last from {peer}", Count(new, "call")
        );
    }

    /// How many calls with a wrong key this process has refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// When uses were last written down from here.
struct Uses<K>(Mutex<HashMap<K, Timestamp>>);

impl<K> Default for Uses<K> {
    fn default() -> Uses<K> {
        Uses(Mutex::default())
    }
}

impl<K: Copy + Eq + Hash> Uses<K> {
    /// Whether a use is to be written down; then it counts as written.
    fn is_due(&self, who: K, on_record: Option<Timestamp>, now: Timestamp) -> bool {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = used.get(&who).copied().max(on_record);
        if last.is_some_and(|at| now < at + limits::KEY_USE_EVERY) {
            return false;
        }
        if used.len() >= limits::KEYS_MAX {
            used.clear();
        }
        used.insert(who, now);
        true
    }
}
