//! `sleep`: takes its time, and does nothing else.

use super::outcome::bad_arguments;
use model::{Claim, Outcome};
use serde::Deserialize;
use std::time::Duration;

/// The longest a `sleep` may take.
const SLEEP_MAX: Duration = Duration::from_secs(24 * 3600);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sleep {
    ms: u64,
}

pub async fn run(claim: Claim) -> Outcome {
    match serde_json::from_str::<Sleep>(&claim.arguments) {
        Ok(Sleep { ms }) => {
            tokio::time::sleep(Duration::from_millis(ms).min(SLEEP_MAX)).await;
            Outcome::Complete { response: None }
        }
        Err(problem) => bad_arguments("sleep", "{\"ms\": 50}", &problem),
    }
}
