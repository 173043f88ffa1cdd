//! Creation, by the names of the spec's group assignment tests, and every refusal with its field and its fix.

use crate::board::Board;
use crate::check::{Land, blank, carry_out, report};
use crate::creation::Plan;
use model::*;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

fn new() -> NewStep {
    NewStep::of("noop")
}

fn in_block(n: u64, index: u32) -> NewStep {
    NewStep { block_id: Some(BlockId::of(n)), index: Some(index), ..new() }
}

fn over(children: Vec<NewStep>) -> NewStep {
    NewStep { children, ..new() }
}

/// `levels` steps, each the only child of the one before.
fn chain(levels: u32) -> NewStep {
    (1..levels).fold(new(), |below, _| over(vec![below]))
}

fn groups(plan: &Plan) -> Vec<&str> {
    plan.steps.iter().map(|(step, _)| step.dispatch_group.as_str()).collect()
}

fn all_in(plan: &Plan, group: &str) {
    assert!(groups(plan).iter().all(|g| *g == group), "{:?}", groups(plan));
    assert!(plan.blocks.iter().all(|b| b.home.as_str() == group), "{:?}", plan.blocks);
}

fn per_group<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut n = BTreeMap::new();
    names.into_iter().for_each(|g| *n.entry(g).or_insert(0) += 1);
    n
}

fn evenly(n: usize) -> BTreeMap<&'static str, usize> {
    DEFAULT_GROUPS.iter().map(|g| (*g, n)).collect()
}

fn one(land: &mut Land, step: NewStep) -> Step {
    land.plan(&[step]).unwrap().steps.remove(0).0
}

// Group inheritance

#[test]
fn root_step_gets_a_group_from_steps_dispatcher_via_round_robin() {
    let mut land = Land::default();
    assert_eq!(one(&mut land, new()).dispatch_group.as_str(), "alpha");
    assert_eq!(one(&mut land, new()).dispatch_group.as_str(), "beta");
}

#[test]
fn root_step_with_explicit_group_keeps_that_group() {
    let mut land = Land::default();
    let named = |step: NewStep| NewStep { dispatch_group: Some("theta".into()), ..step };
    assert_eq!(one(&mut land, named(new())).dispatch_group.as_str(), "theta");
    assert_eq!(one(&mut land, named(in_block(7, 1))).dispatch_group.as_str(), "theta");
    assert_eq!(land.groups_taken, 0, "a group that was named costs no turn of the others");
}

#[test]
fn child_step_inherits_parent_group() {
    let mut land = Land { groups_taken: 3, ..Land::default() };
    all_in(&land.plan(&[chain(2)]).unwrap(), "delta");
    all_in(&land.plan(&[chain(2)]).unwrap(), "epsilon");
}

/// The same tree may be written flat, and the child before its parent.
#[test]
fn child_step_written_before_its_parent_inherits_all_the_same() {
    let parent = NewStep { child_block_id: Some(BlockId::of(7)), priority: Some("high".into()), ..new() };
    let grandparent = over(vec![NewStep { dispatch_group: Some("eta".into()), ..parent }]);
    let top = NewStep { dispatch_group: Some("eta".into()), ..grandparent };
    let plan = Land::default().plan(&[in_block(7, 2), top, in_block(7, 1)]).unwrap();
    all_in(&plan, "eta");
    let of = |id: StepId| &plan.steps.iter().find(|(s, _)| s.id == id).unwrap().0;
    assert_eq!(
        plan.roots.iter().map(|id| of(*id).index()).collect::<Vec<_>>(),
        [2, 1, 1],
        "in the order asked for"
    );
    let block = plan.blocks.iter().find(|b| b.id == BlockId::of(7)).unwrap();
    assert_eq!(block.depth, 3);
    assert!(
        plan.roots.iter().all(|id| of(*id)
            .place
            .is_none_or(|p| p.block != block.id || of(*id).priority == Priority::High))
    );
}

#[test]
fn child_of_an_existing_step_inherits_its_group() {
    let mut land = Land::default();
    let parent = Step { dispatch_group: DispatchGroup::new("iota"), ..blank(StepId::of(900)) };
    land.parents.insert(parent.id, parent.clone());
    let child = NewStep { parent_step_id: Some(parent.id), ..new() };
    let plan = land.plan(&[child.clone(), child]).unwrap();
    all_in(&plan, "iota");
    assert_eq!(plan.adopt, [(parent.id, plan.blocks[0].id)]);
    assert_eq!((plan.blocks[0].owner, plan.blocks[0].depth), (Some(parent.id), 2));
}

