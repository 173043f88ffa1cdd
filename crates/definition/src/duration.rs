//! Durations as people write them: `250ms`, `5s`, `10m`, `2h`, `7d`, `1h30m`.

use std::time::Duration;

/// From the longest to the shortest, in milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// What such a text looks like, for editors.
pub(crate) const PATTERN: &str =
    "^(?=.)([0-9]{1,15}d)?([0-9]{1,15}h)?([0-9]{1,15}m(?!s))?([0-9]{1,15}s)?([0-9]{1,15}ms)?$";

/// The duration, or what to write instead.
pub fn parse(text: &str) -> Result<Duration, String> {
    let (mut rest, mut millis, mut next) = (text.trim(), 0u64, 0);
    let wrong = || Err(suggest(text.trim()));
    if rest.is_empty() {
        return wrong();
    }
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let letters =
            rest[digits..].len() - rest[digits..].trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (number, unit) = (&rest[..digits], &rest[digits..digits + letters]);
        let found = UNITS[next..].iter().position(|(name, _)| *name == unit);
        let (Ok(number), Some(at)) = (number.parse::<u64>(), found) else { return wrong() };
        let part = number.checked_mul(UNITS[next + at].1);
        let Some(sum) = part.and_then(|part| millis.checked_add(part)) else { return wrong() };
        (millis, next, rest) = (sum, next + at + 1, &rest[digits + letters..]);
    }
    Ok(Duration::from_millis(millis))
}

fn suggest(text: &str) -> String {
    if !text.is_empty() && text.len() < 10 && text.chars().all(|c| c.is_ascii_digit()) {
        return format!("name the unit: {text}s, {text}m, {text}h or {text}ms");
    }
    let words = [
        ("seconds", "s"),
        ("second", "s"),
        ("secs", "s"),
        ("sec", "s"),
        ("minutes", "m"),
        ("minute", "m"),
        ("mins", "m"),
    ];
    let more = [
        ("min", "m"),
        ("hours", "h"),
        ("hour", "h"),
        ("days", "d"),
        ("day", "d"),
        ("weeks", "d"),
        ("M", "m"),
    ];
    for (word, unit) in words.into_iter().chain(more) {
        let number = text.strip_suffix(word).map(str::trim_end).and_then(|number| number.parse::<u32>().ok());
        if let Some(number) = number {
            let number = if word == "weeks" { number.saturating_mul(7) } else { number };
            return format!("write {number}{unit}");
        }
    }
    "write whole numbers with ms, s, m, h or d, the longest first: 90s, 10m, 1h30m".into()
}

/// As it would be written.
pub fn show(duration: Duration) -> String {
    let mut left = duration.as_millis() as u64;
    let mut text = String::new();
    for (unit, millis) in UNITS {
        if left >= millis {
            text.push_str(&format!("{}{unit}", left / millis));
            left %= millis;
        }
    }
    if text.is_empty() { "0s".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written() {
        for (text, millis) in [
            ("250ms", 250),
            ("5s", 5_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("7d", 604_800_000),
            ("1m5ms", 60_005),
            ("0s", 0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
            assert_eq!(show(Duration::from_millis(millis)), text);
        }
        assert_eq!(parse("90s").map(show).as_deref(), Ok("1m30s"));
    }

    #[test]
    fn what_is_no_duration_is_mended() {
        let mended = |text| parse(text).unwrap_err();
        assert_eq!(mended("60"), "name the unit: 60s, 60m, 60h or 60ms");
        assert_eq!(mended("5 min"), "write 5m");
        assert_eq!(mended("2 weeks"), "write 14d");
        assert_eq!(mended("10M"), "write 10m");
        for text in [
            "",
            "1.5h",
            "30m1h",
            "5s5s",
            "-5s",
            "PT1H",
            "s",
            "5",
            "99999999999999999999d",
            "999999999999999d",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
