//! Whole settled trees leave, everything else stays whole.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

#[path = "world/healthy.rs"]
mod healthy;
mod world;

use healthy::healthy;
use model::{BlockId, NewStep};
use std::time::Duration;
use stepfast_store::{Asked, Retained, Retaining, Retention};
use world::{World, at, complete, fail, parent, resolver, step};

const HOUR: Duration = Duration::from_secs(3600);

/// Take pages until nothing is left to take.
fn retain(world: &World, what: Retention) -> (Retained, usize) {
    let mut total = Retained::default();
    for pages in 1.. {
        total.add(&world.store.retain(what, Retaining::Done(Asked::by("anna"))).unwrap());
        if !total.more {
            return (total, pages);
        }
    }
    unreachable!("the loop ends with the last page")
}

fn archive(world: &World) -> Retained {
    retain(world, Retention::Archive { before: world.now() }).0
}

fn purge(world: &World, only_archive: bool) -> Retained {
    retain(world, Retention::Purge { before: world.now(), only_archive, ticks: false }).0
}

fn taken(trees: usize, steps: usize, blocks: usize) -> Retained {
    Retained { trees, steps, blocks, ..Retained::default() }
}

fn order(world: &mut World) {
    let deep = parent("pack", vec![step("label"), resolver("undo")]);
    world.create(vec![parent("order", vec![deep, at(2, step("ship"))])]);
    for key in ["order", "pack", "label"] {
        world.run(key, complete());
    }
}

#[test]
fn a_half_settled_tree_stays_whole() {
    let mut world = World::new(true);
    order(&mut world);
    world.wait(HOUR);
    assert_eq!(archive(&world), taken(0, 0, 0));
    assert_eq!(purge(&world, false), taken(0, 0, 0));
    assert_eq!((world.count("steps"), world.count("blocks")), (5, 2));
    world.turn();
    world.run("ship", complete());
    world.assert_clean();
}

#[test]
fn a_settled_tree_goes_whole_with_its_sleeping_resolvers() {
    let mut world = World::new(true);
    order(&mut world);
    world.run("ship", complete());
    world.wait(HOUR);
    world.turn();
    assert_eq!(archive(&world), taken(1, 5, 2));
    assert_eq!((world.count("steps"), world.count("blocks")), (0, 0));
    assert_eq!((world.count("steps_archive"), world.count("blocks_archive")), (5, 2));
    assert!(world.count("events") > 0, "its history stays");
    assert_eq!(world.count("tallies where n <> 0"), 0);
    world.assert_clean();
}

#[test]
fn a_block_without_owner_goes_with_everything_below_it() {
    let mut world = World::new(true);
    let block_id = Some(BlockId::of(7));
    let below = parent("two", vec![step("three")]);
    world.create(vec![NewStep { block_id, ..step("one") }, NewStep { block_id, ..at(2, below) }]);
    world.run("one", complete());
    world.run("two", complete());
    world.wait(HOUR);
    world.turn();
    assert_eq!(archive(&world), taken(0, 0, 0));
    world.run("three", fail());
    world.wait(HOUR);
    assert_eq!(archive(&world), taken(1, 3, 2));
    world.assert_clean();
}

#[test]
fn the_newest_activity_counts() {
    let mut world = World::new(true);
    order(&mut world);
    world.wait(HOUR);
    world.turn();
    let before = world.now();
    world.run("ship", complete());
    let (page, _) = retain(&world, Retention::Archive { before });
    assert_eq!(page, taken(0, 0, 0));
    assert_eq!(archive(&world).trees, 0, "an end at this very instant is not older");
    world.wait(Duration::from_millis(1));
    assert_eq!(archive(&world).trees, 1);
}

#[test]
fn a_tree_in_the_claim_log_stays() {
    let mut world = World::new(true);
    world.create(vec![step("busy"), step("done")]);
    world.claim("busy");
    world.run("done", complete());
    // The log still names a step whose row has ended.
    world.sql("insert into claims values (77, x'00000000000000000000000000000001', 1, 1, 0, json_array(lower(hex({done})) || ':1'), 'alpha')");
    world.wait(HOUR);
    assert_eq!(archive(&world), taken(0, 0, 0));
    assert_eq!(purge(&world, false), taken(0, 0, 0));
    world.sql("delete from claims where id = 77");
    assert_eq!(archive(&world), taken(1, 1, 0));
}

#[test]
fn a_dry_run_counts_everything_and_writes_nothing() {
    let mut world = World::new(true);
    order(&mut world);
    world.run("ship", complete());
    world.wait(HOUR);
    let rows = |w: &World| ["steps", "blocks", "steps_archive", "events", "ticks"].map(|t| w.count(t));
    let had = rows(&world);
    let before = world.now();
    let dry = |what| world.store.retain(what, Retaining::Tried).unwrap();
    assert_eq!(dry(Retention::Archive { before }), taken(1, 5, 2));
    assert_eq!(dry(Retention::Purge { before, only_archive: false, ticks: true }), taken(1, 5, 2));
    assert_eq!(dry(Retention::Purge { before, only_archive: true, ticks: true }), taken(0, 0, 0));
    assert_eq!(rows(&world), had);
    assert_eq!(archive(&world), taken(1, 5, 2));
}

