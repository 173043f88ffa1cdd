//! `completions`: what a shell needs to complete commands and options.

use crate::cli::{self, Completions};
use anyhow::Result;
use std::process::ExitCode;

pub fn run(args: &Completions) -> Result<ExitCode> {
    clap_complete::generate(args.shell, &mut cli::command(), "stepfast", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}
