//! LLVM's tools that read the counts: those that belong to the compiler, or Debian's.

use crate::suite::apt;
use crate::{repo, shell};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The newest of Debian's that reads what the compiler writes.
const DEBIAN: &str = "19";

pub struct Tools {
    profdata: PathBuf,
    cov: PathBuf,
}

impl Tools {
    pub fn find_or_install() -> Result<Tools> {
        if let Some(tools) = Tools::of_compiler()?.or_else(Tools::of_debian) {
            return Ok(tools);
        }
        eprintln!("LLVM's tools are missing, installing the component `llvm-tools`");
        if shell::run(Command::new("rustup").args(["component", "add", "llvm-tools"])).is_err() {
            apt("LLVM", &[&format!("llvm-{DEBIAN}")])?;
        }
        let installed = Tools::of_compiler()?.or_else(Tools::of_debian);
        installed.context("`llvm-profdata` and `llvm-cov` were installed and are not there")
    }

    fn of_compiler() -> Result<Option<Tools>> {
        let asked =
            Command::new("rustc").args(["--print", "target-libdir"]).current_dir(repo::root()).output();
        let asked = asked.context("could not start `rustc`")?;
        ensure!(asked.status.success(), "`rustc --print target-libdir` ended with {}", asked.status);
        let libraries = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim());
        let folder = libraries.with_file_name("bin");
        Ok(Tools { profdata: folder.join("llvm-profdata"), cov: folder.join("llvm-cov") }.if_there())
    }

    fn of_debian() -> Option<Tools> {
        let program = |name: &str| PathBuf::from(format!("/usr/bin/{name}-{DEBIAN}"));
        Tools { profdata: program("llvm-profdata"), cov: program("llvm-cov") }.if_there()
    }

    fn if_there(self) -> Option<Tools> {
        (self.profdata.is_file() && self.cov.is_file()).then_some(self)
    }

    /// All counts of the folder in one file.
    pub fn merge(&self, counts: &Path) -> Result<PathBuf> {
        let merged = counts.join("merged.profdata");
        let entries = fs::read_dir(counts).with_context(|| format!("could not read {}", counts.display()))?;
        let raw: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "profraw"))
            .collect();
        ensure!(!raw.is_empty(), "the tests wrote no counts into {}", counts.display());
        shell::run(Command::new(&self.profdata).args(["merge", "--sparse", "-o"]).arg(&merged).args(raw))?;
        Ok(merged)
    }

    /// The counts of the files below a folder, by file and line.
    pub fn export(&self, merged: &Path, binaries: &[PathBuf], folder: &Path) -> Result<String> {
        let (first, others) = binaries.split_first().context("there are no test binaries")?;
        let mut command = Command::new(&self.cov);
        command.args(["export", "--format=lcov", "--instr-profile"]).arg(merged).arg(first);
        for binary in others {
            command.arg("--object").arg(binary);
        }
        command.arg("--sources").arg(folder);
        let output = command.output().context("could not start `llvm-cov`")?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`llvm-cov export` ended with {}: {error}", output.status);
        String::from_utf8(output.stdout).context("`llvm-cov export` did not answer with text")
    }
}
