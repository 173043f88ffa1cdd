//! Evaluates an expression, one node after the other, and pays for each.
//!
//! Why    the depth of an expression is limited when it is compiled, so this recursion fits on any stack.

use crate::fault::shortened;
use crate::meter::{MAP_BYTES, Meter, Stop, VALUE_BYTES, problem};
use crate::node::{Absence, Entry, Literal, Node};
use crate::operators::binary;
use crate::scope::Scope;
use crate::value::{Key, Text, Val};
use std::collections::BTreeMap;
use std::rc::Rc;

pub(crate) struct Evaluation<'a, 'm> {
    pub scope: &'a Scope<'a>,
    pub meter: &'m mut Meter,
    /// The variables of the loops that are open, the innermost last.
    pub locals: Vec<Val<'a>>,
}

pub(crate) fn evaluate<'a>(node: &'a Node, scope: &'a Scope<'a>, meter: &mut Meter) -> Result<Val<'a>, Stop> {
    Evaluation { scope, meter, locals: Vec::new() }.run(node)
}

impl<'a> Evaluation<'a, '_> {
    pub(crate) fn run(&mut self, node: &'a Node) -> Result<Val<'a>, Stop> {
        self.meter.spend(1)?;
        match node {
            Node::Literal(literal) => Ok(constant(literal)),
            Node::Type(name) => Ok(Val::Type(name)),
            Node::Variable(name) => self.variable(name),
            Node::Local(at, _) => Ok(self.locals[*at].clone()),
            Node::Select(of, key, absence) => self.select(of, key, *absence),
            Node::Index(of, at, absence) => self.index(of, at, *absence),
            Node::Has(of, key) => self.has(of, key),
            Node::Not(of) => self.truth(of).map(|truth| Val::Bool(!truth)),
            Node::Negate(of) => self.negate(of),
            Node::And(sides) => self.logic(sides, Absorbing::False),
            Node::Or(sides) => self.logic(sides, Absorbing::True),
            Node::If(parts) => self.choose(parts),
            Node::Binary(operator, sides) => {
                let left = self.run(&sides[0])?;
                let right = self.run(&sides[1])?;
                binary(*operator, left, right, self.meter)
            }
            Node::List(items) => self.list(items),
            Node::Map(entries) => self.map(entries),
            Node::Loop(a_loop) => self.go_over(a_loop),
            Node::Call(function, arguments) => {
                let arguments = arguments.iter().map(|argument| self.run(argument));
                let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
                (function.run)(&arguments, self.meter)
            }
            Node::Matches(text, pattern) => {
                let text = self.run(text)?;
                crate::functions::matches_pattern(&text, pattern, self.meter)
            }
        }
    }

    /// Nothing but a boolean is true or false.
    pub(crate) fn truth(&mut self, node: &'a Node) -> Result<bool, Stop> {
        match self.run(node)? {
            Val::Bool(truth) => Ok(truth),
            other => {
                problem(format!("{} is neither true nor false; compare it with something", other.told()))
            }
        }
    }

    fn negate(&mut self, of: &'a Node) -> Result<Val<'a>, Stop> {
        match self.run(of)? {
            Val::Int(int) => match int.checked_neg() {
                Some(negated) => Ok(Val::Int(negated)),
                None => problem(format!("-({int}) does not fit into 64 bits")),
            },
            Val::Double(double) => Ok(Val::Double(-double)),
            other => problem(format!("{} cannot be negated", other.told())),
        }
    }

    /// The side that decides does so whatever is wrong with the other.
    fn logic(&mut self, sides: &'a [Node; 2], absorbing: Absorbing) -> Result<Val<'a>, Stop> {
        let decides = absorbing == Absorbing::True;
        let left = match self.truth(&sides[0]) {
            Ok(truth) if truth == decides => return Ok(Val::Bool(decides)),
            Err(Stop::Limit(message)) => return Err(Stop::Limit(message)),
            left => left,
        };
        match self.truth(&sides[1])? {
            truth if truth == decides => Ok(Val::Bool(decides)),
            _ => left.map(Val::Bool),
        }
    }

    fn choose(&mut self, [condition, then, otherwise]: &'a [Node; 3]) -> Result<Val<'a>, Stop> {
        match self.truth(condition)? {
            true => self.run(then),
            false => self.run(otherwise),
        }
    }

    fn list(&mut self, items: &'a [(Node, Absence)]) -> Result<Val<'a>, Stop> {
        self.meter.build_values(items.len() + 3)?;
        let mut list = Vec::with_capacity(items.len());
        for (item, absence) in items {
            let value = self.run(item)?;
            list.extend(present(value, *absence));
        }
        Ok(Val::list(list))
    }

    fn map(&mut self, entries: &'a [Entry]) -> Result<Val<'a>, Stop> {
        self.meter.build(MAP_BYTES + 3 * VALUE_BYTES * entries.len())?;
        let mut map = BTreeMap::new();
        for Entry { key, value, absence } in entries {
            let key = self.map_key(key)?;
            let value = self.run(value)?;
            let Some(value) = present(value, *absence) else { continue };
            if map.contains_key(&key) {
                return problem(format!("the map has the key `{}` twice", shortened(&key.text(), 80)));
            }
            map.insert(key, value);
        }
        Ok(Val::Map(Rc::new(map)))
    }

    fn map_key(&mut self, node: &'a Node) -> Result<Key<'a>, Stop> {
        let value = self.run(node)?;
        match value.as_key() {
            Some(key) if !matches!(value, Val::Double(_)) => Ok(key),
            _ => problem(format!("{} cannot be the key of a map; write string(…) around it", value.told())),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Absorbing {
    True,
    False,
}

fn present(value: Val, absence: Absence) -> Option<Val> {
    match (absence, value) {
        (Absence::Allowed, Val::Optional(inner)) => inner.map(|inner| (*inner).clone()),
        (_, value) => Some(value),
    }
}

fn constant(literal: &Literal) -> Val<'_> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(value) => Val::Bool(*value),
        Literal::Int(value) => Val::Int(*value),
        Literal::UInt(value) => Val::UInt(*value),
        Literal::Double(value) => Val::Double(*value),
        Literal::Text(text) => Val::Text(Text::Borrowed(text)),
    }
}
