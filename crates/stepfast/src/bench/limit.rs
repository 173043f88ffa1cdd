//! What this machine can do at most: the same operations, batched, without an engine.

use super::bare::{Bare, tallies};
use super::figures::{Figures, rate};
use super::rig::Rig;
use anyhow::Result;
use engine::Stopwatch;
use model::{DispatchGroup, State, Step, StepId};
use rusqlite::{Connection, params};
use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc;
use store::{Batch, ClaimLog, Database, RowKnown, StepWrite};

/// Steps of one commit, as many as a turn takes at its best.
const BATCH: usize = 500;
const COMMITS: usize = 300;
const CLIENTS: usize = 8;

pub fn run(rig: &Rig, n: usize) -> Result<Figures> {
    let (insert, drain) = own_table(&rig.database("limit")?, n)?;
    let own = Figures::new("limit", n, drain).with("insert_per_s", insert.round());
    if rig.store() != "sqlite" {
        // The lean reference is SQLite's.
        return Ok(own);
    }
    let (lean_insert, lean) = lean(&rig.path("lean"), n)?;
    let (commits, group) = commits(&rig.path("commits"))?;
    Ok(own
        .with("lean_steps_per_s", lean.round())
        .with("lean_insert_per_s", lean_insert.round())
        .with("group_commit_8_per_s", group.round())
        .with("commit_p50_us", commits))
}

/// Our own table and indexes, through the store's own statements: insert, then claim by log and complete in one write.
fn own_table(database: &Database, n: usize) -> Result<(f64, f64)> {
    let mut bare = Bare::open(database)?;
    let watch = Stopwatch::start();
    for _ in 0..n / BATCH {
        let steps = bare.rows(BATCH)?;
        let mut batch = bare.batch();
        batch.tallies = tallies(&steps, 1);
        batch.steps = steps
            .into_iter()
            .map(|step| StepWrite {
                step,
                expected: None,
                detail: Default::default(),
                row: RowKnown::Nothing,
            })
            .collect();
        bare.commit(batch)?;
    }
    let insert = rate(n, watch.elapsed());
    let watch = Stopwatch::start();
    drain(&mut bare, n)?;
    Ok((insert, rate(n, watch.elapsed())))
}

fn drain(bare: &mut Bare, n: usize) -> Result<()> {
    let session = bare.ids.session(bare.now());
    let groups = bare.groups.clone();
    let mut after: HashMap<&DispatchGroup, StepId> = HashMap::new();
    let (mut held, mut done, mut claim) = (Vec::<Step>::new(), 0, 0);
    while done < n {
        let now = bare.now();
        let mut page = Vec::with_capacity(BATCH);
        for group in &groups {
            let sort = store::Sort {
                dispatch_group: group.clone(),
                queue: "default".into(),
                priority: model::Priority::Normal,
                pool: None,
            };
            let some = bare.store.ready(&sort, after.get(group).copied(), BATCH / groups.len())?;
            if let Some(last) = some.last() {
                after.insert(group, last.id);
            }
            page.extend(some);
        }
        let mut batch = Batch::new(bare.lease.clone(), now);
        batch.tallies = tallies(&held, -1);
        for step in &mut held {
            step.state = State::Completed;
            step.attempt = 1;
            step.dispatched_at = Some(now);
            step.started_at = Some(now);
            step.completed_at = Some(now);
        }
        batch.tallies.extend(tallies(&held, 1));
        done += held.len();
        batch.steps = held
            .drain(..)
            .map(|step| StepWrite {
                expected: Some(step.version),
                step,
                detail: Default::default(),
                row: RowKnown::Untouched,
            })
            .collect();
        if claim > 0 {
            batch.claims_done.push(claim);
        }
        if !page.is_empty() {
            claim += 1;
            let pairs = page.iter().map(|s| (s.id, 1)).collect();
            batch.claims.push(ClaimLog {
                id: claim,
                session,
                dispatch_group: page[0].dispatch_group.clone(),
                tick: 0,
                at: now,
                parked: false,
                host: None,
                pairs,
            });
        }
        held = page;
        bare.commit(batch)?;
    }
    Ok(())
}

fn open_lean(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch("pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4000; pragma cache_size = -16000;")?;
    connection.execute_batch(include_str!("../../../../bench/lean.sql"))?;
    Ok(connection)
}

/// The frozen lean reference: insert, claim by update, complete by update.
fn lean(path: &Path, n: usize) -> Result<(f64, f64)> {
    let connection = open_lean(path)?;
    let payload = "{\"order\":12345,\"customer\":\"c-77\"}";
    let watch = Stopwatch::start();
    for _ in 0..n / BATCH {
        connection.execute_batch("begin immediate")?;
        let mut insert = connection.prepare_cached(
            "insert into lean_steps (queue, state, priority, run_at, attempt, payload) values (1, 0, 0, 0, 0, ?1)",
        )?;
        for _ in 0..BATCH {
            insert.execute([payload])?;
        }
        connection.execute_batch("commit")?;
    }
    let inserted = rate(n, watch.elapsed());
    let watch = Stopwatch::start();
    let mut done = 0;
    while done < n {
        let mut find = connection.prepare_cached(
            "select id, payload from lean_steps where queue = 1 and state = 0 order by priority, id limit ?1",
        )?;
        let page: Vec<(i64, String)> = find
            .query_map([BATCH as i64], |r| Ok((r.get(0)?, r.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        for (from, to) in [(0, 1), (1, 2)] {
            connection.execute_batch("begin immediate")?;
            let mut update = connection.prepare_cached(
                "update lean_steps set state = ?3, attempt = attempt + (?3 = 1) where id = ?1 and state = ?2",
            )?;
            for (id, _) in &page {
                update.execute(params![id, from, to])?;
            }
            connection.execute_batch("commit")?;
        }
        done += page.len();
    }
    Ok((inserted, rate(n, watch.elapsed())))
}

/// Commits of one row: alone, and shared by 8 clients through one writer.
pub fn commits(path: &Path) -> Result<(f64, f64)> {
    let connection = open_lean(path)?;
    let sql = "insert into lean_steps (queue, state, priority, run_at, attempt, payload) values (1, 0, 0, 0, 0, '{}')";
    let mut samples = Vec::with_capacity(COMMITS);
    for _ in 0..COMMITS {
        let watch = Stopwatch::start();
        connection.execute(sql, [])?;
        samples.push(watch.elapsed());
    }
    let alone = Figures::default().with_samples(samples).p50_us.unwrap_or(0.0);
    let (orders, inbox) = mpsc::sync_channel::<mpsc::Sender<()>>(CLIENTS);
    let each = 1_500;
    let watch = Stopwatch::start();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let orders = orders.clone();
            std::thread::spawn(move || {
                let (answer, got) = mpsc::channel();
                for _ in 0..each {
                    if orders.send(answer.clone()).is_err() || got.recv().is_err() {
                        return;
                    }
                }
            })
        })
        .collect();
    drop(orders);
    while let Ok(first) = inbox.recv() {
        let mut waiting = vec![first];
        waiting.extend(inbox.try_iter());
        connection.execute_batch("begin immediate")?;
        for _ in &waiting {
            connection.prepare_cached(sql)?.execute([])?;
        }
        connection.execute_batch("commit")?;
        waiting.iter().for_each(|client| {
            let _ = client.send(());
        });
    }
    for client in clients {
        client.join().map_err(|_| anyhow::anyhow!("a client failed"))?;
    }
    Ok((alone, rate(CLIENTS * each, watch.elapsed())))
}
