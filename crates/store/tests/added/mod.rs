//! A few new steps go in one statement: all of it is stored, or none, and whoever asks is told which.

use super::proxy::Trouble;
use super::{Scene, nothing};
use model::{DispatchGroup, NewStep, StepId};
use rules::creation::{Ground, plan};
use stepfast_store::{Batch, RowKnown, StepWrite, Store, StoreError, TallyKey};

/// New steps with these labels, as a turn would store them.
fn made(scene: &Scene, first: u64, labels: [Option<&str>; 2]) -> Batch {
    let mut batch = scene.batch();
    let (mut last, mut place) = (first, 0);
    let groups = ["alpha", "beta"].map(DispatchGroup::new);
    let mut new_id = || {
        last += 1;
        *StepId::of(last).bytes()
    };
    let mut next_group = || {
        place += 1;
        groups[place % 2].clone()
    };
    let mut ground = Ground {
        now: batch.now,
        dispatch_groups: &groups,
        queues: &["default".into()],
        pools: &Default::default(),
        blocks: Default::default(),
        parents: Default::default(),
        new_id: &mut new_id,
        next_group: &mut next_group,
    };
    let steps = labels.map(|label| NewStep { label: label.map(Into::into), ..NewStep::of("noop") });
    for (step, detail) in plan(&steps, &mut ground).unwrap().steps {
        batch.tallies.push((TallyKey::of(&step), 1));
        batch.steps.push(StepWrite { step, expected: None, detail, row: RowKnown::Nothing });
    }
    batch
}

impl Scene {
    fn add(&mut self, first: u64, label: &str) -> Result<(), StoreError> {
        self.put(made(self, first, [Some(label), None]))
    }
    /// Steps, and how many were counted.
    fn added(&self) -> (i64, i64) {
        let sql = self.store.reader();
        let counted = "select coalesce(sum(n), 0)::bigint from tally_parts";
        (sql.value("select count(*) from steps", &[]).unwrap(), sql.value(counted, &[]).unwrap())
    }
}

#[test]
fn new_steps_are_one_flight_and_each_column_is_as_it_was_given() {
    let mut scene = Scene::new("added");
    scene.add(0, "first").unwrap();
    let before = scene.proxy.flights();
    scene.add(10, "second").unwrap();
    assert_eq!((scene.proxy.flights() - before, scene.added()), (1, (4, 4)));
    let told = "select string_agg(coalesce(label, '-') || ' ' || state || ' ' || dispatch_group || ' ' || version, ', ' order by id) from steps";
    let rows: String = scene.store.reader().value(told, &[]).unwrap();
    assert_eq!(rows, "first pending beta 0, - pending alpha 0, second pending beta 0, - pending alpha 0");
}

#[test]
fn a_column_may_be_the_same_in_all_rows_or_differ_or_be_empty_from_one_turn_to_the_next() {
    let mut scene = Scene::new("added_forms");
    let turns = [
        [Some("a"), Some("a")],
        [Some("b"), Some("c")],
        [Some("d"), Some("d")],
        [None, None],
        [None, Some("e")],
        [None, None],
    ];
    for (n, labels) in turns.into_iter().enumerate() {
        scene.put(made(&scene, 10 * n as u64, labels)).unwrap();
    }
    let told = "select string_agg(coalesce(label, '-'), '' order by id) from steps";
    let rows: String = scene.store.reader().value(told, &[]).unwrap();
    assert_eq!((rows.as_str(), scene.added()), ("aabcdd---e--", (12, 12)));
}

#[test]
fn under_a_lease_that_is_gone_nothing_is_added() {
    let mut scene = Scene::new("added_lost");
    scene.add(0, "first").unwrap();
    let taken = "update dispatch_groups set epoch = epoch + 1 where dispatch_group = 'beta'";
    scene.store.reader().execute(taken, &[]).unwrap();
    let told = scene.add(10, "second").unwrap_err();
    assert_eq!(told, StoreError::Lost { what: "the lease of a dispatch group".into() });
    assert_eq!(scene.added(), (2, 2));
}

#[test]
fn an_id_that_is_taken_adds_nothing_of_the_rest() {
    let mut scene = Scene::new("added_twice");
    scene.add(0, "first").unwrap();
    assert!(matches!(scene.add(1, "second"), Err(StoreError::Lost { .. })));
    assert_eq!(scene.added(), (2, 2));
    scene.goes_on();
}

#[test]
fn steps_whose_answer_is_lost_are_found_out_either_way() {
    let mut scene = Scene::new("added_cut");
    scene.add(0, "first").unwrap();
    scene.proxy.next(Trouble::CutAfter("second", nothing()));
    scene.add(10, "second").unwrap();
    assert_eq!(scene.added(), (4, 4));
    scene.add(20, "third").unwrap();
    scene.proxy.next(Trouble::CutBefore("fourth"));
    let told = scene.add(30, "fourth").unwrap_err();
    assert_eq!(told, StoreError::Down("the connection was cut, and the turn was not stored".into()));
    assert_eq!(scene.added(), (6, 6));
    scene.goes_on();
}
