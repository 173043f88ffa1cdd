//! How many lines of `crates/rules` the tests of it and of the testkit reach, and which ones they do not; and of the parts on which
//! most hangs, whether it is all of them.
//!
//! Why    the rules are pure, so every line of them can be tested; a line that no test reaches is a rule that nobody has tried.

mod critical;
mod lcov;
mod tests_only;
mod tools;

use crate::postgres::{Durability, Postgres};
use crate::{repo, shell};
use anyhow::{Context, Result, ensure};
use lcov::FileLines;
use serde_json::Value;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tools::Tools;

const MEASURED: &str = "crates/rules/src";
/// Measured for the part of it on which much hangs.
const BESIDE: &str = "crates/server/src";
const PACKAGES: [&str; 6] =
    ["--package", "stepfast-rules", "--package", "stepfast-testkit", "--package", "stepfast-server"];
/// Of the server only what looks at who sends something.
const WITHOUT_SERVER: &str = "not (package(stepfast-testkit) and binary(postgres))
                              and (not package(stepfast-server) or test(trigger))";
/// Two nodes share a database only on a server.
const WITH_SERVER: &str = "package(stepfast-testkit) and binary(postgres)";
const PERCENT_MIN: f64 = 95.0;
/// Files that tests which end at the same moment write their counts into.
const POOL: u32 = 4;

pub fn run() -> Result<()> {
    let tools = Tools::find_or_install()?;
    let folder = repo::target_directory()?.join("coverage");
    let counts = fresh(&folder.join("counts"))?;
    let build = Build { compiler: compiler(&folder)?, counts };
    let binaries = build.binaries()?;
    build.test()?;
    let merged = tools.merge(&build.counts)?;
    let counted = |folder: &str| {
        let folder = repo::root().join(folder);
        let report = tools.export(&merged, &binaries, &folder)?;
        tests_only::left_out(lcov::read(&report, repo::root()), &folder)
    };
    let (rules, beside) = (counted(MEASURED)?, counted(BESIDE)?);
    conclude(&rules)?;
    critical::conclude(&[rules, beside].concat())
}

/// What is counted, and how it is built.
struct Build {
    /// Stands before the real one.
    compiler: PathBuf,
    counts: PathBuf,
}

impl Build {
    fn nextest(&self, verb: &str) -> Command {
        let mut command = repo::cargo(&["nextest", verb]);
        command.args(PACKAGES).env("RUSTC_WORKSPACE_WRAPPER", &self.compiler);
        command.env("LLVM_PROFILE_FILE", self.counts.join(format!("%{POOL}m.profraw")));
        command
    }

    fn test(&self) -> Result<()> {
        shell::run(self.nextest("run").args(["-E", WITHOUT_SERVER]))?;
        let server = Postgres::start(Durability::Process)?;
        let mut command = self.nextest("run");
        shell::run(command.args(["-E", WITH_SERVER]).env("STEPFAST_TEST_POSTGRES", &server.url))
    }

    /// The test binaries, which say what the counts are about.
    fn binaries(&self) -> Result<Vec<PathBuf>> {
        let mut command = self.nextest("list");
        command.args(["--list-type", "binaries-only", "--message-format", "json"]);
        let output = command.stderr(std::process::Stdio::inherit()).output();
        let output = output.context("could not start `cargo nextest list`")?;
        ensure!(output.status.success(), "`cargo nextest list` ended with {}", output.status);
        let list: Value =
            serde_json::from_slice(&output.stdout).context("`cargo nextest list` told no JSON")?;
        let binaries = list["rust-binaries"].as_object().context("`cargo nextest list` names no binaries")?;
        let path = |binary: &Value| binary["binary-path"].as_str().map(PathBuf::from);
        binaries.values().map(|binary| path(binary).context("a test binary has no path")).collect()
    }
}

/// Cargo knows it by its name alone, so that belongs to the text: what was built by another text is not found again.
fn compiler(folder: &Path) -> Result<PathBuf> {
    let text = include_str!("coverage/rustc.sh");
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let path = folder.join(format!("rustc-{:016x}.sh", hasher.finish()));
    let write = || {
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
    };
    write().with_context(|| format!("could not write {}", path.display()))?;
    Ok(path)
}

/// An empty folder: counts of an earlier run are of another build.
fn fresh(folder: &Path) -> Result<PathBuf> {
    let make = || {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)
    };
    make().with_context(|| format!("could not empty {}", folder.display()))?;
    Ok(folder.to_owned())
}

fn conclude(files: &[FileLines]) -> Result<()> {
    let lines: usize = files.iter().map(|file| file.counts.len()).sum();
    let reached: usize = files.iter().map(FileLines::reached).sum();
    ensure!(lines > 0, "no line of {MEASURED} was counted");
    for file in files.iter().filter(|file| file.reached() < file.counts.len()) {
        println!("{}: not reached: {}", file.path.display(), file.unreached());
    }
    let percent = 100.0 * reached as f64 / lines as f64;
    println!("coverage: {reached} of {lines} lines of {MEASURED}, {percent:.2} %");
    ensure!(
        percent >= PERCENT_MIN,
        "{percent:.2} % is less than {PERCENT_MIN} %; test the lines named above, or delete them"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::conclude;
    use super::lcov::FileLines;

    fn file(reached: u32, unreached: u32) -> FileLines {
        let counts = (0..reached + unreached).map(|line| (line, u64::from(line < reached))).collect();
        FileLines { path: "crates/rules/src/a.rs".into(), counts }
    }

    #[test]
    fn too_little_is_refused() {
        conclude(&[file(94, 6), file(96, 4)]).unwrap();
        let told = conclude(&[file(94, 6), file(95, 5)]).unwrap_err().to_string();
        assert!(told.starts_with("94.50 % is less than 95 %"), "{told}");
    }

    #[test]
    fn nothing_counted_is_refused() {
        assert!(conclude(&[]).unwrap_err().to_string().starts_with("no line of"));
    }
}
