//! The server as a process: killed, stopped, and out of room.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Home, get, post, until};
use engine::Stopwatch;
use serde_json::json;
use std::process::Command;
use std::time::Duration;

/// Half of what jobs are given to finish.
const GRACE: Duration = Duration::from_secs(10);

#[test]
fn a_killed_server_loses_nothing_and_starts_again_at_once() {
    let home = Home::new();
    let server = home.serve(&[]);
    let steps: Vec<_> = (0..200).map(|_| json!({"action": "sleep", "arguments": {"ms": 200}})).collect();
    let (status, made) = post(&format!("{}/v1/steps", server.url), &json!({"steps": steps}));
    assert_eq!((status, made["steps"].as_array().unwrap().len()), (201, 200));
    until("some run", || home.states().contains(&"running".to_string()));
    server.kill();
    let server = home.serve(&[]);
    until("all end", || home.states().iter().all(|s| s == "completed"));
    let rows = home.json(&["steps", "list", "--all", "--json"]);
    assert!(rows.iter().any(|r| r["lost_attempts"].as_i64() > Some(0)), "a lost attempt is on record");
    assert!(rows.iter().all(|r| r["failed_attempts"].as_i64() == Some(0)), "and costs no attempt");
    home.ok(&["check"]);
    server.stop();
}

#[test]
fn a_stopped_server_lets_jobs_finish() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.ok(&["steps", "create", "--action", "sleep", "--arguments", "{\"ms\": 800}"]);
    until("it runs", || home.states() == ["running"]);
    server.stop();
    let row = &home.json(&["steps", "list", "--all", "--json"])[0];
    assert_eq!(
        (row["state"].as_str(), row["attempt"].as_i64(), row["lost_attempts"].as_i64()),
        (Some("completed"), Some(1), Some(0))
    );
    home.ok(&["check"]);
}

#[test]
fn a_server_that_waits_for_jobs_to_finish_is_not_ready() {
    let home = Home::new();
    let server = home.serve(&[]);
    let ready = format!("{}/readyz", server.url);
    assert_eq!(get(&ready).0, 200);
    home.ok(&["steps", "create", "--action", "sleep", "--arguments", "{\"ms\": 3000}"]);
    until("it runs", || home.states() == ["running"]);
    let asked = std::thread::spawn(move || {
        until("it says that it stops", || {
            let (status, answer) = get(&ready);
            status == 503 && answer["detail"].as_str().is_some_and(|why| why.contains("it is stopping"))
        });
    });
    server.stop();
    asked.join().unwrap();
    assert_eq!(home.states(), ["completed"]);
}

#[test]
fn a_server_that_is_told_a_second_time_waits_for_no_job() {
    let home = Home::new();
    let mut server = home.serve(&[]);
    home.ok(&["steps", "create", "--action", "sleep", "--arguments", "{\"ms\": 3600000}"]);
    until("it runs", || home.states() == ["running"]);
    let watch = Stopwatch::start();
    server.signal("TERM");
    let ready = format!("{}/readyz", server.url);
    until("it says that it stops", || get(&ready).1["detail"].to_string().contains("it is stopping"));
    server.signal("INT");
    assert!(server.child.wait().unwrap().success(), "it stops in good order");
    assert!(watch.elapsed() < GRACE, "it took {:?}", watch.elapsed());
    let row = &home.json(&["steps", "list", "--all", "--json"])[0];
    assert_eq!((row["state"].as_str(), row["lost_attempts"].as_i64()), (Some("pending"), Some(0)), "{row}");
    home.ok(&["check"]);
}

#[test]
fn a_cancelled_job_reports_late_and_changes_nothing() {
    let home = Home::new();
    let server = home.serve(&[]);
    let id = home.ok(&["steps", "create", "--action", "sleep", "--arguments", "{\"ms\": 600}"]);
    until("it runs", || home.states() == ["running"]);
    home.ok(&["steps", "cancel", id.trim(), "--why", "changed my mind"]);
    until("its report came late", || {
        home.json(&["steps", "list", "--all", "--json"])[0]["late_reports"].as_i64() == Some(1)
    });
    assert_eq!(home.states(), ["cancelled"]);
    let (_, shown) = get(&format!("{}/v1/steps/{}", server.url, id.trim()));
    assert!(shown.to_string().contains("late"), "{shown}");
    home.ok(&["check"]);
    server.stop();
}

