//! A story in which every command has something to say.

use super::Seen;
use super::common::{self, until};
use serde_json::Value;
use std::path::Path;

/// Something that cannot be undone, so that somebody has to decide twice.
const BROKEN: &str = "workflow: broken
version: 1.0.0
on_failure: { strategy: auto_compensate }
steps:
  - { key: book, action: echo, arguments: { room: 12 }, compensation: { action: fail, arguments: { message: refused }, retry: { attempts: 1 } } }
  - { key: pay, action: fail, arguments: { message: refused }, retry: { attempts: 1 } }
";
const FAILS: &str = "workflow: fails
version: 1.0.0
steps:
  - { key: book, action: echo, arguments: { room: 12 }, compensation: { action: echo } }
  - { key: pay, action: fail, arguments: { message: refused }, retry: { attempts: 1 } }
";
const SAYS: &str = "workflow: says
version: 1.0.0
steps:
  - { key: hello, action: echo, arguments: { hello: world } }
";

/// A channel that nobody answers, and a rule under which something is stuck at once.
const CONFIG: &str = r#"
[[notify.channel]]
name = "ops"
kind = "webhook"
url = "https://127.0.0.1:9/hook"
secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

[[stuck.rule]]
name = "ghost-waits"
entity = "step"
states = ["pending"]
action = "ghost"
older_than = "1s"
severity = "high"
remedy = "escalate"
"#;

pub fn play(seen: &mut Seen<'_>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let demo = |name: &str| root.join("examples/demo").join(name).display().to_string();
    let files: Vec<String> = [("broken", BROKEN), ("fails", FAILS), ("says", SAYS)]
        .map(|(name, text)| {
            let path = seen.home.dir.path().join(format!("{name}.yaml"));
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        })
        .to_vec();
    std::fs::write(seen.home.dir.path().join("stepfast.toml"), CONFIG).unwrap();
    alone(seen, &files[2], &demo("purchase.yaml"), &demo("purchase-1.0.0.yaml"));
    let server = seen.home.serve(&[]);
    steps(seen);
    definitions(seen, &[&files[0], &files[1], &files[2], &demo("purchase.yaml"), &demo("transfer.yaml")]);
    failed(seen);
    shared(seen);
    flows(seen);
    told(seen);
    bulk(seen);
    engine(seen);
    server.stop();
}

/// What needs no server.
fn alone(seen: &mut Seen<'_>, says: &str, new: &str, old: &str) {
    seen.run("migrate", &[]);
    let wrong = seen.home.dir.path().join("wrong.yaml");
    std::fs::write(&wrong, "workflow: wrong\n").unwrap();
    seen.run("validate", &[&wrong.display().to_string()]);
    seen.run("schema", &[]);
    seen.run("graph", &[says]);
    seen.run("diff", &[old, new]);
    seen.run("run", &[says]);
    seen.run("steps create", &["--action", "noop"]);
    seen.run("dispatch", &["--once"]);
}

fn steps(seen: &mut Seen<'_>) {
    let mut ghost = || seen.text("steps create", &["--action", "ghost"], "/id");
    let all: Vec<String> = (0..5).map(|_| ghost()).collect();
    seen.run("steps list", &["--action", "ghost"]);
    seen.run("steps show", &[&all[0]]);
    for (verb, id) in ["complete", "fail", "stop", "skip", "cancel"].iter().zip(&all) {
        seen.run(&format!("steps {verb}"), &[id, "--why", "by the test"]);
    }
    seen.run("steps retry", &[&all[1]]);
    let failing = seen.text("steps create", &["--action", "fail", "--max-attempts", "1"], "/id");
    until("an attempt is on record", || {
        let ran = seen.home.run(&["steps", "attempts", &failing, "--json"]);
        !common::text(&ran.stdout).is_empty()
    });
    seen.run("steps attempts", &[&failing]);
}

