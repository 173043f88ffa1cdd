//! What the stories of all rows need: what the language refuses, and time that passes.

use std::time::Duration;
use stepfast_testkit::Stage;

/// What is wrong with a definition, in words.
pub fn refused(yaml: &str) -> String {
    match definition::read(yaml.as_bytes(), "combination.yaml") {
        Ok(_) => panic!("it was taken:\n{yaml}"),
        Err(faults) => faults.iter().map(|fault| format!("{fault}\n")).collect(),
    }
}

/// Each of the strategies, as it stands in a definition that has something to undo.
pub const STRATEGIES: [&str; 3] = [
    "on_failure: await_decision",
    "on_failure: { strategy: auto_retry, max_retries: 2, delay: 10s }",
    "on_failure: auto_compensate",
];

pub async fn pass(stage: &mut Stage, seconds: u64, times: usize) {
    for _ in 0..times {
        stage.advance(Duration::from_secs(seconds)).await;
        stage.settle().await;
    }
}
