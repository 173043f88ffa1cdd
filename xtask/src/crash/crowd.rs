//! Everyone who talks to the servers in a round: the clients that push, and the one that cancels.

use super::acks::AckLog;
use super::cancel;
use super::dice::Dice;
use super::phase::Line;
use super::push::{CLIENTS, Pushed, Pusher};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

/// Steps that wait for the canceller; it takes what it can.
const CATCHABLE_MAX: usize = 8;

pub struct Crowd {
    pushers: JoinSet<Result<Pushed>>,
    canceller: JoinHandle<Result<u64>>,
}

impl Crowd {
    /// Each keeps its log of acknowledged ids in the directory.
    pub fn start(directory: &Path, line: &Line, pace: Duration, dice: &mut Dice) -> Result<Crowd> {
        let (sender, catchable) = mpsc::channel(CATCHABLE_MAX);
        let mut pushers = JoinSet::new();
        for (name, log) in logs(directory).into_iter().enumerate() {
            let log = AckLog::create(log)?;
            let (line, catchable) = (line.clone(), sender.clone());
            pushers.spawn(Pusher { name, line, log, dice: dice.fork(), pace, catchable }.run());
        }
        let canceller = tokio::spawn(cancel::run(line.clone(), catchable, dice.fork()));
        Ok(Crowd { pushers, canceller })
    }

    /// The acknowledged steps, and those cancelled while they ran.
    pub async fn join(mut self) -> Result<(u64, u64)> {
        let mut acknowledged = 0;
        while let Some(pushed) = self.pushers.join_next().await {
            acknowledged += pushed.context("a pusher panicked")??.acknowledged;
        }
        let cancelled = self.canceller.await.context("the canceller panicked")??;
        Ok((acknowledged, cancelled))
    }
}

/// Where the clients of a round keep what was acknowledged.
pub fn logs(directory: &Path) -> Vec<PathBuf> {
    (0..CLIENTS).map(|name| directory.join(format!("acks-{name}.log"))).collect()
}
