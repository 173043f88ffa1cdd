//! One round on PostgreSQL: an empty database, three nodes, clients that push to any of them, and several faults.

use super::fault::{Means, Plan};
use super::nodes::{Ground, Nodes};
use crate::crash::crowd::Crowd;
use crate::crash::database::Database;
use crate::crash::dice::Dice;
use crate::crash::round::{self, Round};
use crate::crash::{phase, reckoning};
use crate::postgres::{Durability, Postgres};
use crate::stopwatch::Stopwatch;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const BETWEEN_FAULTS_MS: (u64, u64) = (300, 1500);
/// 1,200 trees a second in all: what waits while a lease runs out must be through soon after.
const PACE: Duration = Duration::from_millis(100);
/// Two cores carry three nodes, PostgreSQL and the clients.
const ACCEPTED_PER_SECOND_MIN: f64 = 100.0;
/// How a node tells that a commit was refused because its groups, or its place, are another's.
const LEASE_LOST: [&str; 2] = ["the lease of a dispatch group was", "this node's place among the others was"];

pub async fn run(binary: &Path, number: u32, means: &Means, mut dice: Dice) -> Result<Round> {
    let directory = round::directory()?;
    let postgres = Postgres::start(Durability::Full)?;
    let database = Database::at(binary, postgres.url.clone());
    let ground = Ground { binary, directory: directory.path(), postgres: &postgres, database };
    let plan = Plan::of(number, means, &mut dice);
    let played = play(&ground, &plan, dice).await.inspect_err(|_| ground.keep_database());
    round::kept_if_failed(played.with_context(|| format!("the plan was {plan:?}")), directory)
}

async fn play(ground: &Ground<'_>, plan: &Plan, mut dice: Dice) -> Result<Round> {
    let watch = Stopwatch::start();
    let (sender, line) = phase::line();
    let mut nodes = Nodes::start(ground, plan.posts.clone(), sender).await?;
    let crowd = Crowd::start(ground.directory, &line, PACE, &mut dice)?;
    let up = Stopwatch::start();
    for &kind in &plan.faults {
        let wait = dice.between(BETWEEN_FAULTS_MS.0, BETWEEN_FAULTS_MS.1);
        tokio::time::sleep(Duration::from_millis(wait)).await;
        let target = *dice.choose(&plan.targets(kind));
        nodes.strike(kind, target, &mut dice).await?;
    }
    let up = up.elapsed();
    let round = conclude(ground, nodes, crowd, up).await?;
    Ok(Round { seconds: watch.elapsed().as_secs_f64(), ..round })
}

/// The pushing ends, everything settles, and what happened is judged.
pub async fn conclude(
    ground: &Ground<'_>,
    mut nodes: Nodes<'_>,
    crowd: Crowd,
    up: Duration,
) -> Result<Round> {
    nodes.over();
    let done = crowd.join().await?;
    reckoning::settle(&ground.database).await?;
    nodes.stop().await?;
    let evidence = reckoning::require(ground.directory, &nodes.logs, &ground.database).await?;
    let accepted_per_second = done.steps as f64 / up.as_secs_f64();
    ensure!(
        accepted_per_second >= ACCEPTED_PER_SECOND_MIN,
        "only {accepted_per_second:.0} steps/s were accepted while nodes were up"
    );
    Ok(Round {
        kills: nodes.faults.iter().filter(|(kind, _)| kind.is_kill()).map(|(_, n)| n).sum(),
        acknowledged: done.steps,
        workflows: done.workflows,
        effects: evidence.effects.len() as u64,
        cancelled: done.cancelled,
        lost_attempts: evidence.rows.iter().map(|row| row.lost_attempts).sum(),
        late_reports: evidence.rows.iter().map(|row| row.late_reports).sum(),
        lost_leases: nodes.lost_leases,
        refused_commits: refused_commits(&nodes.logs)?,
        takeover: nodes.takeover,
        faults: nodes.faults,
        accepted_per_second,
        seconds: up.as_secs_f64(),
    })
}

fn refused_commits(logs: &[PathBuf]) -> Result<u64> {
    let mut refused = 0;
    for log in logs {
        let bytes = fs::read(log).with_context(|| format!("could not read {}", log.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        refused += text.lines().filter(|line| LEASE_LOST.iter().any(|words| line.contains(words))).count();
    }
    Ok(refused as u64)
}
