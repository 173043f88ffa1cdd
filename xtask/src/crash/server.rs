//! The server under test: one process, its log, and the two ways to end it.

use super::database::Database;
use anyhow::{Context, Result, bail, ensure};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

const READY_LIMIT: Duration = Duration::from_secs(30);
const END_LIMIT: Duration = Duration::from_secs(30);
/// Jobs at once; the sleeping ones must not hold up the others.
const WORKERS: &str = "64";
const TAIL_LINES: usize = 15;

pub struct Server {
    child: Child,
    /// Kept open: a server whose standard output is closed may fail to write to it.
    _stdout: Lines<BufReader<ChildStdout>>,
    pub address: String,
    log: PathBuf,
}

impl Server {
    /// Start it on a free port and wait until it says where it listens.
    pub async fn start(binary: &Path, database: &Database, log: PathBuf) -> Result<Server> {
        let file = File::create(&log).with_context(|| format!("could not create {}", log.display()))?;
        let mut child = Command::new(binary)
            .args(["serve", "--db", database.url(), "--port", "0", "--workers", WORKERS])
            .env("RUST_LOG", "warn,worker=debug")
            .env("NO_COLOR", "1")
            .env("STEPFAST_HISTORY", "full")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("could not start {}", binary.display()))?;
        let stdout = child.stdout.take().context("the server has no standard output")?;
        let mut lines = BufReader::new(stdout).lines();
        let address = match timeout(READY_LIMIT, ready(&mut lines)).await {
            Ok(Some(address)) => address,
            Ok(None) => bail!("the server ended before it was ready{}", tail(&log)),
            Err(_) => bail!("the server was not ready within {} s{}", READY_LIMIT.as_secs(), tail(&log)),
        };
        Ok(Server { child, _stdout: lines, address, log })
    }

    /// SIGKILL, no warning. A server that is already gone has failed by itself.
    pub async fn kill(mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait().context("could not look at the server")? {
            bail!("the server ended by itself with {status}{}", tail(&self.log));
        }
        self.child.kill().await.context("could not kill the server")
    }

    /// SIGTERM, and a clean end within the limit.
    pub async fn stop(mut self) -> Result<()> {
        let id = self.child.id().context("the server ended by itself")?;
        let sent = Command::new("kill").args(["-TERM", &id.to_string()]).status().await;
        ensure!(sent.context("could not start `kill`")?.success(), "could not send SIGTERM to the server");
        match timeout(END_LIMIT, self.child.wait()).await {
            Ok(status) => {
                let status = status.context("could not wait for the server")?;
                ensure!(status.success(), "the server answered SIGTERM with {status}{}", tail(&self.log));
                Ok(())
            }
            Err(_) => bail!("the server did not end within {} s of SIGTERM", END_LIMIT.as_secs()),
        }
    }
}

async fn ready(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<String> {
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(address) = listening(&line) {
            return Some(address);
        }
    }
    None
}

fn listening(line: &str) -> Option<String> {
    let (_, address) = line.split_once("listening on http://")?;
    let address = address.split_whitespace().next()?.trim_end_matches('/');
    Some(format!("http://{address}"))
}

/// The last lines of the log, to stand below an error.
fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains("effect step=")).collect();
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    last.iter().map(|line| format!("\n    {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::listening;

    #[test]
    fn the_address_is_read_from_the_line() {
        assert_eq!(listening("listening on http://127.0.0.1:7837").unwrap(), "http://127.0.0.1:7837");
        assert_eq!(
            listening("stepfast: listening on http://127.0.0.1:1/ now").unwrap(),
            "http://127.0.0.1:1"
        );
        assert_eq!(listening("opening the database"), None);
    }
}
