//! Carries out one batch in one transaction: verify, write each row once, commit.

use crate::audit;
use crate::settings::{global_breaker, read_breaker};
use crate::writes::{Write, compose};
use crate::{Batch, Result, StoreError};
use rusqlite::{Connection, TransactionBehavior, params_from_iter};

pub fn commit(connection: &mut Connection, batch: &Batch) -> Result<()> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    verify(&tx, batch)?;
    for Write { sql, rows, fenced } in compose(batch) {
        let mut statement = tx.prepare_cached(sql)?;
        for values in rows {
            // A statement names its parameters in order, so its values can be bound as they stand.
            if statement.execute(params_from_iter(values))? != 1 && fenced {
                return Err(StoreError::Lost { what: "a row that the turn had seen".into() });
            }
        }
    }
    audit::append(&*tx, batch.audit.iter().map(|entry| (batch.now, entry)))?;
    tx.commit()?;
    Ok(())
}

/// The leases are still ours, and the breaker still lets work out.
fn verify(tx: &Connection, batch: &Batch) -> Result<()> {
    let mut held =
        tx.prepare_cached("select dispatch_group, epoch, breaker from dispatch_groups where owner_id = ?1")?;
    let mut found = held.query([batch.lease.node.bytes()])?;
    let mut owned = 0;
    while let Some(row) = found.next()? {
        let group = row.get_ref(0)?.as_str().map_err(|e| StoreError::Down(e.to_string()))?;
        let epoch = row.get::<_, i64>(1)?.unsigned_abs();
        owned += usize::from(batch.lease.groups.iter().any(|(g, e)| g.as_str() == group && *e == epoch));
        let dispatching = batch.dispatching.iter().any(|g| g.as_str() == group);
        if dispatching && read_breaker(&row.get::<_, String>(2)?)?.is_off(batch.now) {
            return Err(StoreError::Lost { what: format!("the breaker of dispatch group `{group}`") });
        }
    }
    if owned < batch.lease.groups.len() {
        return Err(StoreError::Lost { what: "the lease of a dispatch group".into() });
    }
    if !batch.dispatching.is_empty() && global_breaker(tx)?.is_off(batch.now) {
        return Err(StoreError::Lost { what: "the breaker".into() });
    }
    Ok(())
}
