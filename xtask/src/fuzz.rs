//! Runs the fuzz targets: with `cargo fuzz` where it and a nightly compiler are, else with the loop of our own.

use crate::crash::fresh_seed;
use crate::{repo, shell};
use anyhow::{Context, Result};
use clap::Args;
use std::path::Path;
use std::process::Command;

const TARGETS: [&str; 2] = ["definition", "expression"];
const INPUT_BYTES_MAX: usize = 16 << 10;
const INPUT_SECONDS_MAX: u64 = 20;

#[derive(Args)]
pub struct Options {
    /// How long each target is run.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Repeat the inputs of an earlier run.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=u64::from(u32::MAX)))]
    seed: Option<u64>,
}

pub fn run(options: &Options) -> Result<()> {
    // libFuzzer takes 0 as none.
    let seed = options.seed.unwrap_or_else(|| fresh_seed().max(1));
    println!("fuzz: seed {seed}");
    let folder = repo::target_directory()?.join("fuzz");
    if shell::answers(&mut repo::cargo(&["+nightly", "fuzz", "--version"])) {
        return TARGETS.iter().try_for_each(|target| guided(target, options.seconds, seed, &folder));
    }
    println!("fuzz: `cargo fuzz` or a nightly compiler is missing, so the corpus is changed blindly");
    shell::run(&mut blind(options.seconds, seed, &folder))
}

/// libFuzzer, led by what the inputs reach. What it finds new is kept beside the build and not in the repository.
fn guided(target: &str, seconds: u64, seed: u64, folder: &Path) -> Result<()> {
    let found = folder.join("corpus").join(target);
    std::fs::create_dir_all(&found).with_context(|| format!("could not make {}", found.display()))?;
    let mut command = repo::cargo(&["+nightly", "fuzz", "run", "--features", "libfuzzer", "--target-dir"]);
    command.arg(folder).arg(target).arg(found).arg(repo::root().join("fuzz/corpus").join(target)).arg("--");
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-seed={seed}"));
    command.arg(format!("-max_len={INPUT_BYTES_MAX}")).arg(format!("-timeout={INPUT_SECONDS_MAX}"));
    shell::run(&mut command).with_context(|| format!("the input is in fuzz/artifacts/{target}"))
}

/// Changes of the corpus that nothing leads. An overflown stack ends the process, so the input it had is on disk before.
fn blind(seconds: u64, seed: u64, folder: &Path) -> Command {
    let mut command =
        repo::cargo(&["run", "--locked", "--quiet", "--release", "--manifest-path", "fuzz/Cargo.toml"]);
    command.arg("--target-dir").arg(folder);
    command.args(["--", "--seconds", &seconds.to_string(), "--seed", &seed.to_string()]);
    command
}

#[cfg(test)]
mod tests {
    use super::TARGETS;
    use crate::repo;

    #[test]
    fn every_target_has_a_file_and_a_corpus() {
        let fuzz = repo::root().join("fuzz");
        let files = std::fs::read_dir(fuzz.join("fuzz_targets")).unwrap();
        let mut names: Vec<String> = files
            .map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, TARGETS);
        for target in TARGETS {
            assert!(std::fs::read_dir(fuzz.join("corpus").join(target)).unwrap().count() > 10, "{target}");
        }
    }
}
