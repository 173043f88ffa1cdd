//! What is in `deploy/` is what the binary takes.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name)
}

#[test]
fn the_configuration_is_taken_as_it_stands() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("steps.db");
    let mut command = common::command(&db, &["migrate", "--config"]);
    let ran = command.arg(deploy("stepfast.toml")).output().unwrap();
    assert!(ran.status.success(), "{}", common::text(&ran.stderr));
}

/// Each line that is commented out is one that may be written.
#[test]
fn what_is_commented_out_of_it_is_taken_too() {
    let text = std::fs::read_to_string(deploy("stepfast.toml")).unwrap();
    let is_setting = |line: &str| line.contains(" = ") || line.starts_with('[');
    let lines = text.lines().map(|line| match line.strip_prefix("# ") {
        Some(inner) if is_setting(inner) && !inner.starts_with("db = ") => inner,
        Some(_) => "",
        None => line,
    });
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("all.toml");
    // Keys of the top stand before the first table.
    std::fs::write(&file, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let mut command = common::command(&dir.path().join("steps.db"), &["migrate", "--config"]);
    command.env("STEPFAST_NOTIFY_OPS_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    let ran = command.arg(&file).output().unwrap();
    assert!(ran.status.success(), "{}", common::text(&ran.stderr));
}

#[test]
fn the_unit_starts_what_there_is_and_is_sound() {
    let unit = std::fs::read_to_string(deploy("stepfast.service")).unwrap();
    for line in
        ["ExecStart=/usr/local/bin/stepfast serve", "Environment=STEPFAST_CONFIG=/etc/stepfast/stepfast.toml"]
    {
        assert!(unit.lines().any(|one| one == line), "{line} in {unit}");
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("stepfast.service");
    // It is held to where it will be installed; here the binary is elsewhere.
    std::fs::write(&file, unit.replace("/usr/local/bin/stepfast", env!("CARGO_BIN_EXE_stepfast"))).unwrap();
    let Ok(ran) = Command::new("systemd-analyze").arg("verify").arg(&file).output() else {
        eprintln!("systemd-analyze is not installed: the unit was only read");
        return;
    };
    let told = common::text(&ran.stderr);
    // It also looks at units of the machine that this one wants.
    let own: Vec<&str> = told.lines().filter(|line| line.contains("stepfast.service")).collect();
    assert!(own.is_empty(), "{told}");
}

#[test]
fn the_container_runs_what_the_binary_knows() {
    let text = std::fs::read_to_string(deploy("Containerfile")).unwrap();
    let manifest = std::fs::read_to_string(deploy("../Cargo.toml")).unwrap();
    let rust = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"")).unwrap();
    let image = format!("rust:{}-slim", rust.trim_end_matches('"'));
    for part in
        [image.as_str(), "ENTRYPOINT [\"/usr/local/bin/stepfast\"]", "CMD [\"serve\"]", "USER stepfast"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    let variables = text.lines().filter_map(|line| line.strip_prefix("ENV ")?.split('=').next());
    let help = Command::new(env!("CARGO_BIN_EXE_stepfast")).args(["serve", "--help"]).output().unwrap();
    for name in variables {
        assert!(common::text(&help.stdout).contains(name), "`{name}` is no variable of ours");
    }
}
