//! Random orders about a few keys: SQLite and PostgreSQL say and store the same.

use engine::Ask;
use model::{ExecutionName, OwnerToken, Standing, limits};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use stepfast_testkit::SERVER;
use store::executions::{ExecutionFilter, Order, Told};
use store::postgres::Scratch;
use store::sqlite::Holder;
use store::{Clock, Database, Ledger, SimClock, Store};

const ORDERS: usize = 400;

/// The same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn next(dice: &mut Dice, clock: &SimClock) -> Order {
    let name = ExecutionName::new("pay", ["a", "b", "ü", "Z"][dice.below(4) as usize]);
    let owner = OwnerToken::of(1 + dice.below(3));
    match dice.below(20) {
        0..8 => {
            let ask = Ask { name, ..Ask::new("", "") }.input(&(dice.below(12) / 11));
            let ask = ask.max_attempts(1 + dice.below(4) as u32).lease(Duration::from_secs(60));
            Order::Begin(ask.keep(Duration::from_secs(60 + 600 * dice.below(3))).by(owner))
        }
        8..11 => Order::End { name, owner, how: Standing::Done { answer: format!("{}", dice.below(2)) } },
        11..15 => {
            Order::End { name, owner, how: Standing::Failed { error: format!("no {}", dice.below(2)) } }
        }
        15..17 => Order::Renew { name, owner, lease: Duration::from_secs(1 + dice.below(120)) },
        17 => Order::Forget { made_before: (dice.below(4) == 0).then(|| clock.now()), asked: None },
        18 => Order::CountForgotten { made_before: None },
        _ => Order::Show(name),
    }
}

fn told(ledger: &dyn Ledger, order: Order) -> Told {
    let (tell, told) = mpsc::channel();
    ledger.order(order, Box::new(move |outcome| tell.send(outcome).expect("it is waited for")));
    told.recv().expect("an answer").expect("it can be stored")
}

fn open(database: &Database, clock: &SimClock) -> Box<dyn Store> {
    database.open(Some(Arc::new(clock.clone())), Holder::default()).expect("the database opens")
}

#[test]
fn both_databases_say_and_store_the_same() {
    let server = std::env::var(SERVER).unwrap_or_else(|_| panic!("set {SERVER}"));
    let scratch = Scratch::new(&server, &format!("alike_{}", std::process::id())).expect("a database");
    let dir = tempfile::tempdir().expect("a directory");
    let clock = SimClock::default();
    let file = open(&Database::Sqlite(dir.path().join("alike.db")), &clock);
    let server = open(&Database::Postgres(scratch.url.clone()), &clock);
    let (here, there) = (file.ledger(), server.ledger());
    let mut dice = Dice(7);
    let mut kinds = std::collections::BTreeSet::new();
    for n in 0..ORDERS {
        clock.advance(Duration::from_secs([0, 0, 1, 30, 61][dice.below(5) as usize]));
        let order = next(&mut dice, &clock);
        let (a, b) = (told(&*here, order.clone()), told(&*there, order.clone()));
        assert_eq!(a, b, "order {n}: {order:?}");
        let text = format!("{a:?}");
        kinds.insert(text.split(['{', '"']).next().unwrap_or_default().trim().to_string());
    }
    let all = || Order::List(ExecutionFilter { limit: limits::PAGE_ROWS_MAX, ..ExecutionFilter::default() });
    assert_eq!(told(&*here, all()), told(&*there, all()));
    for wanted in ["Begun", "Replay", "Wait", "Conflict", "GivenUp", "Lost", "Ended", "NotThere", "Renewed"] {
        assert!(kinds.iter().any(|kind| kind.contains(wanted)), "{wanted} never came up: {kinds:?}");
    }
}
