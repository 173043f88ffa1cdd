//! Secret values: sealed before they are stored, opened for whoever runs a step, and sealed again in what a run says.
//!
//! Why    a database, its copies and its backups are read by more people than may know a card number. Each workflow has a key of its
//!        own, derived from the configured one, so that chance never repeats a nonce and nothing opens under another workflow.

mod file;
mod json;
mod key;
mod value;
mod veil;

pub use key::SealKey;
pub use value::{Opened, Values};
pub(crate) use value::{opened, sealed_at, values_at};
pub(crate) use veil::Veil;

use crate::chance;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use file::KeyFile;
use model::Sealed;
use ring::aead::NONCE_LEN;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use uuid::Uuid;

/// The keys of secret values: the first seals, all open.
#[derive(Clone, Default)]
pub struct Keyring {
    keys: Arc<[SealKey]>,
    file: Option<Arc<KeyFile>>,
}

/// It is printed by nothing.
impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keyring").field(&self.keys.iter().map(SealKey::id).collect::<Vec<_>>()).finish()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error(
        "there is no key to seal secret values with; write `[secrets]` with `keys = [\"k1:…\"]` into the configuration of \
         every node, or set STEPFAST_SECRETS_KEYS"
    )]
    NoKeys,
    #[error(
        "a secret value was sealed with the key `{0}`, which is not configured here; add it to `[secrets] keys` or \
         STEPFAST_SECRETS_KEYS"
    )]
    NoSuchKey(String),
    #[error(
        "a secret value does not open with the key `{0}`: the key is another one, or the value was changed"
    )]
    WrongKey(String),
    #[error("the key file {0}")]
    File(String),
    #[error("{0}")]
    NoChance(String),
}

impl Keyring {
    pub fn of(keys: Vec<SealKey>) -> Keyring {
        Keyring { keys: keys.into(), file: None }
    }

    /// The keys in a file, which is made with the first secret.
    pub fn at(path: &Path) -> Keyring {
        Keyring { keys: Arc::new([]), file: Some(Arc::new(KeyFile::at(path))) }
    }

    /// Nobody said where keys are.
    pub fn is_unset(&self) -> bool {
        self.keys.is_empty() && self.file.is_none()
    }

    fn first(&self) -> Result<SealKey, SealError> {
        match (self.keys.first(), &self.file) {
            (Some(key), _) => Ok(key.clone()),
            (None, Some(file)) => file.first(),
            (None, None) => Err(SealError::NoKeys),
        }
    }

    fn named(&self, id: &str) -> Result<SealKey, SealError> {
        let known = self.keys.iter().find(|key| key.id() == id).cloned();
        let known = match (known, &self.file) {
            (None, Some(file)) => file.named(id)?,
            (known, _) => known,
        };
        known.ok_or_else(|| SealError::NoSuchKey(id.into()))
    }

