//! The audit as a chain: each row has a hash over itself and the hash of the row before it.
//!
//! Why    a row that was changed, taken away or put in between breaks a link, and `check` says where. The head says where the chain
//!        ends, so that nobody can shorten it unseen. Whoever appends holds the head until its commit, and takes it last of all: a
//!        commit that tells nothing never waits for it, and one that waits holds it up for nobody who could hold up that one.

use crate::sql::{Cell, Param, Sql};
use crate::writes::{Values, Write};
use crate::{AuditEntry, Result, StoreError, params, statements};
use model::Timestamp;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// In the order in which they are hashed.
pub const COLUMNS: &str = "id, at, who, verb, target, why, before, after";

/// The newest goes first: rows that were replaced are behind it.
pub const HEAD: &str = "select audit_id, hash from audit_head order by audit_id desc limit 1";

/// Where the chain begins: the number of the last row before it, and how many there are.
pub const BEGINS: &str = "audit_begins";

/// Where the chain ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub id: i64,
    /// Empty as long as the chain has no row.
    pub hash: Vec<u8>,
}

/// What is put on record, and when it happened.
pub type Told<'a> = (Timestamp, &'a AuditEntry);

impl Head {
    /// The rows that go behind it, and the head they leave.
    pub fn write<'a>(&self, told: impl IntoIterator<Item = Told<'a>>) -> Vec<Write<'a>> {
        let mut head = self.clone();
        let rows: Vec<Values> = told.into_iter().map(|(at, entry)| head.link(at, entry)).collect();
        let Head { id, hash } = head;
        let write = |sql, row: Vec<Values<'a>>| Write { sql, rows: row, fenced: true };
        vec![
            write(statements::INSERT_AUDIT, rows),
            write(statements::DELETE_AUDIT_HEAD, vec![vec![Param::from(self.id)]]),
            write(statements::INSERT_AUDIT_HEAD, vec![vec![Param::from(id), Param::from(hash)]]),
        ]
    }

    fn link<'a>(&mut self, at: Timestamp, entry: &'a AuditEntry) -> Values<'a> {
        let AuditEntry { who, verb, target, why, before, after } = entry;
        self.id += 1;
        let mut row: Values = vec![
            Param::from(self.id),
            Param::from(at),
            stored(who),
            stored(verb),
            stored(target),
            why.as_deref().map_or(Param::Null, stored),
            before.as_deref().map_or(Param::Null, stored),
            after.as_deref().map_or(Param::Null, stored),
        ];
        self.hash = hash(&self.hash, row.iter().map(cell));
        row.push(Param::from(self.hash.clone()));
        row
    }
}

/// A text as both databases keep it: the character zero has no place in either.
fn stored(text: &str) -> Param<'_> {
    Param::Text(if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { text.into() })
}

fn cell<'a>(param: &'a Param) -> Cell<'a> {
    match param {
        Param::Null => Cell::Null,
        Param::Int(n) => Cell::Int(*n),
        Param::Real(x) => Cell::Real(*x),
        Param::Text(text) => Cell::Text(text),
        Param::Blob(bytes) => Cell::Blob(bytes),
    }
}

/// Each value with its kind and its length, so that no two rows read alike.
pub fn hash<'a>(before: &[u8], row: impl IntoIterator<Item = Cell<'a>>) -> Vec<u8> {
    let mut digest = Sha256::new();
    let mut put = |kind: u8, bytes: &[u8]| {
        digest.update([kind]);
        digest.update((bytes.len() as u64).to_be_bytes());
        digest.update(bytes);
    };
    put(b'h', before);
    for cell in row {
        match cell {
            Cell::Null => put(b'n', &[]),
            Cell::Int(n) => put(b'i', &n.to_be_bytes()),
            Cell::Real(x) => put(b'r', &x.to_be_bytes()),
            Cell::Text(text) => put(b't', text.as_bytes()),
            Cell::Blob(bytes) => put(b'b', bytes),
        }
    }
    digest.finalize().to_vec()
}

/// Append to the chain, last of all in a transaction.
pub fn append<'a>(sql: &dyn Sql, told: impl IntoIterator<Item = Told<'a>>) -> Result<()> {
    let mut told = told.into_iter().peekable();
    if told.peek().is_none() {
        return Ok(());
    }
    sql.hold_audit()?;
    let head = sql.first(HEAD, params![], |row| Ok(Head { id: row.get(0)?, hash: row.get(1)? }))?;
    for Write { sql: text, rows, .. } in head.ok_or_else(no_head)?.write(told) {
        for row in rows {
            sql.execute(text, &row)?;
        }
    }
    Ok(())
}

/// It is there from the migration on.
pub fn no_head() -> StoreError {
    StoreError::Corrupt { table: "audit_head", column: "audit_id", value: "no row".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(who: &str, why: Option<&str>) -> AuditEntry {
        AuditEntry {
            who: who.into(),
            verb: "cancel".into(),
            target: "step".into(),
            why: why.map(Into::into),
            before: None,
            after: None,
        }
    }

    fn hashed(told: &[AuditEntry]) -> Vec<Vec<u8>> {
        let head = Head { id: 0, hash: Vec::new() };
        let writes = head.write(told.iter().map(|entry| (Timestamp(7), entry)));
        let last = |row: &Values| match row.last() {
            Some(Param::Blob(hash)) => hash.to_vec(),
            other => panic!("{other:?}"),
        };
        writes[0].rows.iter().map(last).collect()
    }

    #[test]
    fn a_hash_rests_on_every_row_before_it() {
        let rows = [entry("ada", None), entry("bob", None), entry("bob", None)];
        let whole = hashed(&rows);
        assert_eq!(whole.len(), 3);
        assert_ne!(whole[1], whole[2], "the same deed twice");
        let other = hashed(&[entry("eve", None), rows[1].clone(), rows[2].clone()]);
        assert!(whole.iter().zip(&other).all(|(a, b)| a != b));
    }

    #[test]
    fn no_two_rows_read_alike() {
        let texts: [[Cell; 2]; 5] = [
            [Cell::Text("ab"), Cell::Text("c")],
            [Cell::Text("a"), Cell::Text("bc")],
            [Cell::Text("abc"), Cell::Text("")],
            [Cell::Text("abc"), Cell::Null],
            [Cell::Blob(b"abc"), Cell::Null],
        ];
        let all: std::collections::BTreeSet<Vec<u8>> = texts.map(|row| hash(b"", row)).into();
        assert_eq!(all.len(), 5);
    }

    #[test]
    fn it_is_the_hash_of_what_is_stored() {
        assert_eq!(hashed(&[entry("a\0", Some("\0"))]), hashed(&[entry("a\u{fffd}", Some("\u{fffd}"))]));
    }
}
