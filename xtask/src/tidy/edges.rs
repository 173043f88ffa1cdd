//! Dependencies between the crates point one way.

use super::Finding;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs;
use std::path::Path;

enum May {
    Use(&'static [&'static str]),
    UseAnythingBut(&'static [&'static str]),
}

/// What each crate may build on. Tests may use anything, so dev-dependencies are not looked at.
const EDGES: [(&str, May); 15] = [
    ("model", May::Use(&[])),
    ("expr", May::Use(&[])),
    ("rules", May::Use(&["model", "expr"])),
    ("definition", May::Use(&["model", "expr", "rules"])),
    ("store", May::Use(&["model", "rules"])),
    ("transport", May::Use(&["model"])),
    ("transport-sqs", May::Use(&["transport"])),
    ("router", May::Use(&["transport"])),
    ("engine", May::Use(&["model", "rules", "store", "transport"])),
    ("wire", May::Use(&[])),
    ("worker", May::Use(&["model", "engine", "wire"])),
    ("server", May::Use(&["model", "definition", "engine", "store", "wire"])),
    ("testkit", May::UseAnythingBut(&[])),
    ("stepfast", May::UseAnythingBut(&["testkit"])),
    ("xtask", May::Use(&[])),
];

pub fn find(metadata: &Value, root: &Path) -> Result<Vec<Finding>> {
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let mut findings = Vec::new();
    for package in packages {
        let name = short(package["name"].as_str().context("a package has no name")?);
        let manifest = Path::new(package["manifest_path"].as_str().context("a package has no manifest")?);
        let path = manifest.strip_prefix(root).unwrap_or(manifest);
        let text = fs::read_to_string(manifest).unwrap_or_default();
        for message in complaints(name, &used(package)) {
            let line = line_of(&text, &message.about);
            findings.push(Finding { path: path.to_owned(), line, message: message.text });
        }
    }
    Ok(findings)
}

struct Complaint {
    about: String,
    text: String,
}

fn complaints(name: &str, used: &[&str]) -> Vec<Complaint> {
    let Some((_, may)) = EDGES.iter().find(|(known, _)| *known == name) else {
        let text = format!("crate `{name}` has no row in the table of edges of `xtask tidy`");
        return vec![Complaint { about: name.into(), text }];
    };
    let allowed = |other: &&&str| match may {
        May::Use(list) => list.contains(*other),
        May::UseAnythingBut(list) => !list.contains(*other),
    };
    let forbidden = used.iter().filter(|other| !allowed(other));
    forbidden
        .map(|other| Complaint {
            about: other.to_string(),
            text: format!("`{name}` may not depend on `{other}`"),
        })
        .collect()
}

/// The workspace crates a package builds on; those have a path, the others come from a registry.
fn used(package: &Value) -> Vec<&str> {
    let all = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let built_on = all.iter().filter(|other| other["path"].is_string() && other["kind"] != "dev");
    built_on.filter_map(|other| other["name"].as_str()).map(short).collect()
}

fn short(name: &str) -> &str {
    name.strip_prefix("stepfast-").unwrap_or(name)
}

/// The line of the manifest that names the crate, short or in full.
fn line_of(manifest: &str, name: &str) -> usize {
    let full = format!("stepfast-{name}");
    let names = |line: &str| {
        let key = line.split(['.', '=', ' ']).next().unwrap_or_default();
        key == name || key == full
    };
    manifest.lines().position(names).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::{find, line_of};
    use serde_json::json;
    use std::path::Path;

    fn found(name: &str, on: &str, kind: Option<&str>) -> Vec<String> {
        let metadata = json!({ "packages": [{
            "name": name,
            "manifest_path": format!("/repo/crates/{name}/Cargo.toml"),
            "dependencies": [
                { "name": "serde", "kind": null },
                { "name": on, "kind": kind, "path": "/repo/crates/other" },
            ],
        }] });
        find(&metadata, Path::new("/repo")).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_forbidden_edge_is_told() {
        let told = ["crates/stepfast-rules/Cargo.toml:1: `rules` may not depend on `store`"];
        assert_eq!(found("stepfast-rules", "stepfast-store", None), told);
        assert_eq!(found("stepfast-rules", "stepfast-store", Some("build")), told);
        assert_eq!(found("stepfast", "stepfast-testkit", None).len(), 1);
        assert_eq!(found("xtask", "stepfast-model", None).len(), 1);
    }

    #[test]
    fn an_allowed_edge_passes() {
        assert!(found("stepfast-rules", "stepfast-model", None).is_empty());
        assert!(found("stepfast-rules", "stepfast-testkit", Some("dev")).is_empty());
        assert!(found("stepfast-transport-sqs", "stepfast-transport", None).is_empty());
        assert!(found("stepfast-testkit", "stepfast-server", None).is_empty());
        assert!(found("stepfast", "stepfast-server", None).is_empty());
    }

    #[test]
    fn an_unknown_crate_is_told() {
        let told = found("stepfast-teleport", "stepfast-model", None);
        assert!(told[0].contains("crate `teleport` has no row in the table"), "{told:?}");
    }

    #[test]
    fn the_line_of_a_dependency_is_found() {
        let manifest = "[dependencies]\nstored = \"1\"\nstore.workspace = true\n";
        assert_eq!(line_of(manifest, "store"), 3);
        assert_eq!(line_of(manifest, "engine"), 1);
    }
}
