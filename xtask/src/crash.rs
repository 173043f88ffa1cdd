//! Kills the real binary at random moments and requires that nothing acknowledged is lost and nothing is doubled.
//!
//! The harness trusts only what it wrote itself: a synced log of every acknowledged id, and the log lines the
//! server wrote at each start of a job.

mod acks;
mod cancel;
mod database;
mod dice;
mod effects;
mod phase;
mod push;
mod round;
mod server;
mod verdict;
mod work;

use crate::{repo, shell};
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use dice::Dice;
use round::Round;
use std::path::PathBuf;

#[derive(Args)]
pub struct Options {
    /// Where the server under test keeps its rows.
    #[arg(long, value_enum)]
    store: StoreKind,
    /// How often to begin anew with an empty database.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Repeat the choices of an earlier run.
    #[arg(long)]
    seed: Option<u64>,
    /// A built `stepfast` to test instead of the release build of this tree.
    #[arg(long)]
    binary: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum StoreKind {
    Sqlite,
    /// A server of the round's own.
    Postgres,
}

impl Options {
    /// The run that belongs to every test run.
    pub fn short(store: StoreKind) -> Options {
        Options { store, rounds: 2, seed: None, binary: None }
    }
}

pub fn run(options: &Options) -> Result<()> {
    let binary = match &options.binary {
        Some(path) => path.canonicalize().with_context(|| format!("there is no {}", path.display()))?,
        None => release_build()?,
    };
    let seed = options.seed.unwrap_or_else(dice::fresh_seed);
    println!("crash: seed {seed}");
    let runtime = tokio::runtime::Runtime::new().context("could not start a runtime")?;
    let mut dice = Dice::new(seed);
    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        let round = runtime.block_on(round::run(&binary, options.store, dice.fork()));
        let round = round.with_context(|| format!("round {number} of seed {seed} failed"))?;
        println!("round {number}: {round}");
        rounds.push(round);
    }
    conclude(&rounds)
}

/// Cargo knows best whether the build is newer than its sources.
fn release_build() -> Result<PathBuf> {
    shell::run(&mut repo::cargo(&["build", "--release", "--package", "stepfast"]))?;
    Ok(repo::target_directory()?.join("release").join("stepfast"))
}

/// A run that never caught a job in the act proves nothing, so it fails too.
fn conclude(rounds: &[Round]) -> Result<()> {
    let sum = |count: fn(&Round) -> u64| rounds.iter().map(count).sum::<u64>();
    ensure!(
        sum(|round| round.lost_attempts) > 0,
        "the run was too tame: no attempt was lost with its worker"
    );
    ensure!(sum(|round| round.late_reports) > 0, "the run was too tame: no late report was refused");
    println!("crash: {} rounds, {} kills, 0 lost, 0 doubled", rounds.len(), sum(|round| round.kills));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::conclude;
    use super::round::Round;

    fn refusal(lost_attempts: u64, late_reports: u64) -> String {
        let round = Round { lost_attempts, late_reports, ..Round::default() };
        conclude(&[Round::default(), round]).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_tame_run_is_refused() {
        assert!(refusal(0, 1).contains("no attempt was lost"));
        assert!(refusal(1, 0).contains("no late report"));
        assert_eq!(refusal(1, 1), "");
    }
}
