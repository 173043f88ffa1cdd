//! The command line, end to end, on whichever database.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Home, post, until};
use serde_json::json;

#[test]
fn a_first_step_from_creation_to_its_end() {
    let home = Home::new();
    let id = home.ok(&["steps", "create", "--action", "echo", "--arguments", "{\"hello\":\"world\"}"]);
    let shown = home.ok(&["steps", "show", id.trim()]);
    assert!(shown.contains("It is not running because:"), "{shown}");
    assert!(shown.contains("no worker offers action `echo`"), "{shown}");
    assert!(home.ok(&["dispatch", "--once"]).contains("dispatched 1"));
    let row = &home.json(&["steps", "list", "--all", "--json"])[0];
    assert_eq!((row["state"].as_str(), row["attempt"].as_i64()), (Some("completed"), Some(1)));
    assert_eq!(row["response"], json!({"hello": "world"}));
    for field in ["id", "step_key", "state", "started_at", "completed_at"] {
        assert!(row.get(field).is_some(), "{field} in {row}");
    }
    home.ok(&["check"]);
}

#[test]
fn steps_are_listed_by_status() {
    let home = Home::new();
    let create = |more: &[&str]| home.ok(&[&["steps", "create"], more].concat()).trim().to_string();
    let expired = create(&["--action", "ghost", "--expires-ms", "1500"]);
    let cancelled = create(&["--action", "ghost"]);
    home.ok(&["steps", "cancel", &cancelled, "--why", "x"]);
    let failed = create(&["--action", "fail"]);
    let listed = |more: &[&str]| -> Vec<String> {
        let rows = home.json(&[&["steps", "list", "--all", "--json"], more].concat());
        rows.iter().map(|row| row["id"].as_str().unwrap().to_string()).collect()
    };
    let (expired, cancelled, failed) = (expired.as_str(), cancelled.as_str(), failed.as_str());
    until("it expires", || {
        home.ok(&["dispatch", "--once"]);
        listed(&["--status", "EXPIRED"]) == [expired]
    });
    assert_eq!(listed(&["--status", "cancelled"]), [cancelled]);
    assert_eq!(listed(&["--status", "ERROR"]), [failed]);
    assert_eq!(listed(&["--status", "failed,Expired"]), [expired, failed]);
    assert_eq!(listed(&["--status", "EXPIRED,CANCELLED", "--state", "cancelled"]), [expired, cancelled]);
    assert_eq!(listed(&["--status", "PENDING,in_progress"]), [] as [&str; 0]);
    home.ok(&["check"]);
}

#[test]
fn early_return_takes_one_phase_a_tick_also_across_processes() {
    let home = Home::new();
    let file = home.dir.path().join("tree.json");
    let tree = json!({"steps": [{"action": "echo", "children": [
        {"action": "fail", "index": 1}, {"action": "echo", "index": 2}]}]});
    std::fs::write(&file, tree.to_string()).unwrap();
    home.ok(&["steps", "create", "--file", file.to_str().unwrap()]);
    let mut seen = Vec::new();
    for _ in 0..4 {
        home.ok(&["dispatch", "--once", "--early-return"]);
        seen.push(home.states().join(" "));
    }
    assert_eq!(
        seen,
        [
            "running pending pending",
            "running failed pending",
            "running failed cancelled",
            "failed failed cancelled"
        ]
    );
    home.ok(&["check"]);
}

#[test]
fn bad_input_is_answered_with_the_field_and_the_fix() {
    let home = Home::new();
    home.ok(&["migrate"]);
    let told = home.fails(3, &["steps", "create", "--action", " "]);
    assert!(told.contains("steps[0].action: is empty"), "{told}");
    let told = home.fails(3, &["steps", "create", "--action", "echo", "--arguments", "{oops"]);
    assert!(told.contains("--arguments is not JSON"), "{told}");
    let told = home.fails(3, &["steps", "create", "--action", "echo", "--dispatch-group", "alfa"]);
    assert!(told.contains("`alfa` is not a dispatch group"), "{told}");
    let told = home.fails(3, &["steps", "list", "--state", "runing"]);
    assert!(told.contains("did you mean `running`?"), "{told}");
    let told = home.fails(3, &["steps", "list", "--status", "done"]);
    assert!(told.contains("--status: `done` is not a status; expected one of PENDING, QUEUED,"), "{told}");
    let told = home.fails(3, &["steps", "show", "42"]);
    assert!(told.contains("is not an id"), "{told}");
    let file = home.dir.path().join("bad.json");
    std::fs::write(&file, "{\"steps\": [\n  {\"action\": \"echo\", \"colour\": 1}\n]}").unwrap();
    let told = home.fails(3, &["steps", "create", "--file", file.to_str().unwrap()]);
    assert!(told.contains("bad.json:2:") && told.contains("colour"), "{told}");
    assert_eq!(home.states().len(), 0, "nothing was half-created");
}

