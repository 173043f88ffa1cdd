//! Makes a parsed expression ready: resolves its names, and refuses what is unknown, too deep or too large.
//!
//! Why    whatever can be found wrong without values is told when a definition is applied, and not when an order is on its way.

mod calls;
mod literals;

use crate::fault::Fault;
use crate::limits::{NESTING_MAX, NODES_MAX};
use crate::names::{TYPES, VARIABLES, nearest};
use crate::node::{Absence, Entry, Node};
use cel::common::ast::{EntryExpr, Expr, IdedEntryExpr, IdedExpr, ListExpr, SelectExpr, SourceInfo};
use std::sync::Arc;

pub(crate) fn lower(expression: &IdedExpr, source: &SourceInfo) -> Result<Node, Fault> {
    Lowering { source, locals: Vec::new(), depth: 0, nodes: 0, loops: 0 }.node(expression)
}

struct Lowering<'s> {
    source: &'s SourceInfo,
    /// Names of the variables of the loops that are open.
    locals: Vec<Arc<str>>,
    depth: usize,
    nodes: usize,
    /// Loops whose body is being read.
    loops: usize,
}

impl Lowering<'_> {
    fn node(&mut self, expression: &IdedExpr) -> Result<Node, Fault> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            let message = format!("the expression has more than {NODES_MAX} parts");
            return self.fault(expression.id, message, "write it shorter, or leave this to an action");
        }
        if self.depth == NESTING_MAX {
            let message = format!("operators and calls are nested more than {NESTING_MAX} deep");
            let fix =
                "nest less; a long sum can be written as [a, b, …].sum(), a long text as [a, b, …].join()";
            return self.fault(expression.id, message, fix);
        }
        self.depth += 1;
        let node = self.kind(expression);
        self.depth -= 1;
        node
    }

    fn kind(&mut self, expression: &IdedExpr) -> Result<Node, Fault> {
        match &expression.expr {
            Expr::Literal(literal) => self.literal(expression.id, literal),
            Expr::Ident(name) => self.name(expression.id, name),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(expression.id, call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(&map.entries),
            Expr::Struct(a_struct) => {
                let message = format!("there is no type `{}`", a_struct.type_name);
                self.fault(expression.id, message, "write a map: {'name': value}")
            }
            Expr::Comprehension(_) | Expr::Unspecified => {
                self.fault(expression.id, "the expression cannot be read", "write it in another way")
            }
        }
    }

    fn boxed(&mut self, expression: &IdedExpr) -> Result<Box<Node>, Fault> {
        self.node(expression).map(Box::new)
    }

    fn fault<T>(&self, id: u64, message: impl Into<String>, fix: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::at(&self.source.source, self.offset(id), message, fix))
    }

    fn offset(&self, id: u64) -> usize {
        self.source.offset_for(id).map_or(0, |(start, _)| start as usize)
    }

    fn name(&mut self, id: u64, name: &str) -> Result<Node, Fault> {
        // A point in front says that no variable of a loop is meant.
        let (global, name) = match name.strip_prefix('.') {
            Some(name) => (true, name),
            None => (false, name),
        };
        let local = self.locals.iter().rposition(|local| &**local == name).filter(|_| !global);
        if let Some(at) = local {
            return Ok(Node::Local(at, self.locals[at].clone()));
        }
        if let Some(known) = VARIABLES.into_iter().find(|known| *known == name) {
            return Ok(Node::Variable(known));
        }
        if let Some(known) = TYPES.into_iter().find(|known| *known == name) {
            return Ok(Node::Type(known));
        }
        let known = VARIABLES.into_iter().chain(self.locals.iter().map(|local| &**local));
        let fix = match nearest(name, known) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("name one of {}; a text has quotes: '{name}'", VARIABLES.join(", ")),
        };
        self.fault(id, format!("there is no `{name}`"), fix)
    }

    fn select(&mut self, select: &SelectExpr) -> Result<Node, Fault> {
        Ok(Node::Select(self.boxed(&select.operand)?, select.field.as_str().into(), Absence::Refused))
    }

    fn list(&mut self, list: &ListExpr) -> Result<Node, Fault> {
        let items = list.elements.iter().enumerate().map(|(at, item)| {
            let absence = absence(list.optional_indices.contains(&at));
            Ok((self.node(item)?, absence))
        });
        items.collect::<Result<_, Fault>>().map(Node::List)
    }

    fn map(&mut self, entries: &[IdedEntryExpr]) -> Result<Node, Fault> {
        let entries = entries.iter().map(|entry| match &entry.expr {
            EntryExpr::MapEntry(written) => Ok(Entry {
                key: self.node(&written.key)?,
                value: self.node(&written.value)?,
                absence: absence(written.optional),
            }),
            EntryExpr::StructField(field) => {
                self.fault(entry.id, format!("`{}` is not a key", field.field), "write the key in quotes")
            }
        });
        entries.collect::<Result<_, Fault>>().map(Node::Map)
    }
}

fn absence(optional: bool) -> Absence {
    if optional { Absence::Allowed } else { Absence::Refused }
}
