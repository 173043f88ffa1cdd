//! What the operators do to two values.
//!
//! Why    CEL compares numbers of different types but does not compute with them: `2 == 2.0` holds and `2 * 2.0` is refused,
//!        since nobody would see which of them was rounded.

use crate::meter::{Meter, Stop, problem};
use crate::node::Operator;
use crate::value::{Text, Val};
use std::cmp::Ordering;

pub(crate) fn binary<'a>(
    operator: Operator,
    left: Val<'a>,
    right: Val<'a>,
    meter: &mut Meter,
) -> Result<Val<'a>, Stop> {
    Ok(Val::Bool(match operator {
        Operator::Equal => equal(&left, &right, meter)?,
        Operator::NotEqual => !equal(&left, &right, meter)?,
        Operator::Less => compare(operator, &left, &right, meter)? == Some(Ordering::Less),
        Operator::LessOrEqual => compare(operator, &left, &right, meter)?.is_some_and(Ordering::is_le),
        Operator::Greater => compare(operator, &left, &right, meter)? == Some(Ordering::Greater),
        Operator::GreaterOrEqual => compare(operator, &left, &right, meter)?.is_some_and(Ordering::is_ge),
        Operator::In => contains(&left, &right, meter)?,
        _ => return compute(operator, &left, &right, meter),
    }))
}

fn compute<'a>(
    operator: Operator,
    left: &Val<'a>,
    right: &Val<'a>,
    meter: &mut Meter,
) -> Result<Val<'a>, Stop> {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => ints(operator, *a, *b).map(Val::Int),
        (Val::UInt(a), Val::UInt(b)) => uints(operator, *a, *b).map(Val::UInt),
        (Val::Double(a), Val::Double(b)) if operator != Operator::Remainder => {
            Ok(Val::Double(doubles(operator, *a, *b)))
        }
        (Val::Text(a), Val::Text(b)) if operator == Operator::Add => {
            meter.build_text(a.len() + b.len())?;
            Ok(Val::shared([&**a, &**b].concat()))
        }
        (a, b) if operator == Operator::Add && a.is_list() && b.is_list() => {
            meter.build_values(a.len() + b.len() + 3)?;
            Ok(Val::list(a.items().chain(b.items()).collect()))
        }
        _ => problem(mixed(operator, left, right)),
    }
}

fn mixed(operator: Operator, left: &Val, right: &Val) -> String {
    let number = |value: &Val| matches!(value, Val::Int(_) | Val::UInt(_) | Val::Double(_));
    let text = |value: &Val| matches!(value, Val::Text(_));
    let fix = match (left, right) {
        (Val::Double(_), Val::Double(_)) => "; write int(…) around both",
        (a, b) if number(a) && number(b) => "; write double(…) around the one that is no double, or int(…)",
        (a, b) if operator == Operator::Add && (text(a) && number(b) || number(a) && text(b)) => {
            "; write string(…) around the number"
        }
        _ => "",
    };
    format!("{} {} {} cannot be computed{fix}", left.kind(), operator.sign(), right.kind())
}

fn ints(operator: Operator, a: i64, b: i64) -> Result<i64, Stop> {
    let result = match operator {
        Operator::Divide | Operator::Remainder if b == 0 => {
            return problem(format!("{a} is divided by zero"));
        }
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide => a.checked_div(b),
        _ => a.checked_rem(b),
    };
    result.ok_or_else(|| too_large(operator, a, b))
}

fn uints(operator: Operator, a: u64, b: u64) -> Result<u64, Stop> {
    let result = match operator {
        Operator::Divide | Operator::Remainder if b == 0 => {
            return problem(format!("{a} is divided by zero"));
        }
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide => a.checked_div(b),
        _ => a.checked_rem(b),
    };
    result.ok_or_else(|| too_large(operator, a, b))
}

fn too_large(operator: Operator, a: impl std::fmt::Display, b: impl std::fmt::Display) -> Stop {
    Stop::Problem(format!("{a} {} {b} does not fit into 64 bits; compute with double(…)", operator.sign()))
}

fn doubles(operator: Operator, a: f64, b: f64) -> f64 {
    match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        _ => a / b,
    }
}

