//! Runs one command and says which one it was when it fails.

use anyhow::{Context, Result, bail};
use std::process::{Command, Stdio};

/// Run it in the foreground and require success.
pub fn run(command: &mut Command) -> Result<()> {
    let line = line(command);
    let status = command.status().with_context(|| format!("could not start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// Whether the program is there and answers; what it prints is dropped.
pub fn answers(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

pub fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{answers, run};
    use std::process::Command;

    #[test]
    fn a_failure_names_the_command() {
        let error = run(Command::new("false").arg("--loudly")).unwrap_err().to_string();
        assert!(error.contains("`false --loudly` ended with"), "{error}");
    }

    #[test]
    fn a_missing_program_does_not_answer() {
        assert!(!answers(&mut Command::new("no-such-program-here")));
    }
}
