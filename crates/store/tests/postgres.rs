//! PostgreSQL behind a network that loses things, and with more rows than one holds.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod added;
mod encrypted;
mod proxy;

use model::{DispatchGroup, NodeId, SessionId};
use proxy::{Proxy, Trouble};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use stepfast_store::postgres::{Patience, PostgresStore, Scratch};
use stepfast_store::{
    Asked, AuditEntry, Batch, ClaimLog, Lease, NodeRow, Retained, Retaining, Retention, SimClock, Store,
    StoreError,
};

fn scratch(name: &str) -> Scratch {
    let server = std::env::var("STEPFAST_TEST_POSTGRES")
        .expect("set STEPFAST_TEST_POSTGRES to the address of a server; `cargo xtask test` starts one");
    Scratch::new(&server, &format!("store_{}_{name}", std::process::id())).unwrap()
}

/// A store whose every word goes through the proxy, and its way around it.
struct Scene {
    store: PostgresStore,
    lease: Lease,
    proxy: Proxy,
    scratch: Scratch,
    patience: Patience,
}

impl Scene {
    fn new(name: &str) -> Scene {
        let patience = Patience { flight: Duration::from_secs(2), find_out: Duration::from_secs(5) };
        Scene::with(name, patience)
    }

    fn with(name: &str, patience: Patience) -> Scene {
        let scratch = scratch(name);
        let proxy = Proxy::new(&scratch.url);
        let clock = Arc::new(SimClock::default());
        let mut store =
            PostgresStore::open_with(&proxy.url(&scratch.url), Some(clock.clone()), patience).unwrap();
        let groups = ["alpha", "beta"].map(DispatchGroup::new);
        let lease = store.lease(&node(store.now()), &groups).unwrap();
        Scene { store, lease, proxy, scratch, patience }
    }

    fn batch(&self) -> Batch {
        Batch::new(self.lease.clone(), self.store.now())
    }

    /// Commit one line of the audit.
    fn commit(&mut self) -> Result<(), StoreError> {
        let mut batch = self.batch();
        batch.audit.push(AuditEntry {
            who: "test".into(),
            verb: "wrote".into(),
            target: "this".into(),
            why: None,
            before: None,
            after: None,
        });
        self.put(batch)
    }

    fn put(&mut self, batch: Batch) -> Result<(), StoreError> {
        let (answer, got) = mpsc::channel();
        self.store.commit(batch, Box::new(move |outcome| answer.send(outcome).unwrap()));
        got.recv_timeout(self.patience.flight * 3 + self.patience.find_out + Duration::from_secs(2))
            .expect("a commit is answered in time")
    }

    fn lines(&self) -> i64 {
        self.store.reader().value("select count(*) from audit", &[]).unwrap()
    }

    /// After a failure the store takes commits again.
    fn goes_on(&mut self) {
        let before = self.lines();
        self.store.reset();
        self.commit().unwrap();
        assert_eq!(self.lines(), before + 1);
    }
}

fn node(now: model::Timestamp) -> NodeRow {
    NodeRow {
        id: NodeId::of(1),
        host: "here".into(),
        pid: 1,
        url: None,
        version: "0".into(),
        limited_to: Vec::new(),
        standby: false,
        machine: String::new(),
        started_at: now,
        seen_at: now,
        ended_at: None,
    }
}

fn nothing() -> Box<dyn FnOnce() + Send> {
    Box::new(|| {})
}

#[test]
fn a_server_that_falls_silent_before_the_commit_is_given_up() {
    let mut scene = Scene::new("silent");
    scene.proxy.next(Trouble::Silence("begin"));
    assert_eq!(scene.commit(), Err(StoreError::Down("no answer within 2s".into())));
    assert_eq!(scene.lines(), 0);
    scene.goes_on();
}

#[test]
fn a_commit_whose_answer_never_comes_is_found_out() {
    let mut scene = Scene::new("unheard");
    scene.proxy.next(Trouble::Silence("commit"));
    scene.commit().unwrap();
    assert_eq!(scene.lines(), 1);
    scene.goes_on();
}

#[test]
fn a_commit_that_never_arrived_is_known_as_not_stored() {
    let mut scene = Scene::new("cut");
    scene.proxy.next(Trouble::CutBefore("commit"));
    let told = scene.commit().unwrap_err();
    assert_eq!(told, StoreError::Down("the connection was cut, and the turn was not stored".into()));
    assert_eq!(scene.lines(), 0);
    scene.goes_on();
}

#[test]
fn a_server_that_is_away_for_a_while_is_asked_until_it_tells() {
    let mut scene = Scene::new("away");
    scene.commit().unwrap();
    scene.proxy.next(Trouble::CutAfter("commit", nothing()));
    scene.proxy.refuse(4);
    scene.commit().unwrap();
    assert_eq!((scene.lines(), scene.proxy.refused()), (2, 4));
    scene.goes_on();
}

