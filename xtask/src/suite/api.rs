//! Asks every operation of the API for whatever its document allows and forbids, as every role, and requires that each answer is one the
//! document names.
//!
//! Why    the tests of the server hold answers to the document, but only for questions that somebody thought of.

use crate::{repo, shell};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const ROLES: [&str; 4] = ["viewer", "operator", "worker", "admin"];

/// Examples for each operation, where nobody asks for more.
const EXAMPLES: &str = "10";

/// The first answers for as long as somebody listens; the second says 503 where no queue is configured, which is meant.
const LEFT_OUT: [&str; 3] = ["live_listen", "events_listen", "dispatch_process"];

/// What must hold of every answer. That whatever the schema allows is accepted is not among it: a step must exist to be cancelled.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,ignored_auth,unsupported_method";

pub fn run() -> Result<()> {
    shell::run(&mut repo::cargo(&["build", "--package", "stepfast"]))?;
    let target = repo::target_directory()?;
    let binary = target.join("debug").join("stepfast");
    let asker = target.join("schemathesis").join("bin").join("schemathesis");
    for role in ROLES {
        eprintln!("-- as {role}");
        let directory = tempfile::tempdir().context("could not make a temporary directory")?;
        let key = key(&binary, directory.path(), role)?;
        let served = Served::start(&binary, directory.path())?;
        ask(&asker, &served.url, &key).with_context(|| format!("as {role}"))?;
        served.ends_well()?;
    }
    Ok(())
}

fn stepfast(binary: &Path, directory: &Path) -> Command {
    let mut command = Command::new(binary);
    command.current_dir(directory).env_remove("STEPFAST_SERVER").env("STEPFAST_DB", "sqlite:steps.db");
    command
}

/// A key of this role, made before there is a server to ask.
fn key(binary: &Path, directory: &Path, role: &str) -> Result<String> {
    let mut command = stepfast(binary, directory);
    command.args(["keys", "create", "--json", "--name", role, "--role", role]);
    let output = command.output().context("could not start `stepfast keys create`")?;
    let made: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("`stepfast keys create` did not answer with JSON")?;
    Ok(made["key"].as_str().context("`stepfast keys create` showed no key")?.to_string())
}

struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(binary: &Path, directory: &Path) -> Result<Served> {
        std::fs::write(directory.join("stepfast.toml"), "require_key = true\n")?;
        let mut command = stepfast(binary, directory);
        command.args(["serve", "--bind", "127.0.0.1:0", "--workers", "0", "--config", "stepfast.toml"]);
        let mut child = command.stdout(Stdio::piped()).spawn().context("could not start `stepfast serve`")?;
        let stdout = child.stdout.take().context("its output is piped")?;
        let mut served = Served { child, url: String::new() };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        match line.trim().strip_prefix("listening on ") {
            Some(url) => served.url = url.into(),
            None => bail!("`stepfast serve` said `{}`", line.trim()),
        }
        Ok(served)
    }

    fn ends_well(mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("`stepfast serve` ended with {status}"),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself, which is told elsewhere.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ask(asker: &Path, url: &str, key: &str) -> Result<()> {
    let asked = std::env::var("STEPFAST_EXAMPLES").ok();
    let examples = asked.as_deref().unwrap_or(EXAMPLES);
    let mut command = Command::new(asker);
    command.args(["run", &format!("{url}/openapi.json"), "--no-color"]);
    command.args(["--header", &format!("Authorization: Bearer {key}")]);
    command.args(["--checks", CHECKS, "--phases", "coverage,fuzzing,stateful", "--max-examples", examples]);
    for operation in LEFT_OUT {
        command.args(["--exclude-operation-id", operation]);
    }
    command.args(["--workers", "2", "--request-timeout", "15", "--generation-database", "none"]);
    command.args(["--continue-on-failure", "--warnings", "off", "--suppress-health-check", "all"]);
    shell::run(&mut command)
}
