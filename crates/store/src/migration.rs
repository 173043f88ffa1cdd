//! What both databases ask of their migrations: known, in order, unchanged.

use crate::{Result, StoreError};
use sha2::{Digest, Sha256};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationState {
    pub applied: usize,
    pub known: usize,
}

pub fn checksum(sql: &str) -> String {
    Sha256::digest(sql.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}

/// How far a database is; an error when it is newer than this program or was changed by hand.
pub fn compare(applied: &[(String, String)], known: &[(&str, &str)]) -> Result<MigrationState> {
    for (i, (name, sum)) in applied.iter().enumerate() {
        let Some((wanted, sql)) = known.get(i) else {
            let problem = format!("the database has migration `{name}`, which this program does not know");
            return Err(StoreError::Refused(format!("{problem}; use the newer version that wrote it")));
        };
        if name != wanted || *sum != checksum(sql) {
            let problem = format!("migration `{name}` was applied with other content than this program has");
            return Err(StoreError::Refused(format!(
                "{problem}; restore a backup or use the version that wrote it"
            )));
        }
    }
    Ok(MigrationState { applied: applied.len(), known: known.len() })
}
