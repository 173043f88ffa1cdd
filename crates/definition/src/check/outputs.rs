//! Answers of other steps must be there when they are read.
//!
//! Why    an answer that is not there is found out when a run meets it, perhaps after days. What can be known before is told
//!        before: the step does not exist, comes later, answers nothing, or may be passed by.

use super::Finding;
use super::expressions::{Moment, Read, find};
use super::reach::Reach;
use crate::limits::CHOICES_MAX;
use crate::suggest::nearest;
use model::definition::{ActionDef, Definition, FailurePolicy, StepDef, Work};
use rules::workflow::graph::Graph;
use std::collections::HashMap;

struct Checker<'d> {
    definition: &'d Definition,
    keys: HashMap<&'d str, u32>,
    /// What is sent to a trigger, or answered to the poll of a pause, is an output too, of the step behind which it is waited for.
    sent: HashMap<String, u32>,
    /// Nothing can be said about the order of steps that have none.
    order: Option<(&'d Graph, Reach<'d>)>,
}

pub(super) fn check<'d>(definition: &'d Definition, graph: Option<&'d Graph>, read: &[Read]) -> Vec<Finding> {
    let reads_none = read.iter().all(|read| read.references.outputs.is_empty());
    if reads_none && definition.steps.iter().all(|step| step.requires.is_empty()) {
        return Vec::new();
    }
    let keys = definition.steps.iter().enumerate().map(|(n, step)| (step.key.as_str(), n as u32)).collect();
    let mut findings = Vec::new();
    let order = match graph.map(|graph| Reach::of(graph).map(|reach| (graph, reach))) {
        Some(Err(step)) => {
            let problem = format!("it stands behind more than {CHOICES_MAX} branches");
            let fix = "let branches meet with `converge`, or put a part into a workflow of its own";
            findings.push(Finding::new(format!("steps[{step}].key"), problem, fix));
            None
        }
        order => order.and_then(Result::ok),
    };
    let name = |(n, step): (usize, &StepDef)| Some((step.resumed_with()?, n as u32));
    let sent = definition.steps.iter().enumerate().filter_map(name).collect();
    let mut checker = Checker { definition, keys, sent, order };
    for read in read {
        let Some(step) = read.step else { continue };
        for key in &read.references.outputs {
            let wrong = checker.read(step, key, read);
            let part = find(&read.text, key);
            findings.extend(wrong.map(|(problem, fix)| Finding {
                field: read.field.clone(),
                problem,
                fix,
                part,
            }));
        }
    }
    for (n, step) in definition.steps.iter().enumerate() {
        for (i, key) in step.requires.iter().enumerate() {
            let wrong = checker.require(n as u32, key);
            findings.extend(
                wrong.map(|(problem, fix)| Finding::new(format!("steps[{n}].requires[{i}]"), problem, fix)),
            );
        }
    }
    findings
}

/// The expression asks whether the answer is there.
fn is_guarded(text: &str, key: &str) -> bool {
    let text: String =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| if c == '"' { '\'' } else { c }).collect();
    let asks = [
        format!("has(outputs.{key})"),
        format!("has(outputs['{key}'])"),
        format!("'{key}'inoutputs"),
        format!("outputs[?'{key}']"),
        format!("outputs.?{key}"),
    ];
    asks.iter().any(|ask| text.contains(ask))
}

/// What is wrong, and what to write.
type Wrong = Option<(String, String)>;

impl Checker<'_> {
    fn read(&mut self, step: u32, key: &str, read: &Read) -> Wrong {
        let has_answered = matches!(read.moment, Moment::End | Moment::Sent | Moment::Undo);
        if has_answered && self.keys.get(key) == Some(&step) {
            return None;
        }
        let from = match self.ended(step, key) {
            Ok(from) => from,
            Err(wrong) => return Some(wrong),
        };
        if is_guarded(&read.text, key) {
            return None;
        }
        let why = self.passed_by(from, step)?;
        let fix = format!("write outputs[?'{key}'].orValue(…), or ask '{key}' in outputs first");
        Some((format!("`{key}` may have no answer: {why}"), fix))
    }

    fn require(&mut self, step: u32, key: &str) -> Wrong {
        let from = match self.ended(step, key) {
            Ok(from) => from,
            Err(wrong) => return Some(wrong),
        };
        let why = self.passed_by(from, step)?;
        let fix = "take it from `requires`, or let that step always be done";
        Some((format!("`{key}` may have no answer: {why}"), fix.into()))
    }

    /// The step whose answer is read, if it has ended by then and answers at all.
    fn ended(&self, step: u32, key: &str) -> Result<u32, (String, String)> {
        let sent_to = self.sent.get(key).copied();
        let Some(from) = self.keys.get(key).copied().or(sent_to) else {
            let known = self.keys.keys().copied().chain(self.sent.keys().map(String::as_str));
            let meant = nearest(key, known.filter(|known| *known != key));
            let fix = meant.map_or("name a step of this definition".into(), |key| format!("write `{key}`"));
            return Err((format!("there is no step `{key}`"), fix));
        };
        let mine = &self.definition.steps[step as usize].key;
        if from == step && sent_to.is_some() {
            let fix = "read it in a later step; here it is `payload`, in `resume_when`";
            return Err((format!("`{key}` is waited for behind this step"), fix.into()));
        }
        if from == step {
            let fix = "read it in a later step, or in `terminate_when`";
            return Err((format!("`{key}` has not answered when this is read"), fix.into()));
        }
        let is_before = |a, b| self.order.as_ref().map(|(_, reach)| reach.is_before(a, b));
        if is_before(step, from) == Some(true) {
            return Err((
                format!("`{key}` comes after `{mine}`"),
                format!("do this in a step that follows `{key}`"),
            ));
        }
        if is_before(from, step) == Some(false) {
            let problem = format!("`{key}` need not have ended when `{mine}` begins");
            let step = &self.definition.steps[from as usize].key;
            return Err((problem, format!("add `{step}` to `after` of `{mine}`")));
        }
        let is_wait = matches!(self.definition.steps[from as usize].work, Work::Wait(_));
        if is_wait && sent_to.is_none() {
            return Err((
                format!("`{key}` waits, and answers nothing"),
                "read the answer of another step".into(),
            ));
        }
        Ok(from)
    }

    /// Why a step may be over without an answer.
    fn passed_by(&mut self, from: u32, step: u32) -> Option<String> {
        let def: &StepDef = &self.definition.steps[from as usize];
        if let Some((graph, reach)) = &mut self.order
            && !reach.is_certain(from, step)
        {
            let branch = graph.nodes[from as usize].branch.as_ref();
            return Some(match branch {
                Some((at, key)) => {
                    format!(
                        "branch `{key}` of `{}` may not be taken",
                        self.definition.steps[*at as usize].key
                    )
                }
                None => "it follows a branch that may not be taken".into(),
            });
        }
        if def.when.is_some() {
            return Some("it has a `when`".into());
        }
        let fan_out =
            matches!(&def.work, Work::Action(action) if matches!(&**action, ActionDef { each: Some(_), .. }));
        match def.on_failure {
            FailurePolicy::SkipStep => Some("it may fail, and `on_failure` is skip_step".into()),
            FailurePolicy::ContinueWithPartial if !fan_out => {
                Some("it may fail, and `on_failure` is continue_with_partial".into())
            }
            _ => None,
        }
    }
}