#[test]
fn a_server_that_stays_away_leaves_it_unknown() {
    let patience = Patience { flight: Duration::from_secs(2), find_out: Duration::from_millis(300) };
    let mut scene = Scene::with("gone", patience);
    scene.commit().unwrap();
    scene.proxy.next(Trouble::CutAfter("commit", nothing()));
    scene.proxy.refuse(usize::MAX);
    let told = scene.commit().unwrap_err();
    assert!(matches!(told, StoreError::Unknown(_)), "{told:?}");
    assert!(told.to_string().starts_with("it is not known whether this was stored"), "{told}");
    scene.proxy.refuse(0);
    assert_eq!(scene.lines(), 2);
    scene.goes_on();
}

/// Whoever took over meanwhile, a turn that was stored was stored.
#[test]
fn a_commit_whose_groups_were_taken_over_since_is_told_as_stored() {
    let mut scene = Scene::new("taken");
    let beside = PostgresStore::open(&scene.scratch.url, None).unwrap();
    let meanwhile = Box::new(move || {
        let text = "update dispatch_groups set owner_id = '\\x02', epoch = epoch + 1";
        beside.reader().execute(text, &[]).unwrap();
    });
    scene.proxy.next(Trouble::CutAfter("commit", meanwhile));
    scene.commit().unwrap();
    assert_eq!(scene.lines(), 1);
    assert!(matches!(scene.commit(), Err(StoreError::Lost { .. })));
}

/// Found by the crash rounds: a frozen node kept its locks for 30 s, nobody could take over or renew, and all leases ran out.
#[test]
fn a_node_that_stands_still_inside_a_commit_does_not_keep_the_others_from_their_leases() {
    let patience = Patience { flight: Duration::from_secs(60), find_out: Duration::from_secs(5) };
    let mut scene = Scene::with("stands_still", patience);
    scene.proxy.next(Trouble::Silence("begin"));
    let batch = Batch::new(scene.lease.clone(), scene.store.now());
    scene.store.commit(batch, Box::new(|_| {}));
    let watcher = PostgresStore::open(&scene.scratch.url, None).unwrap();
    until("the commit holds its locks", || {
        let waits = "select count(*) from pg_stat_activity
                      where state = 'idle in transaction' and datname = current_database()";
        let waiting: i64 = watcher.reader().value(waits, &[]).unwrap();
        waiting == 1
    });
    let (url, (answer, got)) = (scene.scratch.url.clone(), mpsc::channel());
    std::thread::spawn(move || {
        let mut other = PostgresStore::open(&url, None).unwrap();
        let groups = ["alpha", "beta"].map(DispatchGroup::new);
        let row = NodeRow { id: NodeId::of(2), ..node(other.now()) };
        // Whoever waits for the lock holds up others, so it is asked for again and again and not waited for.
        let taken = std::iter::repeat_with(|| other.lease(&row, &groups)).find(Result::is_ok);
        answer.send(taken).unwrap();
    });
    let limit = model::limits::STANDSTILL_MAX + Duration::from_secs(4);
    got.recv_timeout(limit).expect("the lock is given up");
}

/// The most this process has held, in megabytes.
fn held_most() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() / 1_024
}

/// Look until it is so; the thing that is waited for ends the wait, not the clock.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if is_so() {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("it never came to be that {what}");
}

/// The claim log gets 3,000 rows, of which 2,000 go.
fn churn(scene: &mut Scene) {
    let mut made = scene.batch();
    let log = |id: i64| ClaimLog {
        id,
        session: SessionId::of(1),
        dispatch_group: DispatchGroup::new("alpha"),
        tick: 1,
        at: made.now,
        parked: false,
        host: None,
        pairs: Vec::new(),
    };
    made.claims = (1..=3_000).map(log).collect();
    scene.put(made).unwrap();
    for gone in [1..=1_999, 2_000..=2_000] {
        let mut batch = scene.batch();
        batch.claims_done = gone.collect();
        scene.put(batch).unwrap();
    }
}

/// How often the claim log was swept, once the commit behind that is answered.
fn sweeps(scene: &mut Scene) -> i64 {
    scene.commit().unwrap();
    let text = "select cast(vacuum_count as bigint) from pg_stat_user_tables where relname = 'claims'";
    scene.store.reader().value(text, &[]).unwrap()
}

/// Issue 9: a page read thousands of rows of the log that had gone, for each step that it showed.
#[test]
fn the_claim_log_is_swept_by_those_who_write_it() {
    let mut scene = Scene::new("swept");
    churn(&mut scene);
    until("the log is swept", || sweeps(&mut scene) == 1);
}

