//! A definition as a picture: for the terminal, for documents and for pages.

mod drawing;
mod layout;
mod mermaid;
mod svg;
mod text;

pub use drawing::Drawing;
pub use mermaid::mermaid;
pub use svg::{Link, Looks, STYLE, svg};
pub use text::text;

use crate::duration::show;
use model::Fault;
use model::definition::{BranchKind, Definition, FailurePolicy, PauseDef, StepDef, Wait, Work};
use rules::workflow::graph::{Graph, Over};
use std::collections::BTreeMap;

/// What stands at the way past the branches of a step that chose none.
pub const SKIPPED: &str = "skipped";

/// What is drawn of a step.
#[derive(Debug)]
struct Drawn {
    key: String,
    kind: &'static str,
    /// What it does, in a few words.
    detail: String,
    fan_out: bool,
    conditional: bool,
}

#[derive(Debug)]
struct Line {
    from: usize,
    to: usize,
    label: Option<String>,
    /// Branches that lead along it; none if whatever goes on does.
    ways: Vec<String>,
}

#[derive(Debug)]
struct Picture {
    steps: Vec<Drawn>,
    lines: Vec<Line>,
}

impl Picture {
    fn of(definition: &Definition) -> Result<Picture, Vec<Fault>> {
        let graph = Graph::of(definition)?;
        let mut lines: BTreeMap<(usize, usize), (Vec<String>, Vec<String>)> = BTreeMap::new();
        for (to, node) in graph.nodes.iter().enumerate() {
            for edge in &node.before {
                let step = &definition.steps[edge.from as usize];
                let Some(words) = words(step, &edge.over) else { continue };
                let (line, ways) = lines.entry((edge.from as usize, to)).or_default();
                line.extend(step.pause_after.as_deref().map(awaited).filter(|word| !line.contains(word)));
                line.extend(words.iter().cloned());
                ways.extend(words);
            }
        }
        let lines = lines.into_iter().map(|((from, to), (words, ways))| {
            let label = (!words.is_empty()).then(|| shorten(&words.join(", "), 30));
            Line { from, to, label, ways }
        });
        let lines = lines.collect();
        Ok(Picture { steps: definition.steps.iter().map(drawn).collect(), lines })
    }

    /// The steps before each, for a list; each with its line.
    fn before(&self) -> Vec<Vec<(usize, String)>> {
        let mut before = vec![Vec::new(); self.steps.len()];
        for (n, line) in self.lines.iter().enumerate() {
            let key = &self.steps[line.from].key;
            let words = line.label.as_ref().map_or(key.clone(), |label| format!("{key} ({label})"));
            before[line.to].push((n, words));
        }
        before
    }

    fn is_too_large(&self) -> bool {
        self.steps.len() > crate::limits::DRAWN_STEPS_MAX || self.lines.len() > crate::limits::DRAWN_EDGES_MAX
    }
}

/// What stands at an edge; none if nothing ever goes that way.
fn words(step: &StepDef, over: &Over) -> Option<Vec<String>> {
    let Work::Branch(branch) = &step.work else { return Some(Vec::new()) };
    match over {
        Over::Always => Some(Vec::new()),
        Over::Branch(key) => Some(vec![key.to_string()]),
        Over::Past => {
            let empty =
                branch.branches.iter().filter(|(_, steps)| steps.is_empty()).map(|(key, _)| key.clone());
            let mut words: Vec<String> = empty.collect();
            if step.when.is_some() || step.on_failure == FailurePolicy::SkipStep {
                words.push(SKIPPED.into());
            }
            (!words.is_empty()).then_some(words)
        }
    }
}

/// What those behind a step wait for.
fn awaited(pause: &PauseDef) -> String {
    match (&pause.trigger, &pause.poll, pause.resume_after) {
        (Some(trigger), _, _) => format!("awaits {trigger}"),
        (None, Some(poll), _) => format!("polls {}", poll.run.action),
        (None, None, after) => format!("waits {}", show(after.unwrap_or_default())),
    }
}

