//! `matches`, with patterns that are small and stay small when they are compiled.
//!
//! Why    a pattern takes time with the product of its size and the length of the text, so both are paid for. `\w`, `\d`, `\s`
//!        and `\b` mean ASCII, as CEL says, which also keeps them small.

use super::{Function, global, member, text};
use crate::fault::shortened;
use crate::limits::PATTERN_BYTES_MAX;
use crate::meter::{Meter, Stop, problem};
use crate::value::Val;
use regex::{Error, Regex, RegexBuilder};

pub(super) const FUNCTIONS: &[Function] =
    &[global("matches", (2, 2), matches_any), member("matches", (1, 1), matches_any)];

/// What a pattern may become, in KiB: `(a{99}){99}` is short. The smallest size that holds it is what it costs.
const SIZES: [usize; 4] = [1, 4, 16, 64];
/// To compile one costs so much for each KiB; in a loop it is compiled for every item.
const COMPILE_STEPS: usize = 500;

#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    kib: usize,
}

/// What is wrong with it, otherwise.
pub(crate) fn compile(pattern: &str) -> Result<Pattern, String> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!(
            "a pattern has at most {PATTERN_BYTES_MAX} bytes, and this one {}",
            pattern.len()
        ));
    }
    let written = ascii(pattern);
    for kib in SIZES {
        match RegexBuilder::new(&written).size_limit(kib * 1024).nest_limit(32).build() {
            Ok(regex) => return Ok(Pattern { regex, kib }),
            Err(Error::CompiledTooBig(_)) => {}
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
                return Err(format!("`{}` is not a pattern: {reason}", shortened(pattern, 80)));
            }
        }
    }
    Err("the pattern becomes too large; use fewer or smaller repetitions".to_string())
}

pub(crate) fn matches<'a>(value: &Val<'a>, pattern: &Pattern, meter: &mut Meter) -> Result<Val<'a>, Stop> {
    let text = text("matches(…)", value)?;
    meter.spend(1 + text.len() * pattern.kib)?;
    Ok(Val::Bool(pattern.regex.is_match(text)))
}

/// The pattern is a value, and compiled for this one text.
fn matches_any<'a>(arguments: &[Val<'a>], meter: &mut Meter) -> Result<Val<'a>, Stop> {
    match compile(text("matches(…)", &arguments[1])?) {
        Ok(pattern) => {
            meter.spend(COMPILE_STEPS * pattern.kib)?;
            matches(&arguments[0], &pattern, meter)
        }
        Err(message) => {
            meter.spend(COMPILE_STEPS * SIZES[SIZES.len() - 1])?;
            problem(message)
        }
    }
}

/// The classes of CEL's patterns, which are those of RE2.
fn ascii(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len() * 2);
    let mut chars = pattern.chars().peekable();
    let mut classes = 0usize;
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some(escaped) => written.push_str(&class(escaped, classes)),
                None => written.push(char),
            },
            '[' => {
                classes += 1;
                written.push(char);
                written.extend(chars.next_if_eq(&'^'));
                // First in a class it is itself.
                written.extend(chars.next_if_eq(&']'));
            }
            ']' => {
                classes = classes.saturating_sub(1);
                written.push(char);
            }
            _ => written.push(char),
        }
    }
    written
}

/// An escaped character, within so many classes.
fn class(escaped: char, classes: usize) -> String {
    let (inside, negated) = match escaped {
        'd' => ("0-9", false),
        'w' => ("0-9A-Za-z_", false),
        's' => (r"\t\n\f\r ", false),
        'D' => ("0-9", true),
        'W' => ("0-9A-Za-z_", true),
        'S' => (r"\t\n\f\r ", true),
        'b' | 'B' if classes == 0 => return format!(r"(?-u:\{escaped})"),
        other => return format!(r"\{other}"),
    };
    match (classes, negated) {
        (_, true) => format!("[^{inside}]"),
        (0, false) => format!("[{inside}]"),
        _ => inside.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_mean_ascii() {
        assert_eq!(ascii(r"^\w+-\d{4}$"), "^[0-9A-Za-z_]+-[0-9]{4}$");
        assert_eq!(ascii(r"[\w.-]+\W[^\D]"), "[0-9A-Za-z_.-]+[^0-9A-Za-z_][^[^0-9]]");
        assert_eq!(ascii(r"[]\d]\\d\."), r"[]0-9]\\d\.");
        assert_eq!(ascii(r"\bä\s"), r"(?-u:\b)ä[\t\n\f\r ]");
        let found = |pattern: &str, text: &str| compile(pattern).unwrap().regex.is_match(text);
        assert!(found(r"^[\w.+-]+@\w+\.\w{2,20}$", "ada.l+x@example.org") && !found(r"^\w+$", "ä"));
        assert!(found(r"^.ß$", "äß") && found(r"^\p{L}+$", "äß") && found(r"(?i)^ADA\b", "ada "));
        assert!(compile(r"\").is_err() && compile(r"[\d").is_err());
    }

    #[test]
    fn an_ordinary_pattern_is_cheap() {
        let size = |pattern: &str| compile(pattern).unwrap().kib;
        assert_eq!((size("^[A-Z]{2}[0-9]+$"), size(r"^[\w.+-]+@[\w-]+(\.[\w-]+)+$")), (1, 1));
        assert_eq!((size("^[a-z]{1,63}$"), size(r"^\p{L}+$")), (16, 64));
    }
}