    /// The text that stands for these bytes.
    pub(crate) fn seal(&self, owner: Uuid, clear: &[u8]) -> Result<String, SealError> {
        let key = self.first()?;
        let nonce: [u8; NONCE_LEN] = chance().map_err(|problem| SealError::NoChance(problem.to_string()))?;
        let head = Sealed::head(key.id(), owner);
        let mut bytes = nonce.to_vec();
        bytes.extend(key.seal(owner, nonce, head.as_bytes(), clear.to_vec()));
        Ok(Sealed::written(key.id(), owner, &URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The bytes that it stands for.
    pub(crate) fn open(&self, sealed: &Sealed) -> Result<Vec<u8>, SealError> {
        let wrong = || SealError::WrongKey(sealed.key.into());
        let key = self.named(sealed.key)?;
        let bytes = URL_SAFE_NO_PAD.decode(sealed.body).map_err(|_| wrong())?;
        let (nonce, rest) = bytes.split_first_chunk::<NONCE_LEN>().ok_or_else(wrong)?;
        let head = Sealed::head(sealed.key, sealed.owner);
        key.open(sealed.owner, *nonce, head.as_bytes(), rest.to_vec()).ok_or_else(wrong)
    }
}

impl Keyring {
    /// A text that was sealed for this owner.
    pub(crate) fn open_text(&self, owner: Uuid, text: &str) -> Result<String, SealError> {
        let wrong = || SealError::WrongKey("?".into());
        let sealed = Sealed::read(text).filter(|sealed| sealed.owner == owner).ok_or_else(wrong)?;
        String::from_utf8(self.open(&sealed)?).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str, byte: u8) -> SealKey {
        SealKey::new(id, [byte; 32])
    }

    fn owner(n: u64) -> Uuid {
        Uuid::from_u64_pair(0, n)
    }

    #[test]
    fn what_is_sealed_opens_with_its_key_and_for_its_owner_alone() {
        let keys = Keyring::of(vec![key("k1", 1)]);
        let text = keys.seal(owner(7), b"4111").unwrap();
        let sealed = Sealed::read(&text).unwrap();
        assert!(!text.contains("4111"));
        assert_eq!(keys.open(&sealed).unwrap(), b"4111");
        assert_ne!(keys.seal(owner(7), b"4111").unwrap(), text, "the same value never reads the same");
        let moved = text.replace(&owner(7).as_simple().to_string(), &owner(8).as_simple().to_string());
        assert_eq!(keys.open(&Sealed::read(&moved).unwrap()), Err(SealError::WrongKey("k1".into())));
        let other = Keyring::of(vec![key("k1", 2)]);
        assert_eq!(other.open(&sealed), Err(SealError::WrongKey("k1".into())));
        let changed = text.replace(sealed.body, &format!("{}AAAA", sealed.body));
        assert!(keys.open(&Sealed::read(&changed).unwrap()).is_err());
    }

    #[test]
    fn while_keys_change_the_first_seals_and_all_open() {
        let old = Keyring::of(vec![key("k1", 1)]).seal(owner(7), b"4111").unwrap();
        let both = Keyring::of(vec![key("k2", 2), key("k1", 1)]);
        assert_eq!(both.open(&Sealed::read(&old).unwrap()).unwrap(), b"4111");
        assert_eq!(Sealed::read(&both.seal(owner(7), b"").unwrap()).unwrap().key, "k2");
        let new = Keyring::of(vec![key("k2", 2)]);
        assert_eq!(new.open(&Sealed::read(&old).unwrap()), Err(SealError::NoSuchKey("k1".into())));
        assert_eq!(Keyring::default().seal(owner(7), b""), Err(SealError::NoKeys));
    }

    #[test]
    fn a_file_is_made_with_the_first_secret_and_read_by_the_next_process() {
        let dir = std::env::temp_dir().join(format!("stepfast-keys-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("steps.db.key");
        let keys = Keyring::at(&path);
        assert!(!path.exists());
        let text = keys.seal(owner(7), b"4111").unwrap();
        let written = std::fs::read_to_string(&path).unwrap();
        assert!(written.contains("k1:"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let again = Keyring::at(&path);
        assert_eq!(again.open(&Sealed::read(&text).unwrap()).unwrap(), b"4111");
        assert_eq!(Sealed::read(&again.seal(owner(7), b"").unwrap()).unwrap().key, "k1", "no second key");
        std::fs::remove_file(&path).unwrap();
        let lost = Keyring::at(&path).open(&Sealed::read(&text).unwrap());
        assert_eq!(lost, Err(SealError::NoSuchKey("k1".into())));
        assert!(!path.exists(), "to open makes no key");
        std::fs::write(&path, "nonsense\n").unwrap();
        let told = Keyring::at(&path).seal(owner(7), b"").unwrap_err().to_string();
        assert!(told.contains("line 1") && !told.contains("nonsense"), "{told}");
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn keys_are_printed_by_nothing() {
        let keys = Keyring::of(vec![key("k1", 0x41)]);
        assert_eq!(format!("{keys:?} {:?}", key("k1", 0x41)), r#"Keyring(["k1"]) SealKey("k1")"#);
    }
}