fn drawn(step: &StepDef) -> Drawn {
    let (kind, detail, fan_out) = match &step.work {
        Work::Action(action) => ("action", action.action.clone(), action.each.is_some()),
        Work::Poll(poll) => {
            let every = poll.interval.unwrap_or(model::limits::POLL_INTERVAL_DEFAULT);
            ("poll", format!("poll {} every {}", poll.run.action, show(every)), false)
        }
        Work::Wait(Wait::For(length)) => ("wait", format!("wait {}", show(*length)), false),
        Work::Wait(Wait::Until(until)) => ("wait", format!("until {}", until.0), false),
        Work::Branch(branch) => {
            let word = match branch.kind {
                BranchKind::Exclusive => "one of",
                BranchKind::Inclusive => "some of",
            };
            ("branch", format!("{word} {}", branch.branches.len()), false)
        }
        Work::Workflow(sub) => ("workflow", format!("workflow {}", sub.workflow), false),
    };
    let detail = shorten(&detail, 34);
    Drawn { key: shorten(&step.key, 34), kind, detail, fan_out, conditional: step.when.is_some() }
}

fn shorten(text: &str, most: usize) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.chars().take(most).map(plain).collect();
    if text.chars().nth(most).is_some() {
        short.pop();
        short.push('…');
    }
    short
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const ORDER: &str = "workflow: order
version: 1.0.0
steps:
  - {key: check, action: orders.check}
  - {key: reserve, action: inventory.reserve, each: input.items, when: size(input.items) > 0}
  - key: route
    branch:
      choose: outputs.check.priority
      branches: {high: [express], standard: [rest, ship], none: []}
      otherwise: standard
      converge: confirm
  - {key: express, action: shipping.express}
  - {key: rest, wait: 10m}
  - {key: ship, workflow: shipping}
  - {key: confirm, action: \"mail.<send> & \\\"forget\\\"\"}
";

    pub(crate) fn order() -> Definition {
        crate::read(ORDER.as_bytes(), "order.yaml")
            .unwrap_or_else(|faults| panic!("{}", faults[0]))
            .definition
    }

    /// A chain of steps, each after the one before.
    pub(crate) fn chain(steps: usize) -> Definition {
        let steps = (0..steps).map(|n| crate::builder::Step::action(&format!("s{n}"), "work"));
        crate::builder::Definition::of("chain", "1.0.0").steps(steps).build().unwrap()
    }

    #[test]
    fn what_is_waited_for_stands_at_the_line() {
        let text = "workflow: a\nversion: 1.0.0\nsteps:\n\
             - {key: a, action: x, pause_after: {trigger: boss}}\n\
             - {key: b, action: x, pause_after: {resume_after: 14d}}\n\
             - {key: c, action: x, pause_after: {poll: {action: pay.status}, resume_when: payload.paid}}\n\
             - {key: d, action: x}\n";
        let read = crate::read(text.as_bytes(), "a.yaml").unwrap_or_else(|faults| panic!("{}", faults[0]));
        let picture = Picture::of(&read.definition).unwrap();
        let labels: Vec<&str> = picture.lines.iter().filter_map(|line| line.label.as_deref()).collect();
        assert_eq!(labels, ["awaits boss", "waits 14d", "polls pay.status"]);
    }

    #[test]
    fn branches_without_steps_lead_past() {
        let picture = Picture::of(&order()).unwrap();
        let show = |line: &Line| {
            let label = line.label.as_deref().map(|label| format!(" {label}")).unwrap_or_default();
            format!("{}-{}{label}", picture.steps[line.from].key, picture.steps[line.to].key)
        };
        assert_eq!(
            picture.lines.iter().map(show).collect::<Vec<_>>(),
            [
                "check-reserve",
                "reserve-route",
                "route-express high",
                "route-rest standard",
                "route-confirm none",
                "express-confirm",
                "rest-ship",
                "ship-confirm"
            ]
        );
    }
}
