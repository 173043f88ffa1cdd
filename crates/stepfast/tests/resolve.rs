//! What a person decides about workflows that failed, on the command line: of one, of many, written and asked for.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Home, Server, until};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;

/// Two steps that can be undone, and one that fails.
const ORDER: &str = "workflow: order
version: 1.0.0
steps:
  - { key: reserve, action: echo, compensation: { action: echo } }
  - { key: charge, action: echo, compensation: { action: echo } }
  - { key: ship, action: fail, arguments: { message: no parcel } }
";
/// The same, but the first cannot be undone.
const STUCK: &str = "workflow: stuck
version: 1.0.0
steps:
  - { key: reserve, action: echo, compensation: { action: fail, retry: { attempts: 1 } } }
  - { key: charge, action: echo, compensation: { action: echo } }
  - { key: ship, action: fail }
";

struct Desk {
    home: Home,
    server: Server,
}

impl Desk {
    fn new() -> Desk {
        let home = Home::new();
        let server = home.serve(&[]);
        for (name, text) in [("order.yaml", ORDER), ("stuck.yaml", STUCK)] {
            let path = home.dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            home.ok(&["apply", path.to_str().unwrap()]);
        }
        Desk { home, server }
    }
    fn shown(&self, id: &str) -> Value {
        self.home.json(&["show", id, "--json"])[0].clone()
    }
    fn state(&self, id: &str) -> String {
        self.shown(id)["state"].as_str().unwrap().into()
    }
    fn waits_for(&self, id: &str, state: &str) {
        until(&format!("it is {state}"), || self.state(id) == state);
    }
    /// One that has failed.
    fn failed(&self, workflow: &str) -> String {
        let id = self.home.ok(&["start", workflow]).trim().to_string();
        self.waits_for(&id, "failed");
        id
    }
    /// How often each step was begun, as `ship 2`.
    fn runs(&self, id: &str) -> Vec<String> {
        let shown = self.shown(id);
        let steps = shown["steps"].as_array().unwrap();
        steps.iter().map(|s| format!("{} {}", s["key"].as_str().unwrap(), s["run"])).collect()
    }
    fn decided(&self, id: &str) -> Vec<String> {
        let shown = self.shown(id);
        let all = shown["resolutions"].as_array().cloned().unwrap_or_default();
        let told =
            |d: &Value| format!("{} by {}", d["decision"].as_str().unwrap(), d["by"].as_str().unwrap());
        all.iter().map(told).collect()
    }
    fn end(self) {
        self.server.stop();
        self.home.ok(&["check"]);
    }
}

#[test]
fn a_decision_is_tried_taken_and_on_record() {
    let desk = Desk::new();
    let id = desk.failed("order");
    let dry = desk.home.ok(&["resolve", &id, "--decision", "retry", "--dry-run"]);
    assert!(dry.contains("would go: failed -> running"), "{dry}");
    assert!(dry.contains("step `ship` is done again"), "{dry}");
    assert!(desk.decided(&id).is_empty(), "nothing was decided");
    let went = desk.home.ok(&["resolve", &id, "--decision", "retry", "--by", "ada", "--why", "try it"]);
    assert!(went.contains("went: failed -> running"), "{went}");
    until("it failed again", || desk.state(&id) == "failed" && desk.runs(&id).contains(&"ship 2".into()));
    assert_eq!(desk.decided(&id), ["retry by ada"]);
    let stale =
        desk.home.fails(3, &["resolve", &id, "--decision", "cancel", "--if-revision", "1", "--why", "x"]);
    assert!(stale.contains("has changed since"), "{stale}");
    let strange = desk.home.fails(3, &["resolve", &id, "--decision", "forget"]);
    assert!(strange.contains("--decision: `forget` is none; write retry"), "{strange}");
    let none = desk.home.fails(3, &["resolve", &id, "--decision", "retry", "--items", "failed"]);
    assert!(none.contains("has items that failed"), "{none}");
    let word = desk.home.fails(3, &["resolve", &id, "--decision", "retry", "--items", "some"]);
    assert!(word.contains("--items: `some` is none; write failed or all"), "{word}");
    desk.home.ok(&["resolve", &id, "--decision", "mark_resolved", "--by", "ada", "--why", "x"]);
    let over = desk.home.fails(3, &["resolve", &id, "--decision", "retry"]);
    assert!(over.contains("marked as resolved"), "{over}");
    desk.end();
}

