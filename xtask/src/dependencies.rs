//! Looks at what we build on: where it comes from, under which licence, what is banned, and what runs while it is built.
//!
//! Why    `deny.toml` is the one list, in the words of cargo-deny. What can be read from the lock files is checked here, on every
//!        machine and without a network; only known advisories need cargo-deny and its database, and it is said when they were
//!        not looked at.

mod licence;
mod policy;

use crate::{repo, shell};
use anyhow::{Context, Result, bail};
use policy::Policy;
use serde_json::Value;
use std::collections::BTreeSet;

/// Each has a lock file of its own.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "fuzz/Cargo.toml"];

pub fn run() -> Result<()> {
    let path = repo::root().join("deny.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let policy: Policy = toml::from_str(&text).context("deny.toml is not understood")?;
    let mut findings = BTreeSet::new();
    for manifest in MANIFESTS {
        for target in &policy.graph.targets {
            let found = find(&policy, &graph(manifest, target)?)?;
            findings.extend(found.into_iter().map(|finding| format!("{manifest}: {finding}")));
        }
    }
    for finding in &findings {
        eprintln!("{finding}");
    }
    if !findings.is_empty() {
        bail!("deny.toml forbids what is named above");
    }
    eprintln!(
        "licences, bans, sources and build scripts: held against deny.toml, for {}",
        MANIFESTS.join(" and ")
    );
    advisories()
}

/// Everything that is built for a target with all features, as the lock file says.
fn graph(manifest: &str, target: &str) -> Result<Value> {
    let arguments =
        ["metadata", "--format-version", "1", "--locked", "--all-features", "--filter-platform", target];
    let output = repo::cargo(&arguments)
        .args(["--manifest-path", manifest])
        .output()
        .context("could not start `cargo metadata`")?;
    anyhow::ensure!(
        output.status.success(),
        "`cargo metadata` of {manifest} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("`cargo metadata` did not answer with JSON")
}

/// What of it the policy does not allow.
fn find(policy: &Policy, metadata: &Value) -> Result<Vec<String>> {
    let nodes = metadata["resolve"]["nodes"].as_array().context("`cargo metadata` resolved nothing")?;
    let built: BTreeSet<&str> = nodes.iter().filter_map(|node| node["id"].as_str()).collect();
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let packages: Vec<&Value> =
        packages.iter().filter(|p| p["id"].as_str().is_some_and(|id| built.contains(id))).collect();
    let mut findings = Vec::new();
    for package in &packages {
        let name = package["name"].as_str().context("a package has no name")?;
        let version = package["version"].as_str().unwrap_or_default();
        let told = faults(policy, name, package).into_iter();
        findings.extend(told.map(|fault| format!("{name} {version}: {fault}")));
    }
    for name in policy.single() {
        let versions: Vec<&str> = packages
            .iter()
            .filter(|package| package["name"] == name)
            .filter_map(|package| package["version"].as_str())
            .collect();
        if versions.len() > 1 {
            findings
                .push(format!("{name}: there may be one version, and there are {}", versions.join(" and ")));
        }
    }
    Ok(findings)
}

/// What is wrong with one package; our own have no source, and only their names are looked at.
fn faults(policy: &Policy, name: &str, package: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(why) = policy.banned(name) {
        faults.push(format!("it is banned: {why}"));
    }
    let Some(source) = package["source"].as_str() else { return faults };
    if !policy.takes_from(source) {
        faults.push(format!("it comes from {source}; take it from a registry that deny.toml lists"));
    }
    match package["license"].as_str() {
        None => faults.push("it names no licence".into()),
        Some(text) if !licence::is_met(text, &|word| policy.allows(name, word)) => {
            faults.push(format!("its licence `{text}` is not one that deny.toml allows"));
        }
        Some(_) => {}
    }
    let kinds =
        package["targets"].as_array().into_iter().flatten().flat_map(|target| target["kind"].as_array());
    if kinds.flatten().any(|kind| kind == "custom-build") && !policy.may_run(name) {
        faults.push("it has a build script; read it, and name the crate under `allow-build-scripts`".into());
    }
    faults
}

/// What is known against a version, where somebody can tell.
fn advisories() -> Result<()> {
    const INSTALL: &str = "cargo install cargo-deny --locked --version 0.20.2";
    if !shell::answers(&mut repo::cargo(&["deny", "--version"])) {
        return unknown(&format!("cargo-deny is not installed; `{INSTALL}` takes about eight minutes"));
    }
    if !shell::answers(&mut repo::cargo(&["deny", "fetch", "db"])) {
        return unknown("the advisory database could not be fetched");
    }
    for manifest in MANIFESTS {
        let arguments = ["deny", "--locked", "--manifest-path", manifest, "check", "--config", "deny.toml"];
        shell::run(repo::cargo(&arguments).args(["--disable-fetch", "advisories"]))?;
    }
    eprintln!("advisories: looked up by cargo-deny, for {}", MANIFESTS.join(" and "));
    Ok(())
}

/// What could not be looked at is no finding, and is not called well either.
fn unknown(why: &str) -> Result<()> {
    eprintln!("advisories: NOT CHECKED on this machine, because {why}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const POLICY: &str = r#"
        [graph]
        targets = ["x"]
        [licenses]
        allow = ["MIT", "Apache-2.0"]
        exceptions = [{ crate = "odd", allow = ["NCSA"] }]
        [bans]
        deny = [
          { crate = "openssl-sys", reason = "TLS is rustls alone" },
          { crate = "libsqlite3-sys", deny-multiple-versions = true },
        ]
        [bans.build]
        allow-build-scripts = ["ring"]
        [sources]
        allow-registry = ["https://github.com/rust-lang/crates.io-index"]
    "#;
    const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

    fn package(name: &str, licence: &str, source: &str, kind: &str) -> Value {
        json!({"id": format!("{name} {licence}"), "name": name, "version": "1.0.0", "license": licence, "source": source,
               "targets": [{"kind": [kind]}]})
    }

    fn found(packages: Vec<Value>) -> Vec<String> {
        let nodes: Vec<Value> = packages.iter().map(|package| json!({"id": package["id"]})).collect();
        let policy = toml::from_str(POLICY).unwrap();
        find(&policy, &json!({"packages": packages, "resolve": {"nodes": nodes}})).unwrap()
    }

    #[test]
    fn what_is_allowed_is_not_told() {
        let own = json!({"id": "own", "name": "own", "version": "0.1.0", "license": null, "source": null, "targets": []});
        let good = vec![
            package("a", "MIT/Apache-2.0", REGISTRY, "lib"),
            package("odd", "(MIT OR GPL-3.0) AND NCSA", REGISTRY, "lib"),
            package("ring", "Apache-2.0", REGISTRY, "custom-build"),
            package("libsqlite3-sys", "MIT", REGISTRY, "lib"),
            own,
        ];
        assert_eq!(found(good), [""; 0]);
    }

    #[test]
    fn whatever_is_planted_is_found() {
        let planted = |package: Value| found(vec![package]).join("\n");
        let banned = planted(package("openssl-sys", "MIT", REGISTRY, "lib"));
        assert_eq!(banned, "openssl-sys 1.0.0: it is banned: TLS is rustls alone");
        let git = planted(package("a", "MIT", "git+https://github.com/a/a", "lib"));
        assert!(git.starts_with("a 1.0.0: it comes from git+https://github.com/a/a"), "{git}");
        let other = planted(package("a", "MIT", "registry+https://evil.example/index", "lib"));
        assert!(other.contains("it comes from registry+https://evil.example/index"), "{other}");
        let licence = planted(package("a", "MIT AND GPL-3.0", REGISTRY, "lib"));
        assert_eq!(licence, "a 1.0.0: its licence `MIT AND GPL-3.0` is not one that deny.toml allows");
        assert!(
            planted(package("a", "NCSA", REGISTRY, "lib")).contains("NCSA"),
            "an exception is for one crate"
        );
        let script = planted(package("a", "MIT", REGISTRY, "custom-build"));
        assert!(script.contains("it has a build script; read it"), "{script}");
        let mut second = package("libsqlite3-sys", "MIT", REGISTRY, "lib");
        (second["id"], second["version"]) = ("another".into(), "2.0.0".into());
        let two = found(vec![package("libsqlite3-sys", "MIT", REGISTRY, "lib"), second]);
        assert_eq!(two, ["libsqlite3-sys: there may be one version, and there are 1.0.0 and 2.0.0"]);
    }

    #[test]
    fn the_list_of_the_repository_is_understood() {
        let text = std::fs::read_to_string(repo::root().join("deny.toml")).unwrap();
        let policy: Policy = toml::from_str(&text).unwrap();
        assert!(policy.banned("openssl-sys").is_some() && policy.banned("libsqlite3-sys").is_none());
        assert_eq!(policy.single().collect::<Vec<_>>(), ["libsqlite3-sys"]);
        assert!(policy.allows("a", "MIT") && !policy.allows("a", "GPL-3.0"));
        assert!(!policy.takes_from("git+https://github.com/a/a"));
    }
}
