//! Carries out one batch in one transaction and two flights: begin, verify and write everything at once; then commit, or not. Only a few new
//! steps go in one (`added.rs`).
//!
//! Why    a round trip costs more than a hundred rows. Nothing is durable before the second flight, and it is sent only when
//!        the leases are still ours and every row was still the one the turn saw. Each commit leaves its stamp and takes the one before
//!        away, so that after a cut connection the next one can tell which way it went. One that puts something on record takes a third
//!        flight in between, for the audit is a chain, and its end is not known before it is held. It locks the rows of its groups and does not
//!        write them: a row that every commit writes is slow where its old versions cannot be cleaned up.

use super::added::{Added, Adder, is_lost};
use super::address::Address;
use super::link::{HOLD_AUDIT, Patience, Prepared, within};
use super::many::Many;
use super::mark::{Mark, SEEN, Seen, stamp};
use super::parts::{Parts, add_up};
use super::writer::Commit;
use crate::audit::{HEAD, Head, no_head};
use crate::settings::read_breaker;
use crate::sql::{Cells, Row};
use crate::statements::{RENEW_GROUPS, RENEW_NODE};
use crate::writes::{Write, compose};
use crate::{Batch, Result, StoreError};
use futures_util::future::join_all;
use std::collections::HashMap;
use std::time::Duration;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

/// A transaction that lost against another by order alone is tried again.
const TRIES: usize = 5;

/// Between two questions to a server that does not answer; doubled each time.
const ASK_AGAIN: Duration = Duration::from_millis(50);
const ASK_AGAIN_MAX: Duration = Duration::from_secs(1);

/// Whoever takes a group over, or switches its breaker, waits until this has ended.
const VERIFY: &str = "with before as (delete from commit_stamps where stamp = $3), mine as (insert into commit_stamps values ($2))
    select dispatch_group, epoch, breaker, (select value from settings where name = 'breaker')
      from dispatch_groups where owner_id = $1 for share of dispatch_groups";

/// A node without a group is fenced by being on record.
const VERIFY_NODE: &str = "with before as (delete from commit_stamps where stamp = $3), mine as (insert into commit_stamps values ($2))
    select id from nodes where id = $1 and ended_at is null for share of nodes";

/// For `renew_node.sql` and `renew_groups.sql`, in one statement: an idle node does little else.
const RENEW: &str = "with lives as (update nodes set seen_at = $1 where id = $2)
    update dispatch_groups set lease_ends_at = $3 where owner_id = $2";

/// Rows of the claim log that have gone before it is swept.
const SWEEP_AFTER: usize = 2_000;

/// If nobody else does; its pages stay, for they are written again at once.
const SWEEP: &str = "vacuum (skip_locked, truncate false) claims";

/// Who does not own it would only be told so, in the log of the server.
const MAY_SWEEP: &str = "select pg_has_role(relowner, 'usage') from pg_class where oid = 'claims'::regclass";

pub struct Committer {
    address: Address,
    patience: Patience,
    prepared: Option<Prepared>,
    many: HashMap<&'static str, Many>,
    adder: Option<Adder>,
    commits: u64,
    /// The last one that is known to be stored.
    last: Vec<u8>,
    parts: Parts,
    mark: Mark,
    /// Rows of the claim log that have gone since it was swept.
    gone: usize,
}

/// Which way a commit went.
enum Went {
    Stored,
    NotStored,
}

enum Failed {
    Again,
    Unknown,
    For(StoreError),
}

impl From<StoreError> for Failed {
    fn from(problem: StoreError) -> Failed {
        Failed::For(problem)
    }
}

impl From<tokio_postgres::Error> for Failed {
    fn from(error: tokio_postgres::Error) -> Failed {
        match error.code() {
            Some(code)
                if *code == SqlState::T_R_SERIALIZATION_FAILURE
                    || *code == SqlState::T_R_DEADLOCK_DETECTED =>
            {
                Failed::Again
            }
            _ => Failed::For(error.into()),
        }
    }
}

impl Committer {
    pub fn new(address: Address, patience: Patience, mark: Mark) -> Committer {
        let (last, parts) = (Vec::new(), Parts::default());
        let (prepared, many, adder) = (None, HashMap::new(), None);
        Committer { address, patience, prepared, many, adder, commits: 0, last, parts, mark, gone: 0 }
    }

