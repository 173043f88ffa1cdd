//! Wrong keys, tokens and signatures on record: for each address the first of a minute, with how many came before it.
//!
//! Why    whoever looks into a break-in wants to see who tried, and a flood of tries must fill neither the audit nor this memory. So a
//!        minute has a row for each of so many addresses, and what came in between is told by the next. An address that goes on, such
//!        as a worker with a key that was revoked, is told of ever more rarely, down to once an hour.

use super::pace::network;
use model::{Timestamp, limits};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use store::AuditEntry;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

#[derive(Default)]
pub struct Refusals(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    places: HashMap<IpAddr, Told>,
    /// Those that were told by no row, from addresses that are not known any more or never were.
    elsewhere: u64,
}

/// When an address was told of, for how long it is not told of again, and how many came from it since.
struct Told {
    at: Timestamp,
    quiet: Duration,
    since: u64,
}

impl Told {
    /// Whoever goes on is told of half as often.
    fn next_quiet(&self, now: Timestamp) -> Duration {
        if now < self.at + self.quiet * 2 { (self.quiet * 2).min(HOUR) } else { MINUTE }
    }
}

impl Refusals {
    /// What is put on record of this one; none if its address was told of just now.
    pub fn note(&self, peer: Option<IpAddr>, asked: &str, now: Timestamp) -> Option<AuditEntry> {
        let place = peer.map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), network);
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = seen.places.get_mut(&place)
            && now < told.at + told.quiet
        {
            told.since += 1;
            return None;
        }
        let known = seen.places.get(&place).map(|told| (told.next_quiet(now), told.since));
        if known.is_none() && !seen.makes_room(now) {
            seen.elsewhere += 1;
            return None;
        }
        let (quiet, since) = known.unwrap_or((MINUTE, 0));
        seen.places.insert(place, Told { at: now, quiet, since: 0 });
        let elsewhere = std::mem::take(&mut seen.elsewhere);
        Some(entry(peer, asked, since, elsewhere))
    }
}

impl Seen {
    /// What was told of a minute ago may be told of again.
    fn makes_room(&mut self, now: Timestamp) -> bool {
        if self.places.len() >= limits::REFUSALS_PER_MINUTE {
            let gone = self.places.extract_if(|_, told| told.at + MINUTE <= now);
            self.elsewhere += gone.map(|(_, told)| told.since).sum::<u64>();
        }
        self.places.len() < limits::REFUSALS_PER_MINUTE
    }
}

/// What was shown is nowhere in it.
fn entry(peer: Option<IpAddr>, asked: &str, since: u64, elsewhere: u64) -> AuditEntry {
    let from = match peer {
        Some(ip) if ip.is_loopback() => " from this machine".into(),
        Some(ip) => format!(" from {ip}"),
        None => String::new(),
    };
    let more = match (since, elsewhere) {
        (0, 0) => String::new(),
        (since, 0) => format!(", as {since} more from there since the row before"),
        (since, others) => format!(", as {since} more from there and {others} from elsewhere since"),
    };
    AuditEntry {
        who: format!("nobody{from}"),
        verb: "refused".into(),
        target: asked.into(),
        why: Some("what was shown is not valid".into()),
        before: None,
        after: Some(format!("refused{more}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp(seconds * 1_000_000)
    }

    #[test]
    fn of_a_flood_the_first_of_each_minute_is_told_with_the_number_of_the_others() {
        let refusals = Refusals::default();
        let first = refusals.note(ip("203.0.113.9"), "POST /sign-in", at(0)).unwrap();
        assert_eq!(
            (first.who.as_str(), first.after.as_deref()),
            ("nobody from 203.0.113.9", Some("refused"))
        );
        for second in 0..60 {
            assert!(refusals.note(ip("203.0.113.9"), "POST /sign-in", at(second)).is_none());
        }
        assert!(refusals.note(ip("203.0.113.10"), "POST /sign-in", at(59)).is_some(), "another address");
        let next = refusals.note(ip("203.0.113.9"), "POST /sign-in", at(60)).unwrap();
        assert_eq!(next.after.unwrap(), "refused, as 60 more from there since the row before");
        assert!(refusals.note(ip("203.0.113.9"), "POST /sign-in", at(179)).is_none(), "it goes on");
        assert!(refusals.note(ip("203.0.113.9"), "POST /sign-in", at(180)).is_some());
        let rows = (181..86_400).filter(|now| refusals.note(ip("203.0.113.9"), "x", at(*now)).is_some());
        assert!(rows.count() < 30, "a day of it");
    }

    #[test]
    fn many_addresses_fill_neither_the_record_nor_the_memory() {
        let refusals = Refusals::default();
        let flood = |from: u32, now: Timestamp| {
            let all = (0..10_000).map(|n| Some(IpAddr::V4((from + n).into())));
            all.filter_map(|peer| refusals.note(peer, "GET /v1/steps", now)).count()
        };
        assert_eq!(flood(1 << 24, at(0)), limits::REFUSALS_PER_MINUTE);
        assert_eq!(flood(2 << 24, at(30)), 0);
        let next = refusals.note(ip("203.0.113.9"), "GET /v1/steps", at(60)).unwrap().after.unwrap();
        let untold = 20_000 - limits::REFUSALS_PER_MINUTE;
        assert_eq!(next, format!("refused, as 0 more from there and {untold} from elsewhere since"));
        assert!(refusals.0.lock().unwrap().places.len() <= limits::REFUSALS_PER_MINUTE);
    }
}
