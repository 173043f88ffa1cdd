//! A client that creates steps at a steady pace for as long as a server is up.

use super::acks::AckLog;
use super::answer::binding;
use super::dice::Dice;
use super::phase::{Line, http_client};
use super::work;
use anyhow::{Context, Result, bail, ensure};
use reqwest::StatusCode;
use serde::Deserialize;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

/// Together 2,400 steps a second, so that half may be slow before a round fails.
pub const CLIENTS: usize = 6;
const BATCH: usize = 20;
/// Between two batches of one client.
pub const PACE: Duration = Duration::from_millis(50);
/// Far beyond what a round takes; a round that forgets to end ends here.
const BATCHES_MAX: usize = 50_000;

pub struct Pusher {
    pub name: usize,
    pub line: Line,
    pub log: AckLog,
    pub dice: Dice,
    pub pace: Duration,
    /// Where ids go that are worth cancelling.
    pub catchable: mpsc::Sender<String>,
}

#[derive(Default)]
pub struct Pushed {
    pub acknowledged: u64,
}

#[derive(Deserialize)]
struct Created {
    steps: Vec<CreatedStep>,
}

#[derive(Deserialize)]
struct CreatedStep {
    id: String,
}

impl Pusher {
    pub async fn run(mut self) -> Result<Pushed> {
        let client = http_client()?;
        let mut pushed = Pushed::default();
        let mut pace = tokio::time::interval(self.pace);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for number in 0..BATCHES_MAX {
            pace.tick().await;
            let Some(address) = self.line.address(&mut self.dice).await else { return Ok(pushed) };
            let order = work::batch(&mut self.dice, &format!("{}-{number}", self.name), BATCH);
            // A cut connection leaves open whether the batch was stored; only an answer is an acknowledgement.
            let Some(ids) = self.create(&client, &address, &order).await? else { continue };
            tokio::task::block_in_place(|| self.log.record(&ids))?;
            pushed.acknowledged += ids.len() as u64;
            for &place in &order.catchable {
                // A full channel means the canceller has enough to do.
                let _ = self.catchable.try_send(ids[place].clone());
            }
        }
        bail!("client {} was not stopped within {BATCHES_MAX} batches", self.name)
    }

    /// The ids of the batch when the server acknowledged it.
    async fn create(
        &self,
        client: &reqwest::Client,
        address: &str,
        order: &work::Order,
    ) -> Result<Option<Vec<String>>> {
        let request = client.post(format!("{address}/v1/steps")).json(&order.body);
        let Some((status, text)) = binding(request).await else { return Ok(None) };
        ensure!(status == StatusCode::CREATED, "creating steps was answered with {status}: {text}");
        let created: Created =
            serde_json::from_str(&text).with_context(|| format!("created steps came back as {text}"))?;
        let ids: Vec<String> = created.steps.into_iter().map(|step| step.id).collect();
        ensure!(ids.len() >= BATCH, "{BATCH} steps were created but {} ids came back", ids.len());
        Ok(Some(ids))
    }
}