#[test]
fn grandchild_step_inherits_root_group_2_levels_deep() {
    let mut land = Land { groups_taken: 5, ..Land::default() };
    let plan = land.plan(&[chain(3)]).unwrap();
    assert_eq!(plan.steps.len(), 3);
    all_in(&plan, "zeta");
}

#[test]
fn five_levels_deep_all_inherit_root_group() {
    let mut land = Land { groups_taken: 9, ..Land::default() };
    let plan = land.plan(&[chain(5)]).unwrap();
    assert_eq!(plan.steps.len(), 5);
    all_in(&plan, "kappa");
    assert_eq!(land.groups_taken, 10, "a tree takes one turn");
}

#[test]
fn multiple_children_in_same_block_all_inherit_parent_group() {
    let child = |n| NewStep { index: Some(n), ..new() };
    let plan = Land::default().plan(&[over((1..=6).map(child).collect())]).unwrap();
    all_in(&plan, "alpha");
}

#[test]
fn parallel_children_at_same_index_all_inherit_parent_group() {
    let child = NewStep { index: Some(1), ..new() };
    let plan = Land::default().plan(&[over(vec![child; 6])]).unwrap();
    all_in(&plan, "alpha");
    assert!(plan.steps.iter().all(|(s, _)| s.index() == 1));
}

#[test]
fn steps_of_one_block_share_its_group() {
    let mut land = Land::default();
    let plan = land.plan(&[in_block(7, 1), in_block(7, 2), new()]).unwrap();
    assert_eq!(groups(&plan), ["alpha", "alpha", "beta"]);
    land.blocks.insert(BlockId::of(7), Block { live: vec![1, 1], ..plan.blocks[0].clone() });
    assert_eq!(one(&mut land, in_block(7, 3)).dispatch_group.as_str(), "alpha", "also when they come later");
}

#[test]
fn group_is_preserved_on_step_update() {
    let mut land = Land { groups_taken: 4, ..Land::default() };
    let plan = land.plan(&[chain(2)]).unwrap();
    let root = plan.roots[0];
    let mut board = Board::default();
    carry_out(&mut board, plan);
    board.claim(root, SessionId::of(1), "host".into(), 1).unwrap();
    report(&mut board, root, Outcome::Retry { after: None, failure: None });
    for (step, _) in board.take_changes().steps {
        assert_eq!(step.dispatch_group.as_str(), "epsilon");
    }
}

// Round robin

#[test]
fn round_robin_cycles_through_groups() {
    let mut land = Land::default();
    let seen: Vec<String> = (0..20).map(|_| one(&mut land, new()).dispatch_group.to_string()).collect();
    assert_eq!(seen[..10], DEFAULT_GROUPS);
    assert_eq!(seen[10..], DEFAULT_GROUPS);
}

#[test]
fn many_steps_distribute_evenly_across_all_10_groups() {
    let plan = Land::default().plan(&vec![new(); 30]).unwrap();
    assert_eq!(per_group(groups(&plan)), evenly(3));
}

#[test]
fn hundred_steps_distribute_evenly_across_all_10_groups() {
    let plan = Land::default().plan(&vec![new(); 100]).unwrap();
    assert_eq!(per_group(groups(&plan)), evenly(10));
}

#[test]
fn steps_created_without_transaction_wrapper_distribute_correctly() {
    let mut land = Land::default();
    let steps: Vec<Step> = (0..30).map(|_| one(&mut land, new())).collect();
    assert_eq!(per_group(steps.iter().map(|s| s.dispatch_group.as_str())), evenly(3));
}

#[test]
fn steps_created_inside_collection_each_distribute_correctly() {
    let mut land = Land::default();
    let plans: Vec<Plan> =
        [1, 4, 5].iter().cycle().take(9).map(|n| land.plan(&vec![new(); *n]).unwrap()).collect();
    assert_eq!(per_group(plans.iter().flat_map(groups)), evenly(3));
}

