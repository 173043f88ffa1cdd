//! Random trees under random histories: what holds in every one of them, whatever workers, people and clocks do.
//!
//! `STEPFAST_SEED` sets the seed, `PROPTEST_CASES` the number of cases; both are told at the start of each run.

mod script;
mod truth;
mod world;

use model::Event;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use script::{Script, scripts};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Write;
use world::{History, World};

const CASES: u32 = 10_000;

fn from_env<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

/// What no case brings about: nothing here polls, hands back or sets deadlines, and five lost workers are rare.
const OUT_OF_REACH: [Event; 6] = [
    Event::Entered,
    Event::TimedOut,
    Event::PollStarted,
    Event::GivenBack,
    Event::Expired,
    Event::LostTooOften,
];

/// Plays `check` over random scripts; `lane` sets apart the tests that share one seed.
fn always(lane: u8, cases: u32, scripts: impl Strategy<Value = Script>, check: fn(&Script) -> World) {
    let seed: u64 = from_env("STEPFAST_SEED").unwrap_or(1);
    let cases = from_env("PROPTEST_CASES").map_or(cases, |wanted: u32| wanted.max(cases));
    writeln!(std::io::stderr(), "{cases} cases, STEPFAST_SEED={seed}, lane {lane}").unwrap();
    let mut bytes = [lane; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 5_000, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let seen = RefCell::new(BTreeSet::new());
    let outcome = TestRunner::new_with_rng(config, rng).run(&scripts, |script| {
        seen.borrow_mut().extend(check(&script).seen);
        Ok::<(), TestCaseError>(())
    });
    if let Err(failed) = outcome {
        panic!("STEPFAST_SEED={seed}, lane {lane}: {failed}");
    }
    let seen = seen.into_inner();
    let unseen: Vec<&Event> =
        Event::ALL.iter().filter(|e| !seen.contains(e) && !OUT_OF_REACH.contains(e)).collect();
    assert!(unseen.is_empty(), "the cases say nothing about {unseen:?}");
}

fn play(script: &Script, history: History) -> World {
    let mut world = World::new(script, history);
    script.ops.iter().for_each(|op| world.play(op));
    world.finish();
    world
}

fn holds(script: &Script) -> World {
    play(script, History::Forgotten)
}

fn repeats(script: &Script) -> World {
    let world = play(script, History::Told);
    assert!(world.told == play(script, History::Told).told, "the same input gave other effects");
    world
}

/// Everything in hand, as in one long-lived process.
#[test]
fn every_tree_keeps_its_promises_in_hand() {
    always(1, CASES / 2, scripts(false), holds);
}

/// Nothing in hand that can be read again, and now and then a crash.
#[test]
fn every_tree_keeps_its_promises_from_disk() {
    always(2, CASES / 2, scripts(true), holds);
}

#[test]
fn the_same_input_gives_the_same_effects() {
    always(3, CASES / 10, proptest::bool::ANY.prop_flat_map(scripts), repeats);
}
