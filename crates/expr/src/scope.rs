//! The values an expression is evaluated against, all of them borrowed.
//!
//! Why    a workflow may have thousands of outputs and an expression reads one: so nothing is copied or converted when it is
//!        bound, and what is read is read in place.

use serde_json::Value;
use std::collections::BTreeSet;

#[derive(Clone, Debug, Default)]
pub struct Scope<'a> {
    outer: Option<&'a Scope<'a>>,
    variables: Vec<(&'a str, &'a Value)>,
    outputs: Vec<(&'a str, &'a Value)>,
}

impl<'a> Scope<'a> {
    pub fn new() -> Scope<'a> {
        Scope::default()
    }

    /// What is bound later hides what was bound before.
    pub fn bind(&mut self, name: &'a str, value: &'a Value) -> &mut Self {
        self.variables.push((name, value));
        self
    }

    /// One entry of `outputs`.
    pub fn bind_output(&mut self, key: &'a str, value: &'a Value) -> &mut Self {
        self.outputs.push((key, value));
        self
    }

    /// A scope on top of this one, which can bind more.
    pub fn inner(&self) -> Scope<'_> {
        Scope { outer: Some(self), ..Scope::default() }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&'a Value> {
        self.chain().find_map(|scope| last(&scope.variables, name))
    }

    pub(crate) fn output(&self, key: &str) -> Option<&'a Value> {
        self.chain().find_map(|scope| last(&scope.outputs, key))
    }

    pub(crate) fn output_keys(&self) -> BTreeSet<&'a str> {
        self.chain().flat_map(|scope| scope.outputs.iter().map(|(key, _)| *key)).collect()
    }

    /// How many entries a search may have to look at.
    pub(crate) fn output_count(&self) -> usize {
        self.chain().map(|scope| scope.outputs.len()).sum()
    }

    fn chain(&self) -> impl Iterator<Item = &Scope<'a>> {
        std::iter::successors(Some(self), |scope| scope.outer)
    }
}

fn last<'a>(bound: &[(&'a str, &'a Value)], name: &str) -> Option<&'a Value> {
    bound.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_inner_scope_hides_and_adds() {
        let (one, two, three) = (json!(1), json!(2), json!(3));
        let mut outer = Scope::new();
        outer.bind("input", &one).bind_output("b", &one).bind_output("a", &two);
        let mut inner = outer.inner();
        inner.bind("item", &two).bind("input", &three).bind_output("a", &three);
        assert_eq!((inner.variable("input"), inner.variable("item")), (Some(&three), Some(&two)));
        assert_eq!((outer.variable("input"), outer.variable("item")), (Some(&one), None));
        assert_eq!((inner.output("a"), inner.output("b")), (Some(&three), Some(&one)));
        assert_eq!(inner.output_keys().into_iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(inner.output_count(), 3);
    }
}
