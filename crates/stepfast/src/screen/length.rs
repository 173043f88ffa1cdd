//! How long something took, as people read it.

use model::Timestamp;
use std::time::Duration;

pub fn length(span: Duration) -> String {
    let (ms, s) = (span.as_millis(), span.as_secs());
    match s {
        0 => format!("{ms} ms"),
        1..60 => format!("{:.1} s", ms as f64 / 1_000.0),
        60..3_600 => format!("{} m {:02} s", s / 60, s % 60),
        3_600..86_400 => format!("{} h {:02} m", s / 3_600, s % 3_600 / 60),
        _ => format!("{} d {:02} h", s / 86_400, s % 86_400 / 3_600),
    }
}

/// From one instant of the API to another, or until now.
pub fn took(from: Option<&String>, to: Option<&String>, now: Timestamp) -> Option<Duration> {
    let from = micros(from?)?;
    let to = to.map_or(Some(now.0), |to| micros(to))?;
    Some(Duration::from_micros(u64::try_from(to - from).unwrap_or(0)))
}

pub fn micros(instant: &str) -> Option<i64> {
    instant.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_microsecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_short() {
        let shown = |ms| length(Duration::from_millis(ms));
        assert_eq!(
            [shown(7), shown(59_940), shown(61_000), shown(3_720_000)],
            ["7 ms", "59.9 s", "1 m 01 s", "1 h 02 m"]
        );
        assert_eq!(shown(90_000_000), "1 d 01 h");
    }

    #[test]
    fn what_goes_on_has_taken_its_time_until_now() {
        let (from, to) = ("1970-01-01T00:00:01Z".to_string(), "1970-01-01T00:00:03.5Z".to_string());
        let now = Timestamp(9_000_000);
        assert_eq!(took(Some(&from), Some(&to), now), Some(Duration::from_millis(2_500)));
        assert_eq!(took(Some(&from), None, now), Some(Duration::from_secs(8)));
        assert_eq!(took(None, Some(&to), now), None);
        assert_eq!(took(Some(&to), Some(&from), now), Some(Duration::ZERO));
    }
}