/// A small file system that is thrown away with the test.
struct SmallDisk<'a>(&'a std::path::Path);

impl<'a> SmallDisk<'a> {
    fn mount(path: &'a std::path::Path, size: &str) -> SmallDisk<'a> {
        mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], path);
        SmallDisk(path)
    }
    fn grow(&self, size: &str) {
        mount(&["-o", &format!("remount,size={size}")], self.0);
    }
}

fn mount(args: &[&str], path: &std::path::Path) {
    let done = Command::new("mount").args(args).arg(path).status().unwrap();
    assert!(done.success(), "mounting a small file system needs root");
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_refuses_clearly_and_recovers_when_there_is_room() {
    let home = Home::new();
    let disk = SmallDisk::mount(home.dir.path(), "6m");
    let server = home.serve(&["--workers", "0"]);
    let filler = "x".repeat(20_000);
    let url = format!("{}/v1/steps", server.url);
    let steps: Vec<_> = (0..10).map(|_| json!({"action": "noop", "arguments": {"x": filler}})).collect();
    let mut acknowledged = 0;
    let refused = loop {
        let (status, answer) = post(&url, &json!({"steps": steps}));
        if status != 201 {
            break (status, answer);
        }
        acknowledged += 10;
        assert!(acknowledged < 10_000, "the disk never filled");
    };
    assert_eq!(refused.0, 503, "{refused:?}");
    assert!(refused.1["detail"].as_str().unwrap().contains("nothing was stored"), "{refused:?}");
    // A small write may still fit and turn it green again; what does not fit turns it red.
    until("it says that it is not ready", || {
        let (status, _) = post(&url, &json!({"steps": steps}));
        acknowledged += if status == 201 { 10 } else { 0 };
        status == 503 && get(&format!("{}/readyz", server.url)).0 == 503
    });
    assert_eq!(get(&format!("{}/livez", server.url)).0, 200);
    disk.grow("200m");
    until("it takes work again", || post(&url, &json!({"steps": [{"action": "noop"}]})).0 == 201);
    until("it says so", || get(&format!("{}/readyz", server.url)).0 == 200);
    let stored = home.states().len();
    assert_eq!(stored, acknowledged + 1, "all that was acknowledged is stored, and nothing that was refused");
    home.ok(&["check"]);
    server.stop();
}

/// The kernel refuses every write to these files from now on, also through files that are already open.
fn read_only(yes: bool, dir: &std::path::Path) {
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| !path.to_string_lossy().ends_with("-shm"));
    let done = Command::new("chattr").arg(if yes { "+i" } else { "-i" }).args(files).status().unwrap();
    assert!(done.success(), "making files immutable needs root");
}

#[test]
fn a_place_that_turns_read_only_refuses_clearly_and_recovers() {
    let home = Home::new();
    let server = home.serve(&[]);
    let url = format!("{}/v1/steps", server.url);
    let noop = json!({"steps": [{"action": "noop"}]});
    assert_eq!(post(&url, &noop).0, 201);
    read_only(true, home.dir.path());
    let refused = post(&url, &noop);
    let ready = get(&format!("{}/readyz", server.url));
    let alive = get(&format!("{}/livez", server.url));
    read_only(false, home.dir.path());
    assert_eq!(refused.0, 503, "{refused:?}");
    assert!(refused.1["detail"].as_str().unwrap().contains("nothing was stored"), "{refused:?}");
    assert_eq!(ready.0, 503, "{ready:?}");
    assert_eq!(alive.0, 200, "{alive:?}");
    until("it takes work again", || post(&url, &noop).0 == 201);
    until("it says so", || get(&format!("{}/readyz", server.url)).0 == 200);
    until("both are done", || home.states().iter().all(|state| state == "completed"));
    assert_eq!(home.states().len(), 2, "what was refused is not there");
    home.ok(&["check"]);
    server.stop();
}

#[test]
fn a_read_only_place_is_told_at_the_start() {
    let home = Home::new();
    let _disk = SmallDisk::mount(home.dir.path(), "6m");
    mount(&["-o", "remount,ro"], home.dir.path());
    let told = home.fails(4, &["serve", "--port", "0"]);
    assert!(told.contains("Read-only file system") || told.contains("read-only"), "{told}");
}
