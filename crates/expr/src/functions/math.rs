//! Functions of numbers.

use super::{Function, global, unfit};
use crate::meter::{Meter, Stop, problem};
use crate::node::Operator;
use crate::operators::compare;
use crate::value::Val;
use std::cmp::Ordering;

/// More arguments are a list, which has `max()` and `min()`.
const ARGUMENTS_MAX: usize = 16;

pub(super) const FUNCTIONS: &[Function] = &[
    global("math.abs", (1, 1), abs),
    global("math.ceil", (1, 1), |arguments, _| round(arguments, "math.ceil(…)", f64::ceil)),
    global("math.floor", (1, 1), |arguments, _| round(arguments, "math.floor(…)", f64::floor)),
    global("math.greatest", (2, ARGUMENTS_MAX), |arguments, meter| {
        extreme(arguments, meter, Ordering::Greater)
    }),
    global("math.least", (2, ARGUMENTS_MAX), |arguments, meter| extreme(arguments, meter, Ordering::Less)),
    global("math.round", (1, 1), |arguments, _| round(arguments, "math.round(…)", f64::round)),
];

fn abs<'a>(arguments: &[Val<'a>], _: &mut Meter) -> Result<Val<'a>, Stop> {
    match &arguments[0] {
        Val::Int(value) => match value.checked_abs() {
            Some(value) => Ok(Val::Int(value)),
            None => problem(format!("the amount of {value} does not fit into 64 bits")),
        },
        Val::UInt(value) => Ok(Val::UInt(*value)),
        Val::Double(value) => Ok(Val::Double(value.abs())),
        other => unfit("math.abs(…)", other),
    }
}

fn round<'a>(arguments: &[Val<'a>], call: &str, round: fn(f64) -> f64) -> Result<Val<'a>, Stop> {
    match &arguments[0] {
        Val::Double(value) => Ok(Val::Double(round(*value))),
        other => unfit(call, other),
    }
}

fn extreme<'a>(arguments: &[Val<'a>], meter: &mut Meter, wanted: Ordering) -> Result<Val<'a>, Stop> {
    let call = if wanted == Ordering::Less { "math.least(…)" } else { "math.greatest(…)" };
    let mut best = &arguments[0];
    for item in arguments {
        if !matches!(item, Val::Int(_) | Val::UInt(_) | Val::Double(_)) {
            return unfit(call, item);
        }
        if compare(Operator::Less, item, best, meter)? == Some(wanted) {
            best = item;
        }
    }
    Ok(best.clone())
}
