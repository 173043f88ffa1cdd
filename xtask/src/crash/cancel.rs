//! Cancels steps while they run, so that their workers report too late.

use super::dice::Dice;
use super::phase::{Line, http_client};
use anyhow::{Result, ensure};
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::mpsc;

/// How long to watch one step for its start: this many looks, this far apart.
const LOOKS_MAX: usize = 30;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Returns how many steps were cancelled; ends when the pushers have ended.
pub async fn run(mut line: Line, mut catchable: mpsc::Receiver<String>, mut dice: Dice) -> Result<u64> {
    let client = http_client()?;
    let mut cancelled = 0;
    while let Some(id) = catchable.recv().await {
        let Some(address) = line.address(&mut dice).await else { return Ok(cancelled) };
        if !is_caught_running(&client, &format!("{address}/v1/steps/{id}")).await {
            continue;
        }
        // Whoever was asked to look need not be the one that is asked to act.
        let Some(address) = line.address(&mut dice).await else { return Ok(cancelled) };
        cancelled += u64::from(cancel(&client, &format!("{address}/v1/steps/{id}")).await?);
    }
    Ok(cancelled)
}

/// Look until it runs; an unreachable server or another state after running ends the look.
async fn is_caught_running(client: &reqwest::Client, step: &str) -> bool {
    for _ in 0..LOOKS_MAX {
        let Ok(response) = client.get(step).send().await else { return false };
        let Ok(seen) = response.json::<Value>().await else { return false };
        match seen["state"].as_str() {
            Some("running") => return true,
            Some("pending" | "dispatched") => tokio::time::sleep(BETWEEN_LOOKS).await,
            _ => return false,
        }
    }
    false
}

/// Whether it was cancelled; a step that ended first is refused with a conflict, which is right.
async fn cancel(client: &reqwest::Client, step: &str) -> Result<bool> {
    let body = json!({ "why": "crash run", "by": "xtask" });
    let Ok(response) = client.post(format!("{step}/cancel")).json(&body).send().await else {
        return Ok(false);
    };
    let status = response.status();
    let expected = status == StatusCode::OK || status == StatusCode::CONFLICT || status.is_server_error();
    ensure!(expected, "cancelling a running step was answered with {status}");
    Ok(status == StatusCode::OK)
}
