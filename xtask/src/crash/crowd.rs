//! Everyone who talks to the servers in a round: those who create steps, the one who cancels, and those who start workflows.

use super::acks::AckLog;
use super::cancel;
use super::diary::Diary;
use super::dice::Dice;
use super::phase::Line;
use super::push::{CLIENTS, Pushed, Pusher};
use super::start::{self, STARTERS, Starter};
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
    starters: JoinSet<Result<u64>>,
}

/// What came of it all.
#[derive(Clone, Copy)]
pub struct Done {
    /// The acknowledged steps, those of workflows not counted.
    pub steps: u64,
    /// Steps cancelled while they ran.
    pub cancelled: u64,
    /// The acknowledged starts of workflows.
    pub workflows: u64,
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
        let mut starters = JoinSet::new();
        for name in 0..STARTERS {
            let diary = Diary::create(directory, name)?;
            let (line, pace) = (line.clone(), start::pace(pace));
            starters.spawn(Starter { name, line, diary, dice: dice.fork(), pace }.run());
        }
        Ok(Crowd { pushers, canceller, starters })
    }

    pub async fn join(mut self) -> Result<Done> {
        let (mut steps, mut workflows) = (0, 0);
        while let Some(pushed) = self.pushers.join_next().await {
            steps += pushed.context("a pusher panicked")??.acknowledged;
        }
        while let Some(started) = self.starters.join_next().await {
            workflows += started.context("a starter panicked")??;
        }
        let cancelled = self.canceller.await.context("the canceller panicked")??;
        Ok(Done { steps, cancelled, workflows })
    }
}

/// Where the clients of a round keep what was acknowledged.
pub fn logs(directory: &Path) -> Vec<PathBuf> {
    (0..CLIENTS).map(|name| directory.join(format!("acks-{name}.log"))).collect()
}
