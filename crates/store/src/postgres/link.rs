//! One connection to PostgreSQL, used from threads that know nothing of async.
//!
//! Why    the engine decides on a thread of its own and asks its store plainly; the driver is async and pipelines. All
//!        connections of a process live on one small runtime, and a caller waits for its answer on a channel.

use super::address::Address;
use super::stream;
use crate::sql::{Access, Cell, Cells, Param, Row, Sql};
use crate::{Result, StoreError};
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Statement};

/// How long an answer is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// One flight of statements; the server gives up a little earlier by itself.
    pub flight: Duration,
    /// Until it is known which way a commit went whose answer was lost.
    pub find_out: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { flight: Duration::from_secs(35), find_out: Duration::from_secs(20) }
    }
}

/// Any number that is not likely to be somebody else's. A row of its own to lock would be one that every such commit writes.
pub const HOLD_AUDIT: &str = "select pg_advisory_xact_lock(6013268640393114733)";

/// What is not answered in time is given up, and its connection with it.
pub async fn within<T, E: From<StoreError>>(
    limit: Duration,
    work: impl Future<Output = std::result::Result<T, E>>,
) -> std::result::Result<T, E> {
    let late = || Err(StoreError::Down(format!("no answer within {limit:?}")).into());
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| late())
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("stepfast-postgres")
            .enable_all()
            .build()
            .expect("a runtime can be started")
    })
}

/// Start something on the connections' own runtime.
pub fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    runtime().spawn(work);
}

/// Wait for something async on a thread that may itself belong to another runtime.
pub fn wait<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let (answer, got) = mpsc::channel();
    spawn(async move {
        // A caller that went away has nobody to tell.
        let _ = answer.send(work.await);
    });
    got.recv().unwrap_or_else(|_| Err(StoreError::Down("the connection's runtime has stopped".into())))
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        let told = match error.as_db_error() {
            Some(told) => format!("{} ({})", told.message(), told.code().code()),
            None => std::error::Error::source(&error).map_or(error.to_string(), |s| format!("{error}: {s}")),
        };
        if error.code() == Some(&SqlState::UNIQUE_VIOLATION) {
            return StoreError::Lost { what: told };
        }
        if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
            return StoreError::Busy(told);
        }
        if is_unfit(&error) { StoreError::Unfit(told) } else { StoreError::Down(told) }
    }
}

/// Cardinality, data, integrity, what is not supported or not allowed, and limits: the server is well and will say the same again.
const UNFIT_CLASSES: [&str; 6] = ["21", "22", "23", "0A", "42", "54"];

fn is_unfit(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(code) => UNFIT_CLASSES.iter().any(|class| code.code().starts_with(class)),
        // A value that does not fit its column is found out before it is sent.
        None => std::error::Error::source(error).is_some_and(|s| s.is::<std::num::TryFromIntError>()),
    }
}

/// A client with the statements it has prepared.
pub struct Prepared {
    pub client: Client,
    statements: Mutex<HashMap<String, Statement>>,
}

impl Prepared {
    pub fn new(client: Client) -> Prepared {
        Prepared { client, statements: Mutex::default() }
    }
    pub async fn prepare(&self, sql: &str) -> Result<Statement> {
        let known = self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let made = self.client.prepare(sql).await?;
        self.statements.lock().unwrap_or_else(PoisonError::into_inner).insert(sql.into(), made.clone());
        Ok(made)
    }
}

/// A connection for plain use, made anew after it was lost.
pub struct Link {
    address: Address,
    current: Mutex<Current>,
}

#[derive(Default)]
struct Current {
    connection: Option<Arc<Prepared>>,
    /// A transaction lives and dies with its connection: what is left of it must not run on another.
    in_transaction: bool,
}

impl Link {
    pub fn open(url: &str) -> Result<Link> {
        let link = Link { address: Address::parse(url)?, current: Mutex::default() };
        link.prepared()?;
        Ok(link)
    }
    pub fn prepared(&self) -> Result<Arc<Prepared>> {
        let mut current = self.current();
        if let Some(known) = &current.connection
            && (current.in_transaction || !known.client.is_closed())
        {
            return Ok(known.clone());
        }
        let address = self.address.clone();
        let made = Arc::new(wait(async move { address.connect().await })?);
        current.connection = Some(made.clone());
        Ok(made)
    }
    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// The last word of a transaction, whatever becomes of it.
    fn end(&self, word: &'static str) -> Result<()> {
        let ended = self.ask(|prepared| async move { Ok(prepared.client.batch_execute(word).await?) });
        let mut current = self.current();
        current.in_transaction = false;
        if ended.is_err() {
            // What is left of it ends with its connection.
            current.connection = None;
        }
        ended
    }
    /// Wait for an answer as long as it may take; a connection that does not answer is not asked again.
    fn ask<T, F>(&self, work: impl FnOnce(Arc<Prepared>) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let prepared = self.prepared()?;
        let asked = prepared.clone();
        let answer = wait(within(Patience::default().flight, work(prepared)));
        if let Err(StoreError::Down(_)) = answer {
            self.leave(&asked);
        }
        answer
    }
    /// The next statement outside of a transaction gets a connection of its own.
    fn leave(&self, failed: &Arc<Prepared>) {
        let mut current = self.current();
        if !current.in_transaction && current.connection.as_ref().is_some_and(|now| Arc::ptr_eq(now, failed))
        {
            current.connection = None;
        }
    }
    /// Statements without parameters or answers.
    pub fn script(&self, sql: &str) -> Result<()> {
        let (prepared, sql) = (self.prepared()?, sql.to_string());
        wait(async move { Ok(prepared.client.batch_execute(&sql).await?) })
    }
}

