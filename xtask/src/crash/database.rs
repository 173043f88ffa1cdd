//! The database of a round, asked through the command line.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;
use tokio::process::Command;
use tokio::time::timeout;

const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// The most that `list` tells at once, and how often it is asked for more.
const PAGE: usize = 1_000;
const PAGES_MAX: usize = 1_000;

pub struct Database {
    binary: PathBuf,
    url: String,
}

/// A step as `steps list --all --json` tells it.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    pub id: String,
    pub state: String,
    pub attempt: u64,
    pub lost_attempts: u64,
    pub late_reports: u64,
    pub action: String,
    pub step_key: Option<String>,
    pub parent_step_id: Option<String>,
    /// None where it belongs to no workflow.
    pub workflow_id: Option<String>,
    pub response: Option<Value>,
}

/// A workflow as `list --json` tells it.
#[derive(Clone, Debug, Deserialize)]
pub struct WorkflowRow {
    pub id: String,
    pub state: String,
    /// The step that started it.
    pub parent_step_id: Option<String>,
}

impl Row {
    pub fn is_terminal(&self) -> bool {
        let terminal = ["completed", "skipped", "cancelled", "failed", "stopped", "timed_out", "superseded"];
        terminal.contains(&self.state.as_str())
    }
}

impl Database {
    pub fn sqlite(binary: &Path, directory: &Path) -> Database {
        Database::at(binary, format!("sqlite:{}", directory.join("crash.db").display()))
    }

    pub fn at(binary: &Path, url: String) -> Database {
        Database { binary: binary.to_owned(), url }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub async fn steps(&self) -> Result<Vec<Row>> {
        self.list(&[]).await
    }

    /// Steps that are not at an end, and dormant resolvers.
    pub async fn live(&self) -> Result<Vec<Row>> {
        self.list(&["--state", "pending,dispatched,running,polling,not_runnable"]).await
    }

    async fn list(&self, which: &[&str]) -> Result<Vec<Row>> {
        self.told(&[&["steps", "list", "--all", "--json"], which].concat()).await
    }

    /// Newest first, also those that steps of others started.
    pub async fn workflows(&self) -> Result<Vec<WorkflowRow>> {
        let mut found: Vec<WorkflowRow> = Vec::new();
        for _ in 0..PAGES_MAX {
            let limit = PAGE.to_string();
            let mut question = vec!["list", "--nested", "--json", "--limit", &limit];
            if let Some(last) = found.last() {
                question.extend(["--after", &last.id]);
            }
            let page: Vec<WorkflowRow> = self.told(&question).await?;
            let is_last = page.len() < PAGE;
            found.extend(page);
            if is_last {
                return Ok(found);
            }
        }
        bail!("there are more than {} workflows", PAGE * PAGES_MAX)
    }

    /// Some of the workflows that are not over, if there are any.
    pub async fn live_workflows(&self) -> Result<Vec<WorkflowRow>> {
        self.told(&["list", "--nested", "--json", "--state", "pending,running,paused"]).await
    }

    pub async fn nodes(&self) -> Result<Vec<NodeRow>> {
        self.told(&["nodes", "--json"]).await
    }

    /// What it answers in lines of JSON.
    async fn told<T: DeserializeOwned>(&self, question: &[&str]) -> Result<Vec<T>> {
        let output = self.ask(question).await?;
        let line = question.join(" ");
        ensure!(output.status.success(), "`{line}` failed: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout);
        rows(&text.with_context(|| format!("`{line}` did not answer with text"))?)
    }

    /// Every invariant of the engine, as it checks them itself.
    pub async fn check(&self) -> Result<()> {
        let output = self.ask(&["check", "--json"]).await?;
        let (told, error) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "`check` ended with {}:\n{told}{error}", output.status);
        Ok(())
    }

    async fn ask(&self, question: &[&str]) -> Result<Output> {
        let line = question.join(" ");
        let mut command = Command::new(&self.binary);
        command.args(question).args(["--db", &self.url]).kill_on_drop(true);
        let answer = timeout(ANSWER_LIMIT, command.output()).await;
        let answer =
            answer.with_context(|| format!("`{line}` did not end within {} s", ANSWER_LIMIT.as_secs()))?;
        answer.with_context(|| format!("could not start `{line}`"))
    }
}

/// A node as `nodes --json` tells it.
#[derive(Clone, Debug, Deserialize)]
pub struct NodeRow {
    pub url: Option<String>,
    pub dispatch_groups: Vec<String>,
}

fn rows<T: DeserializeOwned>(text: &str) -> Result<Vec<T>> {
    let row = |line| serde_json::from_str(line).with_context(|| format!("a row came as the line {line}"));
    text.lines().filter(|line| !line.is_empty()).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::{Row, rows};

    #[test]
    fn a_line_is_a_step() {
        let text = r#"{"id":"a","state":"timed_out","attempt":2,"lost_attempts":1,"late_reports":0,"action":"noop","label":null}"#;
        let rows: Vec<Row> = rows(text).unwrap();
        assert!(rows[0].is_terminal() && rows[0].attempt == 2 && rows[0].lost_attempts == 1);
    }

    #[test]
    fn a_strange_line_is_told() {
        assert!(rows::<Row>("{}").unwrap_err().to_string().contains("came as the line {}"));
    }
}
