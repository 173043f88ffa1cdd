//! What would break a live run if it went on with another version of its definition.
//!
//! Why    what has begun was begun by what the other version said, and what was answered was answered to it. A run can change
//!        over only where nothing that happened is contradicted.

use crate::check::answers_read;
use model::State;
use model::definition::{ActionDef, Definition, StepDef, Work};
use rules::workflow::graph::Graph;
use std::collections::{BTreeMap, HashMap};

struct Switch<'d> {
    from: &'d Definition,
    to: &'d Definition,
    /// Steps that have begun, and where they are.
    begun: BTreeMap<&'d str, State>,
    old: HashMap<&'d str, &'d StepDef>,
    new: HashMap<&'d str, (usize, &'d StepDef)>,
    broken: Vec<String>,
}

/// What would break, in words, given the steps of a run that have begun. Nothing means that it can change over.
pub fn breaks(from: &Definition, to: &Definition, begun: &[(&str, State)]) -> Vec<String> {
    let mut switch = Switch {
        from,
        to,
        begun: BTreeMap::new(),
        old: from.steps.iter().map(|step| (step.key.as_str(), step)).collect(),
        new: to.steps.iter().enumerate().map(|(n, step)| (step.key.as_str(), (n, step))).collect(),
        broken: Vec::new(),
    };
    for (key, state) in begun {
        match switch.old.get_key_value(key) {
            Some((key, _)) => _ = switch.begun.insert(key, *state),
            None => {
                switch.broken.push(format!("step `{key}` is {state}, and {} does not know it", from.version))
            }
        }
    }
    switch.compare_begun();
    switch.compare_order();
    switch.compare_answers();
    switch.broken
}

fn kind(step: &StepDef) -> &'static str {
    match &step.work {
        Work::Action(action) if action.each.is_some() => "a fan-out",
        Work::Action(_) => "an action",
        Work::Poll(_) => "a poll",
        Work::Wait(_) => "a wait",
        Work::Branch(_) => "a branch",
        Work::Workflow(_) => "a workflow",
    }
}

/// What is run by it.
fn runs(step: &StepDef) -> Option<&str> {
    match &step.work {
        Work::Workflow(sub) => Some(&sub.workflow),
        work => work.action().map(|action| action.action.as_str()),
    }
}

impl Switch<'_> {
    fn compare_begun(&mut self) {
        let version = &self.to.version;
        for (key, state) in &self.begun {
            let old = self.old[key];
            let Some((_, new)) = self.new.get(key) else {
                self.broken.push(format!("step `{key}` is {state}, and is not in {version}"));
                continue;
            };
            if kind(old) != kind(new) {
                let (was, is) = (kind(old), kind(new));
                self.broken.push(format!("step `{key}` is {state} as {was}, and {is} in {version}"));
            } else if !state.is_terminal() && runs(old) != runs(new) {
                let (was, is) = (runs(old).unwrap_or_default(), runs(new).unwrap_or_default());
                self.broken
                    .push(format!("step `{key}` is {state} with `{was}`, and has `{is}` in {version}"));
            }
            if state.is_terminal() && old.pause_after != new.pause_after {
                self.broken.push(format!(
                    "step `{key}` is {state}, and the pause behind it is another in {version}"
                ));
            }
            if let (Work::Branch(was), Work::Branch(is)) = (&old.work, &new.work)
                && state.is_terminal()
                && (&was.branches, &was.converge) != (&is.branches, &is.converge)
            {
                self.broken
                    .push(format!("step `{key}` has chosen its branches, and others lead on in {version}"));
            }
        }
    }

    /// What has begun must not follow what has not ended.
    fn compare_order(&mut self) {
        let Ok(graph) = Graph::of(self.to) else {
            self.broken.push(format!("the steps of {} have no order", self.to.version));
            return;
        };
        for key in self.begun.keys() {
            let Some((n, _)) = self.new.get(key) else { continue };
            for edge in &graph.nodes[*n].before {
                let before = self.to.steps[edge.from as usize].key.as_str();
                let where_it_is = match self.begun.get(before) {
                    Some(state) if state.is_terminal() => continue,
                    Some(state) => format!("is {state}"),
                    None => "has not begun".into(),
                };
                let version = &self.to.version;
                self.broken.push(format!(
                    "step `{key}` has begun, and follows `{before}` in {version}, which {where_it_is}"
                ));
            }
        }
    }

    /// Those still to come must find the answers they read.
    fn compare_answers(&mut self) {
        for (reader, read) in answers_read(self.to) {
            let ahead = self.to.steps[reader as usize].key.as_str();
            let Some(state) = self.begun.get(read.as_str()).filter(|_| !self.begun.contains_key(ahead))
            else {
                continue;
            };
            let (Some(old), Some((_, new))) = (self.old.get(read.as_str()), self.new.get(read.as_str()))
            else {
                continue;
            };
            let required = self.to.steps[reader as usize].requires.contains(&read);
            if state.is_terminal() && *state != State::Completed && required {
                self.broken.push(format!("step `{ahead}` requires the answer of `{read}`, which is {state}"));
            } else if *state == State::Completed && answers_differently(old, new) {
                let (was, is) = (&self.from.version, &self.to.version);
                self.broken.push(format!("step `{ahead}` reads the answer of `{read}`, which answered as {was} asks and not as {is}"));
            }
        }
    }
}

