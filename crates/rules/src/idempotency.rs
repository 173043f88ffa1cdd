//! Decides what becomes of somebody who wants to do something once.
//!
//! Finds   the record of a key, if there is one, and what is asked.
//! Emits   begin (and what to write), replay, wait, conflict or given up; and whether a beginning may still be ended.
//! Why     a check before an act is no protection: the store inserts first and asks only when there is a record already.
//!         A caller that died leaves a lease that runs out; a takeover counts no failure, for nobody knows whether one
//!         happened. A record whose time is over is as good as gone, whether or not somebody has cleaned up.

use model::{Execution, ExecutionAsk, ExecutionEvent, OwnerToken, Standing, Timestamp};
use thiserror::Error;

/// What a caller is told to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Do it; the record becomes this.
    Begin(Box<Execution>, ExecutionEvent),
    /// It is this caller's beginning already: the answer to it was lost on the way.
    Begun,
    /// The record is of the past: remove it and insert first.
    Anew,
    Replay {
        answer: String,
    },
    Wait {
        until: Timestamp,
    },
    Conflict,
    GivenUp {
        failures: u32,
        error: String,
    },
}

/// Why a beginning cannot be ended or renewed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("there is no such execution")]
    NotThere,
    #[error("the lease was lost: attempt {attempt} is another's")]
    Lost { attempt: u32 },
    #[error("it has ended already, otherwise")]
    Ended,
}

/// The record of a key that nobody has used.
pub fn first(ask: &ExecutionAsk, now: Timestamp) -> Execution {
    Execution {
        name: ask.name.clone(),
        input: ask.input,
        standing: Standing::InProgress { lease_ends_at: now + ask.lease },
        owner: ask.owner,
        attempt: 1,
        failed_attempts: 0,
        max_attempts: ask.max_attempts,
        created_at: now,
        updated_at: now,
        keep_until: now + ask.keep,
    }
}

pub fn decide(stored: &Execution, ask: &ExecutionAsk, now: Timestamp) -> Verdict {
    let lease = match stored.standing {
        Standing::InProgress { lease_ends_at } => Some(lease_ends_at).filter(|end| *end > now),
        _ => None,
    };
    if stored.keep_until <= now && lease.is_none() {
        return Verdict::Anew;
    }
    if stored.input != ask.input {
        return Verdict::Conflict;
    }
    match (&stored.standing, lease) {
        (Standing::Done { answer }, _) => Verdict::Replay { answer: answer.clone() },
        (Standing::InProgress { .. }, Some(_)) if stored.owner == ask.owner => Verdict::Begun,
        (Standing::InProgress { .. }, Some(until)) => Verdict::Wait { until },
        (Standing::InProgress { .. }, None) => again(stored, ask, now, ExecutionEvent::TakenOver),
        (Standing::Failed { error }, _) if stored.failed_attempts >= ask.max_attempts => {
            Verdict::GivenUp { failures: stored.failed_attempts, error: error.clone() }
        }
        (Standing::Failed { .. }, _) => again(stored, ask, now, ExecutionEvent::Begun),
    }
}

fn again(stored: &Execution, ask: &ExecutionAsk, now: Timestamp, event: ExecutionEvent) -> Verdict {
    let next = Execution {
        attempt: stored.attempt + 1,
        failed_attempts: stored.failed_attempts,
        // A takeover may ask for fewer than have failed; it is counted against what it was.
        max_attempts: ask.max_attempts.max(stored.failed_attempts),
        created_at: stored.created_at,
        ..first(ask, now)
    };
    Verdict::Begin(Box::new(next), event)
}

/// Whether the owner may end it so; none when it has ended so already, and its answer was lost on the way.
pub fn end(
    stored: Option<&Execution>,
    owner: OwnerToken,
    how: Standing,
    now: Timestamp,
) -> Result<Option<Execution>, Refusal> {
    let stored = held(stored, owner)?;
    if let Standing::InProgress { .. } = stored.standing {
        let failed = u32::from(matches!(how, Standing::Failed { .. }));
        let failed_attempts = stored.failed_attempts + failed;
        let max_attempts = stored.max_attempts.max(failed_attempts);
        return Ok(Some(Execution { standing: how, failed_attempts, max_attempts, ..moved(stored, now) }));
    }
    if stored.standing == how { Ok(None) } else { Err(Refusal::Ended) }
}

