//! A server under test: one process, where it stands, its log, and the ways to trouble and to end it.

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
const WORKERS: u64 = 64;
const TAIL_LINES: usize = 15;

/// Where a server stands and what it does there.
#[derive(Clone, Debug)]
pub struct Post {
    /// Jobs at once.
    pub workers: u64,
    /// Seen by the others as on another machine: they cannot tell that its process is gone.
    pub far: bool,
    /// The library that sets its clock wrong, and by how much.
    pub clock: Option<(PathBuf, &'static str)>,
}

impl Default for Post {
    fn default() -> Post {
        Post { workers: WORKERS, far: false, clock: None }
    }
}

impl Post {
    fn command(&self, binary: &Path) -> Command {
        let mut command = if self.far {
            // A view of processes of its own is what makes a machine, as far as a node can tell.
            let mut command = Command::new("unshare");
            command.args(["--pid", "--fork", "--kill-child", "--"]).arg(binary);
            command
        } else {
            Command::new(binary)
        };
        if let Some((library, offset)) = &self.clock {
            // Only the time of day is wrong; no machine's steady clock jumps.
            command.env("LD_PRELOAD", library).env("FAKETIME", offset);
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
        }
        command
    }
}

pub struct Server {
    child: Child,
    /// The server itself; the child may be what keeps it apart.
    id: u32,
    /// Kept open: a server whose standard output is closed may fail to write to it.
    _stdout: Lines<BufReader<ChildStdout>>,
    pub address: String,
    log: PathBuf,
}

impl Server {
    /// Start it on a free port and wait until it says where it listens.
    pub async fn start(binary: &Path, database: &str, post: &Post, log: PathBuf) -> Result<Server> {
        let file = File::create(&log).with_context(|| format!("could not create {}", log.display()))?;
        let mut child = post
            .command(binary)
            .args(["serve", "--db", database, "--port", "0", "--workers", &post.workers.to_string()])
            .env("RUST_LOG", "info,worker=debug")
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
        let id = child.id().context("the server ended as soon as it was ready")?;
        let id = if post.far { only_child(id)? } else { id };
        Ok(Server { child, id, _stdout: lines, address, log })
    }

    async fn signal(&mut self, name: &str) -> Result<()> {
        if let Some(status) = self.child.try_wait().context("could not look at the server")? {
            bail!("the server ended by itself with {status}{}", tail(&self.log));
        }
        let sent = Command::new("kill").args([&format!("-{name}"), &self.id.to_string()]).status().await;
        ensure!(sent.context("could not start `kill`")?.success(), "could not send SIG{name} to the server");
        Ok(())
    }

    /// It does nothing until it is let go on.
    pub async fn freeze(&mut self) -> Result<()> {
        self.signal("STOP").await
    }

    pub async fn thaw(&mut self) -> Result<()> {
        self.signal("CONT").await
    }

    /// SIGKILL, no warning. A server that is already gone has failed by itself.
    pub async fn kill(mut self) -> Result<()> {
        self.signal("KILL").await?;
        self.child.wait().await.context("could not wait for the killed server")?;
        Ok(())
    }

    /// SIGTERM, and a clean end within the limit.
    pub async fn stop(mut self) -> Result<()> {
        self.signal("TERM").await?;
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

fn only_child(id: u32) -> Result<u32> {
    let path = format!("/proc/{id}/task/{id}/children");
    let text = fs::read_to_string(&path).with_context(|| format!("could not read {path}"))?;
    text.trim().parse().with_context(|| format!("{path} holds `{text}`"))
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
