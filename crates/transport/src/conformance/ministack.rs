//! A real server that speaks Amazon SQS, from the Python package that `cargo xtask test` installs beside the build.

use super::process::{Process, free_port};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::{Instant, interval};

const PROGRAM: &str = "ministack/bin/ministack";
const START_MAX: Duration = Duration::from_secs(60);

pub struct MiniStack {
    directory: TempDir,
    port: u16,
    process: Process,
}

impl MiniStack {
    pub async fn start() -> MiniStack {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let server = MiniStack { directory, port: free_port(), process: Process::none() };
        server.up().await;
        server
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub async fn up(&self) {
        let base = self.directory.path();
        let log = fs::File::create(base.join("log")).expect("a file can be written");
        self.process.spawn(
            Command::new(program())
                .env("BIND_HOST", "127.0.0.1")
                .env("GATEWAY_PORT", self.port.to_string())
                .env("SERVICES", "sqs")
                .env("STATE_DIR", base.join("state"))
                .env("PERSIST_STATE", "1")
                .env("TMPDIR", base)
                .current_dir(base)
                .stdout(log.try_clone().expect("a file can be opened twice"))
                .stderr(log),
        );
        let started_at = Instant::now();
        let mut ticks = interval(Duration::from_millis(50));
        while !self.is_healthy() {
            let log = || fs::read_to_string(base.join("log")).unwrap_or_default();
            if let Some(status) = self.process.ended() {
                panic!("MiniStack ended with {status}: {}", log());
            }
            assert!(started_at.elapsed() < START_MAX, "MiniStack does not answer: {}", log());
            ticks.tick().await;
        }
    }

    /// It writes its messages down when it is told to stop, and only then.
    pub fn stop(&self) {
        self.process.stop();
    }

    /// A FIFO queue of this name; its address.
    pub fn make_queue(&self, name: &str) -> String {
        let body = format!(r#"{{"QueueName":"{name}","Attributes":{{"FifoQueue":"true"}}}}"#);
        let made = self.answers_ok(&format!(
            "POST / HTTP/1.0\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.CreateQueue\r\n\
             Content-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        assert!(made, "a server that runs makes the queue {name}");
        format!("sqs+{}/000000000000/{name}?region=us-east-1", self.endpoint())
    }

    fn is_healthy(&self) -> bool {
        self.answers_ok("GET /_ministack/health HTTP/1.0\r\nHost: localhost\r\n\r\n")
    }

    fn answers_ok(&self, request: &str) -> bool {
        let ask = || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(request.as_bytes())?;
            let mut answer = [0; 12];
            stream.read_exact(&mut answer)?;
            std::io::Result::Ok(answer.ends_with(b"200"))
        };
        ask().unwrap_or(false)
    }
}

/// It stands in the directory that cargo builds into, as this test does.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    let found = test.ancestors().map(|folder| folder.join(PROGRAM)).find(|path| path.is_file());
    found.expect("MiniStack is not installed; `cargo xtask test` installs it")
}