#[test]
fn drain_says_when_it_is_safe() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.ok(&["steps", "create", "--action", "sleep", "--arguments", "{\"ms\": 1500}"]);
    until("it runs", || home.states() == ["running"]);
    let told = home.fails(1, &["drain", "--why", "deploy"]);
    assert!(told.contains("not safe: 1 step"), "{told}");
    home.ok(&["steps", "create", "--action", "noop"]);
    assert!(home.ok(&["drain", "--wait"]).contains("safe to restart"));
    assert_eq!(home.states(), ["completed", "pending"], "nothing new was dispatched");
    assert!(home.ok(&["breaker", "status"]).contains("because deploy"));
    home.fails(2, &["breaker", "on", "--ttl", "60"]);
    home.ok(&["breaker", "on"]);
    until("it goes on", || home.states() == ["completed", "completed"]);
    home.ok(&["check"]);
    server.stop();
}

#[test]
fn one_group_can_be_ticked_and_drained_alone() {
    let home = Home::new();
    for group in ["alpha", "beta"] {
        home.ok(&["steps", "create", "--action", "noop", "--dispatch-group", group]);
    }
    home.fails(3, &["dispatch", "--once", "--group", "omega"]);
    home.ok(&["dispatch", "--once", "--group", "beta"]);
    assert_eq!(home.states(), ["pending", "completed"]);
    assert!(home.ok(&["drain", "--group", "alpha", "--why", "test"]).contains("safe to restart"));
    home.ok(&["dispatch", "--once"]);
    assert_eq!(home.states(), ["pending", "completed"], "alpha is switched off");
    home.ok(&["breaker", "on", "--group", "alpha"]);
    home.ok(&["dispatch", "--once"]);
    assert_eq!(home.states(), ["completed", "completed"]);
    home.ok(&["check"]);
}

#[test]
fn archive_and_purge_take_whole_settled_trees() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.ok(&["steps", "create", "--action", "noop"]);
    home.ok(&["steps", "create", "--action", "noop", "--delay-ms", "3600000"]);
    until("one ends", || home.states().contains(&"completed".to_string()));
    assert!(home.ok(&["archive", "--days", "0", "--dry-run"]).contains("1 trees"));
    assert_eq!(home.states().len(), 2);
    assert!(
        home.ok(&["archive", "--days", "0", "--why", "old", "--by", "anna"])
            .contains("1 trees with 1 steps archived")
    );
    assert_eq!(home.states(), ["pending"]);
    assert!(
        home.ok(&["purge", "--days", "0", "--only-archive", "--why", "older", "--by", "bo"])
            .contains("1 trees")
    );
    home.ok(&["check"]);
    server.stop();
}

#[test]
fn the_dispatcher_log_tells_a_tick_in_order() {
    let home = Home::new();
    home.ok(&["steps", "create", "--action", "noop", "--dispatch-group", "alpha"]);
    let output = home.command(&["dispatch", "--once"]).env("RUST_LOG", "dispatcher=info").output().unwrap();
    let log = common::text(&output.stderr);
    let at = |words: &str| log.find(words).unwrap_or_else(|| panic!("{words} in {log}"));
    let order =
        ["[TICK START] Group: alpha", "[LOCK ACQUIRED]", "pick: 1 steps", "dispatch: 1 steps", "[TICK END]"];
    assert!(order.map(at).is_sorted(), "{log}");
}

