//! Actions that need no worker of one's own: `noop`, `echo`, `sleep`, `fail`.

use crate::Registry;
use model::{Claim, Failure, Outcome};
use serde::Deserialize;
use std::time::Duration;

/// The longest a `sleep` may take.
const SLEEP_MAX: Duration = Duration::from_secs(24 * 3600);

pub fn register_builtin(registry: &mut Registry) {
    registry.raw("noop", |_: Claim| std::future::ready(Outcome::Complete { response: None }));
    registry.raw("echo", |claim: Claim| {
        std::future::ready(Outcome::Complete { response: Some(claim.arguments.to_string()) })
    });
    registry.raw("sleep", sleep);
    registry.raw("fail", |claim: Claim| std::future::ready(fail(&claim)));
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sleep {
    ms: u64,
}

async fn sleep(claim: Claim) -> Outcome {
    match serde_json::from_str::<Sleep>(&claim.arguments) {
        Ok(Sleep { ms }) => {
            tokio::time::sleep(Duration::from_millis(ms).min(SLEEP_MAX)).await;
            Outcome::Complete { response: None }
        }
        Err(problem) => bad_arguments("sleep", "{\"ms\": 50}", &problem),
    }
}

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

fn fail(claim: &Claim) -> Outcome {
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

fn bad_arguments(action: &str, example: &str, problem: &serde_json::Error) -> Outcome {
    let message =
        format!("`{action}` does not understand its arguments: {problem}; write for example {example}");
    Outcome::Fail { failure: Failure { message, trace: None }, notify: true }
}
