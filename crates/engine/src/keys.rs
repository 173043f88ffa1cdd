//! API keys: made, recognised, revoked. A secret exists in the hands of its caller and nowhere else.

use crate::{Engine, EngineError, Ids};
use model::{Count, Fault, Key, KeyId, NewKey, Role, Timestamp};
use sha2::{Digest, Sha256};
use std::fmt;
use store::{AuditEntry, Change, KeyHash, Store, keys};
use subtle::ConstantTimeEq;

const PREFIX: &str = "sf_";
/// Letters of the id and of the secret, two for each byte.
const ID_LETTERS: usize = 32;
const SECRET_LETTERS: usize = 64;

type Result<T> = std::result::Result<T, EngineError>;

/// A whole key, `sf_<id>_<secret>`. It is shown once, when it is made, and printed by nothing.
#[derive(Clone)]
pub struct Secret {
    id: KeyId,
    text: String,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.id)
    }
}

/// Bytes that nobody can guess.
#[expect(clippy::disallowed_methods, reason = "a secret is made of nothing but chance")]
pub fn chance<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|e| store::StoreError::Down(format!("the system gives no random bytes: {e}")))?;
    Ok(bytes)
}

impl Secret {
    /// A new one, by the operating system's dice.
    fn fresh(id: KeyId) -> Result<Secret> {
        let bytes: [u8; SECRET_LETTERS / 2] = chance()?;
        let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Secret { id, text: format!("{PREFIX}{}_{secret}", id.0.as_simple()) })
    }

    /// None when it does not look like a key. What was tried is not repeated in any message.
    pub fn parse(text: &str) -> Option<Secret> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let is_hex = |text: &str, letters| {
            text.len() == letters && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        if !is_hex(id, ID_LETTERS) || !is_hex(secret, SECRET_LETTERS) {
            return None;
        }
        Some(Secret { id: id.parse().ok()?, text: text.into() })
    }

    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The key itself, for the one who is to have it.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    fn hash(&self) -> KeyHash {
        KeyHash(Sha256::digest(self.text.as_bytes()).into())
    }

    /// In a time that does not tell how far they agree.
    pub fn is(&self, kept: &KeyHash) -> bool {
        self.hash().0.ct_eq(&kept.0).into()
    }
}

impl Engine {
    /// Make a key; its secret is in the answer and can never be had again.
    pub async fn add_key(&self, new: NewKey, by: String) -> Result<(Key, Secret)> {
        self.with_store(move |store| add(store, &new, &by)).await?
    }

    /// Revoke a key for good; the key as it then is, or none if there is no such key.
    pub async fn revoke_key(&self, id: KeyId, by: String) -> Result<Option<Key>> {
        self.with_store(move |store| revoke(store, id, by)).await?
    }

    /// Write down that a key was used.
    pub async fn note_key_use(&self, key: KeyId, at: Timestamp) -> Result<()> {
        self.with_store(move |store| store.change(vec![Change::UseKey { key, at }])).await??;
        Ok(())
    }

    /// Put on record what somebody did outside of a turn.
    pub async fn put_on_record(&self, entry: AuditEntry) -> Result<()> {
        self.with_store(move |store| {
            let at = store.now();
            store.change(vec![Change::Audit { at, entry }])
        })
        .await??;
        Ok(())
    }
}

fn add(store: &mut dyn Store, new: &NewKey, by: &str) -> Result<(Key, Secret)> {
    let now = store.now();
    let nul = [("name", &new.name)].into_iter().chain(new.scope.iter().map(|queue| ("scope", queue)));
    let nul: Vec<Fault> = nul.filter(|(_, text)| text.contains('\0')).map(|(f, _)| Fault::nul(f)).collect();
    if !nul.is_empty() {
        return Err(EngineError::Invalid(nul));
    }
    let others = keys::kept(store.reader())?.len();
    let id = KeyId::from_bytes(Ids::default().row(now));
    let key = rules::key::plan(new, id, by, others, now).map_err(EngineError::Invalid)?;
    let secret = Secret::fresh(id)?;
    let entry = AuditEntry { after: Some(told(&key)), ..record("create key", &key, by) };
    let added = Change::AddKey { key: key.clone(), hash: secret.hash() };
    store.change(vec![added, Change::Audit { at: now, entry }])?;
    Ok((key, secret))
}

fn revoke(store: &mut dyn Store, id: KeyId, by: String) -> Result<Option<Key>> {
    let Some(key) = keys::find(store.reader(), id)? else { return Ok(None) };
    if key.revoked_at.is_some() {
        return Ok(Some(key));
    }
    let at = store.now();
    let (before, after) = (Some(told(&key)), Some("revoked".into()));
    let entry = AuditEntry { before, after, ..record("revoke key", &key, &by) };
    store.change(vec![Change::RevokeKey { key: id, at }, Change::Audit { at, entry }])?;
    Ok(keys::find(store.reader(), id)?)
}

fn record(verb: &str, key: &Key, by: &str) -> AuditEntry {
    let target = format!("key {} ({})", key.id, key.name);
    AuditEntry { who: by.into(), verb: verb.into(), target, why: None, before: None, after: None }
}

/// What a key may do, for the audit.
fn told(key: &Key) -> String {
    let queues = match key.scope.as_slice() {
        [] => "all queues".to_string(),
        some => format!("queues {}", some.join(", ")),
    };
    let end = match key.expires_at.map(|at| at.since(key.created_at).as_secs() / 86_400) {
        None => "does not expire".to_string(),
        Some(days) => format!("expires after {}", Count(days, "day")),
    };
    format!("{}, {queues}, {end}", key.role)
}

/// Whether anybody could administer from elsewhere.
pub fn has_admin(kept: &[(Key, KeyHash)], now: Timestamp) -> bool {
    kept.iter().any(|(key, _)| key.role == Role::Admin && key.is_live(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_recognised_by_its_hash_and_by_nothing_else() {
        let secret = Secret::fresh(KeyId::of(7)).unwrap();
        let again = Secret::parse(secret.reveal()).unwrap();
        assert_eq!(again.id(), KeyId::of(7));
        assert!(again.is(&secret.hash()));
        let other = Secret::fresh(KeyId::of(7)).unwrap();
        assert!(!other.is(&secret.hash()), "the same id with another secret");
        assert_eq!(secret.reveal().len(), "sf_".len() + 32 + 1 + 64, "256 bits");
    }

    #[test]
    fn a_key_is_printed_by_nothing() {
        let secret = Secret::fresh(KeyId::of(7)).unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(00000000-0000-0000-0000-000000000007)");
        assert_eq!(format!("{:?}", secret.hash()), "KeyHash(..)");
    }

    #[test]
    fn what_does_not_look_like_a_key_is_none() {
        let good = Secret::fresh(KeyId::of(7)).unwrap().reveal().to_string();
        let bad = ["", "sf_", "sf__", "Bearer x", &good[1..], &good[..good.len() - 1], &good.to_uppercase()];
        for text in bad.into_iter().map(String::from).chain([format!("{good}0"), good.replace("sf_", "sk_")])
        {
            assert!(Secret::parse(&text).is_none());
        }
        assert!(Secret::parse(&good).is_some());
    }
}
