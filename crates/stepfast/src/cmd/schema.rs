//! `schema`: the JSON Schema of definition files.

use super::output;
use anyhow::Result;
use std::process::ExitCode;

pub fn run(json: bool) -> Result<ExitCode> {
    let schema = definition::schema();
    if json {
        output::line(&schema);
    } else {
        output::pretty(&schema);
    }
    Ok(ExitCode::SUCCESS)
}
