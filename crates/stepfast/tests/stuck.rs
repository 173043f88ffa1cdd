//! What is stuck on the command line, with a server and without one.
#![allow(clippy::unwrap_used)]

mod common;

use common::Home;
use serde_json::Value;
use std::path::Path;

/// A step that nobody takes is stuck at once, and grave.
const RULES: &str = "[stuck]\nevery = \"never\"\n[[stuck.rule]]\nname = \"step-waiting\"\nolder_than = \"0s\"\nseverity = \"critical\"\n";

fn home() -> Home {
    let home = Home::new();
    std::fs::write(home.dir.path().join("stepfast.toml"), RULES).unwrap();
    home.ok(&["steps", "create", "--action", "nobody.runs.this", "--label", "charge"]);
    home
}

/// Every file of the database, byte for byte.
fn bytes(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| (path.display().to_string(), std::fs::read(&path).unwrap()))
        // An index into the log that readers share in memory; it is made anew by whoever opens the file.
        .filter(|(name, bytes)| !name.ends_with("-shm") && !bytes.is_empty())
        .collect();
    all.sort();
    all
}

#[test]
fn a_dry_run_changes_no_byte_of_the_database() {
    let home = home();
    let before = bytes(home.dir.path());
    let told = home.ok(&["stuck", "detect", "--auto-resolve", "--dry-run"]);
    assert!(told.contains("Stuck step") && told.contains("dry run: nothing is written"), "{told}");
    assert!(told.contains("step charge (nobody.runs.this) has been pending"), "{told}");
    assert!(bytes(home.dir.path()) == before, "something was written");
    assert_eq!(home.json(&["alerts", "list", "--json"]), Vec::<Value>::new());
}

#[test]
fn what_is_stuck_is_told_worked_on_and_closed_without_a_server() {
    let home = home();
    let told = home.ok(&["stuck", "detect", "--show-queue"]);
    for part in ["Total", "Opened", "Escalated", "Review queue", "step-waiting", "Total unresolved"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let listed = home.json(&["alerts", "list", "--queue", "--severity", "critical", "--json"]);
    let id = listed[0]["id"].to_string();
    home.ok(&["alerts", "ack", &id, "--by", "anna"]);
    assert!(home.fails(3, &["alerts", "ack", &id]).contains("anna has acknowledged it"));
    assert!(home.ok(&["alerts", "assign", &id, "--to", "bo"]).contains("assigned to bo"));
    home.ok(&["alerts", "note", &id, "asked the team", "--by", "bo"]);
    assert!(home.ok(&["alerts", "resolve", &id, "started a worker", "--by", "bo"]).contains("is closed"));
    assert!(home.ok(&["alerts", "list"]).lines().count() <= 1, "nothing is open");
    assert!(home.ok(&["alerts", "list", "--closed"]).contains("closed by bo"));
    home.ok(&["alerts", "reopen", &id, "it was not enough", "--by", "bo"]);
    let shown = home.ok(&["alerts", "show", &id]);
    for part in ["acknowledged", "assigned", "note", "resolved", "reopened", "started a worker"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(home.fails(3, &["alerts", "show", "99"]).contains("there is no alert 99"));
    assert!(home.ok(&["alerts", "figures"]).contains("Review queue"));
    home.ok(&["check"]);
}

#[test]
fn rules_and_the_switch_are_told_with_a_server() {
    let home = home();
    let server = home.serve(&["--workers", "0"]);
    let url = server.url.clone();
    let rules = home.ok(&["stuck", "rules", "--server", &url]);
    assert!(rules.contains("step-waiting") && rules.contains("configuration"), "{rules}");
    assert!(rules.contains("workflow-failed") && rules.contains("default"), "{rules}");
    assert!(home.ok(&["stuck", "auto", "off"]).contains("no remedy is applied"));
    let found = &home.json(&["stuck", "detect", "--auto-resolve", "--json"])[0];
    assert_eq!((&found["opened"], &found["escalated"]), (&1.into(), &1.into()));
    let alert = &home.json(&["alerts", "list", "--entity", "step", "--json", "--server", &url])[0];
    let id = alert["id"].to_string();
    home.ok(&["alerts", "resolve", &id, "by hand", "--server", &url, "--by", "anna"]);
    assert!(home.ok(&["alerts", "show", &id, "--server", &url]).contains("by hand"));
    assert!(home.ok(&["stuck", "remove-rule", "step-waiting"]).contains("off the record"));
    assert!(home.fails(3, &["stuck", "remove-rule", "step-waiting"]).contains("step-waiting"));
    server.stop();
}

#[test]
fn a_rule_that_cannot_be_is_refused_with_what_to_write() {
    let home = Home::new();
    let wrong = "[[stuck.rule]]\nname = \"x\"\nentity = \"breaker\"\nremedy = \"retry\"\n";
    std::fs::write(home.dir.path().join("stepfast.toml"), wrong).unwrap();
    let told = home.fails(3, &["stuck", "rules"]);
    assert!(
        told.contains("stuck.rule x: remedy: `retry` is nothing that can be done to a breaker"),
        "{told}"
    );
}
