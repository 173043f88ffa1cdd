//! Functions of lists.

use super::{Function, int, member, text, unfit};
use crate::meter::{Meter, Stop, problem};
use crate::node::Operator;
use crate::operators::{binary, compare, equal};
use crate::value::Val;
use std::cmp::Ordering;

pub(super) const FUNCTIONS: &[Function] = &[
    member("distinct", (0, 0), distinct),
    member("flatten", (0, 0), flatten),
    member("join", (0, 1), join),
    member("max", (0, 0), |arguments, meter| extreme(arguments, meter, Ordering::Greater)),
    member("min", (0, 0), |arguments, meter| extreme(arguments, meter, Ordering::Less)),
    member("reverse", (0, 0), reverse),
    member("slice", (2, 2), slice),
    member("sort", (0, 0), sort),
    member("sum", (0, 0), sum),
];

/// The items, paid for as a list that is built.
fn items<'a>(call: &str, list: &Val<'a>, meter: &mut Meter) -> Result<Vec<Val<'a>>, Stop> {
    if !list.is_list() {
        return unfit(call, list);
    }
    meter.build_values(list.len() + 3)?;
    Ok(list.items().collect())
}

fn distinct<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    let mut kept: Vec<Val<'a>> = Vec::new();
    for item in items("distinct()", &arguments[0], meter)? {
        let mut known = false;
        for other in &kept {
            known = known || equal(&item, other, meter)?;
        }
        if !known {
            kept.push(item);
        }
    }
    Ok(Val::list(kept))
}

/// One level.
fn flatten<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    let mut flat = Vec::new();
    for item in items("flatten()", &arguments[0], meter)? {
        match item.is_list() {
            true => flat.extend(items("flatten()", &item, meter)?),
            false => flat.push(item),
        }
    }
    Ok(Val::list(flat))
}

/// How long it becomes is counted first: one long text may be in the list many times.
fn join<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    let separator = arguments.get(1).map(|separator| text("join(…)", separator)).transpose()?;
    let separator = separator.map_or("", |separator| separator);
    let items = items("join(…)", &arguments[0], meter)?;
    let parts = items.iter().map(|item| text("join(…)", item).map(|part| &**part));
    let parts = parts.collect::<Result<Vec<&str>, Stop>>()?;
    let bytes = parts.iter().fold(0usize, |sum, part| sum.saturating_add(part.len() + separator.len()));
    meter.build_text(bytes)?;
    Ok(Val::shared(parts.join(separator)))
}

/// Of a text too.
fn reverse<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    if let Val::Text(text) = &arguments[0] {
        meter.build_text(text.len())?;
        return Ok(Val::shared(text.chars().rev().collect::<String>()));
    }
    let mut items = items("reverse()", &arguments[0], meter)?;
    items.reverse();
    Ok(Val::list(items))
}

fn slice<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    let items = items("slice(…)", &arguments[0], meter)?;
    let (start, end) = (int("slice(…)", &arguments[1])?, int("slice(…)", &arguments[2])?);
    let places = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    match places.and_then(|(start, end)| items.get(start..end)) {
        Some(part) => Ok(Val::list(part.to_vec())),
        None => problem(format!("a list of {} has no items from {start} to {end}", items.len())),
    }
}

/// Values of one type, so that nobody wonders whether `1` is before `1.0`.
fn sort<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    let mut items = items("sort()", &arguments[0], meter)?;
    let kind = items.first().map_or("", Val::kind);
    if let Some(other) = items.iter().find(|item| item.kind() != kind) {
        return problem(format!("a list of {kind} and {} cannot be sorted", other.kind()));
    }
    // One alone is compared with nothing, and may be of a kind that has no order.
    items.first().map(|item| compare(Operator::Less, item, item, meter)).transpose()?;
    let mut stopped = None;
    items.sort_by(|a, b| match compare(Operator::Less, a, b, meter) {
        Ok(order) => order.unwrap_or(Ordering::Equal),
        Err(stop) => {
            stopped.get_or_insert(stop);
            Ordering::Equal
        }
    });
    match stopped {
        Some(stop) => Err(stop),
        None => Ok(Val::list(items)),
    }
}

fn extreme<'a>(arguments: &[Val<'a>], meter: &mut Meter, wanted: Ordering) -> Result<Val<'a>, Stop> {
    let call = if wanted == Ordering::Less { "min()" } else { "max()" };
    let items = items(call, &arguments[0], meter)?;
    let Some(mut best) = items.first() else {
        return problem(format!("an empty list has no {call}; ask first with size(…) > 0"));
    };
    for item in &items {
        if compare(Operator::Less, item, best, meter)? == Some(wanted) {
            best = item;
        }
    }
    Ok(best.clone())
}

/// Zero of an empty list.
fn sum<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    let mut items = items("sum()", &arguments[0], meter)?.into_iter();
    let first = items.next().unwrap_or(Val::Int(0));
    if !matches!(first, Val::Int(_) | Val::UInt(_) | Val::Double(_)) {
        return problem(format!("what begins with {} has no sum", first.told()));
    }
    items.try_fold(first, |sum, item| {
        meter.spend(1)?;
        binary(Operator::Add, sum, item, meter)
    })
}
