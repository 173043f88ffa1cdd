//! What an operator should know: the last thousand warnings, each told once however often it happens.

use crate::limits::{WARNING_CHARS_MAX, WARNINGS_MAX};
use serde::Serialize;
use std::collections::VecDeque;
use std::time::Duration;
use tracing::{error, info, warn};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Category {
    Configuration,
    Connection,
    RateLimit,
    CircuitBreaker,
    Routing,
    PoolCapacity,
    QueueHealth,
    ConsumerHealth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    Info,
    Warning,
    Error,
    Critical,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    pub category: Category,
    pub severity: Severity,
    /// The pool, target or queue it is about.
    pub about: String,
    /// As it was told last.
    pub text: String,
    pub times: u64,
    pub first_ms_ago: u64,
    pub last_ms_ago: u64,
}

struct Kept {
    category: Category,
    severity: Severity,
    about: String,
    text: String,
    times: u64,
    first_at: Duration,
    last_at: Duration,
}

#[derive(Default)]
pub struct Warnings {
    kept: VecDeque<Kept>,
}

impl Warnings {
    /// The same about the same is counted, not repeated.
    pub fn add(&mut self, category: Category, severity: Severity, about: &str, text: &str, now: Duration) {
        let (about, text) = (excerpt(about), excerpt(text));
        let same =
            |kept: &Kept| kept.category == category && kept.severity == severity && kept.about == about;
        if let Some(at) = self.kept.iter().position(same)
            && let Some(mut kept) = self.kept.remove(at)
        {
            (kept.text, kept.last_at, kept.times) = (text, now, kept.times + 1);
            self.kept.push_back(kept);
            return;
        }
        match severity {
            Severity::Critical | Severity::Error => error!(target: "router", ?category, about, "{text}"),
            Severity::Warning => warn!(target: "router", ?category, about, "{text}"),
            Severity::Info => info!(target: "router", ?category, about, "{text}"),
        }
        if self.kept.len() == WARNINGS_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(Kept { category, severity, about, text, times: 1, first_at: now, last_at: now });
    }

    /// The latest first.
    pub fn list(&self, now: Duration) -> Vec<Warning> {
        let ago = |at: Duration| now.saturating_sub(at).as_millis() as u64;
        let told = self.kept.iter().rev().map(|kept| Warning {
            category: kept.category,
            severity: kept.severity,
            about: kept.about.clone(),
            text: kept.text.clone(),
            times: kept.times,
            first_ms_ago: ago(kept.first_at),
            last_ms_ago: ago(kept.last_at),
        });
        told.collect()
    }
}

/// One line, not too long: what it is made of comes from outside.
pub fn excerpt(text: &str) -> String {
    let line = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = line.take(WARNING_CHARS_MAX + 1).collect();
    if let Some((at, _)) = line.char_indices().nth(WARNING_CHARS_MAX) {
        line.truncate(at);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_thousand_are_kept_and_repetitions_are_counted() {
        let mut warnings = Warnings::default();
        let second = Duration::from_secs(1);
        for n in 0..1_500 {
            warnings.add(Category::Routing, Severity::Warning, &n.to_string(), "unknown", second);
        }
        warnings.add(Category::Routing, Severity::Warning, "500", "unknown again", second * 3);
        warnings.add(Category::Routing, Severity::Error, "500", "worse", second * 3);
        let told = warnings.list(second * 4);
        assert_eq!(told.len(), 1_000);
        assert_eq!((told[0].severity, told[0].times), (Severity::Error, 1));
        let repeated = &told[1];
        assert_eq!((repeated.about.as_str(), repeated.times), ("500", 2));
        assert_eq!((repeated.first_ms_ago, repeated.last_ms_ago), (3_000, 1_000));
        assert_eq!(repeated.text, "unknown again");
    }

    #[test]
    fn what_comes_from_outside_is_one_short_line() {
        assert_eq!(excerpt("a\r\nb\u{1b}[31m"), "a  b [31m");
        assert_eq!(excerpt(&"ä".repeat(900)).chars().count(), WARNING_CHARS_MAX + 1);
        assert_eq!(excerpt(&"ä".repeat(WARNING_CHARS_MAX)).chars().count(), WARNING_CHARS_MAX);
    }
}
