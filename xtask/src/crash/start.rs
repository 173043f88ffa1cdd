//! A client that stores the definitions, then starts workflows at a steady pace and cancels some of them.

use super::answer::binding;
use super::diary::Diary;
use super::dice::Dice;
use super::flows::{DEFINITIONS, Flow, Started};
use super::phase::{Line, http_client};
use super::push;
use anyhow::{Context, Result, bail, ensure};
use reqwest::{Client, StatusCode, header};
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

pub const STARTERS: usize = 2;
/// Batches of steps to one workflow.
const BATCHES_PER_START: u32 = 10;
/// One workflow in so many is cancelled.
const CANCELLED_ONE_IN: u64 = 8;
/// Far beyond what a round takes; a round that forgets to end ends here.
const STARTS_MAX: usize = 50_000;

pub struct Starter {
    pub name: usize,
    pub line: Line,
    pub diary: Diary,
    pub dice: Dice,
    pub pace: Duration,
}

/// The pace that goes with that of the clients who create steps.
pub fn pace(push: Duration) -> Duration {
    push * BATCHES_PER_START * STARTERS as u32 / push::CLIENTS as u32
}

#[derive(Deserialize)]
struct Answer {
    id: String,
}

impl Starter {
    /// Returns how many starts were acknowledged.
    pub async fn run(mut self) -> Result<u64> {
        let client = http_client()?;
        let (mut definitions, mut started, mut unwanted) = (DEFINITIONS.iter().peekable(), 0, None);
        let mut pace = tokio::time::interval(self.pace);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for _ in 0..STARTS_MAX {
            pace.tick().await;
            let Some(address) = self.line.address(&mut self.dice).await else { return Ok(started) };
            if let Some(text) = definitions.peek() {
                if apply(&client, &address, text).await? {
                    definitions.next();
                }
                continue;
            }
            // It was started a while ago, so it is in the middle of something.
            if let Some(id) = unwanted.take() {
                self.cancel(&client, &address, id).await?;
            }
            let Some(id) = self.start(&client, &address).await? else { continue };
            started += 1;
            unwanted = (self.dice.between(1, CANCELLED_ONE_IN) == 1).then_some(id);
        }
        bail!("client {} was not stopped within {STARTS_MAX} starts", self.name)
    }

    /// Its id when the server acknowledged it.
    async fn start(&mut self, client: &Client, address: &str) -> Result<Option<String>> {
        let flow = Flow::thrown(&mut self.dice);
        let body = flow.body(&mut self.dice);
        let request = client.post(format!("{address}/v1/workflows")).json(&body);
        let Some((status, text)) = binding(request).await else { return Ok(None) };
        // The definitions were acknowledged, so their absence is a loss too.
        ensure!(status == StatusCode::CREATED, "starting a workflow was answered with {status}: {text}");
        let Answer { id } =
            serde_json::from_str(&text).with_context(|| format!("a started workflow came back as {text}"))?;
        let line = Started { id: id.clone(), flow }.to_string();
        tokio::task::block_in_place(|| self.diary.started.record(&[line]))?;
        Ok(Some(id))
    }

    /// A workflow that ended first is refused with a conflict, which is right.
    async fn cancel(&mut self, client: &Client, address: &str, id: String) -> Result<()> {
        let this = [id];
        tokio::task::block_in_place(|| self.diary.asked_to_cancel.record(&this))?;
        let body = json!({ "why": "crash run", "by": "xtask" });
        let request = client.post(format!("{address}/v1/workflows/{}/cancel", this[0])).json(&body);
        let Some((status, text)) = binding(request).await else { return Ok(()) };
        match status {
            StatusCode::OK => tokio::task::block_in_place(|| self.diary.cancelled.record(&this)),
            StatusCode::CONFLICT => Ok(()),
            _ => bail!("cancelling a workflow was answered with {status}: {text}"),
        }
    }
}

/// Whether the server acknowledged it.
async fn apply(client: &Client, address: &str, text: &'static str) -> Result<bool> {
    let request = client.post(format!("{address}/v1/definitions")).body(text);
    let request = request.header(header::CONTENT_TYPE, "application/yaml");
    let Some((status, said)) = binding(request).await else { return Ok(false) };
    // Another client, or an earlier request without an answer, may have stored the same.
    let stored = status == StatusCode::CREATED || status == StatusCode::OK;
    ensure!(stored, "storing a definition was answered with {status}: {said}");
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::{STARTERS, pace};
    use crate::crash::push;

    #[test]
    fn one_request_in_ten_starts_a_workflow() {
        let a_second = |pace: std::time::Duration, clients: usize| clients as f64 / pace.as_secs_f64();
        let (steps, workflows) = (a_second(push::PACE, push::CLIENTS), a_second(pace(push::PACE), STARTERS));
        assert!((steps / workflows - 10.0).abs() < 0.01, "{steps} {workflows}");
    }
}
