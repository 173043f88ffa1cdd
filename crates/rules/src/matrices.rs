//! The acceptance matrices of the original tests, one column per tick, as changed by the rulings of the design.
//!
//! Text in: the tree and what each job does. Text out: a letter per step and tick. R running, P pending, C completed,
//! F failed, S stopped, X cancelled, K skipped, N dormant. Each row also runs to its fixed point and must end alike.

use crate::check::{BlockIds, Land, Tree, carry_out, parse, parse_with};
use crate::operator::{self, Verb};
use crate::settle::Mode;
use model::{NewStep, Priority, State, Timestamp, limits};

fn ticks(tree: &str, columns: &str) {
    let columns: Vec<String> = columns.split('|').map(|c| c.split_whitespace().collect()).collect();
    let last = columns.last().unwrap();
    for ids in [BlockIds::Rising, BlockIds::Falling] {
        let mut literal = parse_with(tree, ids);
        for (n, column) in columns.iter().enumerate() {
            literal.tick(Mode::EarlyReturn);
            assert_eq!(literal.states(), *column, "tick {}, block ids {ids:?}", n + 1);
        }
        literal.tick(Mode::EarlyReturn);
        assert_eq!(literal.states(), *last, "one tick more, block ids {ids:?}");

        let mut whole = parse_with(tree, ids);
        run_out(&mut whole, Mode::FixedPoint);
        assert_eq!(whole.states(), *last, "at the fixed point, block ids {ids:?}");
    }
}

fn run_out(tree: &mut Tree, mode: Mode) -> usize {
    let ticks = (1..100).find(|_| !tree.tick(mode));
    ticks.expect("a tree comes to rest")
}

#[test]
fn one_then_two() {
    ticks("block\n  a 1\n  b 2", "C P | C C");
}

#[test]
fn two_in_parallel_then_one() {
    ticks("block\n  a 1\n  b 1\n  c 2", "C C P | C C C");
}

#[test]
fn the_first_fails() {
    ticks("block\n  a 1 fails\n  b 2", "F P | F X");
}

#[test]
fn the_first_stops() {
    ticks("block\n  a 1 stops\n  b 2", "S P | S X");
}

#[test]
fn the_first_skips() {
    ticks("block\n  a 1 skips\n  b 2", "K P | K C");
}

#[test]
fn one_of_two_in_parallel_fails() {
    ticks("block\n  a 1 fails\n  b 1", "F C");
}

#[test]
fn one_of_the_second_wave_fails() {
    ticks("block\n  a 1\n  b 2 fails\n  c 2\n  d 3", "C P P P | C F C P | C F C X");
}

#[test]
fn the_middle_of_the_first_wave_fails() {
    ticks("block\n  a 1\n  b 1 fails\n  c 1\n  d 2", "C F C P | C F C X");
}

/// The originals wait for ever at a gap; here it is not created at all.
#[test]
fn a_gap_is_refused_at_creation() {
    let block = Some(model::BlockId::of(7));
    let at = |index| NewStep { block_id: block, index: Some(index), ..NewStep::of("noop") };
    let faults = Land::default().plan(&[at(1), at(3)]).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0].field, "steps[1].index");
    assert!(faults[0].problem.contains("no step at index 2"), "{}", faults[0]);
}

#[test]
fn a_step_without_index_fails_beside_index_one() {
    ticks("block\n  a fails\n  b 1\n  c 2", "F C P | F C X");
}

#[test]
fn a_parent_with_two_children_in_a_row() {
    ticks("p\n  c1 1\n  c2 2", "R P P | R C P | R C C | C C C");
}

#[test]
fn a_failing_child_fails_its_parent() {
    ticks("p\n  c1 1 fails\n  c2 2", "R P P | R F P | R F X | F F X");
}

/// Ruling 1: a stopped child is in the failed set, so the parent fails; the originals stop it.
#[test]
fn a_stopping_child_fails_its_parent() {
    ticks("p\n  c1 1 stops\n  c2 2", "R P P | R S P | R S X | F S X");
}

#[test]
fn a_failing_child_beside_a_good_one() {
    ticks("p\n  c1 fails\n  c2", "R P P | R F C | F F C");
}

#[test]
fn a_failing_child_beside_a_parent() {
    ticks("p\n  c1 fails\n  c2\n    g", "R P P P | R F R P | R F R C | R F C C | F F C C");
}

/// Ruling 2: the live children of a failed parent fail; the originals cancel them.
#[test]
fn a_parent_that_fails_itself() {
    ticks("p fails\n  c1\n  c2", "F P P | F F F");
}

#[test]
fn a_parent_that_stops_cancels_level_by_level() {
    ticks("p stops\n  c\n    g1\n    g2", "S P PP | S X PP | S X XX");
}

#[test]
fn a_skipped_parent_skips_its_subtree_in_one_tick() {
    ticks("p skips\n  c\n    g1\n    g2", "K P PP | K K KK");
}

#[test]
fn three_levels_end_well_from_the_inside_out() {
    ticks(
        "p\n  c\n    g1 1\n    g2 1\n    g3 2",
        "R P PPP | R R PPP | R R CCP | R R CCC | R C CCC | C C CCC",
    );
}

