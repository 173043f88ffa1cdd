//! Functions that make one type of another, and that ask for the type.

use super::{Function, global, member, unfit};
use crate::fault::shortened;
use crate::meter::{Meter, Stop, problem};
use crate::value::{Text, Val};

pub(super) const FUNCTIONS: &[Function] = &[
    global("bool", (1, 1), bool),
    global("double", (1, 1), double),
    global("dyn", (1, 1), |arguments, _| Ok(arguments[0].clone())),
    global("int", (1, 1), int),
    global("size", (1, 1), size),
    member("size", (0, 0), size),
    global("string", (1, 1), string),
    global("type", (1, 1), |arguments, _| Ok(Val::Type(arguments[0].kind()))),
    global("uint", (1, 1), uint),
];

fn unread<T>(text: &Text, kind: &str) -> Result<T, Stop> {
    problem(format!("\"{}\" is not {kind}", shortened(text, 40)))
}

fn beyond<T>(value: impl std::fmt::Display, kind: &str) -> Result<T, Stop> {
    problem(format!("{value} does not fit into {kind}"))
}

fn bool<'a>(arguments: &[Val<'a>], _: &mut Meter) -> Result<Val<'a>, Stop> {
    match &arguments[0] {
        Val::Bool(value) => Ok(Val::Bool(*value)),
        Val::Text(text) => match &**text {
            "1" | "t" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => unread(text, "a bool"),
        },
        other => unfit("bool(…)", other),
    }
}

fn double<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    Ok(Val::Double(match &arguments[0] {
        Val::Double(value) => *value,
        Val::Int(value) => *value as f64,
        Val::UInt(value) => *value as f64,
        Val::Text(text) => {
            meter.read(text)?;
            text.parse().or_else(|_| unread(text, "a double"))?
        }
        other => return unfit("double(…)", other),
    }))
}

fn int<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    Ok(Val::Int(match &arguments[0] {
        Val::Int(value) => *value,
        Val::UInt(value) => i64::try_from(*value).or_else(|_| beyond(value, "an int"))?,
        // Towards zero; the bounds themselves are rounded and therefore out.
        Val::Double(value) if *value > i64::MIN as f64 && *value < i64::MAX as f64 => *value as i64,
        Val::Double(value) => return beyond(value, "an int"),
        Val::Text(text) => {
            meter.read(text)?;
            text.parse().or_else(|_| unread(text, "an int"))?
        }
        other => return unfit("int(…)", other),
    }))
}

fn uint<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    Ok(Val::UInt(match &arguments[0] {
        Val::UInt(value) => *value,
        Val::Int(value) => u64::try_from(*value).or_else(|_| beyond(value, "a uint"))?,
        Val::Double(value) if *value >= 0.0 && *value < u64::MAX as f64 => *value as u64,
        Val::Double(value) => return beyond(value, "a uint"),
        Val::Text(text) => {
            meter.read(text)?;
            text.parse().or_else(|_| unread(text, "a uint"))?
        }
        other => return unfit("uint(…)", other),
    }))
}

fn string<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    let text = match &arguments[0] {
        Val::Text(text) => return Ok(Val::Text(text.clone())),
        Val::Bool(value) => value.to_string(),
        Val::Int(value) => value.to_string(),
        Val::UInt(value) => value.to_string(),
        Val::Double(value) => value.to_string(),
        other => return unfit("string(…)", other),
    };
    meter.build_text(text.len())?;
    Ok(Val::shared(text))
}

/// Characters of a text, items of a list, entries of a map.
fn size<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    Ok(Val::Int(match &arguments[0] {
        Val::Text(text) => {
            meter.read(text)?;
            text.chars().count() as i64
        }
        Val::Outputs(scope) => {
            meter.spend(scope.output_count())?;
            scope.output_keys().len() as i64
        }
        value if value.is_list() || value.is_map() => value.len() as i64,
        other => return unfit("size(…)", other),
    }))
}
