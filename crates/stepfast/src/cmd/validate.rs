//! `validate`: all faults of all files, as a compiler tells them.

use super::output;
use crate::cli::Validate;
use crate::files;
use crate::screen::Paint;
use anyhow::Result;
use definition::Diagnostic;
use model::Count;
use std::process::ExitCode;

pub fn run(args: &Validate, json: bool) -> Result<ExitCode> {
    let (files, faults) = files::read_all(&args.paths)?;
    if json {
        faults.iter().for_each(output::line);
    } else {
        faults.iter().for_each(|fault| output::text(shown(fault, Paint::stdout())));
        match faults.len() {
            0 => output::note(format_args!("{} without a fault", Count(files.len(), "definition"))),
            n => output::note(format_args!("{}", Count(n, "fault"))),
        }
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The first line says what, the last what to write, and the one before it where.
fn shown(fault: &Diagnostic, paint: Paint) -> String {
    let text = fault.to_string();
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.len().saturating_sub(1);
    let coloured = lines.iter().enumerate().map(|(n, line)| match n {
        0 => paint.bold(line),
        _ if n == last => paint.green(line),
        _ if n + 1 == last => paint.red(line),
        _ => line.to_string(),
    });
    coloured.collect::<Vec<_>>().join("\n")
}
