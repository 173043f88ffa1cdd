//! One round: an empty database, pushing clients, kills, and the reckoning.

use super::StoreKind;
use super::acks::{self, AckLog};
use super::database::Database;
use super::dice::Dice;
use super::phase::{self, Line, Phase};
use super::push::{CLIENTS, Pushed, Pusher};
use super::server::Server;
use super::verdict::Evidence;
use super::{cancel, effects};
use crate::postgres::Postgres;
use crate::stopwatch::Stopwatch;
use anyhow::{Context, Result, bail, ensure};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

const KILLS: (u64, u64) = (5, 7);
const BETWEEN_KILLS_MS: (u64, u64) = (300, 1500);
/// Long enough for the server under test to find its database again.
const AFTER_DATABASE_CRASH: Duration = Duration::from_millis(1500);
const SETTLE_LIMIT: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
const ACCEPTED_PER_SECOND_MIN: f64 = 1_000.0;
/// Steps that wait for the canceller; it takes what it can.
const CATCHABLE_MAX: usize = 8;

/// What happened in one round.
#[derive(Default)]
pub struct Round {
    pub kills: u64,
    pub acknowledged: u64,
    pub effects: u64,
    pub cancelled: u64,
    pub lost_attempts: u64,
    pub late_reports: u64,
    pub accepted_per_second: f64,
    pub seconds: f64,
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Round { kills, acknowledged, effects, cancelled, lost_attempts, late_reports, .. } = self;
        write!(f, "{kills} kills, {acknowledged} acknowledged, {effects} effects, {cancelled} cancelled, ")?;
        write!(f, "{lost_attempts} lost attempts, {late_reports} late reports, ")?;
        write!(f, "{:.0} steps/s accepted, {:.1} s", self.accepted_per_second, self.seconds)
    }
}

pub async fn run(binary: &Path, store: StoreKind, dice: Dice) -> Result<Round> {
    let directory = tempfile::Builder::new().prefix("stepfast-crash-").tempdir();
    let directory = directory.context("could not make a temporary directory")?;
    // It lives as long as the round.
    let server = match store {
        StoreKind::Sqlite => None,
        StoreKind::Postgres => Some(Postgres::start()?),
    };
    let database = match &server {
        None => Database::sqlite(binary, directory.path()),
        Some(server) => Database::at(binary, server.url.clone()),
    };
    let scene = Scene { binary, directory: directory.path(), database, server: server.as_ref(), dice };
    match scene.play().await {
        Ok(round) => Ok(round),
        Err(error) => {
            let kept = directory.keep();
            Err(error.context(format!("logs and database are kept in {}", kept.display())))
        }
    }
}

struct Scene<'a> {
    binary: &'a Path,
    directory: &'a Path,
    database: Database,
    /// The database server, when it is one that can die too.
    server: Option<&'a Postgres>,
    dice: Dice,
}

impl Scene<'_> {
    async fn play(mut self) -> Result<Round> {
        let watch = Stopwatch::start();
        let (phase, line) = phase::line();
        let crowd = self.start_clients(&line)?;
        let (kills, up) = self.kill_and_restart(&phase).await?;
        let (acknowledged, cancelled) = crowd.join().await?;
        let server = self.start_server(kills).await?;
        self.settle().await?;
        server.stop().await?;
        let evidence = self.evidence(kills).await?;
        evidence.require()?;
        self.database.check().await?;
        let accepted_per_second = acknowledged as f64 / up.as_secs_f64();
        ensure!(
            accepted_per_second >= ACCEPTED_PER_SECOND_MIN,
            "only {accepted_per_second:.0} steps/s were accepted while the server was up"
        );
        Ok(Round {
            kills,
            acknowledged,
            effects: evidence.effects.len() as u64,
            cancelled,
            lost_attempts: evidence.rows.iter().map(|row| row.lost_attempts).sum(),
            late_reports: evidence.rows.iter().map(|row| row.late_reports).sum(),
            accepted_per_second,
            seconds: watch.elapsed().as_secs_f64(),
        })
    }

    fn start_clients(&mut self, line: &Line) -> Result<Crowd> {
        let (sender, catchable) = mpsc::channel(CATCHABLE_MAX);
        let mut pushers = JoinSet::new();
        for name in 0..CLIENTS {
            let log = AckLog::create(self.ack_log(name))?;
            let (line, catchable) = (line.clone(), sender.clone());
            pushers.spawn(Pusher { name, line, log, dice: self.dice.fork(), catchable }.run());
        }
        Ok(Crowd { pushers, canceller: tokio::spawn(cancel::run(line.clone(), catchable)) })
    }

    /// Returns the number of kills and how long the server was up in all. Nobody pushes after the last kill.
    async fn kill_and_restart(&mut self, phase: &watch::Sender<Phase>) -> Result<(u64, Duration)> {
        let kills = self.dice.between(KILLS.0, KILLS.1);
        let mut up = Duration::ZERO;
        for start in 0..kills {
            let server = self.start_server(start).await?;
            let watch = Stopwatch::start();
            phase.send_replace(Phase::Up(server.address.clone()));
            let wait = self.dice.between(BETWEEN_KILLS_MS.0, BETWEEN_KILLS_MS.1);
            tokio::time::sleep(Duration::from_millis(wait)).await;
            if let Some(database) = self.server
                && self.dice.between(0, 1) == 0
            {
                tokio::task::block_in_place(|| database.crash())?;
                tokio::time::sleep(AFTER_DATABASE_CRASH).await;
            }
            server.kill().await?;
            up += watch.elapsed();
            phase.send_replace(Phase::Down);
        }
        phase.send_replace(Phase::Over);
        Ok((kills, up))
    }

    async fn start_server(&self, start: u64) -> Result<Server> {
        Server::start(self.binary, &self.database, self.server_log(start)).await
    }

    /// Wait until every step is at an end.
    async fn settle(&self) -> Result<()> {
        let watch = Stopwatch::start();
        loop {
            let rows = self.database.steps().await?;
            let live = rows.iter().filter(|row| !row.is_terminal()).count();
            if live == 0 {
                return Ok(());
            }
            if watch.elapsed() > SETTLE_LIMIT {
                bail!("{live} of {} steps are not at an end after {} s", rows.len(), SETTLE_LIMIT.as_secs());
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    async fn evidence(&self, kills: u64) -> Result<Evidence> {
        let acks: Vec<PathBuf> = (0..CLIENTS).map(|name| self.ack_log(name)).collect();
        let logs: Vec<PathBuf> = (0..=kills).map(|start| self.server_log(start)).collect();
        Ok(Evidence {
            acknowledged: acks::read(&acks)?,
            effects: effects::read(&logs)?,
            rows: self.database.steps().await?,
        })
    }

    fn ack_log(&self, name: usize) -> PathBuf {
        self.directory.join(format!("acks-{name}.log"))
    }

    fn server_log(&self, start: u64) -> PathBuf {
        self.directory.join(format!("server-{start}.log"))
    }
}

/// Everyone who talks to the server.
struct Crowd {
    pushers: JoinSet<Result<Pushed>>,
    canceller: JoinHandle<Result<u64>>,
}

impl Crowd {
    /// The acknowledged steps, and those cancelled while they ran.
    async fn join(mut self) -> Result<(u64, u64)> {
        let mut acknowledged = 0;
        while let Some(pushed) = self.pushers.join_next().await {
            acknowledged += pushed.context("a pusher panicked")??.acknowledged;
        }
        let cancelled = self.canceller.await.context("the canceller panicked")??;
        Ok((acknowledged, cancelled))
    }
}