/// `None` where one of them is not a number.
pub(crate) fn compare(
    operator: Operator,
    left: &Val,
    right: &Val,
    meter: &mut Meter,
) -> Result<Option<Ordering>, Stop> {
    match (left, right) {
        (Val::Bool(a), Val::Bool(b)) => Ok(Some(a.cmp(b))),
        (Val::Text(a), Val::Text(b)) => {
            meter.read(shorter(a, b))?;
            Ok(Some(a.cmp_text(b)))
        }
        _ => match numbers(left, right) {
            Some(order) => Ok(order),
            None => {
                problem(format!("{} {} {} cannot be compared", left.kind(), operator.sign(), right.kind()))
            }
        },
    }
}

fn shorter<'t>(a: &'t str, b: &'t str) -> &'t str {
    if a.len() < b.len() { a } else { b }
}

impl Text<'_> {
    fn cmp_text(&self, other: &Text) -> Ordering {
        str::cmp(self, other)
    }
}

/// Numbers of any types by their value; the outer `None` says that one is of no number type.
fn numbers(left: &Val, right: &Val) -> Option<Option<Ordering>> {
    Some(match (left, right) {
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Double(a), b) => int_and_double(integer(b)?, *a).map(Ordering::reverse),
        (a, Val::Double(b)) => int_and_double(integer(a)?, *b),
        (a, b) => Some(integer(a)?.cmp(&integer(b)?)),
    })
}

fn integer(value: &Val) -> Option<i128> {
    match value {
        Val::Int(int) => Some(i128::from(*int)),
        Val::UInt(uint) => Some(i128::from(*uint)),
        _ => None,
    }
}

/// As doubles, as CEL has it: integers beyond 2^53 are rounded.
fn int_and_double(int: i128, double: f64) -> Option<Ordering> {
    (int as f64).partial_cmp(&double)
}

/// Values of different types are different; numbers are compared by what they are.
pub(crate) fn equal(left: &Val, right: &Val, meter: &mut Meter) -> Result<bool, Stop> {
    meter.spend(1)?;
    if let Some(order) = numbers(left, right) {
        return Ok(order == Some(Ordering::Equal));
    }
    match (left, right) {
        (Val::Null, Val::Null) => Ok(true),
        (Val::Bool(a), Val::Bool(b)) => Ok(a == b),
        (Val::Type(a), Val::Type(b)) => Ok(a == b),
        (Val::Text(a), Val::Text(b)) if a.len() == b.len() => {
            meter.read(a)?;
            Ok(**a == **b)
        }
        (Val::Optional(a), Val::Optional(b)) => match (a, b) {
            (Some(a), Some(b)) => equal(a, b, meter),
            (a, b) => Ok(a.is_none() && b.is_none()),
        },
        (a, b) if a.is_list() && b.is_list() => equal_lists(a, b, meter),
        (a, b) if a.is_map() && b.is_map() => equal_maps(a, b, meter),
        _ => Ok(false),
    }
}

fn equal_lists(left: &Val, right: &Val, meter: &mut Meter) -> Result<bool, Stop> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for (a, b) in left.items().zip(right.items()) {
        if !equal(&a, &b, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_maps(left: &Val, right: &Val, meter: &mut Meter) -> Result<bool, Stop> {
    meter.spend(left.len() + right.len())?;
    if left.len() != right.len() {
        return Ok(false);
    }
    for key in left.keys() {
        let (Some(a), Some(b)) = (left.entry(&key), right.entry(&key)) else { return Ok(false) };
        if !equal(&a, &b, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn contains<'a>(wanted: &Val<'a>, container: &Val<'a>, meter: &mut Meter) -> Result<bool, Stop> {
    if container.is_list() {
        for item in container.items() {
            if equal(wanted, &item, meter)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    match (wanted, wanted.as_key()) {
        (_, Some(key)) if container.is_map() => Ok(container.entry(&key).is_some()),
        (Val::Double(_), None) if container.is_map() => Ok(false),
        _ => problem(format!(
            "{} in {} cannot be asked; `in` needs a list, or a key and a map",
            wanted.kind(),
            container.kind()
        )),
    }
}
