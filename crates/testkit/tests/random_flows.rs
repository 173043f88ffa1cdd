//! Random workflows against a plain model: the same steps must end the same way, and none may begin before its predecessors ended.
//! About each that came to rest somebody decides something, and again it must come to what the model says.

#[path = "random_flows/decide.rs"]
mod decide;
#[path = "random_flows/generate.rs"]
mod generate;
#[path = "random_flows/oracle.rs"]
mod oracle;

use engine::{Engine, WorkflowVerb};
use generate::{Sketch, sketch};
use model::{Claim, CompensationState, Failure, Outcome, Report, WorkflowId, limits};
use oracle::World;
use rules::settle::Mode;
use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;
use stepfast_testkit::{SERVER, Stage, stored};

/// Workflows of a run of the test, and how many of them are on a stage at once.
const FLOWS: u64 = 3_000;
const AT_ONCE: u64 = 100;
/// Rounds after which nothing may move any more.
const ROUNDS_MAX: usize = 60;

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::test]
async fn random_workflows_end_as_a_plain_model_says() {
    let first = from_env("STEPFAST_SEED").unwrap_or(1);
    // A server far away is asked about a part of them; what differs between the databases, the differential run finds.
    let usual = if std::env::var(SERVER).is_ok() { FLOWS / 5 } else { FLOWS };
    let flows = from_env("STEPFAST_SEEDS").unwrap_or(usual);
    let _ = writeln!(std::io::stderr(), "{flows} workflows, STEPFAST_SEED={first}");
    let mut seen = Seen::default();
    for start in (first..first + flows).step_by(AT_ONCE as usize) {
        let end = (start + AT_ONCE).min(first + flows);
        batch(start..end, &mut seen).await;
    }
    if flows >= FLOWS {
        for (letter, least) in [('C', 3_000), ('F', 300), ('K', 300), ('-', 300), ('P', 6)] {
            let enough = seen.letters.get(&letter).is_some_and(|n| *n >= least);
            assert!(enough, "hardly any step ended as {letter}: {seen:?}");
        }
        for word in ["retry", "retry_from_step", "compensate", "cancel", "mark_resolved"] {
            let enough = seen.decided.get(word).is_some_and(|n| *n >= 20);
            assert!(enough, "hardly anybody decided to {word}: {seen:?}");
        }
    }
}

/// What the runs came to: how steps ended, and what was decided and taken.
#[derive(Default, Debug)]
struct Seen {
    letters: HashMap<char, usize>,
    decided: HashMap<&'static str, usize>,
}

async fn batch(seeds: std::ops::Range<u64>, seen: &mut Seen) {
    let mut stage = Stage::new().await;
    let mut flows: Vec<(u64, Sketch, WorkflowId)> = Vec::new();
    for seed in seeds {
        let sketch = sketch(seed);
        stage.engine.apply_definition(stored(&sketch.yaml), "test".into()).await.expect("it is stored");
        let id = stage.start(&format!("flow-{seed}"), sketch.input.clone()).await;
        flows.push((seed, sketch, id));
    }
    let order: HashMap<WorkflowId, u64> = flows.iter().map(|(seed, _, id)| (*id, *seed)).collect();
    let mut worlds: Vec<World> = flows.iter().map(|(_, sketch, _)| oracle::run(sketch)).collect();
    come_to_rest(&mut stage, &order).await;
    for ((seed, sketch, id), world) in flows.iter().zip(&worlds) {
        let found = found(&stage, *id, sketch);
        assert_eq!(found, world.told(), "{}", again(*seed, sketch));
        in_order(&stage, *id, sketch);
        let letters = found.split(' ').filter_map(|word| word.split('=').nth(1)?.chars().next());
        letters.for_each(|letter| *seen.letters.entry(letter).or_default() += 1);
    }
    for ((seed, sketch, id), world) in flows.iter().zip(&mut worlds) {
        let decision = decide::draw(*seed, &sketch.steps);
        let told = stage.operate_workflow(*id, WorkflowVerb::Resolve(decision.clone())).await;
        let before = world.told();
        assert_eq!(
            told.is_ok(),
            world.decide(&decision),
            "{decision:?} of {before}: {told:?}\n{}",
            again(*seed, sketch)
        );
        *seen.decided.entry(decision.word()).or_default() += usize::from(told.is_ok());
    }
    come_to_rest(&mut stage, &order).await;
    // What still waits in what is undone is taken back after a while.
    stage.advance(limits::SESSION_LEASE + Duration::from_secs(1)).await;
    come_to_rest(&mut stage, &order).await;
    for ((seed, sketch, id), world) in flows.iter().zip(&worlds) {
        let decision = decide::draw(*seed, &sketch.steps);
        assert_eq!(found(&stage, *id, sketch), world.told(), "{decision:?}\n{}", again(*seed, sketch));
        undone_backwards(&stage, *id);
    }
}

