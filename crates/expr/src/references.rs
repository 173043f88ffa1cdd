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
}

impl References {
    pub(crate) fn of(node: &Node) -> References {
        let mut references = References::default();
        references.collect(node);
        references
    }

    pub(crate) fn extend(&mut self, other: &References) {
        self.outputs.extend(other.outputs.iter().cloned());
        self.whole_outputs |= other.whole_outputs;
        self.variables.extend(other.variables.iter().cloned());
        self.functions.extend(other.functions.iter().cloned());
        self.paths.extend(other.paths.iter().cloned());
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

    fn collect(&mut self, node: &Node) {
        if let Some(path) = node.path() {
            if node.is_global() {
                self.note(path);
            }
            return;
        }
        match node {
            Node::Literal(_) | Node::Type(_) | Node::Variable(_) | Node::Local(..) => {}
            Node::Select(of, ..) | Node::Has(of, _) | Node::Not(of) | Node::Negate(of) => self.collect(of),
            Node::Index(of, at, _) => [of, at].into_iter().for_each(|part| self.collect(part)),
            Node::And(parts) | Node::Or(parts) => parts.iter().for_each(|part| self.collect(part)),
            Node::Binary(operator, parts) => self.binary(*operator, parts),
            Node::If(parts) => parts.iter().for_each(|part| self.collect(part)),
            Node::List(items) => items.iter().for_each(|(item, _)| self.collect(item)),
            Node::Map(entries) => entries.iter().for_each(|Entry { key, value, .. }| {
                self.collect(key);
                self.collect(value);
            }),
            Node::Loop(a_loop) => {
                let parts = [Some(&a_loop.range), a_loop.filter.as_ref(), Some(&a_loop.body)];
                parts.into_iter().flatten().for_each(|part| self.collect(part));
            }
            Node::Call(function, arguments) => {
                self.functions.insert(function.name.to_string());
                arguments.iter().for_each(|argument| self.collect(argument));
            }
            Node::Matches(text, _) => {
                self.functions.insert("matches".to_string());
                self.collect(text);
            }
        }
    }

    /// `'a' in outputs` names the step, as `has(outputs.a)` does.
    fn binary(&mut self, operator: Operator, [left, right]: &[Node; 2]) {
        match (operator, left, right) {
            (Operator::In, Node::Literal(Literal::Text(key)), Node::Variable("outputs")) => {
                self.note(Path { variable: "outputs".into(), keys: vec![PathKey::Name(key.to_string())] });
            }
            _ => {
                self.collect(left);
                self.collect(right);
            }
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
    fn variables_of_a_loop_are_not_free() {
        assert_eq!(told("input.list.all(x, x.y > input.min)"), " | input |  | input.list input.min");
        assert_eq!(told("[1].all(input, input > 0)"), " |  |  | ");
        assert_eq!(told("[1].all(input, input > 0) && input.a"), " | input |  | input.a");
    }
}