#[test]
fn it_is_done_again_from_a_step() {
    let desk = Desk::new();
    let id = desk.failed("order");
    let dry = desk.home.ok(&["retry-from", &id, "charge", "--dry-run"]);
    assert!(dry.contains("step `charge` is done again") && dry.contains("may have been done"), "{dry}");
    desk.home.ok(&["retry-from", &id, "charge"]);
    until("it failed again", || desk.state(&id) == "failed" && desk.runs(&id).contains(&"charge 2".into()));
    assert!(desk.runs(&id).contains(&"reserve 1".into()), "what is before it stays");
    desk.home.ok(&["retry-from", &id, "reserve", "--compensate", "--include-step", "--why", "x"]);
    until("it was undone, done and failed", || {
        desk.state(&id) == "failed" && desk.runs(&id).contains(&"reserve 2".into())
    });
    let none = desk.home.fails(3, &["retry-from", &id, "pack"]);
    assert!(none.contains("there is no step `pack`; there are reserve, charge, ship"), "{none}");
    desk.end();
}

#[test]
fn what_was_done_is_undone_all_of_it_or_some() {
    let desk = Desk::new();
    let (all, some) = (desk.failed("order"), desk.failed("order"));
    let dry = desk.home.ok(&["compensate", &all, "--dry-run"]);
    assert!(dry.contains("step `charge` is undone by echo\n  step `reserve` is undone by echo"), "{dry}");
    desk.home.ok(&["compensate", &all, "--why", "x"]);
    desk.waits_for(&all, "compensated");
    desk.home.ok(&["compensate", &some, "--steps", "charge", "--why", "x"]);
    desk.waits_for(&some, "compensated");
    let undone = |id: &str| -> Vec<String> {
        let shown = desk.shown(id);
        let runs = shown["compensations"].as_array().unwrap();
        runs.iter().map(|run| format!("{} {}", run["step_key"], run["state"]).replace('"', "")).collect()
    };
    assert_eq!(undone(&all), ["charge succeeded", "reserve succeeded"]);
    assert_eq!(undone(&some), ["charge succeeded"]);
    let over = desk.home.fails(3, &["compensate", &all, "--why", "x"]);
    assert!(over.contains("it was compensated, so nothing of it is undone"), "{over}");
    desk.end();
}

#[test]
fn what_cannot_be_undone_is_tried_again_and_then_left() {
    let desk = Desk::new();
    let id = desk.failed("stuck");
    let early = desk.home.fails(3, &["skip-compensation", &id, "--why", "x"]);
    assert!(early.contains("nothing of it could not be undone"), "{early}");
    desk.home.ok(&["compensate", &id, "--why", "x"]);
    desk.waits_for(&id, "compensation_failed");
    let dry = desk.home.ok(&["retry-compensation", &id, "--dry-run"]);
    assert!(dry.contains("what could not be undone is tried again"), "{dry}");
    desk.home.ok(&["retry-compensation", &id]);
    until("it was tried twice", || desk.state(&id) == "compensation_failed" && desk.decided(&id).len() == 2);
    desk.home.ok(&["skip-compensation", &id, "--all", "--why", "x"]);
    desk.waits_for(&id, "compensated");
    assert_eq!(desk.shown(&id)["has_skips"], json!(true));
    desk.end();
}

/// Run on a terminal of its own, type this, and give what was on the screen.
fn typed(mut command: Command, keys: &str) -> (Option<i32>, String) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let name = ptsname(&screen, Vec::new()).unwrap().into_string().unwrap();
    let seat = File::options().read(true).write(true).open(name).unwrap();
    command.stdin(seat.try_clone().unwrap()).stdout(seat.try_clone().unwrap()).stderr(seat);
    let mut child = command.spawn().unwrap();
    // What holds the seat open would keep the screen from its end.
    drop(command);
    let mut screen = File::from(screen);
    screen.write_all(keys.as_bytes()).unwrap();
    let mut seen = Vec::new();
    // The end of the other side is an error on Linux.
    let _ = screen.read_to_end(&mut seen);
    (child.wait().unwrap().code(), common::text(&seen))
}

