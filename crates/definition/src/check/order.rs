//! Who follows whom: what the graph says of it, in words for who wrote it, and what no graph can say.

use super::Finding;
use crate::limits::EDGES_MAX;
use crate::suggest::nearest;
use model::Fault;
use model::definition::{BranchKind, Definition, Work};
use rules::workflow::graph::Graph;

/// The faults of the graph, in words for who wrote it.
pub(super) fn explain(
    definition: &Definition,
    faults: Vec<Fault>,
    is_wrong: &dyn Fn(&str) -> bool,
) -> Vec<Finding> {
    // Where the branches lead is not known, if something is wrong with them.
    let branch_is_wrong = faults.iter().any(|fault| fault.field.contains(".branch."))
        || (0..definition.steps.len()).any(|n| is_wrong(&format!("steps[{n}].branch")));
    let follows = |fault: &Fault| fault.problem.starts_with("it follows the branches of");
    let told = faults.into_iter().filter(|fault| !(branch_is_wrong && follows(fault)));
    told.map(|fault| explain_one(definition, fault)).collect()
}

fn explain_one(definition: &Definition, fault: Fault) -> Finding {
    if let Some(round) = fault.problem.strip_prefix("its steps wait for each other: ") {
        let keys: Vec<&str> = round.split(" → ").collect();
        if let [key, again] = keys.as_slice()
            && key == again
            && let Some((field, _)) = break_round(definition, key, key)
        {
            return Finding::new(field, format!("`{key}` waits for itself"), "name another step");
        }
        let broken = keys.windows(2).find_map(|pair| break_round(definition, pair[0], pair[1]));
        return match broken {
            Some((field, fix)) => {
                Finding::new(field, format!("steps wait for each other: {}", keys.join(" → ")), fix)
            }
            None => fault.into(),
        };
    }
    let named = fault.problem.strip_prefix("there is no step `").and_then(|rest| rest.strip_suffix('`'));
    let meant = named.and_then(|name| nearest(name, definition.steps.iter().map(|step| step.key.as_str())));
    let fix = meant.map_or(fault.fix, |key| format!("write `{key}`"));
    Finding::new(fault.field, fault.problem, fix)
}

/// Where a round of steps that wait for each other can be broken, given two of them that follow each other.
fn break_round(definition: &Definition, before: &str, behind: &str) -> Option<(String, String)> {
    let find = |key: &str| definition.steps.iter().position(|step| step.key == key);
    let (from, to) = (find(before)?, find(behind)?);
    if let Work::Branch(branch) = &definition.steps[from].work
        && branch.converge.as_deref() == Some(behind)
    {
        let fix = format!("let the branches meet at a step that does not come before `{before}`");
        return Some((format!("steps[{from}].branch.converge"), fix));
    }
    let i = definition.steps[to].after.as_ref()?.iter().position(|key| key == before)?;
    Some((format!("steps[{to}].after[{i}]"), format!("take `{before}` from `after` of `{behind}`")))
}

pub(super) fn check(definition: &Definition, graph: &Graph) -> Vec<Finding> {
    let edges: usize = graph.nodes.iter().map(|node| node.before.len()).sum();
    if edges > EDGES_MAX {
        let problem = format!("its steps follow each other in {edges} ways");
        let fix = format!("write at most {EDGES_MAX}: let a step follow one that follows the others");
        return vec![Finding::new("steps", problem, fix)];
    }
    let keys: std::collections::HashMap<&str, usize> =
        definition.steps.iter().enumerate().map(|(n, step)| (step.key.as_str(), n)).collect();
    let mut findings = Vec::new();
    for (n, step) in definition.steps.iter().enumerate() {
        for (i, key) in step.after.iter().flatten().enumerate() {
            let Some(from) = keys.get(key.as_str()) else { continue };
            if let Some(route) = never_both(definition, graph, n, *from) {
                let problem =
                    format!("`{key}` is on another branch of `{route}`, of which exactly one is taken");
                findings.push(Finding::new(
                    format!("steps[{n}].after[{i}]"),
                    problem,
                    "name a step of its own branch",
                ));
            }
        }
    }
    findings
}

/// The step that chooses one of their branches, of which only one is done.
fn never_both<'d>(definition: &'d Definition, graph: &Graph, a: usize, b: usize) -> Option<&'d str> {
    let (at, mine) = graph.nodes[a].branch.as_ref()?;
    let (other, theirs) = graph.nodes[b].branch.as_ref()?;
    let route = &definition.steps[*at as usize];
    let exclusive = matches!(&route.work, Work::Branch(branch) if branch.kind == BranchKind::Exclusive);
    (at == other && mine != theirs && exclusive).then_some(&route.key)
}
