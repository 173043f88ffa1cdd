//! What a job may ask for instead of completing, as an error that `return Err(…)` carries through any number of `?`.

use crate::job::JobError;
use model::{Failure, Outcome};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// Not an error, though it travels as one.
#[derive(Debug)]
pub struct Instead(pub Outcome);

impl fmt::Display for Instead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the job asks for {:?} instead of completing", self.0)
    }
}

impl std::error::Error for Instead {}

fn instead(outcome: Outcome) -> JobError {
    JobError::new(Instead(outcome))
}

/// Again after so long, at the cost of an attempt.
pub fn retry_after(wait: Duration) -> JobError {
    instead(Outcome::Retry { after: Some(wait), failure: None })
}
/// Again after so long, at no cost: a rate limit, not an error.
pub fn throttle_for(wait: Duration) -> JobError {
    instead(Outcome::Throttle { after: wait })
}
/// Unnecessary; what comes after it goes on.
pub fn skip(why: impl Into<String>) -> JobError {
    instead(Outcome::Skip { why: why.into() })
}
/// Stopped on purpose; what comes after it is cancelled.
pub fn stop(why: impl Into<String>) -> JobError {
    instead(Outcome::Stop { why: why.into() })
}
/// Ended without failing or completing.
pub fn end(why: impl Into<String>) -> JobError {
    instead(Outcome::End { why: why.into() })
}
/// Failed for good, whatever attempts are left.
pub fn fail(why: impl Into<String>) -> JobError {
    instead(Outcome::Fail { failure: Failure { message: why.into(), trace: None }, notify: true })
}
/// Failed for good, and nobody is told.
pub fn fail_quietly(why: impl Into<String>) -> JobError {
    instead(Outcome::Fail { failure: Failure { message: why.into(), trace: None }, notify: false })
}
/// Of a poll: not yet. It is made again when its definition says, and is then told what it says here.
///
/// ```
/// use stepfast_worker::{Context, Registry, poll_again};
///
/// let mut jobs = Registry::new();
/// jobs.job("payments.status", |context: Context, order: String| async move {
///     let seen: u32 = context.previous_poll()?.unwrap_or(0);
///     if seen < 3 { Err(poll_again(&(seen + 1))) } else { Ok(format!("{order} is paid")) }
/// });
/// ```
pub fn poll_again(data: &impl Serialize) -> JobError {
    not_yet(data, None)
}
/// The same, after so long, whatever its definition says.
pub fn poll_again_after(data: &impl Serialize, wait: Duration) -> JobError {
    not_yet(data, Some(wait))
}
fn not_yet(data: &impl Serialize, after: Option<Duration>) -> JobError {
    match serde_json::to_string(data) {
        Ok(data) => instead(Outcome::Continue { data: Some(data), after }),
        Err(problem) => problem.into(),
    }
}
/// Of a poll: what is waited for will never come.
pub fn abort(why: impl Into<String>) -> JobError {
    instead(Outcome::Abort { why: why.into() })
}
/// Completed with a note, and the resolvers of its block run.
pub fn resolved(note: impl Into<String>) -> JobError {
    instead(Outcome::Resolved { note: note.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Registry, Trial};

    /// Asks three times, then once more soon, and gives up if it was told to.
    fn jobs() -> Registry {
        let mut jobs = Registry::new();
        jobs.job("status", |context: Context, word: String| async move {
            let seen: u32 = context.previous_poll()?.unwrap_or(0);
            match (context.poll().map(|poll| poll.number), word.as_str()) {
                (_, "gone") => Err(abort("it is gone")),
                (Some(3), _) => Err(poll_again_after(&seen, Duration::from_secs(5))),
                (Some(1 | 2), _) => Err(poll_again(&(seen + 1))),
                _ => Ok(seen),
            }
        });
        jobs
    }

    #[tokio::test]
    async fn a_poll_says_not_yet_or_never_and_sees_the_one_before() {
        let said = async |trial: Trial| trial.run(&jobs()).await.outcome;
        let status = |word: &str| Trial::of("status").arguments(&word);
        let not_yet = |data: &str, after| Outcome::Continue { data: Some(data.into()), after };
        assert_eq!(said(status("open").poll(1, None::<&u32>)).await, not_yet("1", None));
        assert_eq!(said(status("open").poll(2, Some(&1))).await, not_yet("2", None));
        assert_eq!(said(status("open").poll(3, Some(&2))).await, not_yet("2", Some(Duration::from_secs(5))));
        assert_eq!(
            said(status("gone").poll(1, None::<&u32>)).await,
            Outcome::Abort { why: "it is gone".into() }
        );
        let done = Outcome::Complete { response: Some("2".into()) };
        assert_eq!(said(status("open").poll(4, Some(&2))).await, done);
    }
}
