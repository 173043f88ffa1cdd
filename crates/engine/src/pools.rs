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
    /// It is not what was seen.
    Changed,
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

    /// Remove a pool that nobody uses or waits for; where one was seen, if it is this one.
    pub async fn remove_pool(&self, name: Name, seen: Option<Pool>, asked: Asked) -> Result<Removal> {
        self.with_store(move |store| remove(store, &name, seen, asked)).await?
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

fn remove(store: &mut dyn Store, name: &Name, seen: Option<Pool>, asked: Asked) -> Result<Removal> {
    let Some(is) = find(store, name)? else { return Ok(Removal::Unknown) };
    if seen.is_some_and(|seen| seen != is) {
        return Ok(Removal::Changed);
    }
    let (target, before) = (format!("pool {name}"), Some(is.to_string()));
    let Asked { who, why } = asked;
    let entry = AuditEntry { who, verb: "remove pool".into(), target, why, before, after: None };
    let at = store.now();
    let gone = Change::RemovePool { seen: is.clone() };
    if !store.change(vec![gone, Change::Audit { at, entry }])?.starts_with(&[0]) {
        return Ok(Removal::Removed);
    }
    Ok(match find(store, name)? {
        None => Removal::Unknown,
        Some(now) if now == is => Removal::InUse,
        Some(_) => Removal::Changed,
    })
}

fn find(store: &mut dyn Store, name: &Name) -> Result<Option<Pool>> {
    let known = pools::all(store.reader())?;
    Ok(known.into_iter().map(|known| known.pool).find(|pool| pool.name == *name))
}
