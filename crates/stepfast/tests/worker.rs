//! Workers in processes of their own, which die, stall and lose their server.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Home, Server, get, post, until};
use engine::Stopwatch;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A process that dies with the test.
struct Process(Child);

impl Process {
    fn signal(&self, name: &str) {
        let done =
            Command::new("kill").args([&format!("-{name}"), &self.0.id().to_string()]).status().unwrap();
        assert!(done.success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn python(server: &Server) -> Process {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/worker.py");
    let mut command = Command::new("python3");
    command.arg(script).arg(&server.url).stdout(Stdio::null()).stderr(Stdio::inherit());
    Process(command.spawn().expect("python3 is there"))
}

/// The same server again: on the same port, as its workers know it.
fn serve_on(home: &Home, port: &str) -> Server {
    let mut command = home.command(&["serve", "--port", port, "--workers", "0"]);
    command.env("RUST_LOG", "off");
    Server::spawn(command)
}

fn port_of(server: &Server) -> String {
    server.url.rsplit(':').next().unwrap().into()
}

/// Steps that each write one line of a file.
fn record(server: &Server, file: &Path, lines: std::ops::Range<usize>) {
    let steps: Vec<Value> = lines
        .map(|n| json!({"action": "record", "arguments": {"file": file, "line": n.to_string()}}))
        .collect();
    let (status, answer) = post(&format!("{}/v1/steps", server.url), &json!({"steps": steps}));
    assert_eq!(status, 201, "{answer}");
}

fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file).unwrap_or_default().lines().count()
}

fn effects(home: &Home) -> PathBuf {
    home.dir.path().join("effects")
}

fn all_completed(home: &Home) -> bool {
    home.states().iter().all(|state| state == "completed")
}

/// Every line once, and no step ran more often than `attempts` allows.
fn done_once(home: &Home, n: usize, attempts: impl Fn(u64) -> bool) {
    let text = std::fs::read_to_string(effects(home)).unwrap();
    let mut seen: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..n).collect::<Vec<_>>());
    for row in home.json(&["steps", "list", "--all", "--json"]) {
        assert!(attempts(row["attempt"].as_u64().unwrap()), "{row}");
    }
    home.ok(&["check"]);
}

#[test]
fn a_worker_keeps_what_it_holds_while_its_server_is_killed_twenty_times() {
    let home = Home::new();
    let mut server = home.serve(&["--workers", "0"]);
    let port = port_of(&server);
    let worker = python(&server);
    const STEPS: usize = 420;
    record(&server, &effects(&home), 0..STEPS);
    for kill in 1..=20 {
        until("some more is done", || lines(&effects(&home)) >= kill * 15);
        server.kill();
        server = serve_on(&home, &port);
    }
    until("everything is done", || lines(&effects(&home)) == STEPS && all_completed(&home));
    done_once(&home, STEPS, |attempt| attempt == 1);
    drop(worker);
    server.stop();
}

#[test]
fn what_killed_workers_held_is_run_by_the_next() {
    let home = Home::new();
    let server = home.serve(&["--workers", "0"]);
    const STEPS: usize = 420;
    record(&server, &effects(&home), 0..STEPS);
    for kill in 1..=20 {
        let worker = python(&server);
        until("some more is done", || lines(&effects(&home)) >= kill * 15);
        drop(worker);
    }
    let worker = python(&server);
    until("everything is done", || lines(&effects(&home)) == STEPS && all_completed(&home));
    done_once(&home, STEPS, |attempt| attempt <= 3);
    drop(worker);
    server.stop();
}

#[test]
fn a_worker_that_stood_still_beyond_its_lease_gives_one_result() {
    let home = Home::new();
    let server = home.serve(&["--workers", "0"]);
    let stalled = worker(&home, &server);
    let (status, created) = post(
        &format!("{}/v1/steps", server.url),
        &json!({"steps": [{"action": "sleep", "arguments": {"ms": 300}}]}),
    );
    assert_eq!(status, 201, "{created}");
    let url = format!("{}/v1/steps/{}", server.url, created["steps"][0]["id"].as_str().unwrap());
    until("it runs", || get(&url).1["state"] == "running");
    stalled.signal("STOP");
    let other = worker(&home, &server);
    until("another has done it", || get(&url).1["state"] == "completed");
    stalled.signal("CONT");
    until("the late result is on record", || get(&url).1["late_reports"] == 1);
    let step = get(&url).1;
    assert_eq!(
        (&step["state"], &step["attempt"], &step["lost_attempts"]),
        (&json!("completed"), &json!(2), &json!(1))
    );
    home.ok(&["check"]);
    drop((stalled, other));
    server.stop();
}

