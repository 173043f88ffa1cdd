//! A place in the events of every dispatch group, as text: `alpha=12;beta=3`.

use crate::web::{escaped, unescaped};
use model::limits;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use store::{Browse, Result};

/// The number of the last event of each dispatch group that a listener was told. One that is not named is told from its beginning:
/// it came later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions(BTreeMap<String, u64>);

impl Positions {
    /// Behind everything that has happened.
    pub fn now(browse: &Browse) -> Result<Positions> {
        let groups = browse.groups()?;
        let last = groups.iter().map(|group| {
            let name = group.dispatch_group.as_str();
            Ok((name.to_string(), browse.last_event(name)?))
        });
        Ok(Positions(last.collect::<Result<_>>()?))
    }

    pub fn of(&self, group: &str) -> u64 {
        self.0.get(group).copied().unwrap_or_default()
    }

    pub fn reach(&mut self, group: String, number: u64) {
        self.0.insert(group, number);
    }
}

impl fmt::Display for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (group, number)) in self.0.iter().enumerate() {
            let between = if n > 0 { ";" } else { "" };
            write!(f, "{between}{}={number}", escaped(group))?;
        }
        Ok(())
    }
}

impl FromStr for Positions {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Positions, String> {
        let strange = || format!("`{text}` is not the id of an event; send the last one that was received");
        let read = |part: &str| {
            let (group, number) = part.split_once('=')?;
            // The databases count no further.
            let number = number.parse().ok().filter(|number| i64::try_from(*number).is_ok())?;
            Some((unescaped(group)?, number))
        };
        let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
        let positions: Option<BTreeMap<String, u64>> = parts.map(read).collect();
        let positions = positions.filter(|all| !all.is_empty() && all.len() <= 2 * limits::GROUPS_MAX);
        positions.map(Positions).ok_or_else(strange)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut at = Positions::default();
        at.reach("beta".into(), 3);
        at.reach("alpha".into(), 12);
        at.reach("a=b; ü%".into(), 0);
        assert_eq!(at.to_string(), "a%3Db%3B%20%C3%BC%25=0;alpha=12;beta=3");
        assert_eq!(at.to_string().parse(), Ok(at));
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in ["", ";", "alpha", "alpha=", "alpha=x", "alpha=-1", "alpha=9223372036854775808", "a%zz=1"]
        {
            let refused = bad.parse::<Positions>().unwrap_err();
            assert!(refused.contains("is not the id of an event"), "{bad}: {refused}");
        }
        let many: Vec<String> = (0..129).map(|n| format!("g{n}=1")).collect();
        assert!(many.join(";").parse::<Positions>().is_err());
    }
}