#[test]
fn a_purge_leaves_nothing_of_a_tree() {
    let mut world = World::new(true);
    world.create(vec![NewStep { max_attempts: Some(2), ..step("broken") }, step("kept")]);
    world.run("broken", world::again());
    world.run("broken", world::again());
    world.alert("step", world.named["broken"].to_string(), true);
    world.wait(HOUR);
    world.turn();
    assert_eq!(purge(&world, false), taken(1, 1, 0));
    let left = ["steps", "step_attempts", "alerts", "steps_archive", "events"].map(|t| world.count(t));
    assert_eq!(left, [1, 0, 0, 0, 1], "one step is left, with the one move that made it");
    assert_eq!(world.count("tallies where n <> 0"), 1);
    world.tick();
    world.assert_clean();
}

#[test]
fn the_archive_is_purged_by_trees_too() {
    let mut world = World::new(true);
    order(&mut world);
    world.run("ship", complete());
    world.create(vec![step("alone")]);
    world.run("alone", complete());
    world.wait(HOUR);
    world.turn();
    assert_eq!(archive(&world), taken(2, 6, 2));
    world.create(vec![step("later")]);
    world.run("later", complete());
    world.wait(HOUR);
    world.turn();
    assert_eq!(purge(&world, true), taken(2, 6, 2));
    assert_eq!(world.count("steps"), 1, "what is not archived stays");
    assert_eq!(purge(&world, false), taken(1, 1, 0));
    assert_eq!(["steps_archive", "blocks_archive", "events", "steps"].map(|t| world.count(t)), [0; 4]);
    world.assert_clean();
}

#[test]
fn a_retried_step_leaves_before_the_one_that_took_its_place() {
    let mut world = World::new(true);
    world.create(vec![step("first")]);
    world.run("first", fail());
    let before = world.now() + Duration::from_millis(1);
    world.wait(HOUR);
    world.turn();
    world.retry("first", "second");
    assert_eq!(retain(&world, Retention::Archive { before }).0.trees, 1);
    world.assert_clean();
    world.run("second", complete());
    world.wait(HOUR);
    world.turn();
    assert_eq!(purge(&world, false).trees, 2);
    world.assert_clean();
}

#[test]
fn old_ticks_go_when_asked_for() {
    let mut world = World::new(true);
    world.tick();
    world.tick();
    world.wait(HOUR);
    let before = world.now();
    world.tick();
    assert_eq!(purge(&world, false).ticks, 0);
    let (gone, _) = retain(&world, Retention::Purge { before, only_archive: true, ticks: true });
    assert_eq!(gone, Retained { ticks: 2, ..Retained::default() });
    assert_eq!(world.count("ticks"), 1);
}

#[test]
fn it_goes_by_pages_and_passes_what_stays() {
    let mut world = World::new(false);
    world.create(vec![step("done"), step("stays"), step("also-stays")]);
    world.run("done", complete());
    let many = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 2500)";
    let rest = "block_index, state, attempt, max_attempts, host, created_at, dispatched_at, started_at, completed_at, arguments";
    world.sql(&format!(
        "{many} insert into steps (id, dispatch_group, queue, action, priority, kind, {rest})
         select cast(printf('%016d', i) as blob), dispatch_group, queue, action, priority, kind, {rest}
           from steps, n where id = {{done}};
         update tallies set n = n + 2500 where state = 'completed'"
    ));
    world.wait(HOUR);
    world.tick();
    world.assert_clean();
    let (all, pages) = retain(&world, Retention::Archive { before: world.now() });
    assert_eq!(all, taken(2501, 2501, 0));
    assert_eq!(pages, 3);
    assert_eq!(world.count("steps"), 2);
    world.assert_clean();
    let (all, pages) =
        retain(&world, Retention::Purge { before: world.now(), only_archive: false, ticks: false });
    assert_eq!((all, pages), (taken(2501, 2501, 0), 3));
    world.assert_clean();
}

#[test]
fn what_lives_on_is_clean_after_everything_old_has_gone() {
    let mut world = healthy(true);
    world.wait(HOUR);
    world.turn();
    world.tick();
    let gone = archive(&world);
    assert_eq!(gone.trees, 10, "{gone:?}");
    assert_eq!(world.check(false).findings, []);
    purge(&world, true);
    assert_eq!(world.check(false).findings, []);
    assert_eq!(world.count("steps_archive"), 0);
}

#[test]
fn what_the_archive_holds_already_is_replaced() {
    let mut world = World::new(true);
    world.create(vec![step("done"), step("other")]);
    world.run("done", complete());
    world.run("other", complete());
    world.sql("insert into steps_archive select * from steps where id = {done}");
    world.sql("update steps_archive set label = 'older'");
    world.wait(HOUR);
    assert_eq!(archive(&world), taken(2, 2, 0));
    assert_eq!((world.count("steps_archive"), world.count("steps_archive where label = 'older'")), (2, 0));
    world.assert_clean();
}