/// The spec documents a known issue under this name: inside one transaction all steps got one group. Ours does not break:
/// a group is taken from a counter and not from a row, so one call, however nested, spreads its roots evenly.
#[test]
fn nested_transaction_with_savepoints_breaks_round_robin_distribution() {
    let mut land = Land::default();
    let roots: Vec<NewStep> = (0..30).map(|n| if n % 3 == 0 { chain(4) } else { new() }).collect();
    let plan = land.plan(&roots).unwrap();
    let is_root = |s: &&Step| plan.roots.contains(&s.id);
    let steps = || plan.steps.iter().map(|(s, _)| s);
    assert_eq!(per_group(steps().filter(is_root).map(|s| s.dispatch_group.as_str())), evenly(3));
    assert_eq!(land.groups_taken, 30);
}

// Index

#[test]
fn orphan_step_defaults_to_index_1() {
    let step = one(&mut Land::default(), new());
    assert_eq!((step.place, step.index()), (None, 1));
    let step = one(&mut Land::default(), NewStep { index: None, ..in_block(7, 1) });
    assert_eq!(step.index(), 1);
}

#[test]
fn orphan_step_with_index_0_gets_index_1() {
    let step = one(&mut Land::default(), NewStep { index: Some(0), ..new() });
    assert_eq!(step.index(), 1);
    assert_eq!(one(&mut Land::default(), in_block(7, 0)).index(), 1);
}

#[test]
fn step_with_explicit_index_keeps_that_index() {
    let plan = Land::default().plan(&[in_block(7, 3), in_block(7, 1), in_block(7, 2)]).unwrap();
    assert_eq!(plan.steps.iter().map(|(s, _)| s.index()).collect::<Vec<_>>(), [3, 1, 2]);
}

// What else a new step takes from where it stands

#[test]
fn children_inherit_high_priority_and_its_queue() {
    let plan = Land::default().plan(&[NewStep { priority: Some("high".into()), ..chain(3) }]).unwrap();
    for (step, _) in &plan.steps {
        assert_eq!((step.priority, &*step.queue), (Priority::High, "priority"));
    }
}

#[test]
fn an_unknown_queue_falls_back_and_says_so() {
    let plan = Land::default().plan(&[NewStep { queue: Some("nowhere".into()), ..new() }]).unwrap();
    assert_eq!(&*plan.steps[0].0.queue, "default");
    assert!(plan.steps[0].1.note.as_deref().unwrap().contains("`nowhere` is not known"));
}

#[test]
fn a_resolver_is_born_dormant_and_may_be_numbered_behind_the_steps() {
    let undo = NewStep { kind: Some("resolve-exception".into()), ..in_block(7, 3) };
    let plan = Land::default().plan(&[in_block(7, 1), in_block(7, 2), undo]).unwrap();
    assert_eq!(plan.steps[2].0.state, State::NotRunnable);
}

#[test]
fn a_resolver_may_join_a_block_that_has_moved_on() {
    let mut land = Land::default();
    let block = Block::new(BlockId::of(7), DispatchGroup::new("alpha"));
    land.blocks.insert(block.id, Block { live: vec![0, 1], current_index: 2, ..block });
    let undo = NewStep { kind: Some("resolve-exception".into()), ..in_block(7, 1) };
    assert_eq!(one(&mut land, undo).state, State::NotRunnable);
    refused_by(land, &[in_block(7, 1)], "steps[0].index", "already at index 2", "use index 2 or a later one");
}

// Refusals: each names its field, its problem and its fix, and nothing is planned

fn refused(steps: &[NewStep], field: &str, problem: &str, fix: &str) {
    refused_by(Land::default(), steps, field, problem, fix);
}

fn refused_by(mut land: Land, steps: &[NewStep], field: &str, problem: &str, fix: &str) {
    let faults = land.plan(steps).expect_err("nothing is planned");
    let told = |f: &Fault| f.field == field && f.problem.contains(problem) && f.fix.contains(fix);
    assert!(faults.iter().any(told), "wanted `{field}: {problem}; {fix}` among {faults:?}");
}

/// The same fault, told where it stands: at the top, and below.
fn refused_everywhere(step: NewStep, field: &str, problem: &str, fix: &str) {
    refused(&[new(), step.clone()], &format!("steps[1].{field}"), problem, fix);
    refused(&[over(vec![new(), step])], &format!("steps[0].children[1].{field}"), problem, fix);
}

#[test]
fn an_empty_action_is_refused() {
    refused_everywhere(NewStep::of(" "), "action", "is empty", "name the action");
    refused_everywhere(NewStep::of("a\0b"), "action", "NUL", "remove it");
    refused_everywhere(NewStep::of(&"a".repeat(256)), "action", "256 bytes", "at most 255");
}

