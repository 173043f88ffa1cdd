//! Doing something once, however often it is asked for: the door to the records, for any number of callers.
//!
//! Why    whoever inserts the record first has begun; everybody else waits, gets the same answer, or is told why not. Orders go
//!        beside the turns, so neither waits for the other.

mod ask;
mod error;
mod once;

pub use ask::Ask;
pub use error::{ExecutionError, OnceError};
pub use once::Once;

use crate::Ids;
use model::{ExecutionName, Fault, OwnerToken, Standing, Timestamp, limits, name_faults};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::executions::{Beginning, ExecutionFilter, ExecutionLine, ExecutionShown, Order, Told};
use store::{Asked, Ledger, StoreError};
use tokio::sync::{Notify, oneshot};

/// Those who wait for a key listen to the bell it falls on; a bell that rings for another key costs them one more look.
const BELLS: usize = 256;

pub type Result<T> = std::result::Result<T, ExecutionError>;

#[derive(Clone)]
pub struct Executions {
    ledger: Arc<dyn Ledger>,
    ids: Arc<Mutex<Ids>>,
    bells: Arc<Vec<Notify>>,
}

/// What only its owner may end.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    pub name: ExecutionName,
    pub owner: OwnerToken,
}

/// A beginning: the caller has the right, and the duty, to do it now.
#[derive(Clone, Debug, PartialEq)]
pub struct Begun {
    pub held: Held,
    /// The n-th beginning of this key.
    pub attempt: u32,
    pub lease: Duration,
    pub lease_ends_at: Timestamp,
}

impl Begun {
    /// The same in every attempt: pass it on to whatever does the effect, so that it can tell a repetition.
    pub fn stable_key(&self) -> String {
        self.held.name.to_string()
    }
}

/// What becomes of somebody who wants to begin and is not refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Begin {
    Run(Begun),
    /// It is done; this was its answer, as JSON.
    Replay {
        answer: String,
    },
}

/// What one page of forgetting took away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgotten {
    pub executions: u64,
    /// Something may be left; the same call goes on.
    pub more: bool,
}

impl Executions {
    pub(crate) fn new(ledger: Arc<dyn Ledger>) -> Executions {
        let bells = (0..BELLS).map(|_| Notify::new()).collect();
        Executions { ledger, ids: Arc::default(), bells: Arc::new(bells) }
    }

    async fn order(&self, order: Order) -> Result<Told> {
        let (caller, answer) = oneshot::channel();
        let tell = move |told| {
            // A caller that went away has nobody to tell.
            let _ = caller.send(told);
        };
        self.ledger.order(order, Box::new(tell));
        let stopped = || Err(StoreError::Down("the writer has stopped".into()));
        answer.await.unwrap_or_else(|_| stopped()).map_err(ExecutionError::Unavailable)
    }

    /// A name for a beginning that nobody else has.
    pub fn new_owner(&self) -> OwnerToken {
        let ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        OwnerToken::from_bytes(ids.row(self.ledger.now()))
    }

    fn bell(&self, name: &ExecutionName) -> &Notify {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        &self.bells[(hasher.finish() % BELLS as u64) as usize]
    }

