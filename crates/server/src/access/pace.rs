//! How often somebody may try a wrong key, and a key may call at all.
//!
//! Why    a key cannot be guessed, so this is about load and about being heard: an address that tries and tries is told to wait. A
//!        right key passes from any address, and nobody who shows one waits for the wrong ones of others. What is counted is
//!        counted by this node alone, in memory, and not about this machine.

use crate::error::ApiError;
use model::{KeyId, Rate, Timestamp, limits};
use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const WRONG: Rate = Rate {
    starts: limits::WRONG_KEYS_PER_MINUTE,
    per: Duration::from_secs(60),
    burst: limits::WRONG_KEYS_PER_MINUTE,
};

pub struct Pace {
    wrong: Counted<IpAddr>,
    calls: Option<Counted<KeyId>>,
}

impl Pace {
    pub fn new(key_rate: Option<Rate>) -> Pace {
        Pace { wrong: Counted::new(WRONG), calls: key_rate.map(Counted::new) }
    }

    /// Something wrong was shown from there; where that is not known, all who are not known wait together.
    pub fn wrong(&self, peer: Option<IpAddr>, now: Timestamp) -> Result<(), ApiError> {
        let place = peer.map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), network);
        self.wrong.take(place, now).map_err(|retry_after| ApiError::TooOften {
            what: "keys, tokens or signatures that are not valid came from this address",
            retry_after,
        })
    }

    /// A key calls.
    pub fn call(&self, key: KeyId, now: Timestamp) -> Result<(), ApiError> {
        let Some(calls) = &self.calls else { return Ok(()) };
        let what = "calls were made with this key";
        calls.take(key, now).map_err(|retry_after| ApiError::TooOften { what, retry_after })
    }
}

/// Whoever has one address of version 6 has a whole network of them.
pub(super) fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6((u128::from(ip) >> 64 << 64).into()),
        IpAddr::V4(ip) => IpAddr::V4(ip),
    }
}

/// For each of some callers, when what it took would be made good if it had come evenly.
struct Counted<K> {
    rate: Rate,
    until: Mutex<HashMap<K, i64>>,
}

impl<K: Eq + Hash> Counted<K> {
    fn new(rate: Rate) -> Counted<K> {
        Counted { rate, until: Mutex::default() }
    }

    /// One more, or how long to wait for it; what is not given is not counted.
    fn take(&self, caller: K, now: Timestamp) -> Result<(), Duration> {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        if until.len() >= limits::CALLERS_COUNTED_MAX && !until.contains_key(&caller) {
            until.retain(|_, until| *until > now.0);
            if until.len() >= limits::CALLERS_COUNTED_MAX {
                // So many at once are no longer told apart by being counted.
                until.clear();
            }
        }
        let spacing = self.rate.spacing();
        let until = until.entry(caller).or_insert(now.0);
        let next = (*until).max(now.0).saturating_add(spacing);
        let early = next - now.0 - spacing.saturating_mul(i64::from(self.rate.burst));
        if early > 0 {
            return Err(Duration::from_micros(early.unsigned_abs()));
        }
        *until = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp(seconds * 1_000_000)
    }

    /// How many of so many were taken.
    fn taken(n: usize, mut one: impl FnMut() -> bool) -> usize {
        (0..n).filter(|_| one()).count()
    }

    #[test]
    fn what_is_used_up_comes_back_evenly() {
        let counted = Counted::new(Rate { starts: 10, per: Duration::from_secs(10), burst: 5 });
        assert_eq!(taken(100, || counted.take("a", at(0)).is_ok()), 5);
        assert_eq!(counted.take("a", at(0)), Err(Duration::from_secs(1)));
        assert_eq!(taken(100, || counted.take("a", at(2)).is_ok()), 2, "waiting costs nothing");
        assert_eq!(taken(100, || counted.take("b", at(2)).is_ok()), 5, "others are not meant");
        assert_eq!(taken(100, || counted.take("a", at(1_000)).is_ok()), 5, "and no more is saved up");
        assert_eq!(taken(100, || counted.take("a", at(0)).is_ok()), 0, "nor won by a clock that goes back");
    }

    #[test]
    fn only_so_many_are_counted() {
        let counted = Counted::new(Rate { starts: 1, per: Duration::from_secs(10), burst: 1 });
        let len = || counted.until.lock().unwrap().len();
        for caller in 0..limits::CALLERS_COUNTED_MAX {
            assert!(counted.take(caller, at(0)).is_ok());
        }
        assert_eq!(len(), limits::CALLERS_COUNTED_MAX);
        assert!(counted.take(limits::CALLERS_COUNTED_MAX, at(11)).is_ok());
        assert_eq!(len(), 1, "whoever has nothing to wait for is forgotten");
    }

    #[test]
    fn a_network_of_version_6_is_one_caller() {
        let text = |ip: &str| network(ip.parse().unwrap()).to_string();
        assert_eq!(text("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(text("::ffff:203.0.113.9"), "203.0.113.9");
        assert_eq!(text("203.0.113.9"), "203.0.113.9");
    }
}