#[test]
fn unknown_words_are_refused() {
    let word = || Some("purple".to_string());
    refused_everywhere(NewStep { kind: word(), ..new() }, "kind", "`purple`", "default or resolve-exception");
    refused_everywhere(NewStep { priority: word(), ..new() }, "priority", "`purple`", "high or normal");
    refused_everywhere(NewStep { success: word(), ..new() }, "success", "`purple`", "best_effort");
    refused_everywhere(
        NewStep { dispatch_group: word(), ..new() },
        "dispatch_group",
        "`purple`",
        "one of alpha, beta",
    );
    let state = "purple".parse::<State>().unwrap_err().to_string();
    assert!(
        state.contains("`purple` is not a step state") && state.contains("not_runnable, pending"),
        "{state}"
    );
}

#[test]
fn a_group_other_than_the_blocks_is_refused() {
    let other = NewStep { dispatch_group: Some("beta".into()), ..new() };
    refused(
        &[over(vec![other])],
        "steps[0].children[0].dispatch_group",
        "belongs to `alpha`",
        "leave it out",
    );
}

#[test]
fn oversized_values_are_refused() {
    let text = format!("\"{}\"", "x".repeat(limits::PAYLOAD_BYTES_MAX));
    let big = NewStep { arguments: Some(RawValue::from_string(text).unwrap()), ..new() };
    refused_everywhere(big, "arguments", "1048578 bytes", "at most 1048576");
    refused_everywhere(
        NewStep { label: Some("x".repeat(256)), ..new() },
        "label",
        "256 bytes",
        "at most 255",
    );
    refused_everywhere(
        NewStep { max_attempts: Some(0), ..new() },
        "max_attempts",
        "out of range",
        "from 1 to",
    );
    refused_everywhere(
        NewStep { retry_factor: Some(0.5), ..new() },
        "retry_factor",
        "out of range",
        "from 1 to 100",
    );
    refused_everywhere(
        NewStep { retry_factor: Some(f64::NAN), ..new() },
        "retry_factor",
        "out of range",
        "from 1",
    );
    let index = Some(limits::INDEX_MAX + 1);
    refused_everywhere(NewStep { index, ..new() }, "index", "out of range", "at most");
    let far = NewStep { delay_ms: Some(u64::MAX), ..new() };
    refused_everywhere(far, "dispatch_after", "too far away", "at most 366 days");
    let twice = NewStep { delay_ms: Some(1), dispatch_after: Some(1), ..new() };
    refused_everywhere(twice, "delay_ms", "says twice", "not both");
}

#[test]
fn a_gap_in_the_indexes_is_refused() {
    let fix = "without a gap";
    refused(&[in_block(7, 1), in_block(7, 3)], "steps[1].index", "no step at index 2", fix);
    refused(&[in_block(7, 2)], "steps[0].index", "no step at index 1", fix);
    let child = |n| NewStep { index: Some(n), ..new() };
    refused(
        &[over(vec![child(1), child(2), child(4)])],
        "steps[0].children[2].index",
        "no step at index 3",
        fix,
    );
    let undo = |n| NewStep { kind: Some("resolve-exception".into()), ..in_block(7, n) };
    refused(&[in_block(7, 1), undo(2), in_block(7, 3)], "steps[2].index", "no step at index 2", fix);
    refused(&[in_block(7, 1), undo(3)], "steps[1].index", "no step at index 2", fix);
}

#[test]
fn cyclic_child_blocks_are_refused() {
    let both = |inside, owns| NewStep { child_block_id: Some(BlockId::of(owns)), ..in_block(inside, 1) };
    let fix = "must not hold";
    refused(&[both(7, 7)], "steps[0].child_block_id", "inside itself", fix);
    refused(&[both(7, 8), both(8, 7)], "steps[0].child_block_id", "inside itself", fix);
    refused(&[both(7, 8), both(8, 9), both(9, 7)], "steps[2].child_block_id", "inside itself", fix);
    let below = NewStep { child_block_id: Some(BlockId::of(7)), ..new() };
    let top = NewStep { children: vec![over(vec![below])], ..in_block(7, 1) };
    refused(&[top], "steps[0].children[0].children[0].child_block_id", "inside itself", fix);
}