    /// Begin, or get the answer, or be told at once why not.
    pub async fn begin(&self, ask: &Ask) -> Result<Begin> {
        let owner = ask.owner.unwrap_or_else(|| self.new_owner());
        let asked = ask.by(owner);
        let faults = asked.faults();
        if !faults.is_empty() {
            return Err(ExecutionError::Invalid(faults));
        }
        let (name, lease) = (asked.name.clone(), asked.lease);
        match self.order(Order::Begin(asked)).await? {
            Told::Beginning(Beginning::Begun { attempt, lease_ends_at }) => {
                Ok(Begin::Run(Begun { held: Held { name, owner }, attempt, lease, lease_ends_at }))
            }
            Told::Beginning(Beginning::Replay { answer }) => Ok(Begin::Replay { answer }),
            Told::Beginning(Beginning::Wait { until }) => {
                Err(ExecutionError::InProgress { name, retry_after: until.since(self.ledger.now()) })
            }
            Told::Beginning(Beginning::Conflict) => Err(ExecutionError::Conflict { name }),
            Told::Beginning(Beginning::GivenUp { failures, error }) => {
                Err(ExecutionError::GivenUp { name, failures, error })
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Record the answer, a JSON text. To do so again with the same answer is no mistake.
    pub async fn complete(&self, held: &Held, answer: String) -> Result<()> {
        fits("answer", &answer)?;
        self.end(held, Standing::Done { answer }).await
    }

    /// Record that it failed; one of its attempts is used up.
    pub async fn fail(&self, held: &Held, error: String) -> Result<()> {
        fits("error", &error)?;
        self.end(held, Standing::Failed { error }).await
    }

    async fn end(&self, held: &Held, how: Standing) -> Result<()> {
        let Held { name, owner } = held.clone();
        sound(&name)?;
        let told = self.order(Order::End { name, owner, how }).await?;
        self.bell(&held.name).notify_waiters();
        match told {
            Told::Ended => Ok(()),
            Told::Refused(why) => Err(ExecutionError::Refused { name: held.name.clone(), why }),
            other => Err(unexpected(&other)),
        }
    }

    /// Keep the right for so long from now on; the new end of the lease.
    pub async fn renew(&self, held: &Held, lease: Duration) -> Result<Timestamp> {
        let Held { name, owner } = held.clone();
        sound(&name)?;
        if !(limits::EXECUTION_LEASE_MIN..=limits::EXECUTION_LEASE_MAX).contains(&lease) {
            let fix = format!("use 1 s to {} s", limits::EXECUTION_LEASE_MAX.as_secs());
            let (field, problem) = ("lease".into(), "is out of range".into());
            return Err(ExecutionError::Invalid(vec![Fault { field, problem, fix }]));
        }
        match self.order(Order::Renew { name, owner, lease }).await? {
            Told::Renewed { lease_ends_at } => Ok(lease_ends_at),
            Told::Refused(why) => Err(ExecutionError::Refused { name: held.name.clone(), why }),
            other => Err(unexpected(&other)),
        }
    }

    /// Forget one page: what has been kept as long as it was to be, or what was made before an instant. Who asked is put on record.
    pub async fn forget(&self, made_before: Option<Timestamp>, asked: Asked) -> Result<Forgotten> {
        forgotten(self.order(Order::Forget { made_before, asked: Some(asked) }).await?)
    }

    /// How many would be forgotten, all pages together.
    pub async fn count_forgotten(&self, made_before: Option<Timestamp>) -> Result<Forgotten> {
        forgotten(self.order(Order::CountForgotten { made_before }).await?)
    }

    pub async fn show(&self, name: &ExecutionName) -> Result<Option<ExecutionShown>> {
        match self.order(Order::Show(name.clone())).await? {
            Told::Shown(shown) => Ok(shown.map(|shown| *shown)),
            other => Err(unexpected(&other)),
        }
    }

    /// Newest first.
    pub async fn list(&self, filter: ExecutionFilter) -> Result<Vec<ExecutionLine>> {
        match self.order(Order::List(filter)).await? {
            Told::Listed(lines) => Ok(lines),
            other => Err(unexpected(&other)),
        }
    }
}

fn forgotten(told: Told) -> Result<Forgotten> {
    match told {
        Told::Forgotten { executions, more } => Ok(Forgotten { executions, more }),
        other => Err(unexpected(&other)),
    }
}

/// The ledger answers each order in its own kind.
fn unexpected(told: &Told) -> ExecutionError {
    ExecutionError::Unavailable(StoreError::Down(format!("an order was answered with {told:?}")))
}

fn sound(name: &ExecutionName) -> Result<()> {
    let faults = name_faults(name);
    if faults.is_empty() { Ok(()) } else { Err(ExecutionError::Invalid(faults)) }
}

fn fits(field: &str, text: &str) -> Result<()> {
    if text.contains('\0') {
        return Err(ExecutionError::Invalid(vec![Fault::nul(field)]));
    }
    if text.len() <= limits::PAYLOAD_BYTES_MAX {
        return Ok(());
    }
    let problem = format!("is {} bytes long", text.len());
    let fix = format!(
        "use at most {} bytes; keep large data elsewhere and record its address",
        limits::PAYLOAD_BYTES_MAX
    );
    Err(ExecutionError::Invalid(vec![Fault { field: field.into(), problem, fix }]))
}

/// Take away what has been kept long enough, page after page, while nobody waits for it.
pub(crate) fn forget_pages(ledger: Arc<dyn Ledger>) {
    let next = ledger.clone();
    let go_on = move |told| match told {
        Ok(Told::Forgotten { more: true, .. }) => forget_pages(next),
        Ok(_) => {}
        Err(problem) => tracing::warn!(%problem, "old executions were not forgotten: {problem}"),
    };
    ledger.order(Order::Forget { made_before: None, asked: None }, Box::new(go_on));
}
