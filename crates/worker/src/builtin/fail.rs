//! `fail`: ends as it is told to, for trying out what a failure leads to.

use super::outcome::bad_arguments;
use model::{Claim, Failure, Outcome};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Fail {
    message: String,
    /// Ask for another execution, as long as there is one left.
    retry: bool,
    stop: bool,
    skip: bool,
}

impl Default for Fail {
    fn default() -> Self {
        Fail { message: "asked to fail".into(), retry: false, stop: false, skip: false }
    }
}

pub fn run(claim: &Claim) -> Outcome {
    let Fail { message, retry, stop, skip } = match serde_json::from_str(&claim.arguments) {
        Ok(fail) => fail,
        Err(problem) => return bad_arguments("fail", "{\"message\": \"no\", \"retry\": true}", &problem),
    };
    let failure = Failure { message: message.clone(), trace: None };
    match (retry, stop, skip) {
        (true, _, _) => Outcome::Retry { after: None, failure: Some(failure) },
        (_, true, _) => Outcome::Stop { why: message },
        (_, _, true) => Outcome::Skip { why: message },
        _ => Outcome::Fail { failure, notify: true },
    }
}