fn worker(home: &Home, server: &Server) -> Process {
    worker_as(home, server, &["--concurrency", "4"])
}

fn worker_as(home: &Home, server: &Server, flags: &[&str]) -> Process {
    let mut command = home.command(&["worker"]);
    command.args(flags);
    let mut child = command.env("STEPFAST_SERVER", &server.url).stdout(Stdio::piped()).spawn().unwrap();
    let line = common::first_line(child.stdout.take().unwrap());
    assert!(line.starts_with("working for http://"), "{line}");
    Process(child)
}

#[test]
fn a_worker_that_is_told_a_second_time_waits_for_no_job() {
    let home = Home::new();
    let server = home.serve(&["--workers", "0"]);
    let mut command = home.command(&["worker"]);
    command.env("STEPFAST_SERVER", &server.url).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut worker = Process(command.spawn().unwrap());
    home.ok(&["steps", "create", "--action", "sleep", "--arguments", "{\"ms\": 3600000}"]);
    until("it runs", || home.states() == ["running"]);
    let watch = Stopwatch::start();
    worker.signal("TERM");
    let mut said = BufReader::new(worker.0.stderr.take().unwrap()).lines();
    let line = said.next().unwrap().unwrap();
    assert!(line.starts_with("stopping: ") && line.ends_with("once more stops at once"), "{line}");
    worker.signal("TERM");
    assert!(worker.0.wait().unwrap().success(), "it stops in good order");
    assert!(watch.elapsed() < Duration::from_secs(10), "it took {:?}", watch.elapsed());
    let row = &home.json(&["steps", "list", "--all", "--json"])[0];
    assert_eq!((&row["state"], &row["lost_attempts"]), (&json!("pending"), &json!(0)), "{row}");
    home.ok(&["check"]);
    server.stop();
}

/// An ordinary stop told workers that their session was over, and none of them asked for work again.
#[test]
fn a_worker_outlives_a_server_that_stops_in_good_order() {
    let home = Home::new();
    let mut server = home.serve(&["--workers", "0"]);
    let port = port_of(&server);
    let worker = worker(&home, &server);
    for round in 1..=3 {
        let steps: Vec<Value> =
            (0..20).map(|_| json!({"action": "sleep", "arguments": {"ms": 20}})).collect();
        assert_eq!(post(&format!("{}/v1/steps", server.url), &json!({"steps": steps})).0, 201);
        until("some are done", || {
            home.states().iter().filter(|s| *s == "completed").count() > (round - 1) * 20 + 4
        });
        server.stop();
        server = serve_on(&home, &port);
        until("all are done", || home.states().len() == round * 20 && all_completed(&home));
    }
    for row in home.json(&["steps", "list", "--all", "--json"]) {
        assert_eq!((&row["attempt"], &row["lost_attempts"]), (&json!(1), &json!(0)), "{row}");
    }
    home.ok(&["check"]);
    drop(worker);
    server.stop();
}

#[test]
fn a_worker_command_works_and_stops_in_good_order() {
    let home = Home::new();
    let server = home.serve(&["--workers", "0"]);
    let mut worker = worker(&home, &server);
    let steps: Vec<Value> = (0..100).map(|n| json!({"action": "echo", "arguments": {"n": n}})).collect();
    assert_eq!(post(&format!("{}/v1/steps", server.url), &json!({"steps": steps})).0, 201);
    until("everything is done", || all_completed(&home));
    worker.signal("TERM");
    assert!(worker.0.wait().unwrap().success());
    home.ok(&["check"]);
    server.stop();
}

/// What lives of its workers: the queues of each session, and the steps it takes at once.
fn sessions(server: &Server) -> Vec<String> {
    let (status, page) = get(&format!("{}/v1/nodes", server.url));
    assert_eq!(status, 200, "{page}");
    let nodes = page["nodes"].as_array().unwrap().iter();
    let sessions = nodes.flat_map(|node| node["sessions"].as_array().unwrap());
    let live = sessions.filter(|session| session["live"] == true);
    let mut all: Vec<String> = live.map(|s| format!("{} {}", s["queues"], s["capacity"])).collect();
    all.sort();
    all
}