    async fn connected(&mut self) -> Result<()> {
        if self.prepared.as_ref().is_none_or(|p| p.client.is_closed()) {
            self.many.clear();
            self.adder = None;
            let prepared = self.address.connect().await?;
            self.judge(&prepared).await?;
            self.prepared = Some(prepared);
        }
        Ok(())
    }

    /// It may be another server than before.
    async fn judge(&self, prepared: &Prepared) -> Result<()> {
        let Some(node) = self.mark.node() else { return Ok(()) };
        let rows = prepared.client.query(SEEN, &[&node.bytes().as_slice()]).await?;
        let seen = |row: &tokio_postgres::Row| Seen {
            group: row.get(0),
            owner: row.get(1),
            epoch: row.get::<_, i64>(2).unsigned_abs(),
            stamp: row.get(3),
        };
        self.mark.judge(&rows.iter().map(seen).collect::<Vec<_>>())
    }

    /// The connection was cut while the commit was on its way.
    async fn find_out(&mut self, batch: &Batch, stamp: &[u8]) -> Result<()> {
        let asked = tokio::time::timeout(self.patience.find_out, self.ask_until_told(batch, stamp)).await;
        match asked {
            Ok(Went::Stored) => Ok(()),
            Ok(Went::NotStored) => {
                Err(StoreError::Down("the connection was cut, and the turn was not stored".into()))
            }
            Err(_) => {
                self.abandon();
                Err(StoreError::Unknown("the connection was cut, and the database cannot be asked".into()))
            }
        }
    }

