//! Orders about executions on a connection of their own, many in one commit.
//!
//! Why    any node may carry them out, for the rows themselves say who went first. A caller's own transaction may hold a record
//!        for long (`begin_in`), and nobody else is to wait for that: a lock is waited for a moment, and then the record counts
//!        as in progress. A commit whose answer was lost is simply made again, for every order finds what it did before.

use super::link::Link;
use crate::executions::{Beginning, Call, Done, Ledger, Order, Told, in_one_commit};
use crate::{Clock, Result, StoreError};
use model::{ExecutionName, Timestamp, limits};
use std::collections::HashSet;
use std::sync::{Arc, mpsc};
use std::time::Duration;

const LOCK_WAIT: &str = "set local lock_timeout = '50ms'";
/// Until whoever holds a record in an open transaction is asked for again.
const OPEN_WAIT: Duration = Duration::from_millis(200);
/// How often a commit is tried whose outcome is not known, and how long is waited before each; doubled each time.
const TRIES: u32 = 4;
const TRY_AGAIN: Duration = Duration::from_millis(50);

pub struct PostgresLedger {
    clock: Arc<dyn Clock>,
    calls: mpsc::Sender<Call>,
}

impl PostgresLedger {
    /// The thread ends with the last way to it; it connects when it is first asked for something.
    pub fn start(url: &str, clock: Arc<dyn Clock>) -> Result<PostgresLedger> {
        let (calls, inbox) = mpsc::channel();
        let url = url.to_string();
        std::thread::Builder::new()
            .name("stepfast-ledger".into())
            .spawn(move || run(&url, &inbox))
            .map_err(|e| StoreError::Down(e.to_string()))?;
        Ok(PostgresLedger { clock, calls })
    }
}

impl Ledger for PostgresLedger {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }
    fn order(&self, order: Order, done: Done) {
        // What a thread that is gone does not take is answered by being dropped.
        let _ = self.calls.send(Call { order, at: self.clock.now(), done });
    }
}

fn run(url: &str, inbox: &mpsc::Receiver<Call>) {
    let mut link: Option<Link> = None;
    while let Ok(first) = inbox.recv() {
        let mut calls = vec![first];
        while calls.len() < limits::EXECUTIONS_PER_COMMIT
            && let Ok(call) = inbox.try_recv()
        {
            calls.push(call);
        }
        calls.sort_by(|a, b| a.order.rank().cmp(&b.order.rank()));
        let connected = link.take().map_or_else(|| Link::open(url), Ok);
        match connected {
            Ok(connected) => link = Some(answer(connected, calls)),
            Err(problem) => calls.into_iter().for_each(|call| (call.done)(Err(problem.clone()))),
        }
    }
}

fn answer(link: Link, calls: Vec<Call>) -> Link {
    match until_known(&link, &calls) {
        Ok(told) => calls.into_iter().zip(told).for_each(|(call, told)| (call.done)(Ok(told))),
        Err(StoreError::Down(problem)) => {
            for call in calls {
                (call.done)(Err(StoreError::Unknown(problem.clone())));
            }
        }
        Err(_) => one_by_one(&link, calls),
    }
    link
}

/// Try again while it is not known whether it was stored.
fn until_known(link: &Link, calls: &[Call]) -> Result<Vec<Told>> {
    let mut pause = TRY_AGAIN;
    let mut told = in_one_commit(link, calls, Some(LOCK_WAIT));
    for _ in 1..TRIES {
        let Err(StoreError::Down(problem)) = &told else { break };
        tracing::warn!(%problem, orders = calls.len(), "orders about executions are tried again: {problem}");
        std::thread::sleep(pause);
        pause *= 2;
        told = in_one_commit(link, calls, Some(LOCK_WAIT));
    }
    told
}

/// One that cannot be stored now spoils only itself, and those behind it that want the same record.
fn one_by_one(link: &Link, calls: Vec<Call>) {
    let mut taken: HashSet<ExecutionName> = HashSet::new();
    for call in calls {
        let name = call.order.name().cloned();
        let is_begin = matches!(call.order, Order::Begin(_));
        let wait = Told::Beginning(Beginning::Wait { until: call.at + OPEN_WAIT });
        if is_begin && name.as_ref().is_some_and(|name| taken.contains(name)) {
            (call.done)(Ok(wait));
            continue;
        }
        let mut told = until_known(link, std::slice::from_ref(&call));
        if let (Err(StoreError::Busy(_)), false) = (&told, is_begin) {
            // Its owner does not wait for a begin that somebody else has left open.
            told = until_known(link, std::slice::from_ref(&call));
        }
        match told {
            Ok(mut told) => (call.done)(Ok(told.remove(0))),
            Err(StoreError::Busy(_)) if is_begin => {
                taken.extend(name);
                (call.done)(Ok(wait));
            }
            Err(problem) => (call.done)(Err(problem)),
        }
    }
}
