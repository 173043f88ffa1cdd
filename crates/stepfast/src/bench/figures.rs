//! What a bench run prints.

use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Debug, Default, Serialize)]
pub struct Figures {
    pub workload: &'static str,
    pub store: &'static str,
    /// The queue outside that was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    pub n: usize,
    pub steps_per_s: f64,
    pub p50_us: Option<f64>,
    pub p95_us: Option<f64>,
    pub p99_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    #[serde(flatten)]
    pub more: BTreeMap<&'static str, f64>,
}

impl Figures {
    pub fn new(workload: &'static str, n: usize, steps_per_s: f64) -> Figures {
        Figures { workload, n, steps_per_s: steps_per_s.round(), ..Figures::default() }
    }
    pub fn with_samples(mut self, mut samples: Vec<Duration>) -> Figures {
        samples.sort_unstable();
        let at = |q: f64| {
            let i = ((samples.len() as f64 * q) as usize).min(samples.len().saturating_sub(1));
            samples.get(i).map(|d| (d.as_secs_f64() * 1e7).round() / 10.0)
        };
        (self.p50_us, self.p95_us, self.p99_us) = (at(0.50), at(0.95), at(0.99));
        self
    }
    pub fn with(mut self, name: &'static str, value: f64) -> Figures {
        self.more.insert(name, (value * 1000.0).round() / 1000.0);
        self
    }
}

pub fn rate(n: usize, span: Duration) -> f64 {
    n as f64 / span.as_secs_f64().max(1e-9)
}
