//! Pools: named limits that steps share, given and taken away while work runs.

use crate::{Engine, EngineError};
use model::{Fault, Name, Pool, limits};
use store::{Asked, AuditEntry, Change, Store, pools};

type Result<T> = std::result::Result<T, EngineError>;

/// What became of a pool that was to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    Removed,
    /// There is none of this name.
    Unknown,
    /// Steps of it run, or wait for it.
    InUse,
}

impl Engine {
    /// Make a pool, or give one that exists other limits; they hold from the next start on.
    pub async fn put_pool(&self, pool: Pool, by: String) -> Result<()> {
        self.with_store(move |store| put(store, pool, by)).await?
    }

    /// Give a pool other limits, if it is the one that was seen; none if it is another by now.
    pub async fn set_pool(&self, pool: Pool, seen: Pool, by: String) -> Result<Option<()>> {
        self.with_store(move |store| set(store, pool, &seen, by)).await?
    }

    pub async fn remove_pool(&self, name: Name, asked: Asked) -> Result<Removal> {
        self.with_store(move |store| remove(store, name, asked)).await?
    }
}

/// What the configuration says.
pub fn put_all(store: &mut dyn Store, pools: &[Pool]) -> Result<()> {
    pools.iter().try_for_each(|pool| put(store, pool.clone(), "the configuration".into()))
}

/// Nothing is written down where nothing changes.
fn put(store: &mut dyn Store, pool: Pool, by: String) -> Result<()> {
    let mut faults = pool.faults();
    let known = pools::all(store.reader())?;
    let before = known.iter().find(|known| known.pool.name == pool.name).map(|known| &known.pool);
    if before.is_none() && known.len() >= limits::POOLS_MAX {
        faults.push(Fault {
            field: "name".into(),
            problem: format!("there are {} pools already", known.len()),
            fix: "remove one that nothing uses".into(),
        });
    }
    if !faults.is_empty() {
        return Err(EngineError::Invalid(faults));
    }
    if before == Some(&pool) {
        return Ok(());
    }
    let (entry, at) = (audited(&pool, before, by), store.now());
    store.change(vec![Change::PutPool { pool }, Change::Audit { at, entry }])?;
    Ok(())
}

fn set(store: &mut dyn Store, pool: Pool, seen: &Pool, by: String) -> Result<Option<()>> {
    let faults = pool.faults();
    if !faults.is_empty() {
        return Err(EngineError::Invalid(faults));
    }
    let (entry, at) = (audited(&pool, Some(seen), by), store.now());
    let told = (pool != *seen).then_some(Change::Audit { at, entry });
    let set = Change::SetPool { pool, seen: seen.clone() };
    let found = store.change([Some(set), told].into_iter().flatten().collect())?;
    Ok((!found.starts_with(&[0])).then_some(()))
}

fn audited(pool: &Pool, before: Option<&Pool>, by: String) -> AuditEntry {
    AuditEntry {
        who: by,
        verb: "set pool".into(),
        target: format!("pool {}", pool.name),
        why: None,
        before: before.map(Pool::to_string),
        after: Some(pool.to_string()),
    }
}

fn remove(store: &mut dyn Store, name: Name, asked: Asked) -> Result<Removal> {
    let known = pools::all(store.reader())?;
    let Some(before) = known.iter().find(|known| known.pool.name == name) else {
        return Ok(Removal::Unknown);
    };
    let target = format!("pool {name}");
    let before = Some(before.pool.to_string());
    let Asked { who, why } = asked;
    let entry = AuditEntry { who, verb: "remove pool".into(), target, why, before, after: None };
    let at = store.now();
    let found = store.change(vec![Change::RemovePool { name }, Change::Audit { at, entry }])?;
    if found.starts_with(&[0]) {
        return Ok(Removal::InUse);
    }
    Ok(Removal::Removed)
}
