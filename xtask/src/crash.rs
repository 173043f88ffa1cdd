//! Kills the real binary at random moments and requires that nothing acknowledged is lost and nothing is doubled.
//!
//! The harness trusts only what it wrote itself: a synced log of every acknowledged id, and the log lines the
//! server wrote at each start of a job.

mod acks;
mod answer;
mod cancel;
mod cluster;
mod crowd;
mod database;
mod diary;
mod dice;
mod effects;
mod flows;
mod phase;
mod push;
mod reckoning;
mod round;
mod server;
mod start;
mod verdict;
mod work;
mod workflows;

use crate::{repo, shell};
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use cluster::fault::{Kind, Means, required, told};
pub use cluster::{faketime, soak};
use dice::Dice;
pub use dice::fresh_seed;
use round::Round;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    pub fn short(store: StoreKind, binary: PathBuf) -> Options {
        Options { store, rounds: 2, seed: None, binary: Some(binary) }
    }
}

pub fn run(options: &Options) -> Result<()> {
    let binary = binary(options.binary.as_deref())?;
    let seed = options.seed.unwrap_or_else(dice::fresh_seed);
    println!("crash: seed {seed}");
    let runtime = tokio::runtime::Runtime::new().context("could not start a runtime")?;
    let means = match options.store {
        StoreKind::Sqlite => Means::default(),
        StoreKind::Postgres => cluster::means(),
    };
    let mut dice = Dice::new(seed);
    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        let dice = dice.fork();
        let round = match options.store {
            StoreKind::Sqlite => runtime.block_on(round::run(&binary, dice)),
            StoreKind::Postgres => runtime.block_on(cluster::run(&binary, number, &means, dice)),
        };
        let round = round.with_context(|| format!("round {number} of seed {seed} failed"))?;
        println!("round {number}: {round}");
        rounds.push(round);
    }
    if let StoreKind::Postgres = options.store {
        conclude_cluster(&rounds, &means)?;
    }
    conclude(&rounds)
}

/// The binary that is given, or that of this tree.
fn binary(given: Option<&Path>) -> Result<PathBuf> {
    match given {
        Some(path) => path.canonicalize().with_context(|| format!("there is no {}", path.display())),
        None => release_build(),
    }
}

/// Cargo knows best whether the build is newer than its sources.
fn release_build() -> Result<PathBuf> {
    shell::run(&mut repo::cargo(&["build", "--locked", "--release", "--package", "stepfast"]))?;
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

/// A cluster must have been hurt in every way there is, and have noticed.
fn conclude_cluster(rounds: &[Round], means: &Means) -> Result<()> {
    let mut faults: BTreeMap<Kind, u64> = BTreeMap::new();
    for (kind, n) in rounds.iter().flat_map(|round| &round.faults) {
        *faults.entry(*kind).or_default() += n;
    }
    let missing: Vec<String> = required(rounds.len() as u32, means)
        .iter()
        .filter(|kind| !faults.contains_key(kind))
        .map(Kind::to_string)
        .collect();
    ensure!(missing.is_empty(), "the run was too tame: it lacks {}", missing.join(", "));
    let lost_leases: u64 = rounds.iter().map(|round| round.lost_leases).sum();
    ensure!(lost_leases > 0, "the run was too tame: no node lost a lease");
    let takeover = rounds.iter().map(|round| round.takeover).max().unwrap_or(Duration::ZERO);
    println!("crash: {}", told(&faults));
    let refused: u64 = rounds.iter().map(|round| round.refused_commits).sum();
    println!(
        "crash: {lost_leases} lost leases, {refused} refused commits, longest takeover {:.1} s",
        takeover.as_secs_f64()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::cluster::fault::{Kind, Means};
    use super::round::Round;
    use super::{conclude, conclude_cluster};

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

    fn cluster_refusal(faults: &[Kind], lost_leases: u64) -> String {
        let faults = faults.iter().map(|kind| (*kind, 1)).collect();
        let round = Round { faults, lost_leases, ..Round::default() };
        let refused = conclude_cluster(&[round], &Means::default()).err();
        refused.map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_cluster_must_see_every_kind_of_fault() {
        let all = [Kind::KillNode, Kind::KillWorker, Kind::CrashDatabase, Kind::CutConnection, Kind::Freeze];
        assert_eq!(cluster_refusal(&all, 1), "");
        assert!(cluster_refusal(&all, 0).contains("no node lost a lease"));
        assert!(cluster_refusal(&all[1..], 1).ends_with("it lacks node killed"));
    }
}
