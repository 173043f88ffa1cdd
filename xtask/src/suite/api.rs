//! Asks every operation of the API for whatever its document allows and forbids, as every role, and requires that each answer is one the
//! document names.
//!
//! Why    the tests of the server hold answers to the document, but only for questions that somebody thought of.

use super::install;
use crate::{repo, shell};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A role, and the queue that its key is for; without one it is for all.
const CALLERS: [(&str, Option<&str>); 5] =
    [("viewer", None), ("operator", None), ("operator", Some("default")), ("worker", None), ("admin", None)];

/// Examples for each operation, where nobody asks for more.
const EXAMPLES: &str = "10";

/// The first two answer for as long as somebody listens; the third says 503 where no queue is configured, which is meant.
const LEFT_OUT: [&str; 3] = ["live_listen", "events_listen", "dispatch_process"];

/// With it an administrator revokes the key that asks, for its id is in the list of keys, and nothing but 401 comes after it.
const NOT_AS_ADMIN: &str = "keys_revoke";

/// What must hold of every answer. That whatever the schema allows is accepted is not among it: a step must exist to be cancelled. Nor is
/// that whatever it forbids is refused: a form sends a blank for what nobody wrote, and HTTP takes the blanks around a header away.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,ignored_auth,unsupported_method,use_after_free,ensure_resource_availability";

/// Two definitions that say much, and the words with which each thing of the API is made once. What is made stands there before anybody
/// asks: a list that is empty holds nothing that could be told wrong.
const DEFINITIONS: [&str; 2] = ["examples/demo/purchase.yaml", "examples/demo/transfer.yaml"];
const SCENE: [&[&str]; 10] = [
    &["pools", "set", "card", "--concurrency", "2", "--rate", "100/m"],
    &["start", "purchase", "--input", r#"{"what": "a lift", "amount": 48000}"#, "--label", "team=a"],
    &["start", "transfer", "--input", r#"{"cents": 99000}"#],
    &["flows", "start", "payment", "--entity", "payment:123", "--steps", "debit,credit,email?"],
    &["steps", "create", "--action", "noop", "--pool", "card"],
    &[
        "steps",
        "create",
        "--action",
        "echo",
        "--arguments",
        r#"{"hello": "world"}"#,
        "--idempotency-key",
        "k-1",
    ],
    &[
        "steps",
        "create",
        "--action",
        "fail",
        "--max-attempts",
        "1",
        "--message-group",
        "line",
        "--mode",
        "block_on_error",
    ],
    &["steps", "create", "--action", "ghost", "--message-group", "line", "--mode", "block_on_error"],
    &["subscriptions", "add", "--name", "crm", "--url", "https://127.0.0.1:9/hook", "--type", "workflow.*"],
    &["stuck", "detect"],
];

/// Whoever has no key is refused, and one channel that nobody answers is told what fails.
const CONFIG: &str = r#"require_key = true

[[notify.channel]]
name = "ops"
kind = "webhook"
url = "https://127.0.0.1:9/hook"
secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
"#;

/// Enough that what is made moves, and few enough that the questions come first.
const WORKERS: &str = "3";

pub fn run() -> Result<()> {
    install::schemathesis()?;
    let binary = repo::program()?;
    let asker = repo::target_directory()?.join("schemathesis").join("bin").join("schemathesis");
    for (role, queue) in CALLERS {
        let caller = queue.map_or(role.to_string(), |queue| format!("{role} of the queue {queue}"));
        eprintln!("-- as {caller}");
        let directory = tempfile::tempdir().context("could not make a temporary directory")?;
        let key = key(&binary, directory.path(), (role, queue))?;
        set_the_scene(&binary, directory.path())?;
        let served = Served::start(&binary, directory.path())?;
        let left_out = LEFT_OUT.into_iter().chain((role == "admin").then_some(NOT_AS_ADMIN));
        ask((&asker, directory.path()), (&served.url, &key), left_out)
            .with_context(|| format!("as {caller}"))?;
        served.ends_well()?;
    }
    Ok(())
}

fn stepfast(binary: &Path, directory: &Path) -> Command {
    let mut command = Command::new(binary);
    command.current_dir(directory).env_remove("STEPFAST_SERVER").env("STEPFAST_DB", "sqlite:steps.db");
    command
}

/// Made by whoever has the database, before there is a server.
fn set_the_scene(binary: &Path, directory: &Path) -> Result<()> {
    std::fs::write(directory.join("stepfast.toml"), CONFIG)?;
    let definitions = DEFINITIONS.map(|file| repo::root().join(file));
    shell::run(stepfast(binary, directory).arg("apply").args(&definitions).stdout(Stdio::null()))?;
    for words in SCENE {
        shell::run(stepfast(binary, directory).args(words).stdout(Stdio::null()))?;
    }
    Ok(())
}

/// A key of this role, made before there is a server to ask.
fn key(binary: &Path, directory: &Path, (role, queue): (&str, Option<&str>)) -> Result<String> {
    let mut command = stepfast(binary, directory);
    command.args(["keys", "create", "--json", "--name", role, "--role", role]);
    command.args(queue.into_iter().flat_map(|queue| ["--scope", queue]));
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
        let mut command = stepfast(binary, directory);
        command.args(["serve", "--bind", "127.0.0.1:0", "--workers", WORKERS]);
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

/// What it leaves behind is gone with the directory.
fn ask(
    (asker, directory): (&Path, &Path),
    (url, key): (&str, &str),
    left_out: impl Iterator<Item = &'static str>,
) -> Result<()> {
    let asked = std::env::var("STEPFAST_EXAMPLES").ok();
    let examples = asked.as_deref().unwrap_or(EXAMPLES);
    let mut command = Command::new(asker);
    command.current_dir(directory);
    command.args(["run", &format!("{url}/openapi.json"), "--no-color"]);
    command.args(["--header", &format!("Authorization: Bearer {key}")]);
    command.args(["--checks", CHECKS, "--phases", "coverage,fuzzing,stateful", "--max-examples", examples]);
    for operation in left_out {
        command.args(["--exclude-operation-id", operation]);
    }
    command.args(["--workers", "2", "--request-timeout", "15", "--generation-database", "none"]);
    command.args(["--continue-on-failure", "--suppress-health-check", "all"]);
    shell::run(&mut command)
}
