//! What the documents show is run as it stands there.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::Home;
use std::process::Command;

/// The shell blocks of a document, in order.
fn shell_of(document: &str) -> String {
    let blocks = document.split("```sh\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap()).collect()
}

#[test]
fn the_lines_of_the_worker_protocol_run_as_they_stand() {
    let home = Home::new();
    let server = home.serve(&["--workers", "0"]);
    let script = shell_of(include_str!("../../../docs/worker-protocol.md"));
    assert_eq!(script.matches("curl ").count(), 5);
    let mut shell = Command::new("sh");
    shell.args(["-euc", &script]).env("STEPFAST_URL", &server.url).current_dir(home.dir.path());
    let ran = shell.output().unwrap();
    let said = common::text(&ran.stdout);
    assert!(ran.status.success(), "{said}\n{}", common::text(&ran.stderr));
    for part in ["\"name\": \"Ada\"", "\"lost\":[]", "{\"answers\":[{\"answer\":\"applied\"}]}"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert_eq!(home.states(), ["completed"]);
    home.ok(&["check"]);
    server.stop();
}

#[test]
fn the_lines_of_the_guide_to_workflows_run_as_they_stand() {
    let home = Home::new();
    let lines = shell_of(include_str!("../../../docs/workflows.md"));
    assert!(lines.matches("stepfast ").count() > 20);
    // Its server must not outlive a line that fails.
    let script = format!("trap 'kill ${{server:-}} 2>/dev/null || :' EXIT\n{lines}");
    let beside = std::path::Path::new(env!("CARGO_BIN_EXE_stepfast")).parent().unwrap();
    let path = format!("{}:{}", beside.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-euc", &script]).env("PATH", path).current_dir(home.dir.path());
    for name in ["STEPFAST_DB", "STEPFAST_SERVER", "STEPFAST_KEY", "PORT"] {
        shell.env_remove(name);
    }
    let ran = shell.output().unwrap();
    let (said, told) = (common::text(&ran.stdout), common::text(&ran.stderr));
    assert!(ran.status.success(), "{said}\n{told}");
    for part in [
        "\"greeted\": 2",
        "[hello ×n]",
        "~ step `rest` wait: 300ms → 5m",
        "greet@1.0.0 created",
        "greet@1.1.0 would be created",
        "greet: succeeded",
        "workflow.succeeded",
        "tenant=acme",
        "running -> paused",
        "would go: running -> cancelled",
        "running -> cancelled",
    ] {
        assert!(said.contains(part), "{part} in {said}\n{told}");
    }
}

/// The shell blocks of a document, against a server with workers.
fn run(document: &str, curls: usize) -> String {
    let home = Home::new();
    let server = home.serve(&[]);
    let script = shell_of(document);
    assert_eq!(script.matches("curl ").count(), curls);
    let mut shell = Command::new("sh");
    shell.args(["-euc", &script]).env("STEPFAST_URL", &server.url).current_dir(home.dir.path());
    let ran = shell.output().unwrap();
    let said = common::text(&ran.stdout);
    assert!(ran.status.success(), "{said}\n{}", common::text(&ran.stderr));
    home.ok(&["check"]);
    server.stop();
    said
}

#[test]
fn the_lines_of_the_guide_to_flows_run_as_they_stand() {
    let said = run(include_str!("../../../docs/flows.md"), 4);
    for part in [
        r#""sentence":"It could not go on at wallet credit; 1 of 2 steps is done.""#,
        r#""event":"retry_asked""#,
        r#""sentence":"We try again""#,
        r#""state":"completed","previous_state":"running""#,
        r#""sentence":"Everything is done.""#,
        r#"{"flows":[{"id":"#,
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn the_lines_of_the_guide_to_progress_run_as_they_stand() {
    let said = run(include_str!("../../../docs/progress.md"), 3);
    for part in [r#""kind":"step""#, r#""percent":0.0"#, r#"{"half_done":[]}"#] {
        assert!(said.contains(part), "{part} in {said}");
    }
}