#[test]
fn three_levels_fail_from_the_inside_out() {
    ticks(
        "p\n  c\n    g1 1\n    g2 1\n    g3 2 fails",
        "R P PPP | R R PPP | R R CCP | R R CCF | R F CCF | F F CCF",
    );
}

#[test]
fn a_failure_wakes_its_resolver() {
    ticks("block\n  a fails\n  r resolver", "F N | F P | F C");
}

#[test]
fn resolvers_run_in_their_own_order() {
    ticks("block\n  a fails\n  r1 1 resolver\n  r2 2 resolver", "F N N | F P P | F C P | F C C");
}

#[test]
fn a_good_end_leaves_the_resolver_asleep() {
    ticks("block\n  a\n  r resolver", "C N | C N");
}

#[test]
fn a_cancelled_step_leaves_the_resolver_asleep() {
    ticks("block\n  a Cancelled\n  r resolver", "X N | X N");
}

#[test]
fn a_child_block_is_resolved_before_its_parent_fails() {
    ticks("p\n  c fails\n  r resolver", "R P N | R F N | R F P | R F C | F F C");
}

#[test]
fn a_failure_cancels_later_parents_with_their_children() {
    ticks(
        "block
           s1 1
           s2 2
           s3 3 fails
           s4 4
           s5 5
             c1 1
             c2 2
           s6 6",
        "C P P P P PP P | C C P P P PP P | C C F P P PP P | C C F X X XX X",
    );
}

#[test]
fn fourteen_ticks_from_a_grandchild_to_the_last_resolver() {
    ticks(
        "block
           s1 1
           s2 2
           s3 3
           s4 4
           s5 5
             c1 1
             c2 2 fails
             c3 3
             cr resolver
           s6 6
           r resolver",
        "CPPPP PPPN P N
        |CCPPP PPPN P N
        |CCCPP PPPN P N
        |CCCCP PPPN P N
        |CCCCR PPPN P N
        |CCCCR CPPN P N
        |CCCCR CFPN P N
        |CCCCR CFXN P N
        |CCCCR CFXP P N
        |CCCCR CFXC P N
        |CCCCF CFXC P N
        |CCCCF CFXC X N
        |CCCCF CFXC X P
        |CCCCF CFXC X C",
    );
}

#[test]
fn five_levels_go_down_and_come_up_again() {
    ticks("a\n b\n  c\n   d\n    e", "RPPPP | RRPPP | RRRPP | RRRRP | RRRRC | RRRCC | RRCCC | RCCCC | CCCCC");
    ticks(
        "a\n b\n  c\n   d\n    e fails",
        "RPPPP | RRPPP | RRRPP | RRRRP | RRRRF | RRRFF | RRFFF | RFFFF | FFFFF",
    );
}

/// Ruling 8: a job that says Resolved ends completed, the resolvers of its block run, and what it had planned below
/// itself is not done any more.
#[test]
fn a_resolved_step_completes_and_wakes_the_resolvers() {
    ticks("block\n  a 1 resolves\n  b 2\n  r resolver", "C P N | C P P | C C C");
    ticks("block\n  p resolves\n    c\n  r resolver", "C P N | C K N | C K P | C K C");
}

#[test]
fn a_resolver_that_fails_by_hand_wakes_no_other() {
    let mut tree = parse("block\n  a\n  r1 resolver\n  r2 resolver");
    let failed = operator::decide(tree.get("r1"), None, Verb::Fail, "by hand").unwrap();
    tree.board.apply(failed).unwrap();
    run_out(&mut tree, Mode::FixedPoint);
    assert_eq!(tree.states(), "CFN");
}

#[test]
fn what_has_ended_is_never_given_out_again() {
    for end in State::ALL.iter().filter(|s| s.is_terminal()) {
        let text = format!("lone {end:?}\nblock\n  a 1 {end:?}\n  b 1");
        let mut tree = parse(&text);
        run_out(&mut tree, Mode::EarlyReturn);
        assert_eq!(tree.given.concat(), "b", "beside {end}");
        assert_eq!((tree.get("lone").state, tree.get("a").attempt), (*end, 0));
    }
}

#[test]
fn high_priority_goes_first_then_normal() {
    let mut tree = parse("n1\nn2\nh1 high\nh2 high");
    tree.tick(Mode::EarlyReturn);
    assert_eq!(tree.given, ["h1 h2 n1 n2"]);
}

/// One high step that cannot start once kept 660 rows waiting for eleven minutes.
#[test]
fn normal_steps_go_when_no_high_one_can() {
    let mut tree = parse("n1\nlate high after=60\nblock\n  n2 1\n  h 2 high");
    tree.tick(Mode::EarlyReturn);
    assert_eq!(tree.given, ["n1 n2"]);
    tree.tick(Mode::EarlyReturn);
    assert_eq!(tree.given[1], "h");
    assert_eq!(tree.states(), "CPCC");
}