#[test]
fn nesting_past_the_limit_is_refused() {
    let deep = limits::NESTING_MAX;
    assert_eq!(Land::default().plan(&[chain(deep)]).unwrap().steps.len(), deep as usize);
    refused(&[chain(deep + 1)], "steps", "nested too deep", "at most 64 levels");

    let link = |n: u64| NewStep { child_block_id: Some(BlockId::of(n + 1)), ..in_block(n, 1) };
    let flat = |n: u32| (1..=u64::from(n)).rev().map(link).collect::<Vec<_>>();
    assert_eq!(Land::default().plan(&flat(deep)).unwrap().steps.len(), deep as usize);
    refused(&flat(deep + 1), "steps[0]", "65 levels deep", "at most 64 levels");

    let mut land = Land::default();
    let block = Block::new(BlockId::of(7), DispatchGroup::new("alpha"));
    land.blocks.insert(block.id, Block { depth: deep, ..block });
    let place = Some(Place { block: BlockId::of(7), index: 1 });
    land.parents.insert(StepId::of(900), Step { place, ..blank(StepId::of(900)) });
    let child = NewStep { parent_step_id: Some(StepId::of(900)), ..new() };
    refused_by(land, &[child], "steps[0]", "65 levels deep", "at most 64 levels");
}

#[test]
fn too_many_steps_are_refused() {
    let n = limits::STEPS_PER_CREATE_MAX;
    assert_eq!(Land::default().plan(&vec![new(); n]).unwrap().steps.len(), n);
    refused(&vec![new(); n + 1], "steps", "too many", "at most 10000");
    refused(&[over(vec![new(); n])], "steps", "too many", "at most 10000");
}

#[test]
fn two_owners_of_one_block_are_refused() {
    let owner = || NewStep { child_block_id: Some(BlockId::of(7)), ..new() };
    let fix = "its own child block";
    refused(&[owner(), owner()], "steps[1].child_block_id", "two steps own", fix);
    refused(&[owner(), over(vec![owner()])], "steps[1].children[0].child_block_id", "two steps own", fix);
    let mut land = Land::default();
    let block = Block::new(BlockId::of(7), DispatchGroup::new("alpha"));
    land.blocks.insert(block.id, Block { owner: Some(StepId::of(900)), ..block });
    refused_by(
        land,
        &[over(vec![owner()])],
        "steps[0].children[0].child_block_id",
        "already exists",
        "a new block",
    );
}

#[test]
fn an_ended_block_takes_no_more_steps() {
    let block = || Block { live: vec![1], ..Block::new(BlockId::of(7), DispatchGroup::new("alpha")) };
    let sweep = Sweep { kind: SweepKind::Later, event: Event::PredecessorFailed, above: 1, after: None };
    let owned = || Block { owner: Some(StepId::of(900)), ..block() };
    let ended = [Block { cut_at: Some(1), ..owned() }, Block { sweep: Some(sweep), ..owned() }];
    for block in ended {
        let mut land = Land::default();
        let (id, child_block) = (StepId::of(900), Some(block.id));
        land.parents.insert(id, Step { state: State::Running, child_block, ..blank(id) });
        land.blocks.insert(block.id, block.clone());
        let steps = [in_block(7, 1), NewStep { parent_step_id: Some(id), ..new() }];
        let faults = land.plan(&steps).unwrap_err();
        let fields: Vec<&str> = faults.iter().map(|f| f.field.as_str()).collect();
        assert_eq!(fields, ["steps[0].block_id", "steps[1].parent_step_id"]);
        assert!(faults.iter().all(|f| f.problem.contains("has ended") && f.fix.contains("use a new block")));
    }
    let mut land = Land::default();
    land.parents.insert(StepId::of(900), Step { state: State::Completed, ..blank(StepId::of(900)) });
    land.blocks.insert(BlockId::of(7), owned());
    refused_by(land, &[in_block(7, 1)], "steps[0].block_id", "has ended", "use a new block");
}

#[test]
fn a_parent_that_is_unknown_or_ended_is_refused() {
    let child = || NewStep { parent_step_id: Some(StepId::of(900)), ..new() };
    refused(&[child()], "steps[0].parent_step_id", "there is no step", "name a step that exists");
    let mut land = Land::default();
    land.parents.insert(StepId::of(900), Step { state: State::Failed, ..blank(StepId::of(900)) });
    refused_by(land, &[child()], "steps[0].parent_step_id", "the parent failed", "has not ended");
    let lost = Step { child_block: Some(BlockId::of(7)), ..blank(StepId::of(900)) };
    let land = Land { parents: [(lost.id, lost)].into(), ..Land::default() };
    refused_by(land, &[child()], "steps[0].parent_step_id", "is gone", "can take children");
}