#[test]
fn whoever_sits_at_a_terminal_is_shown_what_failed_and_asked() {
    let desk = Desk::new();
    let id = desk.failed("order");
    let (code, screen) = typed(desk.home.command(&["resolve", &id]), "2\ncharge\n");
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("order@1.0.0 failed") && screen.contains("no parcel"), "{screen}");
    assert!(screen.contains("2  retry_from_step") && screen.contains("from which step?"), "{screen}");
    until("it failed again", || desk.state(&id) == "failed" && desk.runs(&id).contains(&"charge 2".into()));
    let (code, screen) = typed(desk.home.command(&["resolve", &id]), "none of them\n");
    assert_eq!(code, Some(1), "{screen}");
    assert_eq!(desk.decided(&id).len(), 1, "nothing more was decided");
    let piped = desk.home.fails(3, &["resolve", &id]);
    assert!(piped.contains("nobody can be asked here"), "{piped}");
    let asked = ["resolve", "--filter", "definition=order", "--decision", "mark_resolved", "--why", "x"];
    let (code, screen) = typed(desk.home.command(&asked), "n\n");
    assert_eq!(code, Some(1), "{screen}");
    assert!(screen.contains("mark_resolved 1 workflow? [y/N]"), "{screen}");
    assert_eq!(typed(desk.home.command(&asked), "y\n").0, Some(0));
    assert!(desk.shown(&id)["resolved_at"].is_string());
    desk.end();
}

#[test]
fn a_filter_finds_all_of_them_however_many() {
    let desk = Desk::new();
    let url = format!("{}/v1/workflows", desk.server.url);
    let made = start_many(&url, 1_005);
    assert_eq!(made, 1_005);
    let list = || {
        let (_, page) = common::get(&format!("{url}?state=running,pending&limit=1"));
        page["workflows"].as_array().is_some_and(Vec::is_empty)
    };
    until("all have failed", list);
    let filter = ["resolve", "--filter", "definition=order", "--decision"];
    let with = |more: &[&'static str]| [&filter[..], more].concat();
    let refused = desk.home.fails(3, &with(&["retry"]));
    assert!(refused.contains("this would retry 1005 workflows; write --yes"), "{refused}");
    let dry = desk.home.ok(&with(&["mark_resolved", "--dry-run"]));
    assert!(dry.starts_with("1005 would go: "), "{dry}");
    assert!(dry.contains("failed -> failed") && dry.contains("nobody is asked any more"), "{dry}");
    let undo = desk.home.fails(3, &with(&["retry", "--items", "failed", "--yes"]));
    assert!(undo.contains("1005 refused: ") && undo.contains("has items that failed"), "{undo}");
    let lines = desk.home.json(&with(&["mark_resolved", "--yes", "--by", "ada", "--why", "x", "--json"]));
    assert_eq!(lines.len(), 1_005, "one object for each");
    assert!(desk.home.ok(&with(&["retry", "--yes"])).is_empty(), "none is left");
    let id = lines[7]["id"].as_str().unwrap();
    assert_eq!(desk.decided(id), ["mark_resolved by ada"], "each is on record");
    let strange = desk.home.fails(3, &["resolve", "--filter", "colour=red", "--decision", "retry", "--yes"]);
    assert!(strange.contains("write definition=KEY, version=V or label.NAME=VALUE"), "{strange}");
    desk.end();
}

/// Start so many orders, many calls at once; how many were started.
fn start_many(url: &str, n: usize) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let http = common::client();
    let one = || async {
        let answer = http.post(url).json(&json!({"workflow": "order"})).send().await.unwrap();
        usize::from(answer.status().is_success())
    };
    runtime.block_on(async {
        let mut made = 0;
        for _ in 0..n.div_ceil(50) {
            let left = (n - made).min(50);
            made += futures_util::future::join_all((0..left).map(|_| one())).await.into_iter().sum::<usize>();
        }
        made
    })
}

/// Without a server it is decided here, and what was decided goes on when somebody runs it.
#[test]
fn without_a_server_all_of_them_are_decided_about_here() {
    let desk = Desk::new();
    let ids = [desk.failed("order"), desk.failed("order")];
    let Desk { home, server } = desk;
    server.stop();
    let went = home.ok(&[
        "resolve",
        "--filter",
        "definition=order",
        "--decision",
        "compensate",
        "--why",
        "x",
        "--yes",
    ]);
    assert!(went.starts_with("2 went: ") && went.contains("failed -> compensating"), "{went}");
    let desk = Desk { server: home.serve(&[]), home };
    ids.iter().for_each(|id| desk.waits_for(id, "compensated"));
    desk.end();
}