#[test]
fn a_worker_command_serves_each_queue_with_its_own_limit() {
    let home = Home::new();
    let file = home.dir.path().join("stepfast.toml");
    std::fs::write(
        &file,
        "queues = [\"email\", \"reports\"]\n[worker]\nprefetch = 2\n[worker.queues]\nreports = 3\n",
    )
    .unwrap();
    let server = home.serve(&["--workers", "0"]);
    let mut flags =
        worker_as(&home, &server, &["--queue", "email=4", "--queue", "reports=1", "--prefetch", "1"]);
    assert_eq!(sessions(&server), [r#"["email"] 5"#, r#"["priority"] 5"#, r#"["reports"] 2"#]);
    let queues = ["email", "reports", "priority"].into_iter().cycle();
    let steps: Vec<Value> = queues.take(60).map(|queue| json!({"action": "echo", "queue": queue})).collect();
    assert_eq!(post(&format!("{}/v1/steps", server.url), &json!({"steps": steps})).0, 201);
    until("everything is done", || all_completed(&home));
    flags.signal("TERM");
    assert!(flags.0.wait().unwrap().success());
    assert!(sessions(&server).is_empty(), "every desk has left");
    let filed = worker_as(&home, &server, &[]);
    assert_eq!(sessions(&server), [r#"["priority"] 5"#, r#"["reports"] 5"#]);
    home.ok(&["check"]);
    drop(filed);
    server.stop();
}

#[test]
fn a_worker_with_limits_that_cannot_be_is_told_what_to_write() {
    let home = Home::new();
    let refused = |code: i32, flags: &[&str], part: &str| {
        let told = home.fails(code, &[&["worker", "--server", "http://127.0.0.1:9"], flags].concat());
        assert!(told.contains(part), "{flags:?}: {told}");
    };
    refused(2, &["--queue", "email"], "how many of its jobs run at once, 1 to 10000, as email=4");
    refused(2, &["--queue", "email=x"], "as email=4");
    refused(2, &["--queue", "email=0"], "write 1 to 10000, as email=4, or leave it out");
    refused(2, &["--prefetch", "some"], "--prefetch");
    refused(3, &["--queue", "email=1,email=2"], "write --queue email=N once");
    refused(3, &["--queue", "email=1", "--queues", "email"], "leave it out of --queues");
    let file = home.dir.path().join("stepfast.toml");
    std::fs::write(&file, "[worker]\nprefech = 1\n").unwrap();
    refused(3, &[], "worker.prefech is not a setting; did you mean `prefetch`?");
    std::fs::write(&file, "[worker.queues]\nemail = 0\n").unwrap();
    refused(3, &[], "worker.queues: `email` would run no job");
}

#[test]
fn a_worker_without_a_server_says_what_is_missing() {
    let home = Home::new();
    let told = home.fails(3, &["worker"]);
    assert!(told.contains("--server http://127.0.0.1:7837"), "{told}");
    let told = home.fails(4, &["worker", "--server", "http://127.0.0.1:9"]);
    assert!(told.contains("gives no work"), "{told}");
}

#[test]
fn how_far_a_worker_is_stands_in_what_the_command_shows() {
    let home = Home::new();
    let server = home.serve(&["--workers", "0"]);
    let made = home.ok(&["steps", "create", "--action", "copy"]);
    let (id, url) = (made.trim(), |call: &str| format!("{}/v1/worker/{call}", server.url));
    let (_, page) = post(&url("claim"), &json!({"actions": ["copy"], "wait_ms": 5000}));
    let beat = json!({
        "session": page["session"], "received": page["number"], "held": [{"step": id, "attempt": 1}],
        "progress": [{"step": id, "attempt": 1, "done": 3, "of": 8, "word": "files"}],
    });
    assert_eq!(post(&url("heartbeat"), &beat), (200, json!({"lease_ms": 15000, "lost": []})));
    let shown = home.ok(&["steps", "show", id]);
    assert!(shown.contains("\nprogress           3 of 8 files (37 %)\n"), "{shown}");
    assert_eq!(home.json(&["steps", "show", id, "--json"])[0]["progress"]["done"], 3);
    server.kill();
    assert!(!home.ok(&["steps", "show", id]).contains("progress"), "it is gone with the node that knew it");
}
