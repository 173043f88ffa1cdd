//! The functions an expression may call: those of CEL, and those of its extensions that JSON needs.
//!
//! Why    a function is found when an expression is compiled, so a name or a number of arguments that is wrong is told then.
//!        Each pays for what it reads and builds before it does so.

mod convert;
mod lists;
mod math;
mod optional;
mod pattern;
mod texts;

pub(crate) use pattern::{Pattern, compile as compile_pattern, matches as matches_pattern};

use crate::meter::{Meter, Stop, problem};
use crate::value::Val;

pub(crate) type Run = for<'a> fn(&[Val<'a>], &mut Meter) -> Result<Val<'a>, Stop>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    pub name: &'static str,
    pub style: Style,
    /// At least and at most, without the value that a member is called on.
    pub arguments: (usize, usize),
    pub run: Run,
}

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `size(x)`
    Global,
    /// `x.trim()`
    Member,
}

const fn global(name: &'static str, arguments: (usize, usize), run: Run) -> Function {
    Function { name, style: Style::Global, arguments, run }
}

const fn member(name: &'static str, arguments: (usize, usize), run: Run) -> Function {
    Function { name, style: Style::Member, arguments, run }
}

const TABLES: [&[Function]; 6] = [
    convert::FUNCTIONS,
    lists::FUNCTIONS,
    math::FUNCTIONS,
    optional::FUNCTIONS,
    pattern::FUNCTIONS,
    texts::FUNCTIONS,
];

pub(crate) fn all() -> impl Iterator<Item = &'static Function> {
    TABLES.into_iter().flatten()
}

/// Of all functions; a member and a global may share one.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|function| function.name)
}

pub(crate) fn find(name: &str, style: Style) -> Option<&'static Function> {
    all().find(|function| function.name == name && function.style == style)
}

/// A function that was given something else than it takes.
fn unfit<'a, T>(call: &str, given: &Val<'a>) -> Result<T, Stop> {
    problem(format!("{call} cannot be called with {}", given.told()))
}

fn text<'v, 'a>(call: &str, value: &'v Val<'a>) -> Result<&'v crate::value::Text<'a>, Stop> {
    match value {
        Val::Text(text) => Ok(text),
        other => unfit(call, other),
    }
}

fn int(call: &str, value: &Val) -> Result<i64, Stop> {
    match value {
        Val::Int(int) => Ok(*int),
        other => unfit(call, other),
    }
}
