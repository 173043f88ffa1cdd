//! Functions of texts. Places in a text count its characters.

use super::{Function, int, member, text};
use crate::meter::{Meter, Stop, problem};
use crate::value::{Text, Val};

pub(super) const FUNCTIONS: &[Function] = &[
    member("contains", (1, 1), |a, meter| test(a, meter, "contains(…)", |text, part| text.contains(part))),
    member("endsWith", (1, 1), |a, meter| test(a, meter, "endsWith(…)", |text, part| text.ends_with(part))),
    member("indexOf", (1, 1), index_of),
    member("lowerAscii", (0, 0), |a, meter| change(a, meter, "lowerAscii()", |t| t.to_ascii_lowercase())),
    member("replace", (2, 2), replace),
    member("split", (1, 1), split),
    member("startsWith", (1, 1), |a, meter| {
        test(a, meter, "startsWith(…)", |text, part| text.starts_with(part))
    }),
    member("substring", (1, 2), substring),
    member("trim", (0, 0), |a, meter| change(a, meter, "trim()", |t| t.trim().to_string())),
    member("upperAscii", (0, 0), |a, meter| change(a, meter, "upperAscii()", |t| t.to_ascii_uppercase())),
];

fn test<'a>(
    arguments: &[Val<'a>],
    meter: &mut Meter,
    call: &str,
    test: fn(&str, &str) -> bool,
) -> Result<Val<'a>, Stop> {
    let (text, part) = (text(call, &arguments[0])?, text(call, &arguments[1])?);
    meter.search(text)?;
    Ok(Val::Bool(test(text, part)))
}

fn change<'a>(
    arguments: &[Val<'a>],
    meter: &mut Meter,
    call: &str,
    change: fn(&str) -> String,
) -> Result<Val<'a>, Stop> {
    let text = text(call, &arguments[0])?;
    meter.build_text(text.len())?;
    Ok(Val::shared(change(text)))
}

fn index_of<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    let (text, part) = (text("indexOf(…)", &arguments[0])?, text("indexOf(…)", &arguments[1])?);
    meter.search(text)?;
    let at = text.find(&**part).map_or(-1, |at| text[..at].chars().count() as i64);
    Ok(Val::Int(at))
}

/// What it becomes is counted first: a text may grow a thousandfold.
fn replace<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    let call = "replace(…)";
    let (text, from, to) =
        (text(call, &arguments[0])?, text(call, &arguments[1])?, text(call, &arguments[2])?);
    meter.search(text)?;
    let times = text.matches(&**from).count();
    meter.build_text(text.len().saturating_add(times.saturating_mul(to.len())))?;
    Ok(Val::shared(text.replace(&**from, to)))
}

fn split<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    let (text, separator) = (text("split(…)", &arguments[0])?, text("split(…)", &arguments[1])?);
    meter.search(text)?;
    let parts =
        if separator.is_empty() { text.chars().count() } else { text.matches(&**separator).count() + 1 };
    meter.build_values(parts.saturating_mul(2) + 3)?;
    meter.build_text(text.len())?;
    let part = |part: &str| Val::shared(part);
    Ok(Val::list(match separator.is_empty() {
        true => text.chars().map(|char| part(char.encode_utf8(&mut [0; 4]))).collect(),
        false => text.split(&**separator).map(part).collect(),
    }))
}

fn substring<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    let call = "substring(…)";
    let text: &Text = text(call, &arguments[0])?;
    meter.build_text(text.len())?;
    let size = text.chars().count();
    let start = int(call, &arguments[1])?;
    let end = arguments.get(2).map_or(Ok(size as i64), |end| int(call, end))?;
    let places = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    match places.filter(|(start, end)| start <= end && *end <= size) {
        Some((start, end)) => Ok(Val::shared(text.chars().skip(start).take(end - start).collect::<String>())),
        None => problem(format!("a text of {size} characters has no part from {start} to {end}")),
    }
}
