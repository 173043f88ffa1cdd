//! `completions`: what a shell needs to complete commands and options.

use super::output;
use crate::cli::{self, Completions};
use anyhow::Result;
use std::process::ExitCode;

pub fn run(args: &Completions) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "stepfast", &mut script);
    output::put(String::from_utf8(script)?.trim_end());
    Ok(ExitCode::SUCCESS)
}
