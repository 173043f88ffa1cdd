//! What an expression looks at, read from its text alone.
//!
//! Why    a step's answer is kept only if somebody reads it, a definition that names a step which is not there is refused, and
//!        what was looked at is told with every decision.

use crate::node::{Entry, Literal, Node, Operator};
use crate::path::{Path, PathKey};
use std::collections::BTreeSet;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// Steps whose outputs are named.
    pub outputs: BTreeSet<String>,
    /// Steps that are not named may be read too, as in `outputs[item]` or `size(outputs)`.
    pub whole_outputs: bool,
    /// Of those that exist outside of loops.
    pub variables: BTreeSet<String>,
    pub functions: BTreeSet<String>,
    /// The ways into the variables, each as far as the text fixes it.
    pub paths: BTreeSet<Path>,
    /// Those whose values the answer holds as they are.
    pub handed_on: BTreeSet<Path>,
    /// Those whose values the answer depends on. What is only asked whether it is there is neither.
    pub looked_at: BTreeSet<Path>,
}

/// What becomes of the value of a part.
#[derive(Clone, Copy)]
enum Becomes {
    /// The answer, or a part of it.
    Answer,
    Reckoned,
}

/// Functions that answer one of what they are given.
const PASSING: [&str; 4] = ["or", "orValue", "value", "optional.of"];

impl References {
    pub(crate) fn of(node: &Node) -> References {
        let mut references = References::default();
        references.collect(node, Becomes::Answer);
        references
    }

    pub(crate) fn extend(&mut self, other: &References) {
        self.outputs.extend(other.outputs.iter().cloned());
        self.whole_outputs |= other.whole_outputs;
        self.variables.extend(other.variables.iter().cloned());
        self.functions.extend(other.functions.iter().cloned());
        self.paths.extend(other.paths.iter().cloned());
        self.handed_on.extend(other.handed_on.iter().cloned());
        self.looked_at.extend(other.looked_at.iter().cloned());
    }

    fn note(&mut self, path: Path) {
        if path.variable == "outputs" {
            match path.keys.first() {
                Some(PathKey::Name(key)) => _ = self.outputs.insert(key.clone()),
                _ => self.whole_outputs = true,
            }
        }
        self.variables.insert(path.variable.clone());
        self.paths.insert(path);
    }

