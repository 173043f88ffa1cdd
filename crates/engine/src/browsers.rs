//! Browsers: signed in with a key, used, signed out. A browser holds a token of its own and never the key.

use crate::keys::chance;
use crate::{Engine, EngineError};
use model::{KeyId, Timestamp};
use sha2::{Digest, Sha256};
use std::fmt;
use store::{AuditEntry, Browser, BrowserHash, Change};

const PREFIX: &str = "sfb_";
/// Two for each byte.
const LETTERS: usize = 64;

type Result<T> = std::result::Result<T, EngineError>;

/// What a browser shows, `sfb_<256 bits>`. It is printed by nothing.
#[derive(Clone)]
pub struct BrowserToken(String);

impl fmt::Debug for BrowserToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrowserToken(..)")
    }
}

impl BrowserToken {
    /// A new one, by the operating system's dice: nobody brings their own.
    fn fresh() -> Result<BrowserToken> {
        let bytes: [u8; LETTERS / 2] = chance()?;
        let letters: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(BrowserToken(format!("{PREFIX}{letters}")))
    }

    /// None when it does not look like one.
    pub fn parse(text: &str) -> Option<BrowserToken> {
        let letters = text.strip_prefix(PREFIX)?;
        let is_hex = letters.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        (letters.len() == LETTERS && is_hex).then(|| BrowserToken(text.into()))
    }

    /// The token itself, for the browser that is to have it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn hash(&self) -> BrowserHash {
        BrowserHash(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl Engine {
    /// Sign a browser in with a key that was recognised.
    pub async fn sign_in(&self, key: KeyId, by: String, at: Timestamp) -> Result<BrowserToken> {
        let token = BrowserToken::fresh()?;
        let browser = Browser { hash: token.hash(), key, signed_in_at: at, used_at: at };
        let entry = AuditEntry { after: Some("signed in".into()), ..record("sign in", by) };
        let changes = vec![Change::SignIn(browser), Change::Audit { at, entry }];
        self.with_store(move |store| store.change(changes)).await??;
        Ok(token)
    }

    /// One that is signed out already is told of once.
    pub async fn sign_out(&self, browser: BrowserHash, by: String) -> Result<()> {
        self.with_store(move |store| {
            let (before, after) = (Some("signed in".into()), Some("signed out".into()));
            let (at, entry) = (store.now(), AuditEntry { before, after, ..record("sign out", by) });
            store.change(vec![Change::SignOut { browser }, Change::Audit { at, entry }])
        })
        .await??;
        Ok(())
    }

    /// Write down that a browser was used.
    pub async fn note_browser_use(&self, browser: BrowserHash, at: Timestamp) -> Result<()> {
        self.with_store(move |store| store.change(vec![Change::UseBrowser { browser, at }])).await??;
        Ok(())
    }
}

fn record(verb: &str, who: String) -> AuditEntry {
    AuditEntry { who, verb: verb.into(), target: "browser".into(), why: None, before: None, after: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_hash_and_printed_by_nothing() {
        let token = BrowserToken::fresh().unwrap();
        let again = BrowserToken::parse(token.reveal()).unwrap();
        assert_eq!(again.hash(), token.hash());
        assert_ne!(BrowserToken::fresh().unwrap().hash(), token.hash());
        assert_eq!(format!("{token:?} {:?}", token.hash()), "BrowserToken(..) BrowserHash(..)");
        assert_eq!(token.reveal().len(), "sfb_".len() + 64, "256 bits");
    }

    #[test]
    fn what_does_not_look_like_a_token_is_none() {
        let good = BrowserToken::fresh().unwrap().reveal().to_string();
        for bad in
            ["", "sfb_", &good[1..], &good[..good.len() - 1], &good.to_uppercase(), &format!("{good}0")]
        {
            assert!(BrowserToken::parse(bad).is_none());
        }
    }
}
