//! Sees that what the tests need is on this machine, and installs what it can.

use crate::{repo, shell};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

const ACTIVEMQ: &str = "/usr/share/activemq/bin/activemq.jar";
const MINISTACK: &str = "1.5.33";
const SCHEMATHESIS: &str = "4.32.0";

pub fn run() -> Result<()> {
    c_compiler()?;
    component("rustfmt", "fmt")?;
    component("clippy", "clippy")?;
    nextest()?;
    postgres()?;
    faketime()?;
    tools()?;
    chromium()?;
    promtool()?;
    activemq()?;
    ministack()?;
    schemathesis()
}

/// SQLite is built from source.
fn c_compiler() -> Result<()> {
    if shell::answers(Command::new("cc").arg("--version")) {
        return Ok(());
    }
    apt("a C compiler (`cc`)", &["gcc", "libc6-dev"])
}

fn component(name: &str, subcommand: &str) -> Result<()> {
    if shell::answers(&mut repo::cargo(&[subcommand, "--version"])) {
        return Ok(());
    }
    shell::run(Command::new("rustup").args(["component", "add", name]))
        .with_context(|| format!("`cargo {subcommand}` is missing; install the component `{name}`"))
}

fn nextest() -> Result<()> {
    if shell::answers(&mut repo::cargo(&["nextest", "--version"])) {
        return Ok(());
    }
    shell::run(&mut repo::cargo(&["install", "cargo-nextest", "--locked"]))
        .context("`cargo nextest` is missing and could not be installed")
}

/// Every stage is set up on both databases.
fn postgres() -> Result<()> {
    if crate::postgres::binaries().is_ok() {
        return Ok(());
    }
    apt("PostgreSQL", &["postgresql"])
}

/// A node of the crash rounds has a wrong clock.
fn faketime() -> Result<()> {
    if crate::crash::faketime().is_some() {
        return Ok(());
    }
    apt("libfaketime", &["faketime"])
}

/// The example worker is in Python, and documents show `curl`.
fn tools() -> Result<()> {
    for program in ["python3", "curl"] {
        if !on_path(program) {
            apt(program, &[program])?;
        }
    }
    Ok(())
}

/// Pages are tested in a real browser.
fn chromium() -> Result<()> {
    let there = ["chromium", "chromium-browser"].into_iter().any(on_path);
    if there { Ok(()) } else { apt("Chromium (`chromium` or `chromium-browser`)", &["chromium"]) }
}

/// Metrics are tested with Prometheus's own tool.
fn promtool() -> Result<()> {
    if on_path("promtool") { Ok(()) } else { apt("promtool", &["prometheus"]) }
}

/// Transports are tested on a real broker.
fn activemq() -> Result<()> {
    if !on_path("java") {
        apt("Java", &["default-jre-headless"])?;
    }
    if Path::new(ACTIVEMQ).is_file() { Ok(()) } else { apt("ActiveMQ", &["activemq"]) }
}

/// And on a server that speaks Amazon SQS, where the tests look for it.
fn ministack() -> Result<()> {
    python("ministack", MINISTACK)
}

/// The API is asked for whatever its document allows.
pub fn schemathesis() -> Result<()> {
    python("schemathesis", SCHEMATHESIS)
}

/// A package in a Python of its own beside the build.
fn python(package: &str, version: &str) -> Result<()> {
    let folder = repo::target_directory()?.join(package);
    let mark = folder.join("installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == version) {
        return Ok(());
    }
    if !shell::answers(Command::new("python3").args(["-c", "import ensurepip, venv"])) {
        apt("Python's venv", &["python3-venv"])?;
    }
    let pinned = format!("{package}=={version}");
    shell::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    shell::run(Command::new(folder.join("bin/pip")).args(["install", "--quiet", &pinned]))
        .with_context(|| format!("{pinned} is missing and could not be installed"))?;
    fs::write(&mark, version).with_context(|| format!("could not write {}", mark.display()))
}

/// Looked up and not started: a browser may refuse to run as this user and still serve the tests.
fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Installs Debian's packages, or says which ones are needed.
pub fn apt(what: &str, packages: &[&str]) -> Result<()> {
    if !is_debian() || !is_root() {
        bail!("{what} is missing; install it (on Debian: `apt-get install {}`)", packages.join(" "));
    }
    eprintln!("{what} is missing, installing {}", packages.join(" "));
    shell::run(apt_get().arg("update"))?;
    shell::run(apt_get().args(["install", "-y", "--no-install-recommends"]).args(packages))
        .with_context(|| format!("{what} is missing and could not be installed"))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn is_debian() -> bool {
    Path::new("/etc/debian_version").exists()
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::on_path;

    #[test]
    fn programs_are_looked_up_on_the_path() {
        assert!(on_path("sh"));
        assert!(!on_path("no-such-program-here"));
    }
}
