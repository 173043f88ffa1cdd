//! The test command of the README: every check in order, stopping at the first that fails.

mod api;
mod examples;
mod install;

pub use api::run as api;
pub use install::apt;

use crate::crash::{Options, StoreKind};
use crate::stopwatch::Stopwatch;
use crate::{crash, dependencies, postgres, repo, shell, tidy};
use anyhow::{Context, Result};

struct Stage {
    name: &'static str,
    run: fn() -> Result<()>,
}

/// Cheap checks stand first, so that a slip is told before anything long is built.
const STAGES: [Stage; 12] = [
    Stage { name: "install", run: install::run },
    Stage { name: "format", run: || cargo(&["fmt", "--all", "--check"]) },
    Stage {
        name: "clippy",
        run: || cargo(&["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    },
    Stage { name: "tidy", run: tidy::run },
    Stage { name: "dependencies", run: dependencies::run },
    Stage { name: "tests", run: tests },
    Stage { name: "tests on PostgreSQL", run: on_postgres },
    Stage { name: "doc tests", run: || cargo(&["test", "--locked", "--doc", "--workspace"]) },
    Stage { name: "examples", run: || examples::run(None) },
    Stage { name: "API", run: api::run },
    Stage { name: "crash", run: || crash(StoreKind::Sqlite) },
    Stage { name: "crash on PostgreSQL", run: || crash(StoreKind::Postgres) },
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

/// These need a server, although they stand beside what they look into.
const PLANS: &str = "test(/^postgres::plans::/)";

fn tests() -> Result<()> {
    cargo(&[
        "nextest",
        "run",
        "--locked",
        "--workspace",
        "-E",
        &format!("not binary(postgres) and not {PLANS}"),
    ])
}

/// Every test that opens a database by itself runs on it a second time, and the examples too, with a server of their own; only
/// what is about files does not.
fn on_postgres() -> Result<()> {
    let server = postgres::Postgres::start(postgres::Durability::Process)?;
    let which = format!(
        "package(stepfast-testkit) or binary(postgres) or binary(cli) or binary(keys) or binary(canary) or binary(dispatch_scheduler) or {PLANS}
         or (package(stepfast-server) and binary(http) and not test(a_file_that))"
    );
    let mut command = repo::cargo(&["nextest", "run", "--locked", "--workspace", "-E", &which]);
    shell::run(command.env("STEPFAST_TEST_POSTGRES", &server.url))?;
    examples::run(Some(&server))
}

/// With the program that the tests have built: a release of its own would take longer than all the rounds.
fn crash(store: StoreKind) -> Result<()> {
    crash::run(&Options::short(store, repo::program()?))
}

fn cargo(arguments: &[&str]) -> Result<()> {
    shell::run(&mut repo::cargo(arguments))
}
