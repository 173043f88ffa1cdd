//! Fields and items of values, and what is said when they are not there.

use crate::evaluation::Evaluation;
use crate::fault::shortened;
use crate::meter::{Stop, problem};
use crate::names::is_plain;
use crate::node::{Absence, Node};
use crate::path::quoted;
use crate::value::{Key, Text, Val};
use std::rc::Rc;

impl<'a> Evaluation<'a, '_> {
    pub(crate) fn variable(&mut self, name: &'static str) -> Result<Val<'a>, Stop> {
        match self.scope.variable(name) {
            Some(value) => Ok(Val::of(value)),
            None if name == "outputs" => Ok(Val::Outputs(self.scope)),
            None => problem(format!("there is no `{name}` where this is evaluated")),
        }
    }

    pub(crate) fn select(&mut self, of: &'a Node, key: &'a str, absence: Absence) -> Result<Val<'a>, Stop> {
        let value = self.run(of)?;
        self.entry(of, value, Key::Text(Text::Borrowed(key)), absence)
    }

    pub(crate) fn index(&mut self, of: &'a Node, at: &'a Node, absence: Absence) -> Result<Val<'a>, Stop> {
        let value = self.run(of)?;
        let index = self.run(at)?;
        match (&value, index.as_key()) {
            (Val::Optional(None), _) => Ok(Val::Optional(None)),
            (_, Some(key)) => self.entry(of, value, key, absence),
            _ if absence == Absence::Allowed => Ok(Val::Optional(None)),
            _ => problem(format!("{} is no index of {}", index.told(), value.told())),
        }
    }

    /// What is reached through an optional is optional too.
    fn entry(&mut self, of: &Node, value: Val<'a>, key: Key<'a>, absence: Absence) -> Result<Val<'a>, Stop> {
        let (value, absence) = match value {
            Val::Optional(None) => return Ok(Val::Optional(None)),
            Val::Optional(Some(inner)) => ((*inner).clone(), Absence::Allowed),
            value => (value, absence),
        };
        let found = self.find(&value, &key)?;
        match (found, absence) {
            (found, Absence::Allowed) => {
                self.meter.build_values(2)?;
                Ok(Val::Optional(found.map(Rc::new)))
            }
            (Some(found), Absence::Refused) => Ok(found),
            (None, Absence::Refused) => problem(missing(of, &value, &key)),
        }
    }

    fn find(&mut self, value: &Val<'a>, key: &Key<'a>) -> Result<Option<Val<'a>>, Stop> {
        if let Val::Outputs(scope) = value {
            self.meter.spend(scope.output_count() / 8)?;
        }
        Ok(match key {
            Key::Int(index) if value.is_list() => usize::try_from(*index).ok().and_then(|at| value.item(at)),
            Key::UInt(index) if value.is_list() => usize::try_from(*index).ok().and_then(|at| value.item(at)),
            _ => value.entry(key),
        })
    }

    pub(crate) fn has(&mut self, of: &'a Node, key: &'a str) -> Result<Val<'a>, Stop> {
        let value = match self.run(of)? {
            Val::Optional(None) => return Ok(Val::Bool(false)),
            Val::Optional(Some(inner)) => (*inner).clone(),
            value => value,
        };
        if !value.is_map() {
            return problem(format!("{} is {} and has no fields", named(of), value.told()));
        }
        let found = self.find(&value, &Key::Text(Text::Borrowed(key)))?;
        Ok(Val::Bool(found.is_some()))
    }
}

/// How a part of an expression is called in a message.
fn named(node: &Node) -> String {
    match node.path() {
        Some(path) => format!("`{}`", shortened(&path.to_string(), 80)),
        None => "what is before it".to_string(),
    }
}

fn missing(of: &Node, value: &Val, key: &Key) -> String {
    let name = shortened(&key.text(), 80);
    if value.is_list() {
        return match key {
            Key::Int(_) | Key::UInt(_) => format!(
                "{} has {} items and no item {name}; write [?{name}].orValue(…) if it may be absent",
                named(of),
                value.len()
            ),
            _ => format!("{} is a list and has no `{name}`", named(of)),
        };
    }
    if !value.is_map() {
        return format!("{} is {} and has no `{name}`", named(of), value.told());
    }
    let known = format!("{} has no `{name}`", named(of));
    match of.path().map(|path| shortened(&path.to_string(), 80)) {
        Some(path) => format!("{known}; {}", advice(&path, key, &name)),
        None => known,
    }
}

fn advice(path: &str, key: &Key, name: &str) -> String {
    match key {
        Key::Text(_) if is_plain(name) => {
            format!("ask first with has({path}.{name}), or write {path}.?{name}.orValue(…)")
        }
        Key::Text(_) => {
            let name = quoted(name);
            format!("ask first with {name} in {path}, or write {path}[?{name}].orValue(…)")
        }
        _ => format!("ask first with {name} in {path}, or write {path}[?{name}].orValue(…)"),
    }
}
