//! The starts of jobs, read from the server's logs.

use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;

/// One start of a job under one attempt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Effect {
    pub step: String,
    pub attempt: u64,
}

pub fn read(logs: &[PathBuf]) -> Result<Vec<Effect>> {
    let mut effects = Vec::new();
    for log in logs {
        let bytes = fs::read(log).with_context(|| format!("could not read {}", log.display()))?;
        effects.extend(parse(&String::from_utf8_lossy(&bytes)));
    }
    Ok(effects)
}

/// Only whole lines count: the kill may have torn the last one in the middle of its number.
fn parse(text: &str) -> Vec<Effect> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().filter_map(effect).collect()
}

fn effect(line: &str) -> Option<Effect> {
    let (_, fields) = line.split_once("effect step=")?;
    let (step, rest) = fields.split_once(" attempt=")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(Effect { step: step.to_owned(), attempt: digits.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::{Effect, parse};

    #[test]
    fn starts_are_read_and_a_torn_line_is_not() {
        let text =
            "12:00 DEBUG worker: effect step=a-1 attempt=12 action=noop\nother\neffect step=b-2 attempt=1";
        assert_eq!(parse(text), [Effect { step: "a-1".into(), attempt: 12 }]);
    }
}
