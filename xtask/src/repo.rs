//! Where the repository is, and what cargo says of it.

use crate::shell;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root of the repository")
}

/// A cargo command that runs in the root, whatever directory the caller stands in.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(root());
    if std::env::var_os("CI").is_some() {
        // Nothing is built there a second time, so nothing is kept for it.
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// The workspace's own packages, as `cargo metadata` describes them.
pub fn metadata() -> Result<Value> {
    let output = cargo(&["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .context("could not start `cargo metadata`")?;
    anyhow::ensure!(
        output.status.success(),
        "`cargo metadata` failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("`cargo metadata` did not answer with JSON")
}

/// The directory cargo builds into; it moves with `CARGO_TARGET_DIR`.
pub fn target_directory() -> Result<PathBuf> {
    let metadata = metadata()?;
    let path = metadata["target_directory"].as_str().context("`cargo metadata` names no target directory")?;
    Ok(PathBuf::from(path))
}

/// The program as the tests have it, built with all of them: alone, without what only tests ask of tokio, everything above tokio would
/// be compiled a second time.
pub fn program() -> Result<PathBuf> {
    shell::run(&mut cargo(&["test", "--locked", "--workspace", "--no-run"]))?;
    Ok(target_directory()?.join("debug").join("stepfast"))
}