/// Its answer may look different.
fn answers_differently(old: &StepDef, new: &StepDef) -> bool {
    let gathered = |step: &StepDef| match &step.work {
        Work::Action(action) => match &**action {
            ActionDef { each: Some(each), .. } => Some(each.gather),
            _ => None,
        },
        _ => None,
    };
    old.produces != new.produces || runs(old) != runs(new) || gathered(old) != gathered(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(version: &str, steps: &str) -> Definition {
        let text = format!("workflow: a\nversion: {version}\nsteps:\n{steps}");
        crate::read(text.as_bytes(), "x.yaml").unwrap_or_else(|faults| panic!("{}", faults[0])).definition
    }

    fn broken(from: &str, to: &str, begun: &[(&str, State)]) -> String {
        breaks(&read("1.0.0", from), &read("2.0.0", to), begun).join("\n")
    }

    const OLD: &str =
        "- {key: a, action: x}\n- {key: b, action: y}\n- {key: c, action: z, arguments: \"${outputs.a}\"}";

    #[test]
    fn what_has_not_begun_may_change() {
        let new = "- {key: a, action: x}\n- {key: b, wait: 5s}\n- {key: new, action: z, arguments: \"${outputs.a}\"}";
        assert_eq!(broken(OLD, new, &[("a", State::Completed)]), "");
        assert_eq!(broken(OLD, OLD, &[("a", State::Completed), ("b", State::Running)]), "");
    }

    #[test]
    fn what_has_begun_must_stay_what_it_is() {
        let new = "- {key: a, wait: 5s}\n- {key: c, action: z}";
        assert_eq!(
            broken(OLD, new, &[("a", State::Completed), ("b", State::Running)]),
            "step `a` is completed as an action, and a wait in 2.0.0\nstep `b` is running, and is not in 2.0.0"
        );
        let new = OLD.replace("action: y", "action: other");
        assert_eq!(
            broken(OLD, &new, &[("a", State::Completed), ("b", State::Running)]),
            "step `b` is running with `y`, and has `other` in 2.0.0"
        );
    }

    #[test]
    fn nothing_comes_before_what_has_begun() {
        let new = format!("- {{key: first, action: x}}\n{OLD}");
        assert_eq!(
            broken(OLD, &new, &[("a", State::Running)]),
            "step `a` has begun, and follows `first` in 2.0.0, which has not begun"
        );
    }

    #[test]
    fn answers_must_be_what_is_read() {
        let new = OLD.replace("action: x}", "action: x, produces: {schema: {type: object}}}");
        assert_eq!(
            broken(OLD, &new, &[("a", State::Completed)]),
            "step `c` reads the answer of `a`, which answered as 1.0.0 asks and not as 2.0.0"
        );
        let new = OLD.replace("arguments: \"${outputs.a}\"", "requires: [b]");
        assert_eq!(
            broken(OLD, &new, &[("a", State::Completed), ("b", State::Skipped)]),
            "step `c` requires the answer of `b`, which is skipped"
        );
    }

    #[test]
    fn what_is_waited_for_behind_a_step_that_has_ended_stays_so() {
        let asks = OLD.replace("action: x}", "action: x, pause_after: {trigger: boss}}");
        let told = "step `a` is completed, and the pause behind it is another in 2.0.0";
        assert_eq!(broken(OLD, &asks, &[("a", State::Completed)]), told);
        assert_eq!(broken(&asks, &asks, &[("a", State::Completed)]), "");
    }

    #[test]
    fn what_was_chosen_cannot_be_chosen_again() {
        let route = "- {key: r, branch: {choose: input.x, branches: {p: [a], q: [b]}}}\n- {key: a, action: x}\n- {key: b, action: x}";
        let new = route.replace("p: [a], q: [b]", "p: [b], q: [a]");
        assert_eq!(
            broken(route, &new, &[("r", State::Completed)]),
            "step `r` has chosen its branches, and others lead on in 2.0.0"
        );
    }
}