fn definitions(seen: &mut Seen<'_>, files: &[&str]) {
    seen.run("apply", files);
    seen.run("definitions", &[]);
    let purchase = seen.text("start", &["purchase", "--input", r#"{"what": "tea", "amount": 1}"#], "/id");
    until("it waits", || shown(seen, &purchase)["state"] == "paused");
    seen.run("list", &[]);
    seen.run("show", &[&purchase, "--timeline"]);
    seen.run("pauses", &[]);
    seen.run("progress", &[&purchase]);
    seen.run("pause", &[&purchase]);
    seen.run("resume", &[&purchase]);
    seen.home.ok(&["trigger", &purchase, "approval", "--token", "--json"]);
    seen.run("trigger", &[&purchase, "approval", "--payload", r#"{"approved": true}"#]);
    seen.run("watch", &[&purchase]);
    seen.run("events", &["--after", "alpha=0", "--limit", "1"]);
    let transfer = seen.text("start", &["transfer", "--input", r#"{"cents": 1}"#], "/id");
    until("it polls", || !common::text(&seen.home.run(&["polls", "--json"]).stdout).is_empty());
    seen.run("polls", &[]);
    seen.run("polls recover", &["--older", "0", "--dry-run"]);
    seen.run("cancel", &[&transfer, "--why", "by the test"]);
}

fn shown(seen: &Seen<'_>, id: &str) -> Value {
    let ran = seen.home.run(&["show", id, "--json"]);
    serde_json::from_slice(&ran.stdout).unwrap_or_default()
}

fn failed(seen: &mut Seen<'_>) {
    let fails = seen.text("start", &["fails", "--input", "{}"], "/id");
    until("it failed", || shown(seen, &fails)["state"] == "failed");
    seen.run("retry-from", &[&fails, "pay", "--dry-run"]);
    seen.run("compensate", &[&fails, "--dry-run"]);
    seen.run("resolve", &[&fails, "--decision", "mark_resolved", "--why", "by the test"]);
    let broken = seen.text("start", &["broken", "--input", "{}"], "/id");
    until("it is not undone", || shown(seen, &broken)["state"] == "compensation_failed");
    seen.run("retry-compensation", &[&broken, "--dry-run"]);
    seen.run("skip-compensation", &[&broken, "--why", "by the test"]);
}

fn shared(seen: &mut Seen<'_>) {
    seen.run("pools set", &["card", "--concurrency", "2"]);
    seen.run("pools list", &[]);
    seen.run("pools remove", &["card", "--why", "by the test"]);
    for action in ["fail", "ghost", "ghost", "ghost"] {
        let line =
            ["--action", action, "--message-group", "a", "--mode", "block_on_error", "--max-attempts", "1"];
        seen.run("steps create", &line);
    }
    let blocked =
        || common::text(&seen.home.run(&["message-groups", "list", "--json"]).stdout).contains("blocked");
    until("the line is blocked", blocked);
    seen.run("message-groups list", &[]);
    seen.run("message-groups show", &["a"]);
    seen.run("message-groups pause", &["a"]);
    seen.run("message-groups resume", &["a"]);
    for verb in ["requeue", "ignore", "skip-head", "unblock", "cancel"] {
        seen.run(&format!("message-groups {verb}"), &["a", "--dry-run"]);
    }
    seen.run("steps create", &["--action", "noop", "--idempotency-key", "k-1"]);
    let made = seen.run("executions list", &[]);
    let name = |field: &str| made[0][field].as_str().unwrap().to_string();
    seen.run("executions show", &[&name("namespace"), &name("key")]);
    seen.run("executions forget", &["--dry-run"]);
}

fn flows(seen: &mut Seen<'_>) {
    let retry = r#"{"action": "echo", "arguments": {"id": 7}}"#;
    let args = ["payment", "--entity", "payment:1", "--steps", "debit,credit,email?", "--retry", retry];
    let id = seen.text("flows start", &args, "/flow/id");
    seen.run("flows complete", &[&id, "debit"]);
    seen.run("flows fail", &[&id, "credit", "--message", "away"]);
    seen.run("progress", &["--half-done"]);
    seen.run("flows retry", &[&id, "--dry-run"]);
    seen.run("flows update", &[&id, "--state", "running"]);
    seen.run("flows skip", &[&id, "email"]);
    seen.run("flows cancel", &[&id, "--dry-run"]);
    seen.run("flows show", &[&id]);
    seen.run("flows list", &[]);
    seen.run("flows finish", &[&id, "--state", "failed"]);
}

fn told(seen: &mut Seen<'_>) {
    let url = ["--name", "crm", "--url", "https://crm.example.com/hook", "--type", "workflow.failed"];
    let id = seen.text("subscriptions add", &url, "/id");
    seen.run("subscriptions list", &[]);
    seen.run("subscriptions show", &[&id]);
    seen.run("subscriptions change", &[&id, "--pause"]);
    seen.run("subscriptions change", &[&id, "--resume"]);
    seen.run("subscriptions test", &[&id]);
    seen.run("subscriptions remove", &[&id]);
    seen.run("stuck rules", &[]);
    seen.run("stuck auto", &["on"]);
    seen.run("stuck set-rule", &["ghost-waits", "--severity", "high"]);
    seen.run("notify list", &[]);
    seen.run("notify show", &["ops"]);
    seen.run("notify set", &["crm", "--kind", "webhook", "--url", "https://127.0.0.1:9/crm"]);
    seen.run("notify test", &["ops"]);
    seen.run("notify remove", &["ops"]);
    alerts(seen);
    seen.run("stuck remove-rule", &["ghost-waits"]);
}

fn bulk(seen: &mut Seen<'_>) {
    let which = ["steps", "skip", "--filter", "action=bulky", "--why", "not wanted"];
    seen.home.ok(&["steps", "create", "--action", "bulky"]);
    let over = seen.run("bulk run", &[&which[..], &["--yes"]].concat());
    assert_eq!((&over[0]["state"], &over[0]["progress"]["done"]), (&"succeeded".into(), &1.into()));
    seen.home.ok(&["steps", "create", "--action", "bulky"]);
    let id = seen.text("bulk run", &[&which[..], &["--yes", "--detach"]].concat(), "/id");
    until("it is over", || {
        let ran = seen.home.run(&["bulk", "show", &id, "--json"]);
        common::text(&ran.stdout).contains("completed_at")
    });
    seen.run("bulk show", &[&id]);
    seen.run("bulk list", &[]);
    // Nothing is handed out, so it waits.
    seen.home.ok(&["breaker", "off", "--why", "by the test"]);
    seen.home.ok(&["steps", "create", "--action", "bulky"]);
    let id = seen.text("bulk run", &[&which[..], &["--yes", "--detach"]].concat(), "/id");
    seen.run("bulk cancel", &[&id]);
    seen.home.ok(&["breaker", "on"]);
}

fn alerts(seen: &mut Seen<'_>) {
    seen.run("steps create", &["--action", "ghost"]);
    until("it is stuck", || {
        seen.home.ok(&["stuck", "detect"]);
        !common::text(&seen.home.run(&["alerts", "list", "--rule", "ghost-waits", "--json"]).stdout)
            .is_empty()
    });
    let id = seen.text("alerts list", &["--rule", "ghost-waits"], "/id");
    seen.run("stuck detect", &["--dry-run"]);
    seen.run("alerts ack", &[&id]);
    seen.run("alerts assign", &[&id, "--to", "bo"]);
    seen.run("alerts note", &[&id, "asked"]);
    seen.run("alerts resolve", &[&id, "done"]);
    seen.run("alerts reopen", &[&id, "again"]);
    seen.run("alerts show", &[&id]);
    seen.run("alerts figures", &[]);
}

fn engine(seen: &mut Seen<'_>) {
    seen.run("status", &[]);
    seen.run("audit", &["--limit", "5"]);
    seen.run("groups", &[]);
    seen.run("nodes", &[]);
    until("there was a tick", || !common::text(&seen.home.run(&["ticks", "--json"]).stdout).is_empty());
    seen.run("ticks", &["--limit", "5"]);
    seen.run("breaker off", &["--why", "by the test"]);
    seen.run("breaker status", &[]);
    seen.run("breaker on", &[]);
    seen.run("drain", &["--wait", "--ttl", "600", "--why", "by the test"]);
    seen.run("breaker on", &[]);
    let key = seen.text("keys create", &["--name", "me", "--role", "viewer"], "/id");
    seen.run("keys list", &[]);
    seen.run("keys revoke", &[&key]);
    seen.run("archive", &["--dry-run"]);
    seen.run("purge", &["--dry-run"]);
    seen.run("check", &[]);
    let copy = seen.home.dir.path().join("copy.db").display().to_string();
    seen.run("backup", &[&copy]);
}
