//! One round on SQLite: an empty database, pushing clients, kills of the one server, and the reckoning.

use super::cluster::fault::Kind;
use super::crowd::Crowd;
use super::database::Database;
use super::dice::Dice;
use super::phase::{self, Phase};
use super::push::PACE;
use super::reckoning;
use super::server::{Post, Server};
use crate::stopwatch::Stopwatch;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::watch;

const KILLS: (u64, u64) = (5, 7);
const BETWEEN_KILLS_MS: (u64, u64) = (300, 1500);
const ACCEPTED_PER_SECOND_MIN: f64 = 1_000.0;

/// What happened in one round.
#[derive(Default)]
pub struct Round {
    pub kills: u64,
    /// What else was done to a cluster, and how often.
    pub faults: BTreeMap<Kind, u64>,
    pub acknowledged: u64,
    pub workflows: u64,
    pub effects: u64,
    pub cancelled: u64,
    pub lost_attempts: u64,
    pub late_reports: u64,
    /// Nodes that lived and lost every group to the others.
    pub lost_leases: u64,
    /// Commits that were refused because another node had taken over.
    pub refused_commits: u64,
    /// The longest time until the groups of a node that was gone were all taken over.
    pub takeover: Duration,
    pub accepted_per_second: f64,
    pub seconds: f64,
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Round { kills, acknowledged, workflows, effects, cancelled, lost_attempts, late_reports, .. } =
            self;
        write!(f, "{kills} kills, {acknowledged} acknowledged, {workflows} workflows, {effects} effects, ")?;
        write!(f, "{cancelled} cancelled, {lost_attempts} lost attempts, {late_reports} late reports, ")?;
        if !self.faults.is_empty() {
            let Round { lost_leases, refused_commits, .. } = self;
            write!(f, "{lost_leases} lost leases, {refused_commits} refused commits, ")?;
            write!(f, "takeover {:.1} s, ", self.takeover.as_secs_f64())?;
        }
        write!(f, "{:.0} steps/s accepted, {:.1} s", self.accepted_per_second, self.seconds)
    }
}

pub async fn run(binary: &Path, dice: Dice) -> Result<Round> {
    let directory = directory()?;
    let database = Database::sqlite(binary, directory.path());
    let scene = Scene { binary, directory: directory.path(), database, dice };
    kept_if_failed(scene.play().await, directory)
}

pub fn directory() -> Result<tempfile::TempDir> {
    let directory = tempfile::Builder::new().prefix("stepfast-crash-").tempdir();
    directory.context("could not make a temporary directory")
}

/// The logs of a round that failed stay where they are.
pub fn kept_if_failed(round: Result<Round>, directory: tempfile::TempDir) -> Result<Round> {
    round.map_err(|error| {
        let kept = directory.keep();
        error.context(format!("logs are kept in {}", kept.display()))
    })
}

struct Scene<'a> {
    binary: &'a Path,
    directory: &'a Path,
    database: Database,
    dice: Dice,
}

impl Scene<'_> {
    async fn play(mut self) -> Result<Round> {
        let watch = Stopwatch::start();
        let (phase, line) = phase::line();
        let crowd = Crowd::start(self.directory, &line, PACE, &mut self.dice)?;
        let (kills, up) = self.kill_and_restart(&phase).await?;
        let done = crowd.join().await?;
        let server = self.start_server(kills).await?;
        reckoning::settle(&self.database).await?;
        server.stop().await?;
        let logs: Vec<PathBuf> = (0..=kills).map(|start| self.server_log(start)).collect();
        let evidence = reckoning::require(self.directory, &logs, &self.database).await?;
        let accepted_per_second = done.steps as f64 / up.as_secs_f64();
        ensure!(
            accepted_per_second >= ACCEPTED_PER_SECOND_MIN,
            "only {accepted_per_second:.0} steps/s were accepted while the server was up"
        );
        Ok(Round {
            kills,
            acknowledged: done.steps,
            workflows: done.workflows,
            effects: evidence.effects.len() as u64,
            cancelled: done.cancelled,
            lost_attempts: evidence.rows.iter().map(|row| row.lost_attempts).sum(),
            late_reports: evidence.rows.iter().map(|row| row.late_reports).sum(),
            accepted_per_second,
            seconds: watch.elapsed().as_secs_f64(),
            ..Round::default()
        })
    }

    /// Returns the number of kills and how long the server was up in all. Nobody pushes after the last kill.
    async fn kill_and_restart(&mut self, phase: &watch::Sender<Phase>) -> Result<(u64, Duration)> {
        let kills = self.dice.between(KILLS.0, KILLS.1);
        let mut up = Duration::ZERO;
        for start in 0..kills {
            let server = self.start_server(start).await?;
            let watch = Stopwatch::start();
            phase.send_replace(Phase::Up(vec![server.address.clone()]));
            let wait = self.dice.between(BETWEEN_KILLS_MS.0, BETWEEN_KILLS_MS.1);
            tokio::time::sleep(Duration::from_millis(wait)).await;
            server.kill().await?;
            up += watch.elapsed();
            phase.send_replace(Phase::Up(Vec::new()));
        }
        phase.send_replace(Phase::Over);
        Ok((kills, up))
    }

    async fn start_server(&self, start: u64) -> Result<Server> {
        Server::start(self.binary, self.database.url(), &Post::default(), self.server_log(start)).await
    }

    fn server_log(&self, start: u64) -> PathBuf {
        self.directory.join(format!("server-{start}.log"))
    }
}