    fn collect(&mut self, node: &Node, becomes: Becomes) {
        if let Some(path) = node.path() {
            if node.is_global() {
                match (node, becomes) {
                    (Node::Has(..), _) => {}
                    (_, Becomes::Answer) => _ = self.handed_on.insert(path.clone()),
                    (_, Becomes::Reckoned) => _ = self.looked_at.insert(path.clone()),
                }
                self.note(path);
            }
            return;
        }
        match node {
            Node::Literal(_) | Node::Type(_) | Node::Variable(_) | Node::Local(..) => {}
            Node::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                self.reckon([condition]);
                [then, otherwise].into_iter().for_each(|part| self.collect(part, becomes));
            }
            Node::List(items) => items.iter().for_each(|(item, _)| self.collect(item, becomes)),
            Node::Map(entries) => entries.iter().for_each(|Entry { key, value, .. }| {
                self.reckon([key]);
                self.collect(value, becomes);
            }),
            Node::Call(function, arguments) => {
                self.functions.insert(function.name.to_string());
                let passes = PASSING.contains(&function.name);
                let becomes = if passes { becomes } else { Becomes::Reckoned };
                arguments.iter().for_each(|argument| self.collect(argument, becomes));
            }
            reckoned => self.collect_reckoned(reckoned),
        }
    }

    fn reckon<'n>(&mut self, parts: impl IntoIterator<Item = &'n Node>) {
        parts.into_iter().for_each(|part| self.collect(part, Becomes::Reckoned));
    }

    fn collect_reckoned(&mut self, node: &Node) {
        match node {
            Node::Select(of, ..) | Node::Has(of, _) | Node::Not(of) | Node::Negate(of) => {
                self.reckon([&**of])
            }
            Node::Index(of, at, _) => self.reckon([&**of, &**at]),
            Node::And(parts) | Node::Or(parts) => self.reckon(parts.iter()),
            Node::Binary(operator, parts) => self.binary(*operator, parts),
            Node::Loop(a_loop) => {
                let parts = [Some(&a_loop.range), a_loop.filter.as_ref(), Some(&a_loop.body)];
                self.reckon(parts.into_iter().flatten());
            }
            Node::Matches(text, _) => {
                self.functions.insert("matches".to_string());
                self.reckon([&**text]);
            }
            _ => {}
        }
    }

    /// `'a' in outputs` names the step, as `has(outputs.a)` does.
    fn binary(&mut self, operator: Operator, [left, right]: &[Node; 2]) {
        match (operator, left, right) {
            (Operator::In, Node::Literal(Literal::Text(key)), Node::Variable("outputs")) => {
                self.note(Path { variable: "outputs".into(), keys: vec![PathKey::Name(key.to_string())] });
            }
            _ => self.reckon([left, right]),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Program;

    /// Outputs, variables, functions, paths.
    fn told(source: &str) -> String {
        let program = Program::compile(source).unwrap();
        let read = program.references();
        let words = |set: &std::collections::BTreeSet<String>| {
            set.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
        };
        let paths: Vec<String> = read.paths.iter().map(ToString::to_string).collect();
        let whole = if read.whole_outputs { "*" } else { "" };
        format!(
            "{}{whole} | {} | {} | {}",
            words(&read.outputs),
            words(&read.variables),
            words(&read.functions),
            paths.join(" ")
        )
    }

    #[test]
    fn what_is_named_is_found() {
        assert_eq!(told("input.a.b > 1 && size(input.c) == 0"), " | input | size | input.a.b input.c");
        assert_eq!(told("outputs['x-y'].z"), "x-y | outputs |  | outputs['x-y'].z");
        assert_eq!(
            told("outputs.?a.b.orValue(payload)"),
            "a | outputs payload | orValue | outputs.a.b payload"
        );
        assert_eq!(told("has(outputs.a) || 'b' in outputs"), "a b | outputs |  | outputs.a outputs.b");
        assert_eq!(told("outputs[?'a']"), "a | outputs |  | outputs.a");
    }

    #[test]
    fn a_way_that_is_not_fixed_reads_the_whole() {
        assert_eq!(told("outputs[item]"), "* | item outputs |  | item outputs");
        assert_eq!(told("input.list[index].x"), " | index input |  | index input.list");
        assert_eq!(told("size(outputs)"), "* | outputs | size | outputs");
        assert_eq!(told("item in outputs"), "* | item outputs |  | item outputs");
    }

    #[test]
    fn what_is_handed_on_is_told_apart_from_what_is_looked_at() {
        for (source, wanted) in [
            ("input.a", "input.a | "),
            ("{'k': input.a, 'l': [input.b.c]}", "input.a input.b.c | "),
            ("input.?a.orValue(input.b)", "input.a input.b | "),
            ("input.n > 1 ? input.a : 'none'", "input.a | input.n"),
            ("has(input.a) && input.b", " | input.b"),
            ("'x' + input.a", " | input.a"),
            ("{input.a: 1}", " | input.a"),
            ("size(input.a)", " | input.a"),
            ("input.list.map(x, input.a)", " | input.a input.list"),
            ("input.list[index]", " | index input.list"),
        ] {
            let program = Program::compile(source).unwrap();
            let read = program.references();
            let told = |paths: &std::collections::BTreeSet<crate::Path>| {
                paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
            };
            assert_eq!(format!("{} | {}", told(&read.handed_on), told(&read.looked_at)), wanted, "{source}");
        }
    }

    #[test]
    fn variables_of_a_loop_are_not_free() {
        assert_eq!(told("input.list.all(x, x.y > input.min)"), " | input |  | input.list input.min");
        assert_eq!(told("[1].all(input, input > 0)"), " |  |  | ");
        assert_eq!(told("[1].all(input, input > 0) && input.a"), " | input |  | input.a");
    }
}
