//! What a check lets a step read is there whenever a run comes to that step.

use crate::definition;
use definition::builder::{Branch, Definition, Step};
use model::definition::{BranchKind, Definition as Model, StepDef, Work};
use proptest::prelude::*;
use rules::workflow::graph::Graph;
use rules::workflow::progress::{Next, Passed, Progress};
use std::sync::Arc;

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % most
    }
}

/// A row of steps and branches, some inside of others, some that do not meet, and some steps that follow others than usual.
fn random(dice: &mut Dice) -> Vec<StepDef> {
    let mut steps: Vec<StepDef> = vec![Step::action("first", "x").into()];
    let mut meets = true;
    for n in 0..2 + dice.below(4) {
        let key = format!("s{n}");
        let mut step: StepDef = Step::action(&key, "x").into();
        let (mut inside, mut met) = (Vec::new(), true);
        if dice.below(2) == 0 {
            met = dice.below(4) > 0;
            let converge = met.then(|| format!("meet{n}"));
            (step, inside) = branch(&key, converge.as_deref(), dice);
            inside.extend(converge.map(|key| Step::action(&key, "x").into()));
        }
        if !meets || dice.below(3) == 0 {
            let after = 1 + dice.below(2);
            step.after = Some((0..after).map(|_| steps[dice.below(steps.len())].key.clone()).collect());
        }
        steps.push(step);
        steps.extend(inside);
        meets = met;
    }
    steps
}

fn branch(key: &str, converge: Option<&str>, dice: &mut Dice) -> (StepDef, Vec<StepDef>) {
    let (mut inside, mut branch) = (Vec::new(), Branch::new("input.x"));
    for b in 0..2 + dice.below(2) {
        let keys: Vec<String> = (0..dice.below(3)).map(|i| format!("{key}-{b}-{i}")).collect();
        for (i, inner) in keys.iter().enumerate() {
            let next = keys.get(i + 1).map(String::as_str);
            if key.len() < 8 && dice.below(3) == 0 {
                let (step, more) = self::branch(inner, next, dice);
                inside.push(step);
                inside.extend(more);
            } else {
                inside.push(Step::action(inner, "x").into());
            }
        }
        branch = branch.branch(&format!("b{b}"), keys.iter().map(String::as_str));
    }
    branch = if dice.below(2) == 0 { branch.inclusive() } else { branch };
    branch = converge.into_iter().fold(branch, Branch::converge);
    (Step::branch(key, branch).into(), inside)
}

/// The steps that a run comes to, in their order.
fn run(model: &Model, dice: &mut Dice) -> Vec<u32> {
    let graph = Graph::of(model).expect("it was built");
    let (mut progress, mut next) = Progress::start(&graph);
    let mut reached = Vec::new();
    while !next.is_empty() {
        let Next { step, reached: on_way } = next.remove(dice.below(next.len()));
        let passed = match &model.steps[step as usize].work {
            _ if !on_way => Passed::Aside,
            Work::Branch(branch) => {
                let keys: Vec<&String> = branch.branches.keys().collect();
                let mut chosen: Vec<Arc<str>> = vec![keys[dice.below(keys.len())].as_str().into()];
                if branch.kind == BranchKind::Inclusive {
                    chosen.extend(
                        keys.iter().filter(|_| dice.below(2) == 0).map(|key| Arc::from(key.as_str())),
                    );
                }
                Passed::Chose(chosen)
            }
            _ => Passed::On,
        };
        reached.extend(on_way.then_some(step));
        next.extend(progress.pass(&graph, step, passed));
    }
    reached
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_required_is_there(seed in any::<u64>()) {
        let mut dice = Dice(seed);
        let Ok(mut model) = Definition::of("a", "1.0.0").steps(random(&mut dice)).build() else { return Ok(()) };
        for _ in 0..10 {
            let (reader, read) = (dice.below(model.steps.len()), dice.below(model.steps.len()));
            model.steps[reader].requires = vec![model.steps[read].key.clone()];
            let allowed = definition::check(&model).is_empty();
            model.steps[reader].requires = Vec::new();
            if !allowed {
                continue;
            }
            for _ in 0..20 {
                let reached = run(&model, &mut dice);
                if let Some(at) = reached.iter().position(|step| *step == reader as u32) {
                    let (reader, read_key) = (&model.steps[reader].key, &model.steps[read].key);
                    prop_assert!(reached[..at].contains(&(read as u32)), "{} read {} in\n{}", reader, read_key, definition::canonical(&model));
                }
            }
        }
    }
}

/// The check is not only careful: it lets through what is certain.
#[test]
fn what_is_certain_may_be_required() {
    let mut allowed = 0;
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let Ok(mut model) = Definition::of("a", "1.0.0").steps(random(&mut dice)).build() else { continue };
        let last = model.steps.len() - 1;
        model.steps[last].requires = vec!["first".into()];
        allowed += usize::from(definition::check(&model).is_empty());
    }
    assert!(allowed > 50, "{allowed}");
}
