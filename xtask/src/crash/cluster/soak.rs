//! A long run of mixed load on a cluster, with a kill every few seconds: nothing may pile up or go wrong slowly.

use super::fault::{Kind, told};
use super::nodes::{Ground, Nodes};
use super::siege;
use crate::crash::crowd::Crowd;
use crate::crash::database::Database;
use crate::crash::dice::{self, Dice};
use crate::crash::round::{self, Round};
use crate::crash::server::Post;
use crate::crash::{binary, phase};
use crate::postgres::{Durability, Postgres};
use crate::stopwatch::Stopwatch;
use anyhow::{Context, Result};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;

const BETWEEN_KILLS: Duration = Duration::from_secs(5);
/// 480 trees a second in all, for as long as the run takes.
const PACE: Duration = Duration::from_millis(250);

#[derive(Args)]
pub struct Options {
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=16))]
    nodes: u64,
    /// Jobs at once, over all nodes.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    workers: u64,
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_440))]
    minutes: u64,
    /// Repeat the choices of an earlier run.
    #[arg(long)]
    seed: Option<u64>,
    /// A built `stepfast` to test instead of the release build of this tree.
    #[arg(long)]
    binary: Option<PathBuf>,
}

pub fn run(options: &Options) -> Result<()> {
    let binary = binary(options.binary.as_deref())?;
    let seed = options.seed.unwrap_or_else(dice::fresh_seed);
    println!("soak: seed {seed}");
    let runtime = tokio::runtime::Runtime::new().context("could not start a runtime")?;
    let round = runtime.block_on(soak(options, &binary, Dice::new(seed)));
    let round = round.with_context(|| format!("soak of seed {seed} failed"))?;
    println!("soak: {round}");
    println!("soak: {}", told(&round.faults));
    Ok(())
}

async fn soak(options: &Options, binary: &Path, dice: Dice) -> Result<Round> {
    let directory = round::directory()?;
    let postgres = Postgres::start(Durability::Full)?;
    let database = Database::at(binary, postgres.url.clone());
    let ground = Ground { binary, directory: directory.path(), postgres: &postgres, database };
    let played = play(&ground, options, dice).await.inspect_err(|_| ground.keep_database());
    round::kept_if_failed(played, directory)
}

async fn play(ground: &Ground<'_>, options: &Options, mut dice: Dice) -> Result<Round> {
    let (sender, line) = phase::line();
    let share = |n: u64| options.workers / options.nodes + u64::from(n < options.workers % options.nodes);
    let posts = (0..options.nodes).map(|n| Post { workers: share(n), ..Post::default() }).collect();
    let mut nodes = Nodes::start(ground, posts, sender).await?;
    let crowd = Crowd::start(ground.directory, &line, PACE, &mut dice)?;
    let up = Stopwatch::start();
    while up.elapsed() < Duration::from_secs(60 * options.minutes) {
        tokio::time::sleep(BETWEEN_KILLS).await;
        let target = dice.between(0, options.nodes - 1) as usize;
        // A kill is what every other fault is compared with, so most are kills.
        let kind = match dice.between(1, 10) {
            1 => Kind::CrashDatabase,
            2..=3 => Kind::CutConnection,
            _ => Kind::KillNode,
        };
        nodes.strike(kind, target, &mut dice).await?;
    }
    siege::conclude(ground, nodes, crowd, up.elapsed()).await
}