fn owned(params: &[Param]) -> Vec<Param<'static>> {
    params.iter().map(Param::to_static).collect()
}

fn refs<'a>(params: &'a [Param<'static>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|p| p as &(dyn ToSql + Sync)).collect()
}

impl Sql for Link {
    fn each(&self, sql: &str, params: &[Param], look: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        let prepared = self.prepared()?;
        let seen = stream::each(prepared.clone(), sql.to_string(), owned(params), look);
        if let Err(StoreError::Down(_)) = seen {
            self.leave(&prepared);
        }
        seen
    }
    fn execute(&self, sql: &str, params: &[Param]) -> Result<u64> {
        let (sql, params) = (sql.to_string(), owned(params));
        self.ask(|prepared| async move {
            let statement = prepared.prepare(&sql).await?;
            Ok(prepared.client.execute(&statement, &refs(&params)).await?)
        })
    }
    fn begin(&self, access: Access) -> Result<()> {
        let word = match access {
            Access::Read => "begin isolation level repeatable read read only",
            Access::Write => "begin",
            // Every turn begins by locking rows of this table.
            Access::Alone => "begin; lock table dispatch_groups in exclusive mode",
        };
        self.ask(|prepared| async move { Ok(prepared.client.batch_execute(word).await?) })?;
        self.current().in_transaction = true;
        Ok(())
    }
    fn commit(&self) -> Result<()> {
        self.end("commit")
    }
    fn rollback(&self) -> Result<()> {
        self.end("rollback")
    }
    fn hold_audit(&self) -> Result<()> {
        self.execute(HOLD_AUDIT, &[]).map(|_| ())
    }
    fn is_among(&self, column: &str, parameter: usize) -> String {
        let p = parameter;
        format!(
            "{column} in (select substr(${p}::bytea, at, 16)
               from generate_series(1, length(${p}::bytea), 16) as at)"
        )
    }
}

impl Cells for tokio_postgres::Row {
    fn cell(&self, i: usize) -> Result<Cell<'_>> {
        let cell = match *self.columns()[i].type_() {
            Type::BOOL => self.try_get::<_, Option<bool>>(i)?.map(|b| Cell::Int(b.into())),
            Type::INT2 => self.try_get::<_, Option<i16>>(i)?.map(|n| Cell::Int(n.into())),
            Type::INT4 => self.try_get::<_, Option<i32>>(i)?.map(|n| Cell::Int(n.into())),
            Type::INT8 => self.try_get::<_, Option<i64>>(i)?.map(Cell::Int),
            Type::FLOAT8 => self.try_get::<_, Option<f64>>(i)?.map(Cell::Real),
            Type::BYTEA => self.try_get::<_, Option<&[u8]>>(i)?.map(Cell::Blob),
            _ => self.try_get::<_, Option<&str>>(i)?.map(Cell::Text),
        };
        Ok(cell.unwrap_or(Cell::Null))
    }
}

impl ToSql for Param<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut bytes::BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Param::Null => Ok(IsNull::Yes),
            Param::Int(n) => match *ty {
                Type::BOOL => (*n != 0).to_sql(ty, out),
                Type::INT2 => i16::try_from(*n)?.to_sql(ty, out),
                Type::INT4 => i32::try_from(*n)?.to_sql(ty, out),
                _ => n.to_sql(&Type::INT8, out),
            },
            Param::Real(x) => x.to_sql(&Type::FLOAT8, out),
            // A text of PostgreSQL cannot hold the character zero. What is to be stored was refused for it long before;
            // what is looked for is not there.
            Param::Text(text) if text.contains('\0') => {
                text.replace('\0', "\u{fffd}").to_sql(&Type::TEXT, out)
            }
            Param::Text(text) => text.as_ref().to_sql(&Type::TEXT, out),
            Param::Blob(bytes) => bytes.as_ref().to_sql(&Type::BYTEA, out),
        }
    }
    fn accepts(_: &Type) -> bool {
        true
    }
    to_sql_checked!();
}
