//! What a definition must be beyond its form, however it was written.
//!
//! Why    a file, the builder and whoever asks over HTTP are judged by the same rules. Each finding names a field; those who have
//!        a file make a place of it.

mod expressions;
mod order;
mod outputs;
mod polls;
mod reach;
mod relations;
mod resolution;
mod schemas;
mod secrets;

use crate::place::Part;
use model::Fault;
use model::definition::Definition;
use rules::workflow::graph::Graph;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Finding {
    pub field: String,
    pub problem: String,
    pub fix: String,
    /// Where in the text of the field.
    pub part: Option<Part>,
}

impl Finding {
    fn new(field: impl Into<String>, problem: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { field: field.into(), problem: problem.into(), fix: fix.into(), part: None }
    }
}

impl From<Fault> for Finding {
    fn from(fault: Fault) -> Finding {
        Finding::new(fault.field, fault.problem, fault.fix)
    }
}

impl From<Finding> for Fault {
    fn from(finding: Finding) -> Fault {
        Fault { field: finding.field, problem: finding.problem, fix: finding.fix }
    }
}

/// Everything that is wrong with what a definition says. Some fields may be known to be wrong: nothing is told that only follows
/// from them.
pub(crate) fn all(definition: &Definition, is_wrong: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let mut findings = relations::check(definition);
    findings.extend(schemas::check(definition));
    let (read, wrong) = expressions::check(definition);
    findings.extend(wrong);
    findings.extend(secrets::check(definition, &read));
    let graph = match Graph::of(definition) {
        Err(faults) => {
            findings.extend(order::explain(definition, faults, is_wrong));
            None
        }
        Ok(graph) => {
            findings.extend(order::check(definition, &graph));
            Some(graph)
        }
    };
    findings.extend(outputs::check(definition, graph.as_ref(), &read));
    findings
}

/// Which steps read the answers of which: the number of the one, the key of the other.
pub(crate) fn answers_read(definition: &Definition) -> Vec<(u32, String)> {
    let (read, _) = expressions::check(definition);
    let read = read.into_iter().filter_map(|read| Some((read.step?, read.references.outputs)));
    let mut all: Vec<(u32, String)> =
        read.flat_map(|(step, keys)| keys.into_iter().map(move |key| (step, key))).collect();
    for (n, step) in definition.steps.iter().enumerate() {
        all.extend(step.requires.iter().map(|key| (n as u32, key.clone())));
    }
    all.sort();
    all.dedup();
    all
}
