//! A loop over changed copies of the corpus, for machines without a nightly compiler.

use anyhow::Result;
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use stepfast_fuzz::TARGETS;
use stepfast_fuzz::run::{Plan, run};

/// Changes the corpus at random and requires that the readers survive it.
#[derive(Parser)]
struct Options {
    /// How long each target is run.
    #[arg(long)]
    seconds: u64,
    /// What the changes follow from.
    #[arg(long)]
    seed: u64,
}

fn main() -> ExitCode {
    match loops(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mutate: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn loops(options: &Options) -> Result<()> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let plan = Plan { folder, seed: options.seed, length: Duration::from_secs(options.seconds) };
    for target in &TARGETS {
        let inputs = run(target, &plan)?;
        println!("{}: {inputs} inputs in {} s, none broke it", target.name, options.seconds);
    }
    Ok(())
}
