//! One key of secret values: its name, which is told, and its bytes, which are not.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

const KEY_BYTES: usize = 32;
const ID_BYTES_MAX: usize = 32;
/// What the keys of workflows are derived for, and nothing else.
const PURPOSE: &[u8] = b"stepfast secret values";

#[derive(Clone, PartialEq, Eq)]
pub struct SealKey {
    id: String,
    bytes: [u8; KEY_BYTES],
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SealKey").field(&self.id).finish()
    }
}

/// `id:base64` of 32 bytes. A fault tells nothing of the key.
impl FromStr for SealKey {
    type Err = String;
    fn from_str(text: &str) -> Result<SealKey, String> {
        let how = "write `id:` and the base64 of 32 bytes, as `openssl rand -base64 32` prints";
        let (id, coded) = text.trim().split_once(':').ok_or_else(|| format!("it has no id; {how}"))?;
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        if id.is_empty() || id.len() > ID_BYTES_MAX || !id.bytes().all(is_plain) {
            return Err(format!("an id has 1 to {ID_BYTES_MAX} letters, digits, `-` and `_`; {how}"));
        }
        let bytes = STANDARD.decode(coded).map_err(|_| format!("the key `{id}` is not base64; {how}"))?;
        let has = bytes.len();
        let bytes = bytes.try_into().map_err(|_| format!("the key `{id}` has {has} bytes; {how}"))?;
        Ok(SealKey { id: id.into(), bytes })
    }
}

impl SealKey {
    pub fn new(id: &str, bytes: [u8; KEY_BYTES]) -> SealKey {
        SealKey { id: id.into(), bytes }
    }
    pub fn id(&self) -> &str {
        &self.id
    }
    /// As it stands in a file.
    pub(super) fn line(&self) -> String {
        format!("{}:{}\n", self.id, STANDARD.encode(self.bytes))
    }

    /// The key of one owner.
    fn of(&self, owner: Uuid) -> LessSafeKey {
        let derived = Salt::new(HKDF_SHA256, PURPOSE).extract(&self.bytes);
        let info = [owner.as_bytes().as_slice()];
        let derived = derived.expand(&info, &AES_256_GCM).expect("the length is that of a key");
        LessSafeKey::new(UnboundKey::from(derived))
    }

    pub(super) fn seal(
        &self,
        owner: Uuid,
        nonce: [u8; NONCE_LEN],
        bound_to: &[u8],
        mut clear: Vec<u8>,
    ) -> Vec<u8> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.of(owner)
            .seal_in_place_append_tag(nonce, Aad::from(bound_to), &mut clear)
            .expect("a payload is far shorter than what can be sealed");
        clear
    }

    pub(super) fn open(
        &self,
        owner: Uuid,
        nonce: [u8; NONCE_LEN],
        bound_to: &[u8],
        mut sealed: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let clear = self.of(owner).open_in_place(nonce, Aad::from(bound_to), &mut sealed).ok()?;
        Some(clear.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written_and_a_fault_does_not_repeat_it() {
        let key = SealKey::new("k-1", [7; 32]);
        assert_eq!(key.line().parse(), Ok(key));
        for (text, told) in [
            ("hunter2", "it has no id; write `id:`"),
            (":aHVudGVyMg==", "an id has 1 to 32 letters"),
            ("k 1:aHVudGVyMg==", "an id has 1 to 32 letters"),
            ("k1:hunter2!", "the key `k1` is not base64"),
            ("k1:aHVudGVyMg==", "the key `k1` has 7 bytes"),
        ] {
            let fault = text.parse::<SealKey>().unwrap_err();
            assert!(fault.starts_with(told) && !fault.contains("hunter2"), "{fault}");
        }
    }
}
