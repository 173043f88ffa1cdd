//! Browsers that are signed in, each by a token of which only the hash is on record.
//!
//! Why    a browser that was signed out, or was silent for too long, must not get in by what it still holds. So what it holds is not
//!        the key, and its row is gone when it has ended.

use crate::sql::{Row, Sql};
use crate::{Result, StoreError, params};
use model::{KeyId, Timestamp, limits};
use std::fmt;

/// What is kept of a browser's token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BrowserHash(pub [u8; 32]);

impl fmt::Debug for BrowserHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrowserHash(..)")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Browser {
    pub hash: BrowserHash,
    /// The key that was entered.
    pub key: KeyId,
    pub signed_in_at: Timestamp,
    /// True to within a minute.
    pub used_at: Timestamp,
}

impl Browser {
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.used_at + limits::BROWSER_IDLE && now < self.signed_in_at + limits::BROWSER_SIGNED_IN_MAX
    }
}

/// The newest of all that may be signed in.
pub fn all(sql: &dyn Sql) -> Result<Vec<Browser>> {
    let text = format!(
        "select hash, key_id, signed_in_at, used_at from browser_sessions order by signed_in_at desc limit {}",
        limits::BROWSERS_MAX
    );
    sql.rows(&text, params![], read)
}

/// One more; whoever has ended leaves, and where there are too many the oldest do.
pub fn sign_in(sql: &dyn Sql, new: &Browser) -> Result<u64> {
    let now = new.signed_in_at;
    sql.execute(
        "delete from browser_sessions where used_at <= $1 or signed_in_at <= $2",
        params![now - limits::BROWSER_IDLE, now - limits::BROWSER_SIGNED_IN_MAX],
    )?;
    let crowded = format!(
        "delete from browser_sessions where key_id = $1 and hash not in
            (select hash from browser_sessions where key_id = $1 order by signed_in_at desc, hash limit {})",
        limits::BROWSERS_OF_A_KEY_MAX - 1
    );
    sql.execute(&crowded, params![new.key])?;
    let crowded = format!(
        "delete from browser_sessions where hash not in
            (select hash from browser_sessions order by signed_in_at desc, hash limit {})",
        limits::BROWSERS_MAX - 1
    );
    sql.execute(&crowded, params![])?;
    sql.execute(
        "insert into browser_sessions (hash, key_id, signed_in_at, used_at) values ($1, $2, $3, $4)",
        params![new.hash.0.as_slice(), new.key, now, new.used_at],
    )
}

/// It was used, unless a later use is on record.
pub fn note_use(sql: &dyn Sql, hash: BrowserHash, at: Timestamp) -> Result<u64> {
    let text = "update browser_sessions set used_at = $1 where hash = $2 and used_at < $3";
    sql.execute(text, params![at, hash.0.as_slice(), at])
}

pub fn sign_out(sql: &dyn Sql, hash: BrowserHash) -> Result<u64> {
    sql.execute("delete from browser_sessions where hash = $1", params![hash.0.as_slice()])
}

/// All that were signed in with a key.
pub fn sign_out_all(sql: &dyn Sql, key: KeyId) -> Result<u64> {
    sql.execute("delete from browser_sessions where key_id = $1", params![key])
}

fn read(row: &Row) -> Result<Browser> {
    let bytes: Vec<u8> = row.get(0)?;
    let strange =
        |_| StoreError::Corrupt { table: "browser_sessions", column: "hash", value: "no hash".into() };
    Ok(Browser {
        hash: bytes.try_into().map(BrowserHash).map_err(strange)?,
        key: KeyId::from_bytes(row.get(1)?),
        signed_in_at: Timestamp(row.get(2)?),
        used_at: Timestamp(row.get(3)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_ends_by_silence_and_by_age() {
        let hour = |n: u64| Timestamp(0) + Duration::from_secs(n * 3600);
        let browser = |used: u64| Browser {
            hash: BrowserHash([0; 32]),
            key: KeyId::of(1),
            signed_in_at: hour(0),
            used_at: hour(used),
        };
        assert!(browser(0).is_live(hour(11)) && !browser(0).is_live(hour(12)));
        assert!(browser(160).is_live(hour(167)) && !browser(160).is_live(hour(168)));
        assert_eq!(format!("{:?}", browser(0).hash), "BrowserHash(..)");
    }
}