#[test]
fn a_delayed_parent_delays_its_children_and_what_stands_behind_it() {
    let text = "block\n  a 1 after=60\n    c\n  b 2";
    ticks(text, "P P P");
    let mut tree = parse(text);
    tree.tick(Mode::EarlyReturn);
    tree.board.now = Timestamp(60_000_000);
    tree.board.refresh_window(tree.ids["a"]);
    run_out(&mut tree, Mode::EarlyReturn);
    assert_eq!(tree.states(), "CCC");
}

/// A resolver that asked to wait does so, counted from its creation like everything else.
#[test]
fn a_resolver_keeps_its_own_due_time() {
    ticks("block\n  a fails\n  r resolver after=60", "F N | F P | F P");
}

/// One block in two groups cannot even be asked for: creation refuses a group other than the block's.
#[test]
fn two_groups_do_not_mix() {
    let mut tree = parse("a fails\n  c1\nb beta\n  c2");
    run_out(&mut tree, Mode::EarlyReturn);
    assert_eq!(tree.states(), "FFCC");
    tree.order.iter().for_each(|id| assert!(tree.board.step(*id).unwrap().state.is_terminal()));
}

#[test]
fn children_made_after_the_parent_started_are_waited_for() {
    for mode in [Mode::EarlyReturn, Mode::FixedPoint] {
        let mut tree = parse("p\n  c1 1\n  c2 2");
        tree.tick(mode);
        let parent = tree.ids["p"];
        let mut land = Land { ids_made: 500, ..Land::default() };
        land.survey(&tree.board, &[parent]);
        let late = NewStep { parent_step_id: Some(parent), index: Some(3), ..NewStep::of("noop") };
        let plan = land.plan(&[late]).unwrap();
        let id = plan.roots[0];
        carry_out(&mut tree.board, plan);
        tree.names.insert(id, "c3".into());
        tree.order.push(id);
        assert_eq!(tree.states(), "RPPP");
        run_out(&mut tree, mode);
        assert_eq!(tree.states(), "CCCC");
        assert_eq!(tree.given.concat(), "pc1c2c3", "in {mode:?}");
    }
}

#[test]
fn a_retry_at_half_the_budget_raises_priority() {
    for (max, seen) in [(2, "h"), (3, "nh"), (4, "nh"), (5, "nnh"), (1, "")] {
        let mut tree = parse(&format!("a max={max} retries"));
        let mut priorities = String::new();
        while tree.tick(Mode::EarlyReturn) && tree.get("a").state == State::Pending {
            priorities.push(if tree.get("a").priority == Priority::High { 'h' } else { 'n' });
        }
        assert!(priorities.starts_with(seen), "budget {max}: {priorities}");
        assert_eq!(priorities.len(), max - 1, "executions of {max}: {priorities}");
        assert_eq!(tree.states(), "F");
    }
}

#[test]
fn a_spent_budget_ends_a_step_also_when_another_phase_ends_the_tick() {
    ticks("a failed=3 max=3\nblock\n  b 1 Failed\n  c 2", "P F X | F F X");
}

/// A cancelled or failed step cuts what stands behind it, not what stands beside or before it.
#[test]
fn an_end_decided_ahead_of_its_turn_leaves_the_rest_to_run() {
    ticks("p\n  a 1 Cancelled\n  b 1\n  c 2", "P X P X | R X P X | R X C X | X X C X");
    ticks("block\n  a 1\n  b 2 Failed\n  c 2\n  d 3", "P F P X | C F P X | C F C X");
}

/// A cascade over more children than one turn may move goes by pages, and nothing it covers is given out meanwhile.
#[test]
fn a_great_cascade_goes_by_pages() {
    let n = 2 * limits::SWEEP_PAGE + 500;
    let children: String = (0..n).map(|i| format!("  c{i} 2\n")).collect();
    let mut tree = parse(&format!("p Running parked\n  a 1 fails\n{children}"));
    tree.tick(Mode::FixedPoint);
    let pending = |tree: &Tree| tree.states().matches('P').count();
    for left in [n - limits::SWEEP_PAGE, 500, 0] {
        assert_eq!(tree.get("p").state, State::Running);
        tree.tick(Mode::FixedPoint);
        assert_eq!(pending(&tree), left);
    }
    assert_eq!(tree.get("p").state, State::Failed, "the last page settles the parent too");
    assert_eq!(tree.given.concat(), "a");
}

/// The deepest tree falls and climbs within the bound on rounds, in one settling.
#[test]
fn the_deepest_tree_settles_at_once() {
    let deep = limits::NESTING_MAX as usize;
    let chain = |n: usize, state: &str| {
        (0..n).map(|i| format!("{}s{i} {state}\n", " ".repeat(i))).collect::<String>()
    };
    let mut falling = parse(&chain(deep, "Pending").replacen("Pending", "Stopped", 1));
    falling.settle(Mode::FixedPoint);
    assert_eq!(falling.states(), format!("S{}", "X".repeat(deep - 1)));

    let leaf = format!("{}leaf Failed", " ".repeat(deep - 1));
    let mut climbing = parse(&(chain(deep - 1, "Running parked") + &leaf));
    climbing.settle(Mode::FixedPoint);
    assert_eq!(climbing.states(), "F".repeat(deep));
}