#[test]
fn executions_are_listed_shown_and_forgotten_with_a_server_and_without() {
    let home = Home::new();
    let server = home.serve(&["--workers", "0"]);
    let ask = |verb: &str, body: serde_json::Value| {
        let (status, answer) = post(&format!("{}/v1/executions/{verb}", server.url), &body);
        assert!(status < 300, "{answer}");
        answer
    };
    let begun = ask("begin", json!({"namespace": "pay", "key": "7"}));
    ask("complete", json!({"namespace": "pay", "key": "7", "owner": begun["owner"], "answer": {"paid": 1}}));
    ask("begin", json!({"namespace": "pay", "key": "8"}));
    let listed = home.json(&["executions", "list", "--json"]);
    assert_eq!((listed.len(), &listed[0]["key"], &listed[1]["state"]), (2, &json!("8"), &json!("done")));
    assert_eq!(home.json(&["executions", "list", "--state", "done", "--all", "--json"]).len(), 1);
    let shown = home.ok(&["executions", "show", "pay", "7"]);
    assert!(shown.contains("answer             {\"paid\":1}"), "{shown}");
    assert!(shown.contains(" begun by …") && shown.contains(" done by …"), "{shown}");
    assert_eq!(home.json(&["executions", "show", "pay", "7", "--json"])[0]["answer"]["paid"], 1);
    assert!(home.fails(3, &["executions", "show", "pay", "9"]).contains("there is no execution pay:9"));
    assert!(home.fails(3, &["executions", "list", "--state", "odd"]).contains("in_progress, done, failed"));
    assert!(home.fails(3, &["executions", "forget", "--days=-1", "--dry-run"]).contains("is out of range"));
    let would = home.ok(&["executions", "forget", "--days", "0", "--dry-run"]);
    assert!(would.contains("1 executions would be forgotten"), "what is held stays: {would}");
    server.stop();
    assert!(
        home.ok(&["executions", "forget", "--days", "0", "--why", "x", "--by", "anna"])
            .contains("1 executions forgotten")
    );
    assert_eq!(home.json(&["executions", "list", "--json"]).len(), 1);
    home.ok(&["check"]);
}

#[test]
fn a_pool_holds_back_what_it_must() {
    let home = Home::new();
    assert_eq!(home.ok(&["pools", "set", "card", "--concurrency", "0"]), "pool card: 0 at once\n");
    let id = home.ok(&["steps", "create", "--action", "echo", "--pool", "card"]);
    assert!(home.ok(&["dispatch", "--once"]).contains("dispatched 0"));
    assert!(home.ok(&["steps", "show", id.trim()]).contains("its pool `card` is full: 0 of 0 run"));
    home.ok(&["pools", "set", "card", "--rate", "2/m", "--burst", "2"]);
    assert!(home.ok(&["dispatch", "--once"]).contains("dispatched 1"));
    let pools = home.json(&["pools", "list", "--json"]);
    assert_eq!((pools[0]["rate"].as_str(), pools[0]["used"].as_u64()), (Some("2/m"), Some(0)));
    assert!(home.ok(&["pools", "list"]).contains("card"));
    home.ok(&["pools", "remove", "card", "--why", "sold"]);
    home.ok(&["check"]);
}

#[test]
fn steps_under_a_key_are_made_once_with_a_server_and_without() {
    let home = Home::new();
    let create = ["steps", "create", "--idempotency-key", "order-7", "--action"];
    let with = |action: &'static str| [&create[..], &[action]].concat();
    let check = |how: &str| {
        let made = home.ok(&with("echo"));
        assert_eq!(home.ok(&with("echo")), made, "{how}");
        let told = home.fails(3, &with("noop"));
        assert!(told.contains("use another key for other work"), "{how}: {told}");
        made
    };
    let alone = check("without a server");
    let server = home.serve(&["--workers", "0"]);
    let served = check("with a server");
    assert_ne!(alone, served, "the keys of a server are of its route");
    assert_eq!(home.states().len(), 2);
    server.stop();
    home.ok(&["check"]);
}

/// Steps of a message group, one behind the other.
fn line_up(home: &Home, group: &str, actions: &[&str]) -> Vec<String> {
    let ordered = ["--message-group", group, "--mode", "block_on_error"];
    let create = |action: &&str| home.ok(&[&["steps", "create", "--action", action], &ordered[..]].concat());
    actions.iter().map(create).map(|id| id.trim().to_string()).collect()
}

fn message_groups(home: &Home, more: &[&str]) -> Vec<serde_json::Value> {
    home.json(&[&["message-groups"], more, &["--json"]].concat())
}

