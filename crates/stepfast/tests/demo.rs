//! The showcase: every page of it has something true to show within ten seconds.
#![allow(clippy::unwrap_used)]

mod common;

use common::{get, until};
use engine::Stopwatch;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(10);

/// A demo that ends with the test.
struct Demo {
    child: std::process::Child,
    url: String,
    said: String,
}

impl Demo {
    fn start(dir: &Path) -> Demo {
        Demo::start_in(dir, dir)
    }
    /// From one directory, with its database in another.
    fn start_in(from: &Path, dir: &Path) -> Demo {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stepfast"));
        command.args(["demo", "--port", "0", "--dir"]).arg(dir).current_dir(from);
        for name in ["STEPFAST_DB", "STEPFAST_SERVER", "STEPFAST_KEY", "PORT"] {
            command.env_remove(name);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let said: Vec<String> = lines.take_while(|line| !line.starts_with("Ctrl-C")).collect();
        let said = said.join("\n");
        let page = said.lines().find_map(|line| line.trim().strip_suffix("/step-dispatcher"));
        let url = page.unwrap_or_else(|| panic!("{said}")).to_string();
        Demo { child, url, said }
    }
    fn ask(&self, path: &str) -> Value {
        get(&format!("{}{path}", self.url)).1
    }
    /// As a browser gets it.
    fn page(&self, path: &str) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let asked = async { common::client().get(format!("{}{path}", self.url)).send().await?.text().await };
        runtime.block_on(asked).unwrap()
    }
    /// The rows of an answer that has one list.
    fn rows(&self, path: &str) -> Vec<Value> {
        let answer = self.ask(path);
        let lists = answer.as_object().into_iter().flatten().find_map(|(_, list)| list.as_array().cloned());
        lists.unwrap_or_default()
    }
    fn has(&self, path: &str, field: &str, value: &str) -> bool {
        self.rows(path).iter().any(|row| row[field] == value)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn one_of_everything_is_there_within_ten_seconds() {
    let dir = tempfile::tempdir().unwrap();
    let watch = Stopwatch::start();
    let demo = Demo::start(dir.path());
    for state in ["running", "succeeded", "failed", "paused", "compensated"] {
        let path = format!("/v1/workflows?state={state}");
        until(&format!("a workflow is {state}"), || !demo.rows(&path).is_empty());
    }
    until("an approval is waited for", || demo.has("/v1/pauses", "trigger", "approval"));
    until("a poll waits", || demo.has("/v1/polls", "workflow", "transfer"));
    until("a line is blocked", || demo.has("/v1/message-groups", "message_group", "customer-7"));
    until("a flow is half done", || demo.has("/v1/progress", "name", "payment_processing"));
    until("a step failed", || !demo.rows("/v1/steps?state=failed").is_empty());
    until("a step runs", || !demo.rows("/v1/steps?state=running").is_empty());
    until("the line has an alert", || demo.has("/v1/alerts", "entity_id", "customer-7"));
    until("the step that nobody does has one", || demo.has("/v1/alerts", "entity", "step"));
    no_list_of_the_menu_is_empty(&demo);
    assert!(watch.elapsed() < SOON, "it took {:?}", watch.elapsed());
    for (path, field, values) in [
        ("/v1/executions", "state", &["done", "failed", "in_progress"][..]),
        ("/v1/pools", "name", &["card-gateway"]),
        ("/v1/definitions", "version", &["1.0.0", "1.1.0"]),
        ("/v1/flows", "state", &["running", "failed"]),
        ("/v1/keys", "role", &["viewer"]),
    ] {
        for value in values {
            assert!(demo.has(path, field, value), "{value} in {}", demo.ask(path));
        }
    }
    for path in ["/v1/nodes", "/v1/ticks", "/v1/audit", "/v1/groups", "/v1/stuck/rules"] {
        assert!(!demo.rows(path).is_empty(), "{path}: {}", demo.ask(path));
    }
    let waiting = demo.rows("/v1/steps?action=sms.send");
    let why = demo.ask(&format!("/v1/steps/{}", waiting[0]["id"].as_str().unwrap()))["why"].to_string();
    assert!(why.contains("no worker offers action `sms.send`"), "{why}");
}

/// Pages of the menu that are no list.
const NO_LISTS: [&str; 2] = ["/step-dispatcher", "/settings"];

fn no_list_of_the_menu_is_empty(demo: &Demo) {
    let menu = demo.page("/step-dispatcher");
    let links = menu.split("<a href=\"").skip(1).filter_map(|link| link.split_once('"'));
    let menu = links.filter(|(_, behind)| behind.trim_start().starts_with("data-key")).map(|(path, _)| path);
    let lists: Vec<&str> = menu.filter(|path| !NO_LISTS.contains(path)).collect();
    assert!(lists.len() > 12, "{lists:?}");
    for path in lists {
        until(&format!("{path} shows something"), || {
            let page = demo.page(path);
            page.contains("<h1") && !page.contains("class=\"empty\"")
        });
    }
    until("somebody was told", || demo.page("/notifications").contains("/notices"));
}

#[test]
fn what_it_says_to_try_can_be_tried_and_a_second_start_finds_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let demo = Demo::start(dir.path());
    until("a workflow failed", || demo.has("/v1/workflows", "state", "failed"));
    let run = |line: &str| {
        let mut command = common::command(&dir.path().join("demo.db"), &[]);
        command.args(line.split_whitespace()).output().unwrap()
    };
    let lines: Vec<&str> =
        demo.said.lines().filter_map(|line| line.trim().strip_prefix("stepfast ")).collect();
    assert!(lines.len() > 8, "{}", demo.said);
    // Those that need an id, or go on for ever, have tests of their own.
    let alone = lines.iter().filter(|line| !line.contains(" ID") && !line.contains("--watch"));
    for line in alone {
        let typed = line.split("  ").next().unwrap();
        let ran = run(typed);
        assert!(ran.status.success(), "{typed}: {}", common::text(&ran.stderr));
    }
    let before = demo.rows("/v1/pauses").len();
    drop(demo);
    let again = Demo::start(dir.path());
    until("it is there again", || again.rows("/v1/pauses").len() == before);
    assert!(run("check").status.success());
}

#[test]
fn what_it_says_to_export_holds_in_another_directory() {
    let from = tempfile::tempdir().unwrap();
    let demo = Demo::start_in(from.path(), Path::new("./look around"));
    let export = demo.said.lines().map(str::trim).find(|line| line.starts_with("export ")).unwrap();
    let file = from.path().canonicalize().unwrap().join("look around/demo.db");
    assert_eq!(export, format!("export STEPFAST_DB='sqlite:{}'", file.display()));
    let script = format!("{export} && exec \"$0\" status");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_stepfast")]).current_dir("/");
    let ran = shell.env_remove("STEPFAST_SERVER").env_remove("STEPFAST_KEY").output().unwrap();
    assert!(ran.status.success(), "{export}: {}", common::text(&ran.stderr));
}
