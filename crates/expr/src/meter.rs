//! What an evaluation may still spend: steps, and bytes of what it builds.
//!
//! Why    `||` and `&&` forgive an error on their other side, and must not forgive an expression that has spent what it had.

use crate::limits::{BUILT_BYTES_MAX, STEPS_MAX};

/// Why an evaluation ended without a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stop {
    /// The values do not fit; CEL lets `||`, `&&`, `all` and `exists` get over it.
    Problem(String),
    /// It costs too much; nothing gets over that.
    Limit(String),
}

impl Stop {
    pub fn message(self) -> String {
        match self {
            Stop::Problem(message) | Stop::Limit(message) => message,
        }
    }
}

pub(crate) fn problem<T>(message: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Problem(message.into()))
}

#[derive(Debug)]
pub(crate) struct Meter {
    steps: usize,
    bytes: usize,
}

impl Meter {
    pub fn new() -> Meter {
        Meter { steps: STEPS_MAX, bytes: BUILT_BYTES_MAX }
    }

    pub fn spend(&mut self, steps: usize) -> Result<(), Stop> {
        match self.steps.checked_sub(steps) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => {
                // What is left after a refusal would let a cheaper part of the expression go on.
                self.steps = 0;
                Err(Stop::Limit(format!(
                    "it takes more than {STEPS_MAX} steps; loop over fewer items, or leave this to an action"
                )))
            }
        }
    }

    /// Text that is looked at from end to end.
    pub fn read(&mut self, text: &str) -> Result<(), Stop> {
        self.spend(1 + text.len() / 64)
    }

    /// Text in which something is looked for.
    pub fn search(&mut self, text: &str) -> Result<(), Stop> {
        self.spend(1 + text.len() / 8)
    }

    pub fn build(&mut self, bytes: usize) -> Result<(), Stop> {
        self.spend(1 + bytes / 64)?;
        match self.bytes.checked_sub(bytes) {
            Some(left) => {
                self.bytes = left;
                Ok(())
            }
            None => Err(Stop::Limit(format!(
                "it builds more than {BUILT_BYTES_MAX} bytes of text and lists; build less, or leave this to an action"
            ))),
        }
    }

    pub fn build_text(&mut self, bytes: usize) -> Result<(), Stop> {
        self.build(bytes.saturating_add(VALUE_BYTES))
    }

    /// A list of so many values.
    pub fn build_values(&mut self, count: usize) -> Result<(), Stop> {
        self.build(count.saturating_mul(VALUE_BYTES))
    }
}

/// What a value takes as an item of a list; `value.rs` holds itself to it.
pub(crate) const VALUE_BYTES: usize = 32;
/// What a map takes with one entry.
pub(crate) const MAP_BYTES: usize = 768;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_after_a_refusal() {
        let mut meter = Meter::new();
        meter.spend(STEPS_MAX - 1).unwrap();
        assert!(matches!(meter.spend(2), Err(Stop::Limit(message)) if message.contains("1000000 steps")));
        assert!(meter.spend(1).is_err());
    }

    #[test]
    fn bytes_are_counted_over_the_whole_evaluation() {
        let mut meter = Meter::new();
        meter.build(BUILT_BYTES_MAX / 2).unwrap();
        meter.build(BUILT_BYTES_MAX / 2).unwrap();
        assert!(matches!(meter.build(1), Err(Stop::Limit(message)) if message.contains("33554432 bytes")));
    }
}