#[test]
fn message_groups_that_are_blocked_are_listed_shown_and_let_go() {
    let home = Home::new();
    let verbs = ["ignore", "requeue", "skip-head", "unblock"];
    let made = verbs.map(|verb| line_up(&home, verb, &["fail", "noop"]));
    home.ok(&["dispatch", "--once"]);
    let list = home.ok(&["message-groups", "list"]);
    assert_eq!(list.matches(" blocked ").count(), 4, "{list}");
    assert!(list.contains(&format!("step {} failed", made[0][0])), "{list}");
    let first = home.run(&["message-groups", "list", "--limit", "1", "--json"]);
    assert!(common::text(&first.stderr).contains("there are more; see --after ignore"));
    assert_eq!(message_groups(&home, &["list", "--after", "ignore"]).len(), 3);
    for (verb, line) in verbs.iter().zip(&made) {
        let (failed, next) = (&line[0], &line[1]);
        let shown = home.ok(&["message-groups", "show", verb]);
        assert!(
            shown.starts_with(&format!("{verb} is blocked; 1 step in line\n  step {failed} failed")),
            "{shown}"
        );
        assert!(shown.contains(next), "{shown}");
        let would = home.ok(&["message-groups", verb, verb, "--dry-run"]);
        assert!(would.starts_with(&format!("message group {verb}: would {verb}\n")), "{would}");
        let before = &message_groups(&home, &["show", verb])[0];
        assert_eq!(
            (&before["state"], &before["holds"][0]["blocked_by"]),
            (&json!("blocked"), &json!(failed))
        );
        let done = &message_groups(&home, &[verb, verb, "--by", "anna", "--why", "known"])[0];
        let replaced = done["replaced"][0]["step_id"].as_str();
        let let_go = if *verb == "requeue" { replaced } else { done["forgiven"][0].as_str() };
        assert_eq!((done["verb"].as_str(), let_go), (Some(*verb), Some(failed.as_str())));
    }
    home.ok(&["dispatch", "--once"]);
    let left = message_groups(&home, &["list"]);
    assert_eq!(
        (left.len(), &left[0]["message_group"]),
        (1, &json!("requeue")),
        "what was made anew failed anew"
    );
    assert_eq!(left[0]["head"], json!(made[1][1]));
    let ignored = &home.json(&["steps", "show", &made[0][0], "--json"])[0];
    assert_eq!((&ignored["state"], &ignored["block_cleared_by"]), (&json!("failed"), &json!("anna")));
    home.ok(&["check"]);
}

#[test]
fn a_message_group_is_paused_resumed_and_cancelled_with_a_server_and_without() {
    let home = Home::new();
    let check = |group: &str| {
        let told = home.ok(&["message-groups", "pause", group, "--by", "anna", "--why", "audit"]);
        assert_eq!(told, format!("message group {group}: pause\n"));
        let again = home.fails(3, &["message-groups", "pause", group]);
        assert!(again.contains(&format!("message group `{group}`: it is paused already")), "{again}");
        let made = line_up(&home, group, &["echo", "echo", "echo"]);
        let shown = home.ok(&["message-groups", "show", group]);
        let head = format!("{group} is paused; 3 steps in line\n  paused by anna (audit)\n");
        assert!(shown.starts_with(&head), "{shown}");
        let why = home.ok(&["steps", "show", &made[0]]);
        assert!(why.contains(&format!("its message group `{group}` was paused by anna (audit)")), "{why}");
        let skipped = home.ok(&["message-groups", "skip-head", group, "--why", "x"]);
        assert_eq!(skipped, format!("message group {group}: skip-head\n  step {} -> skipped\n", made[0]));
        let would = home.ok(&["message-groups", "cancel", group, "--dry-run"]);
        assert_eq!(would.matches(" -> cancelled").count(), 2, "{would}");
        home.ok(&["message-groups", "cancel", group, "--why", "x"]);
        home.ok(&["message-groups", "resume", group]);
        home.fails(3, &["message-groups", "resume", group]);
        let idle = home.fails(3, &["message-groups", "show", group]);
        assert!(idle.contains("has nothing to do and is not held back"), "{idle}");
    };
    check("alone");
    let server = home.serve(&["--workers", "0"]);
    check("served/7");
    assert_eq!(message_groups(&home, &["list"]).len(), 0);
    server.stop();
    let ends = ["skipped", "cancelled", "cancelled"];
    assert_eq!(home.states(), [ends, ends].concat());
    home.fails(2, &["message-groups", "explode", "alone"]);
    home.ok(&["check"]);
}

