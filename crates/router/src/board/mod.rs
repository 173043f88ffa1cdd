//! The messages a router holds and whose turn it is; every decision about them, none of the acts.
//!
//! Lines    messages of one message group form a line, a message without a group a line of its own. The first of a line is
//!          called while the others wait, in whatever pool they are.
//! Rings    each pool has a ring of the lines whose first message is its own and is not called yet, and goes round it.
//! Why      a decision sees all pools, lines and breakers at one moment (`now`, since the router started), so it can be
//!          told in a test without a queue, a target or a clock.

mod admit;
mod end;
mod hold;
mod pools;
#[cfg(test)]
mod tests;
mod turn;
mod view;

pub use admit::{Admission, breaker_name};
pub use turn::Call;

use crate::breaker::{Breakers, Pass};
use crate::config::PoolConfig;
use crate::status::{ConsumerStatus, Counters};
use crate::warnings::Warnings;
use hold::Hold;
use pools::Pool;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use transport::{MessagePointer, Receipt};

/// A message: another attempt of the same step is another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub id: String,
    pub attempt: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Line {
    Group(String),
    Alone(String),
}

#[derive(Default)]
struct Queue {
    keys: VecDeque<Key>,
    is_called: bool,
}

struct Ticket {
    pointer: Arc<MessagePointer>,
    pool: String,
    line: Line,
    /// The name of its breaker.
    target: String,
    /// The latest last.
    receipts: Vec<Receipt>,
    receipt_lost: bool,
    received_at: Duration,
    /// Since when only the rate keeps it.
    token_wanted_at: Option<Duration>,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    Waiting,
    Calling(Pass),
    Leaving { ending: Ending, had_slot: bool },
}

/// How a delivery ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Ack,
    Defer(Duration),
}

/// What the broker is to be told about one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    pub key: Key,
    /// All of its deliveries, the latest first.
    pub receipts: Vec<Receipt>,
    pub ending: Ending,
}

/// To be told one after another, so that a line keeps its order.
pub type Batch = Vec<Settlement>;

pub struct Board {
    default_pool: String,
    pools: BTreeMap<String, Pool>,
    queues: HashMap<Line, Queue>,
    tickets: HashMap<Key, Ticket>,
    holds: HashMap<String, Hold>,
    /// How often a target put a message off, and when it last did.
    put_off: HashMap<String, (u32, Duration)>,
    /// Called, but the broker could not be told.
    unconfirmed: VecDeque<Key>,
    unknown_codes: HashSet<String>,
    swept_at: Duration,
    is_closed: bool,
    pub breakers: Breakers,
    pub counters: Counters,
    pub warnings: Warnings,
    pub consumer: Consumer,
}

/// The pulse of whoever polls.
#[derive(Default)]
pub struct Consumer {
    pub polled_at: Option<Duration>,
    pub status: ConsumerStatus,
}

impl Board {
    pub fn new(default_pool: &str, pools: &[PoolConfig]) -> Board {
        let mut board = Board {
            default_pool: default_pool.into(),
            pools: BTreeMap::new(),
            queues: HashMap::new(),
            tickets: HashMap::new(),
            holds: HashMap::new(),
            put_off: HashMap::new(),
            unconfirmed: VecDeque::new(),
            unknown_codes: HashSet::new(),
            swept_at: Duration::ZERO,
            is_closed: false,
            breakers: Breakers::default(),
            counters: Counters::default(),
            warnings: Warnings::default(),
            consumer: Consumer::default(),
        };
        board.set_pools(pools, Duration::ZERO);
        board
    }

    /// How many more messages there is room for; one pool may be full all the same.
    pub fn room(&self) -> usize {
        let pools = self.pools.values().filter(|pool| !pool.leaving);
        pools.map(|pool| pool.config.capacity().saturating_sub(pool.held)).sum()
    }

    /// The deliveries that must stay hidden from others.
    pub fn holding(&self) -> Vec<(Key, Receipt)> {
        let held = self.tickets.iter().filter(|(_, ticket)| !matches!(ticket.place, Place::Leaving { .. }));
        held.flat_map(|(key, ticket)| ticket.receipts.iter().map(|one| (key.clone(), one.clone()))).collect()
    }

    /// Whether its end is still open.
    pub fn keeps(&self, key: &Key) -> bool {
        self.tickets.get(key).is_some_and(|ticket| !matches!(ticket.place, Place::Leaving { .. }))
    }

    /// A delivery is somebody else's by now. The message is called all the same: the store lets only one of us win.
    pub fn receipt_gone(&mut self, key: &Key, receipt: &Receipt) {
        if let Some(ticket) = self.tickets.get_mut(key) {
            ticket.receipts.retain(|known| known != receipt);
            ticket.receipt_lost = ticket.receipts.is_empty();
        }
    }
}
