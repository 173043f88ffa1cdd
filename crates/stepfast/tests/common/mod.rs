//! The real binary, run as a person would run it.
#![allow(dead_code, clippy::unwrap_used)]

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use store::postgres::Scratch;

pub struct Home {
    pub dir: tempfile::TempDir,
    scratch: Option<Scratch>,
}

/// A database of one's own on the server that the tests were given.
pub fn scratch(server: &str) -> Scratch {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let n = MADE.fetch_add(1, Ordering::Relaxed);
    Scratch::new(server, &format!("cli_{}_{n}", std::process::id())).unwrap()
}

impl Home {
    pub fn new() -> Home {
        let scratch = std::env::var("STEPFAST_TEST_POSTGRES").ok().map(|server| scratch(&server));
        Home { dir: tempfile::tempdir().unwrap(), scratch }
    }
    pub fn db(&self) -> PathBuf {
        self.dir.path().join("steps.db")
    }
    /// Where it is, for an engine in the process of the test.
    pub fn database(&self) -> String {
        let file = || format!("sqlite:{}", self.db().display());
        self.scratch.as_ref().map_or_else(file, |scratch| scratch.url.clone())
    }
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = command(&self.db(), args);
        if let Some(scratch) = &self.scratch {
            command.env("STEPFAST_DB", &scratch.url);
        }
        command
    }
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }
    /// Run, expect success, and give its standard output.
    pub fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{args:?} ended with {}: {out}{err}", output.status);
        out
    }
    /// Run, expect this exit code, and give both outputs.
    pub fn fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        let all = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {all}");
        all
    }
    pub fn json(&self, args: &[&str]) -> Vec<Value> {
        self.ok(args).lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }
    pub fn states(&self) -> Vec<String> {
        let rows = self.json(&["steps", "list", "--all", "--json"]);
        rows.iter().map(|r| r["state"].as_str().unwrap().to_string()).collect()
    }
    pub fn serve(&self, args: &[&str]) -> Server {
        let mut command = self.command(&["serve", "--port", "0"]);
        command.args(args);
        Server::spawn(command)
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn command(db: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stepfast"));
    command.args(args).env("STEPFAST_DB", format!("sqlite:{}", db.display())).env("STEPFAST_HISTORY", "full");
    command
        .env_remove("STEPFAST_SERVER")
        .env_remove("STEPFAST_KEY")
        .env_remove("PORT")
        .current_dir(db.parent().unwrap());
    command
}

pub struct Server {
    pub child: Child,
    pub url: String,
}

impl Server {
    pub fn spawn(mut command: Command) -> Server {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let line = first_line(child.stdout.take().unwrap());
        let url = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap_or_else(|| panic!("it said {line:?}"))
            .to_string();
        Server { child, url }
    }
    pub fn signal(&self, name: &str) {
        let done =
            Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(done.success());
    }
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
    /// Ask it to stop and wait until it did.
    pub fn stop(mut self) {
        self.signal("TERM");
        assert!(self.child.wait().unwrap().success(), "it stops in good order");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn first_line(from: impl std::io::Read) -> String {
    let mut line = String::new();
    BufReader::new(from).read_line(&mut line).unwrap();
    line
}

/// Look until it is so; the thing that is waited for ends the wait, not the clock.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..2_000 {
        if is_so() {
            return;
        }
        std::thread::yield_now();
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
    panic!("it never came to be that {what}");
}

pub fn get(url: &str) -> (u16, Value) {
    call(|http| http.get(url))
}

pub fn post(url: &str, body: &Value) -> (u16, Value) {
    call(|http| http.post(url).json(body))
}

/// For plain addresses.
pub fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only([]).build().unwrap()
}

fn call(request: impl FnOnce(&reqwest::Client) -> reqwest::RequestBuilder) -> (u16, Value) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let http = client();
    runtime.block_on(async {
        match request(&http).send().await {
            Ok(answer) => (answer.status().as_u16(), answer.json().await.unwrap_or(Value::Null)),
            Err(_) => (0, Value::Null),
        }
    })
}
