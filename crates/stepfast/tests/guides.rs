//! The guides for people: their shell blocks are run, in order, in an empty directory.
#![allow(clippy::unwrap_used)]

mod common;

use std::process::Command;

/// What a page says on standard output when all its blocks are run as one script; it must not fail.
fn run(document: &str) -> String {
    let blocks = document.split("```sh\n").skip(1);
    let lines: String = blocks.map(|block| block.split("```").next().unwrap()).collect();
    assert!(lines.contains("stepfast "), "it shows something to type");
    // Its server must not outlive a line that fails.
    let script = format!("trap 'kill ${{server:-}} 2>/dev/null || :' EXIT\n{lines}");
    let dir = tempfile::tempdir().unwrap();
    let beside = std::path::Path::new(env!("CARGO_BIN_EXE_stepfast")).parent().unwrap();
    let path = format!("{}:{}", beside.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-euc", &script]).env("PATH", path).current_dir(dir.path());
    for name in ["STEPFAST_DB", "STEPFAST_SERVER", "STEPFAST_KEY", "STEPFAST_CONFIG", "PORT"] {
        shell.env_remove(name);
    }
    let ran = shell.output().unwrap();
    let (said, told) = (common::text(&ran.stdout), common::text(&ran.stderr));
    assert!(ran.status.success(), "{said}\n{told}");
    said
}

fn says(document: &str, parts: &[&str]) {
    let said = run(document);
    for part in parts {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn the_quickstart_runs_as_it_stands() {
    let parts = [
        "order@1.0.0 created",
        "no worker offers action `payments.charge`",
        "nobody lives there",
        "compensated",
    ];
    says(include_str!("../../../docs/quickstart.md"), &parts);
}

#[test]
fn the_guide_to_steps_runs_as_it_stands() {
    let parts = [
        "It is not running because:",
        "\"hello\":\"world\"",
        "tell-customer",
        "no such address",
        "would move",
    ];
    says(include_str!("../../../docs/steps.md"), &parts);
}

#[test]
fn the_guide_to_one_box_runs_as_it_stands() {
    says(include_str!("../../../docs/operations/one-box.md"), &[]);
}

#[test]
fn the_guide_to_upgrades_runs_as_it_stands() {
    says(include_str!("../../../docs/operations/upgrade.md"), &["safe to restart", "the copy is sound"]);
}

#[test]
fn the_guide_to_backups_runs_as_it_stands() {
    says(
        include_str!("../../../docs/operations/backup.md"),
        &["the copy is sound", "echo", "dispatched 0 step(s)", "because this database is a copy of"],
    );
}
