//! What is said of a database that was put back from a copy, where its breaker says why it is off.

use model::{Breaker, Timestamp};

/// Who switches it off.
pub const BY: &str = "stepfast";

/// Off until somebody says otherwise: no time ends it.
pub fn breaker(taken_at: Timestamp, now: Timestamp) -> Breaker {
    let taken = match jiff::Timestamp::from_microsecond(taken_at.0) {
        Ok(at) => at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => format!("{} microseconds from 1970", taken_at.0),
    };
    let why = format!(
        "this database is a copy of {taken}: what was done since would be done again. Look first; \
         `stepfast breaker on` lets it go on"
    );
    Breaker { off: true, why: Some(why), by: Some(BY.into()), since: Some(now), until: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_of_when_it_is_and_what_lets_it_go_on() {
        let breaker = breaker(Timestamp(1_700_000_000_000_000), Timestamp(1_700_003_600_000_000));
        assert!(breaker.is_off(Timestamp(i64::MAX)));
        let why = breaker.why.unwrap();
        assert!(why.starts_with("this database is a copy of 2023-11-14 22:13:20 UTC: "), "{why}");
        assert!(why.contains("`stepfast breaker on`"), "{why}");
    }
}
