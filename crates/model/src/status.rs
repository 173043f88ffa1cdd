//! The words that whoever knows dispatch jobs has for where a step is; each stands for one or more states.

use crate::state::{UnknownWord, words};
use crate::{Reason, State};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

words!(
    /// Where a step is, in the words of a dispatch job.
    Status, "status" {
        Pending = "PENDING",
        Queued = "QUEUED",
        Processing = "PROCESSING",
        Completed = "COMPLETED",
        Error = "ERROR",
        Cancelled = "CANCELLED",
        Expired = "EXPIRED",
    }
);

impl Status {
    /// The only place that says which is which; the filter of a list follows from it.
    pub fn of(state: State, reason: Option<Reason>) -> Status {
        match state {
            State::NotRunnable | State::Pending | State::Polling => Status::Pending,
            State::Dispatched => Status::Queued,
            State::Running => Status::Processing,
            State::Completed | State::Skipped => Status::Completed,
            State::Failed | State::Stopped | State::TimedOut => Status::Error,
            State::Cancelled if reason == Some(Reason::Expired) => Status::Expired,
            State::Cancelled | State::Superseded => Status::Cancelled,
        }
    }

    /// As people write it: in capitals or not, and by a word that others have for the same.
    pub fn read(text: &str) -> Result<Status, UnknownWord> {
        let word = text.to_ascii_uppercase();
        let word = match word.as_str() {
            "IN_PROGRESS" => Status::Processing.word(),
            "FAILED" => Status::Error.word(),
            word => word,
        };
        word.parse().map_err(|unknown| UnknownWord { word: text.into(), ..unknown })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_one_status_whatever_its_reason_but_for_what_expired() {
        let table = [
            (State::NotRunnable, "PENDING"),
            (State::Pending, "PENDING"),
            (State::Dispatched, "QUEUED"),
            (State::Running, "PROCESSING"),
            (State::Polling, "PENDING"),
            (State::Completed, "COMPLETED"),
            (State::Skipped, "COMPLETED"),
            (State::Cancelled, "CANCELLED"),
            (State::Failed, "ERROR"),
            (State::Stopped, "ERROR"),
            (State::TimedOut, "ERROR"),
            (State::Superseded, "CANCELLED"),
        ];
        assert_eq!(table.map(|(state, _)| state), State::ALL);
        for (state, word) in table {
            assert_eq!(Status::of(state, None).word(), word);
            for reason in Reason::ALL {
                let expired = state == State::Cancelled && *reason == Reason::Expired;
                let word = if expired { "EXPIRED" } else { word };
                assert_eq!(Status::of(state, Some(*reason)).word(), word, "{state} {reason}");
            }
        }
    }

    #[test]
    fn a_status_is_read_in_any_case_and_by_its_other_words() {
        for status in Status::ALL {
            assert_eq!(Status::read(status.word()), Ok(*status));
            assert_eq!(Status::read(&status.word().to_lowercase()), Ok(*status));
        }
        assert_eq!(Status::read("In_Progress"), Ok(Status::Processing));
        assert_eq!(Status::read("failed"), Ok(Status::Error));
        let told = Status::read("done").unwrap_err().to_string();
        let known = "PENDING, QUEUED, PROCESSING, COMPLETED, ERROR, CANCELLED, EXPIRED";
        assert_eq!(told, format!("`done` is not a status; expected one of {known}"));
    }
}
