//! Figures in sentences, as the page shows them.

use std::time::Duration;
use wire::{BreakerView, DashboardWords};

pub fn dashboard(
    breaker: &BreakerView,
    in_flight: i64,
    open_alerts: usize,
    oldest: Option<Duration>,
) -> DashboardWords {
    DashboardWords {
        restart: restart(breaker.off, in_flight),
        breaker: breaker.off.then(|| why_off(breaker)),
        alerts: alerts(open_alerts),
        oldest: oldest.map(|waited| format!("oldest waiting {}", span(waited))),
    }
}

fn restart(is_off: bool, in_flight: i64) -> String {
    match (is_off, in_flight) {
        (true, 0) => "Safe to restart".into(),
        (true, 1) => "Draining: 1 step in flight".into(),
        (true, n) => format!("Draining: {} steps in flight", number(n)),
        (false, _) => "Not safe to restart".into(),
    }
}

fn alerts(open: usize) -> Option<String> {
    match open {
        0 => None,
        1 => Some("1 alert is open.".into()),
        n => Some(format!("{} alerts are open.", number(n as i64))),
    }
}

fn why_off(breaker: &BreakerView) -> String {
    let mut text = String::from("Nothing new is dispatched");
    let told = |at: &Option<String>| at.as_deref().map(clock);
    if let Some(since) = told(&breaker.since) {
        text += &format!(" since {since}");
    }
    if let Some(until) = told(&breaker.until) {
        text += &format!(" until {until}");
    }
    if let Some(by) = &breaker.by {
        text += &format!(", switched off by {by}");
    }
    if let Some(why) = &breaker.why {
        text += &format!(": {why}");
    }
    text + "."
}

/// An instant of the API for people: to the second.
pub fn clock(instant: &str) -> String {
    match instant.get(..19) {
        Some(seconds) => seconds.replace('T', " ") + " UTC",
        None => instant.into(),
    }
}

/// A number with its thousands apart.
pub fn number(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut text = String::from(if n < 0 { "-" } else { "" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How often.
pub fn times(n: i64) -> String {
    match n {
        1 => "once".into(),
        n => format!("{} times", number(n)),
    }
}

/// A span in its largest unit.
pub fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0 => "under 1 s".into(),
        1..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", number((seconds / 86_400) as i64)),
    }
}

/// A span to three digits, for what is measured.
pub fn exact(span: Duration) -> String {
    let ms = span.as_secs_f64() * 1e3;
    let seconds = span.as_secs();
    match ms {
        0.0 => "0".into(),
        ..1.0 => format!("{:.2} ms", ms),
        ..100.0 => format!("{ms:.1} ms"),
        ..1_000.0 => format!("{ms:.0} ms"),
        ..120_000.0 => format!("{:.2} s", ms / 1e3),
        ..7_200_000.0 => format!("{} min {} s", seconds / 60, seconds % 60),
        ..172_800_000.0 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} days {} h", number((seconds / 86_400) as i64), seconds % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_spans_are_readable() {
        assert_eq!(
            [0, 12, 999, 1_000, 1_234_567, -1_000].map(number),
            ["0", "12", "999", "1,000", "1,234,567", "-1,000"]
        );
        assert_eq!([0, 1, 1_000].map(times), ["0 times", "once", "1,000 times"]);
        let spans = [0, 5, 119, 120, 7_200, 400_000].map(|s| span(Duration::from_secs(s)));
        assert_eq!(spans, ["under 1 s", "5 s", "119 s", "2 min", "2 h", "4 days"]);
        let measured = [0, 250, 12_345, 123_456, 1_234_567, 125_000_000, 7_260_000_000, 180_000_000_000];
        assert_eq!(
            measured.map(|us| exact(Duration::from_micros(us))),
            ["0", "0.25 ms", "12.3 ms", "123 ms", "1.23 s", "2 min 5 s", "2 h 1 min", "2 days 2 h"]
        );
    }

    #[test]
    fn a_breaker_that_is_off_says_who_why_and_until_when() {
        let breaker = BreakerView {
            dispatch_group: None,
            off: true,
            can_dispatch_steps: false,
            why: Some("deploy".into()),
            by: Some("anna".into()),
            since: Some("2027-01-15T08:00:00.000000Z".into()),
            until: None,
        };
        let words = dashboard(&breaker, 2, 1, None);
        assert_eq!(words.restart, "Draining: 2 steps in flight");
        let said = "Nothing new is dispatched since 2027-01-15 08:00:00 UTC, switched off by anna: deploy.";
        assert_eq!(words.breaker.as_deref(), Some(said));
        assert_eq!(words.alerts.as_deref(), Some("1 alert is open."));
        assert_eq!(dashboard(&breaker, 0, 0, None).restart, "Safe to restart");
    }
}
