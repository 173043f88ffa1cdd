//! Refuses what the compiler lets pass: one small rule per file, each naming file and line.

mod doubts;
mod edges;
mod functions;
mod headers;
mod ignored;
mod mask;
mod purity;
mod sizes;
mod sleeps;
pub mod source;
mod sql;
mod walk;

use crate::repo;
use anyhow::{Result, bail};
use source::Source;
use std::fmt;
use std::path::{Path, PathBuf};

/// One breach of one rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub path: PathBuf,
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.message)
    }
}

/// Rules over one Rust file.
const RUST_RULES: [fn(&Source) -> Vec<Finding>; 7] = [
    sizes::find,
    functions::find,
    headers::find,
    purity::find,
    ignored::find,
    doubts::find_in_rust,
    sleeps::find,
];

/// Rules over one SQL file.
const SQL_RULES: [fn(&Path, &str) -> Vec<Finding>; 2] = [sql::find, doubts::find_in_sql];

pub fn run() -> Result<()> {
    let root = repo::root();
    let mut findings = edges::find(&repo::metadata()?, root)?;
    for (path, text) in walk::files(root, "rs")? {
        let source = Source::new(path, &text);
        findings.extend(RUST_RULES.iter().flat_map(|rule| rule(&source)));
    }
    for (path, text) in walk::files(root, "sql")? {
        findings.extend(SQL_RULES.iter().flat_map(|rule| rule(&path, &text)));
    }
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => bail!("tidy has 1 finding"),
        n => bail!("tidy has {n} findings"),
    }
}

/// Where a rule found something in planted text, as `line: message`, for the tests of the rules.
#[cfg(test)]
fn told(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{}: {}", finding.line, finding.message)).collect()
}