    async fn ask_until_told(&mut self, batch: &Batch, stamp: &[u8]) -> Went {
        let mut pause = ASK_AGAIN;
        loop {
            // Whatever is left of the old connection is not to be trusted.
            self.abandon();
            match self.which_way(batch, stamp).await {
                Ok(went) => return went,
                Err(problem) => tracing::warn!(%problem, "which way a commit went is not known yet"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(ASK_AGAIN_MAX);
        }
    }

    /// Locking the rows that a commit had locked waits until it has ended.
    async fn which_way(&mut self, batch: &Batch, stamp: &[u8]) -> Result<Went> {
        self.connected().await?;
        let client = &self.prepared.as_ref().expect("it was just connected").client;
        let groups: Vec<&str> = batch.lease.groups.iter().map(|(group, _)| group.as_str()).collect();
        if groups.is_empty() {
            let node = batch.lease.node.bytes().as_slice();
            client.query("select 1 from nodes where id = $1 for update", &[&node]).await?;
        } else {
            let text =
                "select 1 from dispatch_groups where dispatch_group = any($1) order by ordinal for update";
            client.query(text, &[&groups]).await?;
        }
        // Only this node takes its stamps away, and it does so with the next commit.
        let stored = client.query_opt("select 1 from commit_stamps where stamp = $1", &[&stamp]).await?;
        Ok(if stored.is_some() { Went::Stored } else { Went::NotStored })
    }

    async fn attempt(&mut self, batch: &Batch, stamp: &[u8]) -> std::result::Result<(), Failed> {
        let limit = self.patience.flight;
        let mut writes = compose(batch);
        writes.retain(|write| ![RENEW_NODE, RENEW_GROUPS].contains(&write.sql));
        let parts = self.parts.place(&mut writes, batch.lease.node, batch.now);
        if let Some(added) = Added::of(batch, &writes).filter(|_| parts.is_empty()) {
            let adding = within(limit, self.add(batch, stamp, &added)).await;
            return adding.map_err(|failed| match failed {
                // It may have arrived.
                Failed::For(StoreError::Down(_)) => Failed::Unknown,
                other => other,
            });
        }
        if let Err(failed) = within(limit, self.write(batch, stamp, &writes, &parts)).await {
            self.roll_back().await;
            return Err(failed);
        }
        let client = &self.prepared.as_ref().expect("it has written").client;
        let committed = within(limit, async { Ok::<(), Failed>(client.batch_execute("commit").await?) });
        // An error here may come after the deed; only these are certain to have changed nothing.
        committed.await.map_err(|failed| match failed {
            Failed::Again | Failed::For(StoreError::Unfit(_)) => failed,
            _ => Failed::Unknown,
        })?;
        self.parts.added_up(&parts);
        Ok(())
    }

    /// One flight: the statement is its own transaction.
    async fn add(
        &mut self,
        batch: &Batch,
        stamp: &[u8],
        added: &Added<'_>,
    ) -> std::result::Result<(), Failed> {
        self.connected().await?;
        let client = &self.prepared.as_ref().expect("it was just connected").client;
        let adder = match &mut self.adder {
            Some(adder) => adder,
            none => none.insert(Adder::prepare(client).await?),
        };
        adder.add(client, batch, [stamp, &self.last], added).await.map_err(|error| match is_lost(&error) {
            true => StoreError::Lost { what: "the lease of a dispatch group".into() }.into(),
            false => error.into(),
        })
    }

    /// Without a word from the server the connection goes, and the transaction with it.
    async fn roll_back(&mut self) {
        let Some(Prepared { client, .. }) = &self.prepared else { return };
        let rolled_back = within(self.patience.flight.min(ASK_AGAIN_MAX), async {
            Ok::<(), StoreError>(client.batch_execute("rollback").await?)
        });
        if rolled_back.await.is_err() {
            self.abandon();
        }
    }

    /// The first flight: everything but the commit. It adds up these parts of the tallies.
    async fn write(
        &mut self,
        batch: &Batch,
        stamp: &[u8],
        writes: &[Write<'_>],
        parts: &Vec<i64>,
    ) -> std::result::Result<(), Failed> {
        self.connected().await?;
        for write in writes {
            self.prepare(write.sql).await?;
        }
        let prepared = self.prepared.as_ref().expect("it was just connected");
        let alone = batch.lease.groups.is_empty();
        let verify = prepared.prepare(if alone { VERIFY_NODE } else { VERIFY }).await?;
        let add_up = prepared.prepare(&add_up()).await?;
        let renew = prepared.prepare(RENEW).await?;
        let head = prepared.prepare(HEAD).await?;
        let client = &prepared.client;
        let running = writes.iter().map(|write| self.many[write.sql].put(client, &write.rows));
        let node = batch.lease.node.bytes().as_slice();
        let verify_params: [&(dyn ToSql + Sync); 3] = [&node, &stamp, &self.last.as_slice()];
        let adding = async { if parts.is_empty() { Ok(0) } else { client.execute(&add_up, &[parts]).await } };
        let renewing = async {
            let Some((until, _)) = batch.renew else { return Ok(0) };
            client.execute(&renew, &[&batch.now.0, &node, &until.0]).await
        };
        let holding = async {
            if batch.audit.is_empty() { Ok(None) } else { hold_audit(client, &head).await.map(Some) }
        };
        let (begun, verified, done, added, renewed, head) = tokio::join!(
            client.batch_execute("begin"),
            client.query(&verify, &verify_params),
            join_all(running),
            adding,
            renewing,
            holding
        );
        check(batch, begun, verified, writes, done)?;
        added?;
        renewed?;
        if let Some(head) = head? {
            self.put_on_record(batch, head.ok_or_else(no_head)?).await?;
        }
        Ok(())
    }

    /// Behind the end of the audit, which is held now.
    async fn put_on_record(&mut self, batch: &Batch, head: Head) -> std::result::Result<(), Failed> {
        let writes = head.write(batch.audit.iter().map(|entry| (batch.now, entry)));
        for write in &writes {
            self.prepare(write.sql).await?;
        }
        let client = &self.prepared.as_ref().expect("it has written").client;
        let done = join_all(writes.iter().map(|write| self.many[write.sql].put(client, &write.rows))).await;
        all_found(&writes, done)
    }

    async fn prepare(&mut self, text: &'static str) -> Result<()> {
        if !self.many.contains_key(text) {
            let client = &self.prepared.as_ref().expect("it is connected").client;
            self.many.insert(text, Many::prepare(client, text).await?);
        }
        Ok(())
    }
}

impl Commit for Committer {
    async fn commit(&mut self, batch: &Batch) -> Result<()> {
        let outcome = self.store(batch).await;
        if outcome.is_ok() {
            self.last = stamp(batch.lease.node, self.commits);
            self.mark.acknowledge(&batch.lease, self.commits);
            self.gone += batch.claims_done.len();
        }
        outcome
    }

    fn abandon(&mut self) {
        self.prepared = None;
    }

    /// Whoever looks at steps reads the claim log whole, and a row of it lives for a moment: the server itself sweeps once a minute, and
    /// until then what is gone would be read too.
    async fn tidy(&mut self) {
        let Some(Prepared { client, .. }) = self.prepared.as_ref().filter(|_| self.gone >= SWEEP_AFTER)
        else {
            return;
        };
        let swept = within(self.patience.flight, async {
            if client.query_one(MAY_SWEEP, &[]).await?.get(0) {
                client.batch_execute(SWEEP).await?;
            }
            Ok::<(), StoreError>(())
        });
        let swept = swept.await;
        self.gone = 0;
        if let Err(problem) = swept {
            tracing::warn!(%problem, "the claim log was not swept");
            self.abandon();
        }
    }
}

impl Committer {
    async fn store(&mut self, batch: &Batch) -> Result<()> {
        self.commits += 1;
        let stamp = stamp(batch.lease.node, self.commits);
        let mut last = Failed::Again;
        for _ in 0..TRIES {
            last = match self.attempt(batch, &stamp).await {
                Ok(()) => return Ok(()),
                Err(Failed::Again) => Failed::Again,
                Err(other) => {
                    last = other;
                    break;
                }
            };
        }
        match last {
            Failed::For(problem) => {
                if let StoreError::Unfit(_) = problem {
                    // A prepared statement may be what is refused, after a migration; the next commit prepares its own.
                    self.abandon();
                }
                Err(problem)
            }
            Failed::Again => Err(StoreError::Busy("other transactions went first, every time".into())),
            Failed::Unknown => self.find_out(batch, &stamp).await,
        }
    }
}

/// Where the audit ends, once nobody else appends to it.
async fn hold_audit(client: &Client, head: &Statement) -> Answer<Option<Head>> {
    let (held, head) = tokio::join!(client.batch_execute(HOLD_AUDIT), client.query_opt(head, &[]));
    held?;
    Ok(head?.map(|row| Head { id: row.get(0), hash: row.get(1) }))
}

type Answer<T> = std::result::Result<T, tokio_postgres::Error>;

fn check(
    batch: &Batch,
    begun: Answer<()>,
    verified: Answer<Vec<tokio_postgres::Row>>,
    writes: &[Write],
    done: Vec<Answer<u64>>,
) -> std::result::Result<(), Failed> {
    begun?;
    verify(batch, &verified?)?;
    all_found(writes, done)
}

fn all_found(writes: &[Write], done: Vec<Answer<u64>>) -> std::result::Result<(), Failed> {
    for (write, changed) in writes.iter().zip(done) {
        if changed? != write.rows.len() as u64 && write.fenced {
            return Err(StoreError::Lost { what: "a row that the turn had seen".into() }.into());
        }
    }
    Ok(())
}

/// The leases are still ours, and the breaker still lets work out.
fn verify(batch: &Batch, rows: &[tokio_postgres::Row]) -> Result<()> {
    if batch.lease.groups.is_empty() {
        let lost = || StoreError::Lost { what: "this node's place among the others".into() };
        return rows.first().map(|_| ()).ok_or_else(lost);
    }
    let mut owned = 0;
    for row in rows {
        let row: &Row = row as &dyn Cells;
        let (group, epoch): (String, u64) = (row.get(0)?, row.get(1)?);
        owned += usize::from(batch.lease.groups.iter().any(|(g, e)| g.as_str() == group && *e == epoch));
        let dispatching = batch.dispatching.iter().any(|g| g.as_str() == group);
        if dispatching && read_breaker(row.text(2)?)?.is_off(batch.now) {
            return Err(StoreError::Lost { what: format!("the breaker of dispatch group `{group}`") });
        }
        let global: Option<String> = row.get(3)?;
        let global = global.map(|text| read_breaker(&text)).transpose()?.unwrap_or_default();
        if !batch.dispatching.is_empty() && global.is_off(batch.now) {
            return Err(StoreError::Lost { what: "the breaker".into() });
        }
    }
    if owned < batch.lease.groups.len() {
        return Err(StoreError::Lost { what: "the lease of a dispatch group".into() });
    }
    Ok(())
}
