//! The real binary on PostgreSQL: two servers, one of which stands by.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, text, until};
use std::process::{Command, Stdio};
use store::postgres::Scratch;

fn scratch(name: &str) -> Scratch {
    let server = std::env::var("STEPFAST_TEST_POSTGRES")
        .expect("set STEPFAST_TEST_POSTGRES to the address of a server; `cargo xtask test` starts one");
    Scratch::new(&server, &format!("cli_{}_{name}", std::process::id())).unwrap()
}

fn command(scratch: &Scratch, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stepfast"));
    command.args(args).env("STEPFAST_DB", &scratch.url).env("STEPFAST_HISTORY", "full");
    command.env_remove("STEPFAST_SERVER").env_remove("PORT");
    command
}

fn ok(scratch: &Scratch, args: &[&str]) -> String {
    let output = command(scratch, args).output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{args:?} ended with {}: {out}{err}", output.status);
    out
}

fn serve(scratch: &Scratch) -> Server {
    Server::spawn(command(scratch, &["serve", "--port", "0"]))
}

fn states(scratch: &Scratch) -> Vec<String> {
    let rows = ok(scratch, &["steps", "list", "--all", "--json"]);
    let state = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["state"].as_str().unwrap().to_string()
    };
    rows.lines().map(state).collect()
}

#[test]
fn a_first_step_without_a_server_and_with_one() {
    let scratch = scratch("first");
    ok(&scratch, &["migrate"]);
    ok(&scratch, &["steps", "create", "--action", "echo", "--arguments", "{\"hello\":\"world\"}"]);
    assert_eq!(states(&scratch), ["pending"]);
    let server = serve(&scratch);
    until("the step ends", || states(&scratch) == ["completed"]);
    ok(&scratch, &["steps", "create", "--action", "noop"]);
    until("the second ends", || states(&scratch) == ["completed", "completed"]);
    assert!(ok(&scratch, &["nodes"]).contains(&server.url));
    ok(&scratch, &["check"]);
    server.stop();
    ok(&scratch, &["check"]);
}

#[test]
fn a_second_server_stands_by_and_takes_over_when_the_first_is_gone() {
    let scratch = scratch("two");
    let first = serve(&scratch);
    let mut waiting = command(&scratch, &["serve", "--port", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = common::first_line(waiting.stderr.take().unwrap());
    assert!(told.starts_with("standing by:") && told.contains(&first.url), "{told}");
    ok(&scratch, &["steps", "create", "--action", "noop"]);
    first.stop();
    let told = common::first_line(waiting.stdout.take().unwrap());
    assert!(told.starts_with("listening on"), "{told}");
    ok(&scratch, &["steps", "create", "--action", "noop"]);
    until("both ended", || states(&scratch) == ["completed", "completed"]);
    ok(&scratch, &["check"]);
    waiting.kill().unwrap();
    waiting.wait().unwrap();
}