/// The lease goes on; also one that has run out while nobody has taken over.
pub fn renew(
    stored: Option<&Execution>,
    owner: OwnerToken,
    until: Timestamp,
    now: Timestamp,
) -> Result<Execution, Refusal> {
    let stored = held(stored, owner)?;
    match stored.standing {
        Standing::InProgress { lease_ends_at } => {
            let lease_ends_at = lease_ends_at.max(until);
            Ok(Execution { standing: Standing::InProgress { lease_ends_at }, ..moved(stored, now) })
        }
        _ => Err(Refusal::Ended),
    }
}

fn held(stored: Option<&Execution>, owner: OwnerToken) -> Result<&Execution, Refusal> {
    match stored {
        None => Err(Refusal::NotThere),
        Some(stored) if stored.owner != owner => Err(Refusal::Lost { attempt: stored.attempt }),
        Some(stored) => Ok(stored),
    }
}

/// It is kept as long as its caller wanted, from its last change on.
fn moved(stored: &Execution, now: Timestamp) -> Execution {
    let keep_until = now + stored.keep_until.since(stored.updated_at);
    Execution { updated_at: now, keep_until, ..stored.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ExecutionName, InputHash};
    use std::time::Duration;

    const NOW: i64 = 1_000;

    fn seconds(n: i64) -> Timestamp {
        Timestamp(n * 1_000_000)
    }

    fn hash(word: &str) -> InputHash {
        InputHash([word.as_bytes()[0]; 32])
    }

    /// `input=a owner=2 max=3`; what is left out is as usual.
    fn fields(text: &str) -> impl Fn(&str) -> Option<String> + '_ {
        move |name| {
            let value = text.split_whitespace().find_map(|word| word.strip_prefix(&format!("{name}=")));
            value.map(String::from)
        }
    }

    fn number(text: &str, name: &str, usual: i64) -> i64 {
        fields(text)(name).map_or(usual, |n| n.parse().unwrap())
    }

    fn asked(text: &str) -> ExecutionAsk {
        ExecutionAsk {
            name: ExecutionName::new("pay", "7"),
            input: hash(&fields(text)("input").unwrap_or("a".into())),
            owner: OwnerToken::of(number(text, "owner", 9).unsigned_abs()),
            lease: Duration::from_secs(60),
            max_attempts: number(text, "max", 3) as u32,
            keep: Duration::from_secs(500),
        }
    }

    /// `in_progress until=1010`, `done answer=1`, `failed error=no`, with `attempt`, `failed`, `keep`.
    fn stored(text: &str) -> Execution {
        let standing = match text.split_whitespace().next().unwrap() {
            "in_progress" => Standing::InProgress { lease_ends_at: seconds(number(text, "until", NOW + 10)) },
            "done" => Standing::Done { answer: fields(text)("answer").unwrap_or("1".into()) },
            _ => Standing::Failed { error: fields(text)("error").unwrap_or("no".into()) },
        };
        Execution {
            standing,
            attempt: number(text, "attempt", 1) as u32,
            failed_attempts: number(text, "failed", 0) as u32,
            owner: OwnerToken::of(number(text, "owner", 1).unsigned_abs()),
            keep_until: seconds(number(text, "keep", NOW + 90)),
            updated_at: seconds(NOW - 10),
            ..first(&asked(text), seconds(NOW - 10))
        }
    }

    fn told(verdict: Verdict) -> String {
        match verdict {
            Verdict::Begin(next, event) => {
                assert_eq!(next.owner, OwnerToken::of(9));
                let left = next.keep_until.since(seconds(NOW)).as_secs();
                format!("{event} attempt={} failed={} keep={left}", next.attempt, next.failed_attempts)
            }
            Verdict::Begun => "begun already".into(),
            Verdict::Anew => "anew".into(),
            Verdict::Replay { answer } => format!("replay {answer}"),
            Verdict::Wait { until } => format!("wait {}", until.since(seconds(NOW)).as_secs()),
            Verdict::Conflict => "conflict".into(),
            Verdict::GivenUp { failures, error } => format!("given up after {failures}: {error}"),
        }
    }

    #[test]
    fn what_is_asked_over_what_is_stored() {
        let table = "
            in_progress                        |          | wait 10
            in_progress until=1000             |          | taken_over attempt=2 failed=0 keep=500
            in_progress until=999 attempt=4 failed=2 |    | taken_over attempt=5 failed=2 keep=500
            in_progress until=999 failed=3     | max=1    | taken_over attempt=2 failed=3 keep=500
            in_progress owner=9                |          | begun already
            in_progress owner=9 until=999      |          | taken_over attempt=2 failed=0 keep=500
            in_progress                        | input=b  | conflict
            in_progress until=999              | input=b  | conflict
            in_progress keep=900               |          | wait 10
            in_progress keep=900 until=999     |          | anew
            done answer=42                     |          | replay 42
            done answer=42 owner=9             |          | replay 42
            done                               | input=b  | conflict
            done keep=1000                     | input=b  | anew
            failed failed=1                    |          | begun attempt=2 failed=1 keep=500
            failed failed=2 attempt=6          |          | begun attempt=7 failed=2 keep=500
            failed failed=3 error=broke        |          | given up after 3: broke
            failed failed=3                    | max=4    | begun attempt=2 failed=3 keep=500
            failed failed=1                    | max=1    | given up after 1: no
            failed failed=3                    | input=b  | conflict
            failed failed=3 keep=999           |          | anew";
        for line in table.lines().filter(|line| !line.trim().is_empty()) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let verdict = decide(&stored(cells[0]), &asked(cells[1]), seconds(NOW));
            assert_eq!(told(verdict), cells[2], "{line}");
        }
    }

    fn ended(text: &str, owner: u64, how: Standing) -> String {
        let before = (text != "nothing").then(|| stored(text));
        match end(before.as_ref(), OwnerToken::of(owner), how, seconds(NOW)) {
            Ok(None) => "so already".into(),
            Ok(Some(next)) => {
                let left = next.keep_until.since(seconds(NOW)).as_secs();
                format!("{} failed={} keep={left}", next.standing.state(), next.failed_attempts)
            }
            Err(refusal) => refusal.to_string(),
        }
    }

    #[test]
    fn only_the_owner_ends_it_and_only_once() {
        let done = || Standing::Done { answer: "42".into() };
        let failed = || Standing::Failed { error: "no".into() };
        assert_eq!(ended("in_progress", 1, done()), "done failed=0 keep=100");
        assert_eq!(ended("in_progress failed=1", 1, failed()), "failed failed=2 keep=100");
        assert_eq!(ended("in_progress until=10", 1, done()), "done failed=0 keep=100");
        assert_eq!(ended("in_progress attempt=2", 7, done()), "the lease was lost: attempt 2 is another's");
        assert_eq!(ended("done answer=42", 1, done()), "so already");
        assert_eq!(ended("done answer=41", 1, done()), "it has ended already, otherwise");
        assert_eq!(ended("failed error=no", 1, failed()), "so already");
        assert_eq!(ended("failed", 1, done()), "it has ended already, otherwise");
        assert_eq!(ended("nothing", 1, done()), "there is no such execution");
    }

    #[test]
    fn a_lease_is_renewed_by_its_owner_and_never_shortened() {
        let renewed = |text: &str, owner, until| {
            renew(Some(&stored(text)), OwnerToken::of(owner), seconds(until), seconds(NOW)).map(|next| {
                match next.standing {
                    Standing::InProgress { lease_ends_at } => lease_ends_at,
                    other => panic!("{other:?}"),
                }
            })
        };
        assert_eq!(renewed("in_progress", 1, 1_060), Ok(seconds(1_060)));
        assert_eq!(renewed("in_progress", 1, 1_005), Ok(seconds(1_010)));
        assert_eq!(renewed("in_progress until=900", 1, 1_060), Ok(seconds(1_060)));
        assert_eq!(renewed("in_progress", 2, 1_060), Err(Refusal::Lost { attempt: 1 }));
        assert_eq!(renewed("done", 1, 1_060), Err(Refusal::Ended));
    }
}