#[test]
fn a_step_stands_in_one_place() {
    let twice = NewStep { parent_step_id: Some(StepId::of(900)), ..in_block(7, 1) };
    refused(&[twice], "steps[0]", "says twice", "only one of");
    refused(&[over(vec![in_block(7, 1)])], "steps[0].children[0]", "says twice", "only one of");
}

#[test]
fn all_faults_are_told_at_once() {
    let bad = NewStep { priority: Some("urgent".into()), max_attempts: Some(0), ..NewStep::of("") };
    let faults = Land::default().plan(&[bad, in_block(7, 2)]).unwrap_err();
    let fields: Vec<&str> = faults.iter().map(|f| f.field.as_str()).collect();
    let wanted = ["steps[0].action", "steps[0].max_attempts", "steps[0].priority", "steps[1].index"];
    assert_eq!(fields, wanted);
}

#[test]
fn what_cannot_be_done_in_order_is_refused() {
    let ordered = |group: Option<&str>| {
        let mode = Some("block_on_error".to_string());
        NewStep { mode, message_group: group.map(Into::into), ..new() }
    };
    refused_everywhere(ordered(Some("")), "message_group", "is empty", "name what must stay in order");
    let word = NewStep { mode: Some("sometimes".into()), ..new() };
    refused_everywhere(word, "mode", "`sometimes`", "immediate, next_on_error or block_on_error");
    let undo = NewStep { kind: Some("resolve-exception".into()), ..ordered(Some("g")) };
    refused_everywhere(undo, "mode", "a resolver is not done in order", "leave out `mode`");
    let home = one(&mut Land::default(), ordered(Some("g"))).dispatch_group;
    let other = DEFAULT_GROUPS.iter().find(|name| **name != home.as_str()).map(|name| name.to_string());
    let elsewhere = NewStep { dispatch_group: other, ..ordered(Some("g")) };
    refused_everywhere(
        elsewhere,
        "dispatch_group",
        "is not where the message group `g` lives",
        home.as_str(),
    );
    let same = NewStep { dispatch_group: Some(home.to_string()), ..ordered(Some("g")) };
    assert_eq!(one(&mut Land::default(), same).dispatch_group, home);
    let shared = one(&mut Land::default(), ordered(None));
    assert_eq!(shared.line().map(|line| line.group.to_string()).as_deref(), Some("default"));
    let unordered = NewStep { message_group: Some("g".into()), ..new() };
    assert!(one(&mut Land::default(), unordered).line().is_none(), "it is named, and held back by nobody");
}

#[test]
fn a_child_of_the_line_that_its_parent_holds_is_refused() {
    let mode = DispatchMode::BlockOnError;
    let member = Member { group: "g".into(), mode, sequence: 99, place: StepId::of(900), joined: true };
    let parent = Step { state: State::Running, member: Some(member), ..blank(StepId::of(900)) };
    let child = |group: &str| NewStep {
        parent_step_id: Some(StepId::of(900)),
        message_group: Some(group.into()),
        mode: Some("next_on_error".into()),
        ..new()
    };
    let land = |parent: &Step| {
        let mut land = Land::default();
        land.parents.insert(parent.id, parent.clone());
        land
    };
    let problem = "its parent has the message group `g`, and would wait for itself";
    refused_by(land(&parent), &[child("g")], "steps[0].message_group", problem, "another message group");
    let waits = Step { parked: true, ..parent.clone() };
    for (parent, group) in [(&parent, "h"), (&waits, "g")] {
        let told = land(parent).plan(&[child(group)]);
        let faults = told.err().unwrap_or_default();
        assert!(faults.iter().all(|fault| !fault.field.contains("message_group")), "{faults:?}");
    }
}

#[test]
fn what_is_over_before_it_could_start_is_refused() {
    let until =
        |expires_at, dispatch_after| NewStep { expires_at: Some(expires_at), dispatch_after, ..new() };
    let problem = "is over before the step could start";
    refused_everywhere(until(0, None), "expires_at", problem, "an instant that lies ahead");
    refused_everywhere(until(5, Some(5)), "expires_at", problem, "behind the one at which it is due");
    assert_eq!(one(&mut Land::default(), until(6, Some(5))).expires_at, Some(Timestamp(6)));
}
