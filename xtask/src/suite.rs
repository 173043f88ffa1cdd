//! The test command of the README: every check in order, stopping at the first that fails.

mod examples;
mod install;

use crate::stopwatch::Stopwatch;
use crate::{crash, repo, shell, tidy};
use anyhow::{Context, Result};

struct Stage {
    name: &'static str,
    run: fn() -> Result<()>,
}

/// Cheap checks stand first, so that a slip is told before anything long is built.
const STAGES: [Stage; 8] = [
    Stage { name: "install", run: install::run },
    Stage { name: "format", run: || cargo(&["fmt", "--all", "--check"]) },
    Stage {
        name: "clippy",
        run: || cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    },
    Stage { name: "tidy", run: tidy::run },
    Stage { name: "tests", run: || cargo(&["nextest", "run", "--workspace"]) },
    Stage { name: "doc tests", run: || cargo(&["test", "--doc", "--workspace"]) },
    Stage { name: "examples", run: examples::run },
    Stage { name: "crash", run: || crash::run(&crash::Options::short()) },
];

pub fn run() -> Result<()> {
    let whole = Stopwatch::start();
    for stage in &STAGES {
        eprintln!("== {}", stage.name);
        let watch = Stopwatch::start();
        (stage.run)().with_context(|| format!("stage `{}` failed", stage.name))?;
        eprintln!("== {}: ok, {:.1} s", stage.name, watch.elapsed().as_secs_f64());
    }
    eprintln!("== all {} stages passed in {:.0} s", STAGES.len(), whole.elapsed().as_secs_f64());
    Ok(())
}

fn cargo(arguments: &[&str]) -> Result<()> {
    shell::run(&mut repo::cargo(arguments))
}
