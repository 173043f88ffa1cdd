//! An expression made ready: names are resolved, functions found, patterns compiled.

use crate::functions::{Function, Pattern};
use crate::path::{Path, PathKey};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Literal(Literal),
    /// The name of a type.
    Type(&'static str),
    Variable(&'static str),
    /// A variable of a loop: its place among those that are open, and its name.
    Local(usize, Arc<str>),
    Select(Box<Node>, Arc<str>, Absence),
    Index(Box<Node>, Box<Node>, Absence),
    Has(Box<Node>, Arc<str>),
    Not(Box<Node>),
    Negate(Box<Node>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    If(Box<[Node; 3]>),
    Binary(Operator, Box<[Node; 2]>),
    List(Vec<(Node, Absence)>),
    Map(Vec<Entry>),
    Loop(Box<Loop>),
    Call(&'static Function, Vec<Node>),
    /// `matches` with a pattern that is written out.
    Matches(Box<Node>, Arc<Pattern>),
}

#[derive(Clone, Debug)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(Arc<str>),
}

/// What becomes of something that is not there: `a.b` refuses, `a.?b` goes on without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    Refused,
    Allowed,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: Node,
    pub value: Node,
    pub absence: Absence,
}

#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub kind: LoopKind,
    pub range: Node,
    /// Of `map` with three arguments.
    pub filter: Option<Node>,
    pub body: Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopKind {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

impl Operator {
    pub fn sign(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::In => "in",
        }
    }
}

impl Node {
    /// The way it names, from a variable or from a variable of a loop.
    pub fn path(&self) -> Option<Path> {
        let (of, key) = match self {
            Node::Variable(name) => return Some(Path { variable: name.to_string(), keys: Vec::new() }),
            Node::Local(_, name) => return Some(Path { variable: name.to_string(), keys: Vec::new() }),
            Node::Select(of, key, _) | Node::Has(of, key) => (of, PathKey::Name(key.to_string())),
            Node::Index(of, at, _) => match &**at {
                Node::Literal(Literal::Text(key)) => (of, PathKey::Name(key.to_string())),
                Node::Literal(Literal::Int(index)) => (of, PathKey::Index(*index)),
                _ => return None,
            },
            _ => return None,
        };
        let mut path = of.path()?;
        path.keys.push(key);
        Some(path)
    }

    /// Starts at a variable, and not at one of a loop.
    pub fn is_global(&self) -> bool {
        match self {
            Node::Variable(_) => true,
            Node::Select(of, ..) | Node::Has(of, _) | Node::Index(of, ..) => of.is_global(),
            _ => false,
        }
    }
}
