//! A pool: a named limit that steps share, whichever node and worker runs them.

use crate::{Fault, Name, Timestamp, limits};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How many may run at once, how many may start in a span of time, or both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    pub name: Name,
    /// 0 lets nothing start.
    pub concurrency: Option<u32>,
    pub rate: Option<Rate>,
}

/// At most `starts` in `per`, evenly spread, and `burst` of them at once after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    pub starts: u32,
    pub per: Duration,
    pub burst: u32,
}

/// A pool as it is used now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolUse {
    pub pool: Pool,
    /// Steps of it that a worker has, everywhere.
    pub used: usize,
    /// When the rate would have been used up if its starts had come evenly; rules alone read it.
    pub full_until: Timestamp,
}

impl Pool {
    pub fn new(name: &str) -> Pool {
        Pool { name: name.into(), concurrency: None, rate: None }
    }
    /// What is wrong with it, field by field.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault = |field: &str, problem: String, fix: String| {
            faults.push(Fault { field: field.into(), problem, fix });
        };
        if self.name.trim().is_empty() || self.name.len() > limits::NAME_BYTES_MAX {
            let fix = format!("use 1 to {} bytes", limits::NAME_BYTES_MAX);
            fault("name", format!("is {} bytes long", self.name.len()), fix);
        }
        if self.name.contains('\0') {
            faults.push(Fault::nul("name"));
            return faults;
        }
        if self.concurrency.is_some_and(|n| n > limits::POOL_CONCURRENCY_MAX) {
            let fix = format!("write a number from 0 to {}", limits::POOL_CONCURRENCY_MAX);
            fault("concurrency", "is out of range".into(), fix);
        }
        if self.concurrency.is_none() && self.rate.is_none() {
            let fix = "write `concurrency`, `rate`, or both";
            fault("concurrency", "the pool limits nothing".into(), fix.into());
        }
        if let Some(rate) = self.rate {
            if rate.starts == 0 || rate.starts > limits::POOL_STARTS_MAX || rate.per > limits::WAIT_MAX {
                let fix = format!("write for example `100/m`, with 1 to {} starts", limits::POOL_STARTS_MAX);
                fault("rate", "is out of range".into(), fix);
            }
            if rate.burst == 0 || rate.burst > limits::POOL_STARTS_MAX {
                let fix = format!("write a number from 1 to {}", limits::POOL_STARTS_MAX);
                fault("burst", "is out of range".into(), fix);
            }
        }
        faults
    }
}

impl Rate {
    const SPANS: [(&'static str, u64); 4] = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)];

    /// From one start to the next, in microseconds; never less than the rate allows.
    pub fn spacing(&self) -> i64 {
        let per = i64::try_from(self.per.as_micros()).unwrap_or(i64::MAX);
        per.saturating_add(i64::from(self.starts) - 1) / i64::from(self.starts).max(1)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.per.as_secs();
        match Rate::SPANS.iter().find(|(_, span)| *span == seconds) {
            Some((word, _)) => write!(f, "{}/{word}", self.starts),
            None => write!(f, "{}/{seconds}s", self.starts),
        }
    }
}

/// For people, and for the audit.
impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_once = self.concurrency.map(|n| format!("{n} at once"));
        let rate = self.rate.map(|rate| match rate.burst {
            1 => rate.to_string(),
            burst => format!("{rate} with bursts of {burst}"),
        });
        f.write_str(&at_once.into_iter().chain(rate).collect::<Vec<_>>().join(", "))
    }
}

/// `100/m`: so many starts in a second, minute, hour or day, or in so many of them (`10/15m`).
impl FromStr for Rate {
    type Err = String;
    fn from_str(text: &str) -> Result<Rate, String> {
        let strange = || format!("`{text}` is no rate; write for example `5/s`, `100/m` or `10/15m`");
        let (starts, span) = text.split_once('/').ok_or_else(strange)?;
        let starts: u32 = starts.trim().parse().map_err(|_| strange())?;
        let span = span.trim();
        let (n, word) = span.split_at(span.find(|c: char| !c.is_ascii_digit()).ok_or_else(strange)?);
        let n: u64 = if n.is_empty() { 1 } else { n.parse().map_err(|_| strange())? };
        let (_, seconds) = Rate::SPANS.into_iter().find(|(w, _)| *w == word).ok_or_else(strange)?;
        let seconds = n.checked_mul(seconds).filter(|s| *s > 0).ok_or_else(strange)?;
        if starts == 0 || seconds > limits::WAIT_MAX.as_secs() {
            return Err(strange());
        }
        Ok(Rate { starts, per: Duration::from_secs(seconds), burst: 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_word() {
        for (text, again) in [("5/s", "5/s"), ("100/m", "100/m"), ("10/15m", "10/900s"), ("1/60s", "1/m")] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!(rate.to_string(), again);
            assert_eq!(again.parse(), Ok(rate));
        }
        for text in ["", "5", "/s", "0/s", "5/0s", "5/w", "-1/s", "5/99999999999999999999d", "5/s5"] {
            assert!(text.parse::<Rate>().unwrap_err().contains("write for example"), "{text}");
        }
    }

    #[test]
    fn a_pool_that_limits_nothing_is_refused() {
        assert_eq!(
            Pool::new("card").faults()[0].to_string(),
            "concurrency: the pool limits nothing; write `concurrency`, `rate`, or both"
        );
        assert!(Pool { concurrency: Some(0), ..Pool::new("card") }.faults().is_empty());
    }
}
