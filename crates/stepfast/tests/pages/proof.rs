//! Tests by their names, as `cargo nextest list` prints them: whether there is such a one.

use super::root;
use std::path::{Path, PathBuf};

/// Whether there is a test of this name: the binary, a space, and the path within it.
pub fn is_there(proof: &str) -> bool {
    let Some((binary, path)) = proof.split_once(' ') else { return false };
    let mut modules: Vec<&str> = path.split("::").collect();
    let name = modules.pop().unwrap_or_default();
    files(binary, &modules).iter().any(|file| tests(file, name))
}

/// The folder of a package of ours, by its name.
fn package(name: &str) -> PathBuf {
    match name {
        "xtask" | "stepfast" => root().join(if name == "xtask" { "xtask" } else { "crates/stepfast" }),
        _ => root().join("crates").join(name.trim_start_matches("stepfast-")),
    }
}

/// The files in which a test of a binary may stand.
fn files(binary: &str, modules: &[&str]) -> Vec<PathBuf> {
    let (package_name, target) = binary.split_once("::").unwrap_or((binary, "bin/"));
    let folder = package(package_name);
    if !target.starts_with("bin/") {
        let tests = folder.join("tests");
        let below = tests.join(target).join(modules.join("/"));
        return match modules.is_empty() {
            true => vec![tests.join(format!("{target}.rs")), tests.join(target).join("main.rs")],
            false => vec![
                below.with_extension("rs"),
                below.join("mod.rs"),
                tests.join(modules.join("/")).join("mod.rs"),
            ],
        };
    }
    let within = |modules: &[&str]| {
        let path = folder.join("src").join(modules.join("/"));
        [path.with_extension("rs"), path.join("mod.rs")]
    };
    let inner = modules.strip_suffix(&["tests"]).unwrap_or(modules);
    within(modules).into_iter().chain(within(inner)).collect()
}

/// Whether a file has this test, and not only its name.
pub fn tests(file: &Path, name: &str) -> bool {
    let Ok(text) = std::fs::read_to_string(file) else { return false };
    let lines: Vec<&str> = text.lines().collect();
    let named =
        |line: &str| line.trim_start().trim_start_matches("async ").starts_with(&format!("fn {name}("));
    let at = lines.iter().position(|line| named(line));
    at.is_some_and(|at| {
        let above = lines[..at].iter().rev().take_while(|line| line.trim_start().starts_with(['#', '/']));
        above
            .into_iter()
            .any(|line| line.trim_start().starts_with("#[test]") || line.contains("#[tokio::test"))
    })
}
