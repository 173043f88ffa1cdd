//! What becomes of a message after its target was called.
//!
//! Why    one table for all answers. An answer that puts the message off is no failure of the target; one that can never be
//!        different (most of 4xx) ends the delivery, because the store still knows the step and reports what is stuck. 401 says
//!        nothing of the message: it gets through once the keys of both sides are the same, so it is kept for a while.

use crate::breaker::Verdict;
use crate::delays::clamp;
use crate::mediator::{Outcome, Reply};
use crate::warnings::{Category, Severity};
use std::time::Duration;

const AFTER_FAILURE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It was taken.
    Done,
    /// It will never be taken.
    Drop,
    /// The target did not work.
    Fail { delay: Duration },
    /// The target says when to come back.
    Wait { delay: Duration },
    /// The target says not now; for how long depends on how often it did.
    PutOff { asked_seconds: Option<u64> },
    /// The target does not believe the token. It comes again as if it were put off, and not for ever.
    Disbelieved,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub action: Action,
    pub verdict: Verdict,
    pub warning: Option<(Category, Severity, String)>,
}

pub fn decide(outcome: &Outcome) -> Decision {
    let fail = Action::Fail { delay: AFTER_FAILURE };
    let warn = |severity, text: String| Some((Category::Configuration, severity, text));
    let (action, verdict, warning) = match outcome {
        Outcome::Answered(reply) => return answered(reply),
        Outcome::TooLong { status } => {
            let text = format!("the target answered {status} with a body that is too long to be read");
            (fail, Verdict::Failure, warn(Severity::Error, text))
        }
        Outcome::Unreachable(why) => {
            let warning =
                (Category::Connection, Severity::Warning, format!("the target was not reached: {why}"));
            (fail, Verdict::Failure, Some(warning))
        }
        Outcome::TimedOut => {
            let text = "the target did not answer in time".into();
            (fail, Verdict::Failure, Some((Category::Connection, Severity::Warning, text)))
        }
        Outcome::Refused(why) => (Action::Drop, Verdict::Neutral, warn(Severity::Error, why.clone())),
    };
    Decision { action, verdict, warning }
}

fn answered(reply: &Reply) -> Decision {
    let fail = Action::Fail { delay: AFTER_FAILURE };
    let said = reply.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
    let text = format!("the target answered {}{said}", reply.status);
    let warn = |severity| Some((Category::Configuration, severity, text.clone()));
    let (action, verdict, warning) = match reply.status {
        200..=299 if reply.ack => (Action::Done, Verdict::Success, None),
        200..=299 => (Action::PutOff { asked_seconds: reply.delay_seconds }, Verdict::Neutral, None),
        429 => {
            let delay = reply.retry_after_seconds.map_or(AFTER_FAILURE, Duration::from_secs);
            (Action::Wait { delay: clamp(delay) }, Verdict::Neutral, None)
        }
        401 => {
            let text =
                format!("{text}; it does not believe the token: is `token-secret` the same everywhere?");
            (Action::Disbelieved, Verdict::Success, Some((Category::Configuration, Severity::Critical, text)))
        }
        400..=499 => (Action::Drop, Verdict::Success, warn(Severity::Error)),
        501 => (Action::Drop, Verdict::Success, warn(Severity::Critical)),
        500..=599 => (fail, Verdict::Failure, Some((Category::Connection, Severity::Warning, text.clone()))),
        // A redirect would lead the call, with its token, to a place nobody wrote down.
        _ => (fail, Verdict::Failure, warn(Severity::Error)),
    };
    Decision { action, verdict, warning }
}

/// Whether the same delivery may succeed if the target is called again right away.
pub fn is_fleeting(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Answered(reply) => (500..=599).contains(&reply.status) && reply.status != 501,
        Outcome::Unreachable(_) => true,
        Outcome::TooLong { .. } | Outcome::TimedOut | Outcome::Refused(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `200 ack=false delay=7`, `429 retry-after=9`, `unreachable`, …
    fn outcome(text: &str) -> Outcome {
        let mut words = text.split(' ');
        let first = words.next().unwrap();
        let mut reply = Reply { status: first.parse().unwrap_or(200), ack: true, ..Reply::default() };
        for word in words {
            match word.split_once('=').unwrap() {
                ("ack", value) => reply.ack = value != "false",
                ("delay", value) => reply.delay_seconds = value.parse().ok(),
                ("retry-after", value) => reply.retry_after_seconds = value.parse().ok(),
                (other, _) => panic!("{other}"),
            }
        }
        match first {
            "too-long" => Outcome::TooLong { status: reply.status },
            "unreachable" => Outcome::Unreachable("why".into()),
            "timeout" => Outcome::TimedOut,
            "refused" => Outcome::Refused("why".into()),
            _ => Outcome::Answered(reply),
        }
    }

    fn told(outcome: &Outcome) -> String {
        let Decision { action, verdict, warning } = decide(outcome);
        let action = match action {
            Action::Done => "done".into(),
            Action::Drop => "drop".into(),
            Action::Fail { delay } => format!("fail {}", delay.as_secs()),
            Action::Wait { delay } => format!("wait {}", delay.as_secs()),
            Action::PutOff { asked_seconds } => format!("put off {}", asked_seconds.unwrap_or(0)),
            Action::Disbelieved => "disbelieved".into(),
        };
        let warning = warning.map(|(category, severity, _)| format!(" {category:?} {severity:?}"));
        let again = if is_fleeting(outcome) { " again" } else { "" };
        format!("{action} {verdict:?}{}{again}", warning.unwrap_or_default())
    }

    #[test]
    fn every_row_of_the_table() {
        let table = "
            200                          | done Success
            204                          | done Success
            299 ack=true                 | done Success
            200 ack=false                | put off 0 Neutral
            202 ack=false delay=7        | put off 7 Neutral
            400                          | drop Success Configuration Error
            401 ack=false                | disbelieved Success Configuration Critical
            403                          | drop Success Configuration Error
            404                          | drop Success Configuration Error
            409                          | drop Success Configuration Error
            499                          | drop Success Configuration Error
            429                          | wait 30 Neutral
            429 retry-after=0            | wait 1 Neutral
            429 retry-after=120          | wait 120 Neutral
            429 retry-after=99999        | wait 43200 Neutral
            501                          | drop Success Configuration Critical
            500                          | fail 30 Failure Connection Warning again
            502                          | fail 30 Failure Connection Warning again
            503 retry-after=900          | fail 30 Failure Connection Warning again
            599                          | fail 30 Failure Connection Warning again
            unreachable                  | fail 30 Failure Connection Warning again
            timeout                      | fail 30 Failure Connection Warning
            302                          | fail 30 Failure Configuration Error
            304                          | fail 30 Failure Configuration Error
            600                          | fail 30 Failure Configuration Error
            too-long                     | fail 30 Failure Configuration Error
            refused                      | drop Neutral Configuration Error";
        for row in table.trim().lines() {
            let (given, wanted) = row.split_once('|').unwrap();
            assert_eq!(told(&outcome(given.trim())), wanted.trim(), "{given}");
        }
    }
}