/// The server would write a warning into its log each time.
#[test]
fn who_does_not_own_the_claim_log_leaves_it_to_the_server() {
    let mut scene = Scene::new("unswept");
    let admin = scene.store.reader();
    let name: String = admin.value("select current_database()::text", &[]).unwrap();
    for text in [
        "do $$ begin create role stepfast_plain; exception when duplicate_object then null; end $$",
        "grant all on schema stepfast to stepfast_plain",
        "grant all on all tables in schema stepfast to stepfast_plain",
        "grant all on all sequences in schema stepfast to stepfast_plain",
        &format!("alter database \"{name}\" set role = stepfast_plain"),
    ] {
        admin.execute(text, &[]).unwrap();
    }
    // The connection that writes is made with the first commit, as that role.
    churn(&mut scene);
    for _ in 0..3 {
        assert_eq!(sweeps(&mut scene), 0);
    }
    let last = "select relowner::regrole::text from pg_class where oid = 'stepfast.claims'::regclass";
    assert_ne!(scene.store.reader().value::<String>(last, &[]).unwrap(), "stepfast_plain");
}

#[test]
fn a_long_answer_waits_at_the_server_until_it_is_looked_at() {
    const ROWS: i64 = 200_000;
    let scratch = scratch("long");
    let (store, beside) =
        (PostgresStore::open(&scratch.url, None).unwrap(), PostgresStore::open(&scratch.url, None).unwrap());
    let waits = "select count(*) from pg_stat_activity
                  where datname = current_database() and state = 'active' and wait_event = 'ClientWrite'";
    let (before, mut seen) = (held_most(), 0);
    let text = "select n, repeat('x', 1000) from generate_series(1, $1::bigint) as n";
    let look = &mut |row: &stepfast_store::sql::Row| {
        seen += 1;
        assert_eq!((row.get::<i64>(0)?, row.text(1)?.len()), (seen, 1_000));
        if seen == 1 {
            until("the server waits", || beside.reader().value::<i64>(waits, &[]).unwrap() == 1);
        }
        Ok(())
    };
    store.reader().each(text, &[ROWS.into()], look).unwrap();
    assert_eq!(seen, ROWS);
    let most = held_most() - before;
    assert!(most < 20, "an answer of 200 MB took {most} MB");
}

#[test]
fn a_reader_that_has_seen_enough_leaves_the_connection_usable() {
    let scratch = scratch("enough");
    let store = PostgresStore::open(&scratch.url, None).unwrap();
    let enough = StoreError::Refused("enough".into());
    let mut seen = 0;
    let stopped = store.reader().each("select * from generate_series(1, 100000)", &[], &mut |_| {
        seen += 1;
        if seen == 300 { Err(enough.clone()) } else { Ok(()) }
    });
    assert_eq!((stopped, seen), (Err(enough), 300));
    for rows in [0, 1, 249, 250, 251, 1_000, 1_001] {
        let text = format!("select n from generate_series(1, {rows}) as n");
        assert_eq!(store.reader().rows(&text, &[], |row| row.get::<i64>(0)).unwrap().len(), rows);
    }
}

/// 5,000 steps alone, and 500 parents with nine children each, all completed long ago.
const SETTLED: &str = "
    create temp table made as
    select n, decode(lpad(to_hex(n), 32, '0'), 'hex') as id,
           case when n > 5000 and n % 10 <> 1 then decode(lpad(to_hex((n - 1) / 10), 32, 'b'), 'hex') end as block_id,
           case when n > 5000 and n % 10 = 1 then decode(lpad(to_hex((n - 1) / 10), 32, 'b'), 'hex') end as child_block_id
      from generate_series(1, 10000) as n;
    insert into steps (id, dispatch_group, queue, action, priority, kind, block_id, block_index, child_block_id, state,
        attempt, max_attempts, version, created_at, dispatched_at, started_at, completed_at, arguments)
    select id, 'alpha', 'default', case when n % 2 = 0 then 'ok' else 'noop' end, 'normal', 'default', block_id, 1, child_block_id,
        'completed', 1, 3, 1, n, n, n, n, '{}' from made;
    insert into blocks (id, owner_id, home, success, depth, steps, resolvers, live, live_resolvers, current_index,
        resolver_index, wants_resolvers, blame, touched, is_open, version)
    select child_block_id, id, 'alpha', 'all', 2, '', '', '0', '', 2, 1, 0, '', 0, 0, 1 from made where child_block_id is not null;
    insert into tallies
    select dispatch_group, queue, action, coalesce(host, ''), state, case when child_block_id is null then 1 else 0 end, throttled,
           count(*) from steps group by 1, 2, 3, 4, 5, 6, 7;
    insert into step_attempts select id, 1, 1, null, null, null, 'failed', null from made where n % 100 = 0;
    drop table made";