/// Who touched this?
#[test]
fn the_audit_is_asked_for_with_a_server_and_without() {
    let home = Home::new();
    let step = home.ok(&["steps", "create", "--action", "ghost"]).trim().to_string();
    home.ok(&["pools", "set", "api", "--concurrency", "1", "--by", "ada"]);
    home.ok(&["steps", "cancel", &step, "--by", "bob", "--why", "x"]);
    home.ok(&["pools", "set", "api", "--concurrency", "2", "--by", "bob"]);
    let asked = |args: &[&str]| -> Vec<String> {
        let rows = home.json(&[&["audit", "--json"], args].concat());
        rows.iter().map(|row| format!("{} {}", row["who"], row["target"]).replace('"', "")).collect()
    };
    let check = || {
        let cancelled = format!("bob step {step}");
        assert_eq!(asked(&["--target", &step]), [cancelled.as_str()]);
        assert_eq!(asked(&["--target", "pool api"]), ["bob pool api", "ada pool api"]);
        assert_eq!(asked(&["--who", "bob"]), ["bob pool api", cancelled.as_str()]);
        assert_eq!(asked(&["--verb", "cancel", "--who", "bob"]), [cancelled.as_str()]);
        assert_eq!(asked(&["--who", "ada", "--from", "2000-01-01T00:00:00Z"]), ["ada pool api"]);
        assert_eq!(asked(&["--to", "2000-01-01T00:00:00Z"]), [""; 0]);
        let first = home.run(&["audit", "--target", "pool api", "--limit", "1"]);
        let told = common::text(&first.stderr);
        let next =
            told.trim().strip_prefix("there are more; see --after ").unwrap_or_else(|| panic!("{told}"));
        assert_eq!(asked(&["--target", "pool api", "--after", next]), ["ada pool api"]);
        let late = ["audit", "--from", "2027-01-16T00:00:00Z", "--to", "2027-01-15T00:00:00Z"];
        assert!(home.fails(3, &late).contains("--from: it is after `to`"));
        assert!(home.fails(3, &["audit", "--to", "noon"]).contains("--to: `noon` is not an instant"));
        assert!(home.fails(3, &["audit", "--who", ""]).contains("--who: it is empty"));
    };
    check();
    let server = home.serve(&["--workers", "0"]);
    check();
    server.stop();
    home.ok(&["check"]);
}

/// A server of somebody else: whatever is asked, it answers this, so often.
fn stranger(body: &'static str, times: usize) -> (String, std::thread::JoinHandle<()>) {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        for _ in 0..times {
            let (mut stream, _) = listener.accept().unwrap();
            let head = BufReader::new(stream.try_clone().unwrap()).lines();
            assert!(head.map(Result::unwrap).take_while(|line| !line.is_empty()).count() > 0);
            let length = body.len();
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
                .unwrap();
        }
    });
    (url, answering)
}

#[test]
fn only_an_answer_ends_with_one() {
    let home = Home::new();
    for unreadable in [
        &["steps", "create", "--file", "nowhere.json"][..],
        &["start", "order", "--input", "@nowhere.json"],
        &["list", "--server", "no address"],
        &["drain", "--config", "nowhere.toml"],
    ] {
        home.fails(3, unreadable);
    }
    let asked = [&["drain"][..], &["drain", "--dry-run"], &["check"], &["status"], &["steps", "list"]];
    for body in ["hello", "{}"] {
        let (url, answering) = stranger(body, asked.len());
        for args in asked {
            let told = home.fails(4, &[args, &["--server", &url]].concat());
            assert!(told.contains("in another language"), "{args:?}: {told}");
        }
        answering.join().unwrap();
    }
    home.fails(4, &["drain", "--server", "http://127.0.0.1:9"]);
}

#[test]
fn what_is_tried_is_not_done() {
    let home = Home::new();
    home.ok(&["migrate"]);
    let create = ["steps", "create", "--action", "noop", "--dry-run"];
    assert_eq!(home.ok(&create).trim(), "1 step would be created");
    let told = home.fails(3, &[&create[..], &["--priority", "urgent", "--mode", "later"]].concat());
    assert!(told.contains("steps[0].priority") && told.contains("steps[0].mode"), "{told}");
    assert_eq!(home.states().len(), 0);
    home.ok(&["pools", "set", "card", "--concurrency", "2"]);
    assert!(home.ok(&["pools", "remove", "card", "--dry-run"]).contains("would be removed"));
    home.fails(3, &["pools", "remove", "none", "--dry-run"]);
    assert_eq!(home.json(&["pools", "list", "--json"]).len(), 1);
    let key = home.json(&["keys", "create", "--name", "me", "--role", "viewer", "--json"])[0]["id"].clone();
    assert!(home.ok(&["keys", "revoke", key.as_str().unwrap(), "--dry-run"]).contains("would be revoked"));
    assert_eq!(home.json(&["keys", "list", "--json"])[0]["state"], "live");
    assert!(home.fails(1, &["drain", "--dry-run"]).contains("not safe: work is dispatched"));
    assert!(home.ok(&["breaker", "status"]).contains("everywhere: on"));
}
