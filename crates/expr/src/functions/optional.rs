//! Functions of values that may be absent, as `a.?b` is.

use super::{Function, global, member, unfit};
use crate::meter::{Meter, Stop, problem};
use crate::value::Val;
use std::rc::Rc;

pub(super) const FUNCTIONS: &[Function] = &[
    global("optional.none", (0, 0), |_, _| Ok(Val::Optional(None))),
    global("optional.of", (1, 1), |arguments, meter| {
        meter.build_values(2)?;
        Ok(Val::Optional(Some(Rc::new(arguments[0].clone()))))
    }),
    member("hasValue", (0, 0), |arguments, _| {
        inner("hasValue()", arguments).map(|of| Val::Bool(of.is_some()))
    }),
    member("or", (1, 1), or),
    member("orValue", (1, 1), or_value),
    member("value", (0, 0), value),
];

fn inner<'v, 'a>(call: &str, arguments: &'v [Val<'a>]) -> Result<Option<&'v Val<'a>>, Stop> {
    match &arguments[0] {
        Val::Optional(inner) => Ok(inner.as_deref()),
        other => unfit(call, other),
    }
}

fn or<'a>(arguments: &[Val<'a>], _: &mut Meter) -> Result<Val<'a>, Stop> {
    match (inner("or(…)", arguments)?, &arguments[1]) {
        (Some(_), Val::Optional(_)) => Ok(arguments[0].clone()),
        (None, Val::Optional(_)) => Ok(arguments[1].clone()),
        (_, other) => {
            problem(format!("or(…) needs an optional, and this is {}; write orValue(…)", other.told()))
        }
    }
}

fn or_value<'a>(arguments: &[Val<'a>], _: &mut Meter) -> Result<Val<'a>, Stop> {
    match &arguments[0] {
        Val::Optional(inner) => Ok(inner.as_deref().unwrap_or(&arguments[1]).clone()),
        other => problem(format!(
            "orValue(…) needs an optional, and this is {}; write .? before the name that may be absent",
            other.told()
        )),
    }
}

fn value<'a>(arguments: &[Val<'a>], _: &mut Meter) -> Result<Val<'a>, Stop> {
    match inner("value()", arguments)? {
        Some(value) => Ok(value.clone()),
        None => problem("value() of something that is absent; write orValue(…)"),
    }
}