#[test]
fn archiving_ten_thousand_steps_takes_a_few_statements_a_page() {
    let mut scene = Scene::new("retain");
    for text in SETTLED.split(';') {
        scene.store.reader().execute(text, &[]).unwrap();
    }
    let mut retain = |what| {
        let (before, mut total) = (scene.proxy.flights(), Retained::default());
        loop {
            total.add(&scene.store.retain(what, Retaining::Done(Asked::by("anna"))).unwrap());
            if !total.more {
                return (total, scene.proxy.flights() - before);
            }
        }
    };
    let (long_ago, all) = (
        model::Timestamp(1_000_000),
        Retained { trees: 5_500, steps: 10_000, blocks: 500, ..Retained::default() },
    );
    let (archived, flights) = retain(Retention::Archive { before: long_ago });
    assert_eq!(archived, all);
    // Each block of a tree is asked for twice; all else is some statements a page.
    assert!(flights < 2 * 500 + 300, "{flights} flights");
    let (purged, flights) = retain(Retention::Purge { before: long_ago, only_archive: true, ticks: false });
    assert_eq!(purged, all);
    assert!(flights < 2 * 500 + 300, "{flights} flights");
    let count =
        |what: &str| scene.store.reader().value::<i64>(&format!("select count(*) from {what}"), &[]).unwrap();
    let left =
        ["steps", "blocks", "steps_archive", "blocks_archive", "step_attempts", "tallies where n <> 0"]
            .map(count);
    assert_eq!(left, [0; 6]);
}

/// As after the promotion of a standby that had not received the last commit.
#[test]
fn a_database_that_lacks_what_was_acknowledged_is_refused() {
    let mut scene = Scene::new("behind");
    scene.commit().unwrap();
    let around = PostgresStore::open(&scene.scratch.url, Some(Arc::new(SimClock::default()))).unwrap();
    let sql = around.reader();
    let before: Vec<u8> = sql.value("select stamp from commit_stamps", &[]).unwrap();
    scene.commit().unwrap();
    sql.execute("update commit_stamps set stamp = $1", stepfast_store::params![before]).unwrap();
    scene.proxy.next(Trouble::CutBefore("begin"));
    scene.commit().unwrap_err();
    scene.store.reset();
    for _ in 0..2 {
        let refused = scene.commit().unwrap_err();
        let told = refused.to_string();
        assert!(
            matches!(refused, StoreError::Refused(_)) && told.contains("the database is behind"),
            "{told}"
        );
        scene.store.reset();
    }
    let groups = ["alpha", "beta"].map(DispatchGroup::new);
    let told = scene.store.lease(&node(scene.store.now()), &groups).unwrap_err().to_string();
    assert!(told.contains("the database is behind"), "{told}");
    assert_eq!(scene.lines(), 2, "nothing was written to it");
}

/// An ordinary role may ask which server it is; where that was forbidden, the numbers of database and table say enough.
#[test]
fn a_role_without_rights_knows_a_database_that_was_put_back() {
    let original = scratch("identity");
    let admin = PostgresStore::open(&original.url, None).unwrap();
    let run = |text: &str| admin.reader().execute(text, &[]).unwrap();
    run("do $$ begin create role stepfast_plain; exception when duplicate_object then null; end $$");
    // As the role alone, from the next connection on.
    let name: String = admin.reader().value("select current_database()::text", &[]).unwrap();
    for text in [
        "grant all on schema stepfast to stepfast_plain",
        "grant all on all tables in schema stepfast to stepfast_plain",
        "grant all on all sequences in schema stepfast to stepfast_plain",
        &format!("alter database \"{name}\" set role = stepfast_plain"),
    ] {
        run(text);
    }
    let known = |url: &str| -> (String, bool) {
        let store = PostgresStore::open(url, None).unwrap();
        let value =
            |what: &str| format!("select coalesce((select value from settings where name = '{what}'), '')");
        let (identity, held): (String, String) = (
            store.reader().value(&value("identity"), &[]).unwrap(),
            store.reader().value(&value("restored"), &[]).unwrap(),
        );
        (identity, !held.is_empty())
    };
    let (whole, held) = known(&original.url);
    assert!(whole.starts_with("system=") && !held, "{whole}");
    run("revoke execute on function pg_control_system() from public");
    let (part, held) = known(&original.url);
    assert!(part.starts_with("database=") && whole.ends_with(&part) && !held, "{part}");
    drop(admin);
    let copy = until_copied(&original);
    let (other, held) = known(&copy.url);
    assert!(other != part && held, "{other}");
    let (_, still) = known(&original.url);
    assert!(!still, "it is where it was");
}

/// The server copies a database once nobody is connected to it.
fn until_copied(original: &Scratch) -> Scratch {
    let mut copy = None;
    until("everybody has left", || {
        copy = original.copy(&format!("store_{}_copy", std::process::id())).ok();
        copy.is_some()
    });
    copy.unwrap()
}
