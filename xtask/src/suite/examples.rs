//! Runs every script of `examples/`, and `run.sh` of every folder in it, against a freshly built binary.

use crate::postgres::Postgres;
use crate::repo;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An example is for reading; one that needs longer than this is stuck.
const LIMIT: Duration = Duration::from_secs(120);

/// On files of their own, or each on a database of its own on the given server.
pub fn run(server: Option<&Postgres>) -> Result<()> {
    let scripts = scripts(&repo::root().join("examples"))?;
    let binary = repo::program()?;
    let runtime = tokio::runtime::Runtime::new().context("could not start a runtime for the examples")?;
    for (n, script) in scripts.iter().enumerate() {
        eprintln!("-- {}", script.strip_prefix(repo::root()).unwrap_or(script).display());
        let database = server.map(|server| server.database(&format!("example_{n}"))).transpose()?;
        runtime.block_on(run_script(script, &binary, database.as_deref()))?;
    }
    Ok(())
}

/// The scripts in order of name; none at all is a mistake, not a success.
fn scripts(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        std::fs::read_dir(directory).with_context(|| format!("could not read {}", directory.display()))?;
    let mut scripts = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("could not read {}", directory.display()))?.path();
        let path = if path.is_dir() { path.join("run.sh") } else { path };
        if path.is_file() && path.extension().is_some_and(|extension| extension == "sh") {
            scripts.push(path);
        }
    }
    ensure!(!scripts.is_empty(), "there is no script in {}", directory.display());
    scripts.sort();
    Ok(scripts)
}

async fn run_script(script: &Path, binary: &Path, database: Option<&str>) -> Result<()> {
    let directory = tempfile::tempdir().context("could not make a temporary directory")?;
    let mut command = tokio::process::Command::new("sh");
    command
        .arg("-eu")
        .arg(script)
        .env("STEPFAST_BIN", binary)
        .env_remove("STEPFAST_DB")
        .current_dir(directory.path())
        .kill_on_drop(true);
    if let Some(database) = database {
        command.env("STEPFAST_DB", database);
    }
    let mut child = command.spawn().with_context(|| format!("could not start {}", script.display()))?;
    match tokio::time::timeout(LIMIT, child.wait()).await {
        Err(_) => bail!("{} did not end within {} s", script.display(), LIMIT.as_secs()),
        Ok(status) => {
            let status = status.with_context(|| format!("could not wait for {}", script.display()))?;
            ensure!(status.success(), "{} ended with {status}", script.display());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{run_script, scripts};
    use std::path::Path;

    #[test]
    fn a_folder_without_scripts_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("notes.txt"), "").unwrap();
        let error = scripts(directory.path()).unwrap_err().to_string();
        assert!(error.starts_with("there is no script in"), "{error}");
    }

    #[tokio::test]
    async fn a_script_sees_the_binary_and_fails_at_its_first_failure() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("example.sh");
        std::fs::write(&script, "test \"$STEPFAST_BIN\" = here\nfalse\ntrue\n").unwrap();
        let error = run_script(&script, Path::new("here"), None).await.unwrap_err().to_string();
        assert!(error.contains("exit status: 1"), "{error}");
        std::fs::write(&script, "test \"$STEPFAST_BIN\" = here\n").unwrap();
        run_script(&script, Path::new("here"), None).await.unwrap();
    }
}
