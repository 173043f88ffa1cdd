//! The chores of the repository: `cargo xtask test`, `api`, `tidy`, `crash`, `soak`, `fuzz` and `coverage`.

mod coverage;
mod crash;
mod fuzz;
mod postgres;
mod repo;
mod shell;
mod stopwatch;
mod suite;
mod tidy;

use clap::Parser;
use std::process::ExitCode;

/// Chores of the Stepfast repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Chore {
    /// Install what is missing, then run every check and every test.
    Test,
    /// Ask every operation of the API for whatever its document allows, as every role (`STEPFAST_EXAMPLES=200` asks for more).
    Api,
    /// Refuse what the compiler does not: forbidden edges, long files, clocks in pure crates.
    Tidy,
    /// Kill the real binary at random moments and require that nothing is lost or doubled.
    Crash(crash::Options),
    /// Kill nodes of a cluster under load for minutes, and require the same.
    Soak(crash::soak::Options),
    /// Feed what reads the text of users with bytes that nobody meant.
    Fuzz(fuzz::Options),
    /// Say which lines of the rules no test reaches, and refuse too many.
    Coverage,
}

fn main() -> ExitCode {
    let outcome = match Chore::parse() {
        Chore::Test => suite::run(),
        Chore::Api => suite::api(),
        Chore::Tidy => tidy::run(),
        Chore::Crash(options) => crash::run(&options),
        Chore::Soak(options) => crash::soak::run(&options),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::Coverage => coverage::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
