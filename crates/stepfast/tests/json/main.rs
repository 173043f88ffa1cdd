//! `--json` of every command: each line is one value, and what its fields are called and of which kind they are stays as it is.
//!
//! `tests/json/shapes.txt` has the fields that programs rely on; `STEPFAST_BLESS=1` writes it anew.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod scene;
mod shape;

use common::Home;
use serde_json::Value;
use std::collections::BTreeMap;

/// Commands that print nothing for a program, or run until they are stopped.
const ELSEWHERE: [(&str, &str); 10] = [
    ("serve", "runs until it is stopped; says where it listens"),
    ("worker", "runs until it is stopped"),
    ("demo", "runs until it is stopped"),
    ("router", "runs until it is stopped"),
    ("router status", "asks a router that runs; tests/dispatch_scheduler/lifecycle.rs"),
    ("router reset-breakers", "asks a router that runs; tests/dispatch_scheduler/steering.rs"),
    ("router suspend", "asks a router that runs; tests/dispatch_scheduler/steering.rs"),
    ("router activate", "asks a router that runs; tests/dispatch_scheduler/lifecycle.rs"),
    ("completions", "prints a script for a shell"),
    ("bench", "takes its time, and has other figures for each workload; tests/benches.rs"),
];

/// What was run, and what it looked like.
pub struct Seen<'a> {
    home: &'a Home,
    shapes: BTreeMap<String, String>,
}

impl Seen<'_> {
    /// Run a command with `--json`: every line is a value. What it prints is its shape.
    pub fn run(&mut self, path: &str, more: &[&str]) -> Vec<Value> {
        let words: Vec<&str> = path.split(' ').chain(more.iter().copied()).chain(["--json"]).collect();
        let ran = self.home.run(&words);
        let (said, told) = (common::text(&ran.stdout), common::text(&ran.stderr));
        let code = ran.status.code();
        assert!(matches!(code, Some(0 | 1)), "{words:?} ended with {code:?}: {said}{told}");
        let read =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{words:?}: {e}: {line}"));
        let values: Vec<Value> = said.lines().map(read).collect();
        let shape = shape::of_all(&values);
        // A sound database has no findings.
        assert!(!values.is_empty() || path == "check", "{words:?} printed nothing: {told}");
        self.shapes.entry(path.into()).or_insert(shape);
        values
    }
    /// The text of a field of the first line.
    pub fn text(&mut self, path: &str, more: &[&str], field: &str) -> String {
        let values = self.run(path, more);
        let found = values[0].pointer(field).unwrap_or_else(|| panic!("{field} in {values:?}"));
        found.as_str().map_or_else(|| found.to_string(), String::from)
    }
}

/// Every command without verbs of its own, as the page of commands has them.
fn commands() -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cli.md");
    let page = std::fs::read_to_string(page).unwrap();
    let heads = page.lines().filter(|line| line.starts_with("###"));
    let all: Vec<String> =
        heads.filter_map(|line| Some(line.split_once(" stepfast ")?.1.to_string())).collect();
    let is_noun = |path: &String| all.iter().any(|other| other.starts_with(&format!("{path} ")));
    // `polls` and `router` do something by themselves too.
    let counts = |path: &&String| !is_noun(path) || matches!(path.as_str(), "polls" | "router");
    all.iter().filter(counts).cloned().collect()
}

#[test]
fn every_command_that_prints_prints_json_of_the_same_shape() {
    let home = Home::new();
    let mut seen = Seen { home: &home, shapes: BTreeMap::new() };
    scene::play(&mut seen);
    let commands = commands();
    assert!(commands.len() > 80, "{commands:?}");
    let is_elsewhere = |path: &String| ELSEWHERE.iter().any(|(name, _)| name == path);
    let missing: Vec<_> =
        commands.iter().filter(|path| !is_elsewhere(path) && !seen.shapes.contains_key(*path)).collect();
    assert!(missing.is_empty(), "no test asks these for JSON: {missing:?}");
    let shapes: String = seen.shapes.iter().map(|(path, shape)| format!("{path}\n{shape}\n")).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/json/shapes.txt");
    let stored = || std::fs::read_to_string(path).unwrap_or_default();
    if std::env::var("STEPFAST_BLESS").is_ok_and(|value| value == "1")
        && !shape::news(&stored(), &shapes).is_empty()
    {
        std::fs::write(path, &shapes).unwrap();
    }
    let (stored, told) = (stored(), "STEPFAST_BLESS=1 writes it anew, and CHANGELOG.md tells it");
    let news = shape::news(&stored, &shapes);
    assert!(news.is_empty(), "what programs read has changed; {told}:\n{}", news.join("\n"));
}