/// How to run one of them again.
fn again(seed: u64, sketch: &Sketch) -> String {
    format!("STEPFAST_SEED={seed} STEPFAST_SEEDS=1\n{}\n{}", sketch.yaml, sketch.input)
}

async fn come_to_rest(stage: &mut Stage, order: &HashMap<WorkflowId, u64>) {
    for _ in 0..ROUNDS_MAX {
        let claims = all_that_may_run(stage).await;
        if claims.is_empty() {
            return;
        }
        report(&stage.engine, stage, claims, order).await;
    }
    panic!("it does not come to rest");
}

/// Everything in a plan was undone, once, the last that ended first.
fn undone_backwards(stage: &Stage, id: WorkflowId) {
    let runs = stage.browse().compensation_runs(id).expect("a read");
    let ended = |run: &model::CompensationRun| stage.step(run.undoes).step.completed_at;
    assert!(runs.is_sorted_by(|one, next| ended(one) >= ended(next)), "{runs:#?}");
    let mut once: Vec<_> = runs.iter().map(|run| run.undoes).collect();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), runs.len(), "{runs:#?}");
    assert!(runs.iter().all(|run| run.state == CompensationState::Succeeded), "{runs:#?}");
}

/// One turn hands out only so much, and what it leaves on disk can be read once it is durable.
async fn all_that_may_run(stage: &mut Stage) -> Vec<Claim> {
    let (mut claims, mut quiet) = (Vec::new(), 0);
    while quiet < 2 {
        stage.decide(Mode::FixedPoint).await;
        let more = stage.handed();
        quiet = if more.is_empty() { quiet + 1 } else { 0 };
        claims.extend(more);
    }
    claims
}

/// All that runs ends in one turn, in the order of the definitions.
async fn report(engine: &Engine, stage: &Stage, mut claims: Vec<Claim>, order: &HashMap<WorkflowId, u64>) {
    let rank = |claim: &Claim| {
        let part = stage.step(claim.step).step.in_workflow.expect("all steps are of workflows");
        (order[&part.workflow], part.def, part.item)
    };
    claims.sort_by_cached_key(rank);
    let one = |claim: Claim| {
        let given: serde_json::Value = serde_json::from_str(&claim.arguments).expect("JSON");
        let failure = Failure { message: "as it was told".into(), trace: None };
        let outcome = match given["fail"].as_bool() {
            Some(true) => Outcome::Fail { failure, notify: true },
            _ => Outcome::Complete { response: Some("{}".into()) },
        };
        let (session, step, attempt) = (stage.session.id, claim.step, claim.attempt);
        Report { session, step, attempt, outcome, log: Vec::new(), delivery: None }
    };
    engine.report(claims.into_iter().map(one).collect()).await.expect("reports are stored");
}

fn found(stage: &Stage, id: WorkflowId, sketch: &Sketch) -> String {
    let flow = stage.flow(id);
    let (state, steps) = flow.split_once(':').expect("a state");
    let mut letters: HashMap<&str, String> = HashMap::new();
    for step in steps.split(',').map(str::trim).filter(|step| !step.is_empty()) {
        let mut words = step.split(' ');
        let (key, letter) = (words.next().expect("a key"), words.next().expect("a letter"));
        if letter == "U" {
            // It is still to be done again.
            letters.remove(key);
            continue;
        }
        let reason = words.next().map(|reason| format!("({reason})")).unwrap_or_default();
        letters.insert(key, format!("{letter}{reason}"));
    }
    let word = |step: &generate::Step| {
        format!("{}={}", step.key, letters.get(step.key.as_str()).map_or("-", String::as_str))
    };
    format!("{state} {}", sketch.steps.iter().map(word).collect::<Vec<_>>().join(" "))
}

/// No step began before those that it follows had ended.
fn in_order(stage: &Stage, id: WorkflowId, sketch: &Sketch) {
    let rows = stage.browse().workflow_steps(id).expect("a read");
    let row = |key: &str| rows.iter().find(|row| row.detail.step_key.as_deref() == Some(key));
    for step in &sketch.steps {
        let Some(made) = row(&step.key).map(|row| row.step.created_at) else { continue };
        for before in step.before.iter().map(|edge| &sketch.steps[edge.from].key) {
            let ended = row(before).and_then(|row| row.step.completed_at);
            assert!(ended.is_some_and(|at| at <= made), "{} began before {before} ended", step.key);
        }
    }
}
